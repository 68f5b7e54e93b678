//! How fast books are indexed, and what that takes.

use std::collections::BTreeMap;
use std::time::Instant;

use quire_corpus::ReadOptions;
use quire_engine::ModelSource;
use quire_index::{Machine, Manifest, Recipe, Store};
use quire_indexer::{Indexer, Outcome, Reporter, Source};
use serde::Serialize;

use crate::BenchError;
use crate::process::Process;

/// What indexing took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexReport {
    /// Books that were indexed.
    pub books: usize,
    /// Sources and books that could not be.
    pub failed: usize,
    /// Their passages.
    pub passages: u64,
    /// Their tokens, as cutting counted them.
    pub tokens: u64,
    /// Seconds until the models were loaded.
    pub load_seconds: f64,
    /// Seconds from the first source read to the last book committed.
    pub seconds: f64,
    /// Tokens in those.
    pub tokens_per_second: f64,
    /// Books in those.
    pub books_per_second: f64,
    /// The stages, and `read_and_commit`: what lies around them. Those that
    /// run side by side add up to more than the whole.
    pub stages: Vec<StageShare>,
    /// The share of the embedding model, the stage `embed`, in `seconds`.
    pub model_share: f64,
    /// The most memory this process held, in bytes; `None` where the system
    /// does not say.
    pub peak_memory: Option<u64>,
    /// Disk used.
    pub disk: Disk,
    /// The recipe's key.
    pub recipe: String,
    /// The device the embedder ran on.
    pub device: Option<String>,
    /// The machine.
    pub machine: Machine,
}

/// What one stage took of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageShare {
    /// Its name, as in a manifest.
    pub stage: String,
    /// Its seconds, over all books.
    pub seconds: f64,
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Bytes of canonical text.
    pub text: u64,
    /// Bytes of all the artifacts' files.
    pub artifacts: u64,
    /// Those by the first part of their path, such as `bm25`.
    pub parts: BTreeMap<String, u64>,
}

/// Indexes sources into a new folder, which is removed again, and reports what
/// that took. Models are loaded first, and their loading is timed apart.
///
/// # Errors
/// When the folder or the models fail. A source that fails is counted.
pub fn index_books(
    sources: &[Source],
    read: ReadOptions,
    recipe: &Recipe,
    models: &dyn ModelSource,
    reporter: &mut dyn Reporter,
) -> Result<IndexReport, BenchError> {
    let folder = tempfile::Builder::new()
        .prefix("quire-bench-")
        .tempdir()
        .map_err(|source| BenchError::System {
            action: "make a temporary data folder; set TMPDIR to where there is room",
            source,
        })?;
    let store = Store::open(folder.path())?;
    let started = Instant::now();
    models.models()?;
    let load_seconds = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let reports = Indexer {
        store: &store,
        recipe,
        read,
        models,
    }
    .run(sources, reporter);
    let seconds = started.elapsed().as_secs_f64();

    let mut failed = 0;
    let mut manifests = Vec::new();
    for report in &reports {
        let Ok(books) = &report.books else {
            failed += 1;
            continue;
        };
        for book in books {
            match &book.outcome {
                Ok(Outcome::Built(built)) => manifests.push(built.artifact.manifest()),
                Ok(Outcome::SameText) => {}
                Err(_) => failed += 1,
            }
        }
    }
    Ok(report(&manifests, failed, load_seconds, seconds, recipe))
}

fn report(
    manifests: &[&Manifest],
    failed: usize,
    load_seconds: f64,
    seconds: f64,
    recipe: &Recipe,
) -> IndexReport {
    let sum = |count: fn(&Manifest) -> u64| manifests.iter().map(|m| count(m)).sum::<u64>();
    let mut stages: BTreeMap<&str, f64> = BTreeMap::new();
    let mut disk = Disk {
        text: sum(|manifest| manifest.counts.text_bytes),
        ..Disk::default()
    };
    for manifest in manifests {
        for (stage, seconds) in &manifest.build.seconds {
            *stages.entry(stage).or_default() += seconds;
        }
        for file in &manifest.files {
            let part = file.path.split('/').next().unwrap_or_default();
            *disk.parts.entry(part.to_owned()).or_default() += file.bytes;
            disk.artifacts += file.bytes;
        }
    }
    let built = stages.remove("total").unwrap_or_default();
    stages.insert("read_and_commit", (seconds - built).max(0.0));
    let share = |part: f64| if seconds > 0.0 { part / seconds } else { 0.0 };
    let tokens = sum(|manifest| manifest.counts.tokens);
    let memory = Process::own().memory().ok();
    IndexReport {
        books: manifests.len(),
        failed,
        passages: sum(|manifest| manifest.counts.passages),
        tokens,
        load_seconds,
        seconds,
        tokens_per_second: share(tokens as f64),
        books_per_second: share(manifests.len() as f64),
        model_share: share(stages.get("embed").copied().unwrap_or_default()),
        stages: stages
            .iter()
            .map(|(stage, seconds)| StageShare {
                stage: (*stage).to_owned(),
                seconds: *seconds,
                share: share(*seconds),
            })
            .collect(),
        peak_memory: memory
            .map(|memory| memory.high_water_mark)
            .filter(|bytes| *bytes > 0),
        disk,
        recipe: recipe.key().to_string(),
        device: manifests.first().map(|m| m.build.device.clone()),
        machine: Machine::detect(),
    }
}
