//! One build, from a book to its committed artifact.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use quire_corpus::{CutPolicy, Passages, SourceBook, SplitterError, TokenSplitter, cut};
use quire_index::{
    ArtifactDir, ArtifactKey, Begin, Build, ChapterRecord, Counts, Kind, LoggedEmbedding, Machine,
    Manifest, PassageRecord, PassageTable, Recipe, ResumeLog, SourceRecord, Staging, Store,
    rfc3339,
};
use quire_model::{Call, ModelError, Role, Stop, Tokenizer};

use crate::models::reranker_record;
use crate::{EngineError, ModelSource, Models, StageName, dense};

/// Where the lexical view lies in an artifact.
pub(crate) const LEXICAL: &str = "bm25";
/// Where the dense view lies in an artifact.
pub(crate) const DENSE: &str = "dense";

/// What a build does, as it does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildEvent {
    /// Another process builds the same artifact.
    Waiting,
    /// The book is cut.
    Cut {
        /// Into how many passages.
        passages: usize,
        /// Of how many tokens together.
        tokens: u64,
        /// Tokens of passages an earlier, interrupted run has embedded.
        resumed: u64,
    },
    /// Passages are embedded.
    Embedded {
        /// Tokens so far, those of an earlier run included.
        done: u64,
        /// Tokens in all.
        total: u64,
    },
}

/// Told what a build does; called from the build's threads.
pub trait Progress: Sync {
    /// Something happened.
    fn event(&self, event: BuildEvent);

    /// Whether the build is to stop. Asked after each batch; what is embedded
    /// by then is kept, and the next build goes on from there.
    fn stopped(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn event(&self, _: BuildEvent) {}
}

/// A book's artifact.
#[derive(Debug)]
pub struct Built {
    /// The artifact.
    pub artifact: ArtifactDir,
    /// Whether this call built it or found it.
    pub how: How,
}

/// How an artifact came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was there; nothing but the text's hash was computed.
    Found,
    /// Built by this call.
    Fresh,
    /// Built by this call from what an interrupted one left.
    Resumed,
}

/// Builds a book's artifact, unless it is there. Killed at any moment, the
/// next call goes on from the last finished batch; of two processes that build
/// the same one, one builds and the other finds it.
///
/// # Errors
/// When a stage fails, the book has no text to cut, or the store refuses.
pub fn build(
    store: &Store,
    book: &SourceBook,
    recipe: &Recipe,
    models: &dyn ModelSource,
    progress: &dyn Progress,
) -> Result<Built, EngineError> {
    build_with(store, book, recipe, models, progress, |models| {
        cut_book(book, recipe, models)
    })
}

/// [`build`] from passages that are given instead of cut, such as the
/// paragraphs of a judged data set. The recipe should say so: see
/// [`given_passages`](crate::given_passages).
///
/// # Errors
/// Those of [`build`].
pub fn build_given(
    store: &Store,
    book: &SourceBook,
    passages: &Passages,
    recipe: &Recipe,
    models: &dyn ModelSource,
    progress: &dyn Progress,
) -> Result<Built, EngineError> {
    build_with(store, book, recipe, models, progress, |models| {
        counted(book, passages, models.tokenizer.as_ref())
    })
}

fn build_with(
    store: &Store,
    book: &SourceBook,
    recipe: &Recipe,
    models: &dyn ModelSource,
    progress: &dyn Progress,
    passages: impl FnOnce(&Models) -> Result<Passages, EngineError>,
) -> Result<Built, EngineError> {
    let key = ArtifactKey::new(book.id, recipe.key());
    let staging = match store.begin_or_wait(key, || progress.event(BuildEvent::Waiting))? {
        Begin::Committed(artifact) => {
            // Found is sound: who is told that a book is there relies on it.
            artifact.check()?;
            return Ok(Built {
                artifact: *artifact,
                how: How::Found,
            });
        }
        Begin::Staging(staging) => staging,
    };
    let how = if staging.resumed() {
        How::Resumed
    } else {
        How::Fresh
    };
    let models = models.models()?;
    let started = SystemTime::now();
    let mut clock = Clock::start();

    let passages = clock.time("cut", || passages(&models))?;
    if passages.chunks.is_empty() {
        staging.discard()?;
        return Err(EngineError::NothingToIndex(book.id));
    }
    let table = table_of(&passages, &book.text)
        .map_err(|error| EngineError::stage(StageName::Cut, error))?;
    table.write(&book.text, &staging)?;
    let texts: Vec<&str> = passages
        .chunks
        .iter()
        .map(|chunk| &book.text[chunk.span.clone()])
        .collect();

    let (lexical, embedded) = thread::scope(|threads| {
        let lexical = threads.spawn(|| timed(|| build_lexical(&staging, &texts)));
        let embedded = timed(|| embed_passages(&staging, &table, &texts, &models, progress));
        let lexical = lexical
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (lexical, embedded)
    });
    let terms = clock.add("lexical", lexical)?;
    let Embedded { mut log, tokens } = clock.add("embed", embedded)?;
    let folder = staging.dir().join(DENSE);
    clock.time("dense", || {
        dense::write_logged(&folder, recipe, texts.len(), &mut log)
    })?;
    drop(log);

    let seconds = clock.finish();
    let manifest = Manifest {
        kind: Kind::Book,
        books: vec![book.id],
        recipe_key: recipe.key().to_string(),
        recipe: recipe.clone(),
        files: Vec::new(),
        counts: Counts {
            passages: table.len() as u64,
            tokens: table.tokens(),
            text_bytes: book.text.len() as u64,
            body: table.body(),
            chapters: table.chapters().len() as u64,
            terms,
        },
        reranker: Some(reranker_record(models.reranker.info())),
        build: Build {
            tool: tool(),
            started: rfc3339(started),
            embedded_tokens: tokens,
            tokens_per_second: seconds
                .get("embed")
                .filter(|seconds| tokens > 0 && **seconds > 0.0)
                .map(|seconds| tokens as f64 / seconds),
            seconds,
            machine: Machine::detect(),
            device: models.device.clone(),
        },
        source: Some(source_record(book)),
    };
    let artifact = staging.commit(manifest)?;
    Ok(Built { artifact, how })
}

/// Name and version, as manifests and fingerprints record them.
pub(crate) fn tool() -> String {
    concat!("quire ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// Seconds each stage took.
pub(crate) struct Clock {
    started: Instant,
    seconds: BTreeMap<String, f64>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            seconds: BTreeMap::new(),
        }
    }

    pub(crate) fn time<T>(&mut self, stage: &str, run: impl FnOnce() -> T) -> T {
        let (outcome, seconds) = timed(run);
        self.seconds.insert(stage.to_owned(), seconds);
        outcome
    }

    fn add<T>(&mut self, stage: &str, (outcome, seconds): (T, f64)) -> T {
        self.seconds.insert(stage.to_owned(), seconds);
        outcome
    }

    /// The stages' seconds and those from the start, as `total`: stages run
    /// side by side, so they do not add up.
    pub(crate) fn finish(mut self) -> BTreeMap<String, f64> {
        self.seconds
            .insert("total".to_owned(), self.started.elapsed().as_secs_f64());
        self.seconds
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let outcome = run();
    (outcome, started.elapsed().as_secs_f64())
}

/// The model's tokenizer, as cutting wants it.
struct Splitter(Arc<dyn Tokenizer>);

impl TokenSplitter for Splitter {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError> {
        Ok(self.0.token_ends(text)?)
    }
}

fn cut_book(book: &SourceBook, recipe: &Recipe, models: &Models) -> Result<Passages, EngineError> {
    let policy = CutPolicy {
        max_tokens: recipe.cut.max_tokens,
        keep_boilerplate: recipe.cut.keep_boilerplate,
    };
    cut(
        &book.text,
        &policy,
        &Splitter(Arc::clone(&models.tokenizer)),
    )
    .map_err(|error| EngineError::stage(StageName::Cut, error))
}

/// Given passages with their tokens counted.
fn counted(
    book: &SourceBook,
    passages: &Passages,
    tokenizer: &dyn Tokenizer,
) -> Result<Passages, EngineError> {
    let mut passages = passages.clone();
    for chunk in &mut passages.chunks {
        let ends = tokenizer
            .token_ends(&book.text[chunk.span.clone()])
            .map_err(|error| EngineError::stage(StageName::Cut, error))?;
        chunk.tokens = ends.len() as u32;
    }
    Ok(passages)
}

fn table_of(passages: &Passages, text: &str) -> Result<PassageTable, quire_index::PassageError> {
    let records = passages.chunks.iter().map(|chunk| PassageRecord {
        start: chunk.span.start as u64,
        end: chunk.span.end as u64,
        chapter: chunk.chapter,
        tokens: chunk.tokens,
    });
    let chapters = passages.chapters.iter().map(|chapter| ChapterRecord {
        title: chapter.title.clone(),
        start: chapter.start as u64,
    });
    PassageTable::new(records.collect(), chapters.collect(), text)
}

/// Builds the lexical view; gives its number of distinct terms.
pub(crate) fn build_lexical(staging: &Staging, texts: &[&str]) -> Result<u64, EngineError> {
    let folder = staging.dir().join(LEXICAL);
    let stats = quire_bm25::build(&folder, texts)
        .map_err(|error| EngineError::stage(StageName::BuildLexical, error))?;
    Ok(stats.terms)
}

struct Embedded {
    log: ResumeLog,
    /// Tokens this run embedded.
    tokens: u64,
}

/// Embeds every passage that the resume log does not hold yet, and appends
/// each finished batch to it.
fn embed_passages(
    staging: &Staging,
    table: &PassageTable,
    texts: &[&str],
    models: &Models,
    progress: &dyn Progress,
) -> Result<Embedded, EngineError> {
    let failed = |error: ModelError| EngineError::stage(StageName::EmbedPassages, error);
    let dims = models.embedder.info().dims;
    let mut log = ResumeLog::open(&staging.scratch("embeddings.log")?, staging.key(), dims)
        .map_err(quire_index::StoreError::from)?;
    let of_passage = |ordinal: u32| u64::from(table.get(ordinal).map_or(0, |p| p.tokens));
    let total = table.tokens();
    let mut done: u64 = log.done().map(of_passage).sum();
    progress.event(BuildEvent::Cut {
        passages: texts.len(),
        tokens: total,
        resumed: done,
    });

    let missing: Vec<u32> = (0..texts.len() as u32)
        .filter(|ordinal| !log.is_done(*ordinal))
        .collect();
    let missing_texts: Vec<&str> = missing.iter().map(|&at| texts[at as usize]).collect();
    let mut tokens = 0;
    let mut outcome = Ok(());
    let mut stopped = false;
    models
        .embedder
        .embed_each(&missing_texts, Role::Passage, &Call::bulk(), &mut |batch| {
            let batch: Vec<LoggedEmbedding> = batch
                .into_iter()
                .map(|(at, embedding)| LoggedEmbedding {
                    ordinal: missing[at],
                    tokens: embedding.tokens,
                    truncated: embedding.truncated,
                    vector: embedding.vector,
                })
                .collect();
            tokens += batch.iter().map(|e| u64::from(e.tokens)).sum::<u64>();
            done += batch.iter().map(|e| of_passage(e.ordinal)).sum::<u64>();
            outcome = log.append(&batch);
            progress.event(BuildEvent::Embedded { done, total });
            stopped = progress.stopped();
            if outcome.is_ok() && !stopped {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .map_err(failed)?;
    outcome.map_err(|error| EngineError::stage(StageName::EmbedPassages, error))?;
    if stopped && done < total {
        return Err(EngineError::Stopped {
            stage: StageName::EmbedPassages,
            stop: Stop::Cancelled,
        });
    }
    Ok(Embedded { log, tokens })
}

fn source_record(book: &SourceBook) -> SourceRecord {
    let report = &book.report;
    SourceRecord {
        path: (book.source != "-").then(|| book.source.clone()),
        title: book.title.clone(),
        author: book.author.clone(),
        format: report.format.to_string(),
        encoding: report.encoding.name.clone(),
        how: report.encoding.how.to_string(),
        confidence: f64::from(report.encoding.confidence),
        malformed: report.malformed.count,
        problems: report
            .problems
            .iter()
            .map(|p| format!("{}: {}", p.part, p.what))
            .collect(),
    }
}
