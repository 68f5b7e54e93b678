//! `quire prompts`

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use anyhow::{Context as _, Result};
use quire_engine::Prompts;
use serde::Serialize;

use crate::Ending;
use crate::args::{PromptsExportArgs, PromptsListArgs};
use crate::context::Context;
use crate::output::{print_json, print_table};

#[derive(Serialize)]
struct Document<'a> {
    prompts: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    version: &'a str,
    digest: &'a str,
    built_in: bool,
}

pub fn list(context: &mut Context, args: PromptsListArgs) -> Result<Ending> {
    let prompts = match context.settings.path("prompts", args.prompts)? {
        Some(folder) => Prompts::with_folder(&folder)?,
        None => Prompts::default(),
    };
    let entries = prompts.all().map(|prompt| Entry {
        name: prompt.name(),
        version: prompt.version(),
        digest: prompt.digest(),
        built_in: prompt.is_built_in(),
    });
    let prompts: Vec<Entry<'_>> = entries.collect();
    if args.json {
        print_json(&Document { prompts })?;
        return Ok(Ending::Done);
    }
    let rows: Vec<Vec<String>> = prompts
        .iter()
        .map(|prompt| {
            let from = if prompt.built_in { "built in" } else { "file" };
            vec![
                prompt.name.to_owned(),
                prompt.version.to_owned(),
                from.to_owned(),
                prompt.digest.to_owned(),
            ]
        })
        .collect();
    print_table(&["prompt", "version", "from", "sha256"], &rows)?;
    Ok(Ending::Done)
}

pub fn export(context: &mut Context, args: PromptsExportArgs) -> Result<Ending> {
    let prompts = match context.settings.path("prompts", None)? {
        Some(folder) => Prompts::with_folder(&folder)?,
        None => Prompts::default(),
    };
    let folder = args.folder;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for prompt in prompts.all() {
        let path = folder.join(format!("{}.toml", prompt.name()));
        let shown = path.display();
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        match file {
            Ok(mut file) => {
                let written = file.write_all(prompt.source().as_bytes());
                written.with_context(|| format!("cannot write {shown}"))?;
                println!("{shown}: written");
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                println!("{shown}: there already, left alone");
            }
            Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
        }
    }
    Ok(Ending::Done)
}
