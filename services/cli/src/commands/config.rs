//! `quire config`

use anyhow::Result;
use serde::Serialize;

use crate::Ending;
use crate::args::ConfigArgs;
use crate::context::Context;
use crate::output::{print_json, print_table};
use crate::settings::{Setting, Source};

#[derive(Serialize)]
struct Document<'a> {
    file: Option<String>,
    settings: &'a [Setting],
}

pub fn run(context: &mut Context, args: ConfigArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let models = settings.models(&args.models)?;
    settings.cut(&args.cut)?;
    settings.budgets(&args.budgets, &models)?;
    settings.optional("encoding", std::env::var("QUIRE_ENCODING").ok())?;
    settings.optional("strict", None::<bool>)?;
    let file = settings.file().map(|path| path.display().to_string());
    if args.json {
        print_json(&Document {
            file,
            settings: settings.taken(),
        })?;
        return Ok(Ending::Done);
    }
    println!("configuration file: {}", file.as_deref().unwrap_or("none"));
    let rows: Vec<Vec<String>> = settings
        .taken()
        .iter()
        .map(|setting| {
            let value = match (setting.name, &setting.value) {
                (_, Some(value)) => value.clone(),
                ("home", None) => context.home.root.display().to_string(),
                ("data", None) => context.home.data.display().to_string(),
                (_, None) => "-".to_owned(),
            };
            let source = match setting.source {
                Source::Flag => "flag",
                Source::Environment => "environment",
                Source::File => "file",
                Source::Default => "default",
            };
            vec![setting.name.to_owned(), value, source.to_owned()]
        })
        .collect();
    print_table(&["setting", "value", "from"], &rows)?;
    Ok(Ending::Done)
}
