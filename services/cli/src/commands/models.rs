//! `quire models`

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};
use quire_hub::{Event, HubConfig, WantedFile, pull as pull_files, verify_cached};
use quire_onnx::{Catalogue, DigestCache, FileSet, FileSpec, ModelSpec, Precision, Source};
use serde::Serialize;

use crate::args::{ModelArgs, ModelsListArgs, ModelsPullArgs, ModelsVerifyArgs};
use crate::context::Context;
use crate::loader::{catalogue, locate};
use crate::output::{grouped, print_json};
use crate::{Ending, one_line};

#[derive(Serialize)]
struct ListDocument {
    profiles: Vec<ProfileEntry>,
    models: Vec<ModelEntry>,
}

#[derive(Serialize)]
struct ProfileEntry {
    name: String,
    summary: String,
    embedder: String,
    reranker: String,
    method: quire_model::RerankMethod,
    weights: quire_model::Weights,
}

#[derive(Serialize)]
struct ModelEntry {
    name: String,
    summary: String,
    licence: String,
    max_tokens: usize,
    dims: Option<usize>,
    precisions: Vec<PrecisionEntry>,
}

#[derive(Serialize)]
struct PrecisionEntry {
    precision: Precision,
    from: String,
    /// Whether every file is on this machine.
    present: bool,
    files: Vec<String>,
}

pub fn list(context: &mut Context, args: ModelsListArgs) -> Result<Ending> {
    let catalogue = catalogue(context.settings.catalogue()?.as_ref())?;
    let hub = hub().ok();
    let profiles = catalogue
        .profiles
        .iter()
        .map(|(name, profile)| ProfileEntry {
            name: name.clone(),
            summary: profile.summary.clone(),
            embedder: profile.embedder.model.clone(),
            reranker: profile.reranker.model.clone(),
            method: profile.reranker.method,
            weights: profile.weights(),
        });
    let models = catalogue.models.values().map(|model| ModelEntry {
        name: model.name.clone(),
        summary: model.summary.clone(),
        licence: model.licence.clone(),
        max_tokens: model.max_tokens,
        dims: model.embedder.as_ref().map(|embedder| embedder.dims),
        precisions: model
            .files
            .iter()
            .map(|(&precision, set)| PrecisionEntry {
                precision,
                from: from(&model.name, &set.source),
                present: set.all().all(|file| {
                    locate(&context.home, hub.as_ref(), &set.source, file)
                        .is_some_and(|p| p.is_file())
                }),
                files: set.all().map(|file| file.path.clone()).collect(),
            })
            .collect(),
    });
    let document = ListDocument {
        profiles: profiles.collect(),
        models: models.collect(),
    };
    if args.json {
        print_json(&document)?;
        return Ok(Ending::Done);
    }
    for profile in &document.profiles {
        println!("{}: {}", profile.name, profile.summary);
    }
    for model in &document.models {
        println!("\n{} ({}): {}", model.name, model.licence, model.summary);
        for precision in &model.precisions {
            let state = if precision.present {
                "here"
            } else {
                "not here"
            };
            println!(
                "  {}: {state}; from {}",
                precision.precision, precision.from
            );
        }
    }
    Ok(Ending::Done)
}

fn from(model: &str, source: &Source) -> String {
    match source {
        Source::Hub { hub, revision } => {
            format!("the model hub, {hub} at {revision}: quire models pull {model}")
        }
        Source::Built { revision, .. } => format!("{revision}: scripts/setup.sh"),
    }
}

#[derive(Serialize)]
struct PullDocument {
    files: Vec<PulledEntry>,
}

#[derive(Serialize)]
struct PulledEntry {
    model: String,
    repository: String,
    commit: String,
    file: String,
    path: PathBuf,
    bytes: u64,
}

pub fn pull(context: &mut Context, args: ModelsPullArgs) -> Result<Ending> {
    let catalogue = catalogue(context.settings.catalogue()?.as_ref())?;
    let hub = hub()?;
    let mut document = PullDocument { files: Vec::new() };
    for (model, set) in wanted(&catalogue, &args.profile, args.precision.as_deref())? {
        let Source::Hub {
            hub: repository,
            revision,
        } = &set.source
        else {
            if !args.json {
                println!(
                    "{}: nothing to pull; scripts/setup.sh builds it",
                    model.name
                );
            }
            continue;
        };
        let files: Vec<WantedFile> = set.all().map(wanted_file).collect();
        let mut shown = Transfer::new(args.json);
        let snapshot = pull_files(repository, revision, &files, &hub, &mut |event| {
            shown.event(event);
        })?;
        for file in snapshot.files {
            document.files.push(PulledEntry {
                model: model.name.clone(),
                repository: repository.clone(),
                commit: snapshot.commit.clone(),
                file: file.name,
                path: file.path,
                bytes: file.bytes,
            });
        }
        if !args.json {
            println!(
                "{}: complete, {repository} at commit {}",
                model.name, snapshot.commit
            );
        }
    }
    if args.json {
        print_json(&document)?;
    }
    Ok(Ending::Done)
}

fn wanted_file(file: &FileSpec) -> WantedFile {
    match &file.sha256 {
        Some(sha256) => WantedFile::pinned(&file.path, sha256),
        None => WantedFile::new(&file.path),
    }
}

/// The models of a profile, or the one model of that name, each once, with the
/// files of the precision asked for where there is such a one.
fn wanted<'a>(
    catalogue: &'a Catalogue,
    name: &str,
    precision: Option<&str>,
) -> Result<Vec<(&'a ModelSpec, &'a FileSet)>> {
    let precision: Option<Precision> = precision.map(str::parse).transpose()?;
    let mut models = match catalogue.profile(name) {
        Ok(profile) => vec![
            (
                catalogue.model(&profile.embedder.model)?,
                profile.embedder.precision,
            ),
            (
                catalogue.model(&profile.reranker.model)?,
                profile.reranker.precision,
            ),
        ],
        Err(no_profile) => {
            let model = catalogue.model(name).map_err(|_| no_profile)?;
            let first = model.files.keys().next().copied();
            vec![(model, first.context("the model has no files")?)]
        }
    };
    models.dedup_by(|a, b| a.0.name == b.0.name && a.1 == b.1);
    models
        .into_iter()
        .map(|(model, default)| {
            let precision = precision
                .filter(|p| model.files.contains_key(p))
                .unwrap_or(default);
            Ok((model, model.files(precision)?))
        })
        .collect()
}

#[derive(Serialize)]
struct VerifyDocument {
    files: Vec<VerifiedEntry>,
}

#[derive(Serialize)]
struct VerifiedEntry {
    model: String,
    file: String,
    sound: bool,
    /// The file's SHA-256 where it was computed, or what is wrong.
    said: String,
}

pub fn verify(context: &mut Context, args: ModelsVerifyArgs) -> Result<Ending> {
    let none = ModelArgs {
        profile: args.profile,
        precision: args.precision,
        device: None,
        threads: None,
        rerank_cache: None,
        fusion: None,
        blend: None,
    };
    let settings = context.settings.models(&none)?;
    let catalogue = catalogue(settings.catalogue.as_ref())?;
    let hub = hub()?;
    let mut document = VerifyDocument { files: Vec::new() };
    for (model, set) in wanted(&catalogue, &settings.profile, settings.precision.as_deref())? {
        for file in set.all() {
            let checked = check(context, &hub, set, file);
            document.files.push(VerifiedEntry {
                model: model.name.clone(),
                file: file.path.clone(),
                sound: checked.is_ok(),
                said: checked.unwrap_or_else(|error| one_line(error.as_ref())),
            });
        }
    }
    let sound = document.files.iter().all(|file| file.sound);
    if args.json {
        print_json(&document)?;
    } else {
        for file in &document.files {
            let verdict = if file.sound { "sound" } else { "damaged" };
            println!("{} {}: {verdict}: {}", file.model, file.file, file.said);
        }
    }
    Ok(if sound { Ending::Done } else { Ending::Partly })
}

/// Hashes a file in full and compares it with what is known of it.
fn check(context: &Context, hub: &HubConfig, set: &FileSet, file: &FileSpec) -> Result<String> {
    match &set.source {
        Source::Hub {
            hub: repository,
            revision,
        } => {
            let cached = verify_cached(hub, repository, revision, &wanted_file(file))?;
            Ok(cached
                .sha256
                .unwrap_or_else(|| format!("{} bytes", cached.bytes)))
        }
        Source::Built { .. } => {
            let path = locate(&context.home, Some(hub), &set.source, file)
                .filter(|path| path.is_file())
                .with_context(|| format!("{} is missing; run scripts/setup.sh", file.path))?;
            let found = DigestCache::none().sha256(&path)?;
            match &file.sha256 {
                Some(pinned) if *pinned != found => anyhow::bail!(
                    "{} has the SHA-256 {found}, not {pinned}; delete it and run scripts/setup.sh",
                    path.display()
                ),
                _ => Ok(found),
            }
        }
    }
}

fn hub() -> Result<HubConfig> {
    Ok(HubConfig::from_env(|name| std::env::var(name).ok())?)
}

/// Shows a pull: a bar in a terminal, plain lines elsewhere.
struct Transfer {
    quiet: bool,
    bar: Option<ProgressBar>,
    spoke: Instant,
}

impl Transfer {
    fn new(quiet: bool) -> Self {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template(
                "{msg} {bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
            ) {
                bar.set_style(style);
            }
            bar
        });
        Self {
            quiet,
            bar,
            spoke: Instant::now(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Cached { file, bytes } => {
                self.say(&format!("{file}: in the cache, {} bytes", grouped(bytes)));
            }
            Event::Waiting { file } => {
                self.say(&format!("{file}: another process is fetching it; waiting"));
            }
            Event::Progress { file, done, total } => self.progress(file, done, total),
            Event::Verifying { file } => self.say(&format!("{file}: verifying")),
            Event::Retrying { file, wait, reason } => {
                self.say(&format!(
                    "{file}: {reason}; trying again in {} s",
                    wait.as_secs()
                ));
            }
            Event::Fetched { file, bytes } => {
                self.say(&format!("{file}: fetched, {} bytes", grouped(bytes)));
            }
            _ => {}
        }
    }

    fn progress(&mut self, file: &str, done: u64, total: Option<u64>) {
        if let Some(bar) = &self.bar {
            bar.set_message(file.to_owned());
            bar.set_length(total.unwrap_or(done));
            bar.set_position(done);
        } else if self.spoke.elapsed() >= Duration::from_secs(10) {
            self.spoke = Instant::now();
            let of = total
                .map(|total| format!(" of {}", grouped(total)))
                .unwrap_or_default();
            self.say(&format!("{file}: {}{of} bytes", grouped(done)));
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.quiet => {}
            None => eprintln!("{line}"),
        }
    }
}
