//! A loaded model: tokenizer, sessions, identity.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::time::Duration;

use ort::session::Session;
use quire_model::ModelError;

use crate::batch::{Batch, BatchRule};
use crate::catalogue::{CatalogueError, ModelSpec, Precision};
use crate::device::DeviceChoice;
use crate::digest::DigestCache;
use crate::files::{FilesError, Identity, ModelFiles};
use crate::run::{Output, Ports, RunError, run};
use crate::runtime::Runtime;
use crate::session::{Graph, SessionError, SessionOptions, open};
use crate::text::{Encoded, TextTokenizer, TokenizerError};
use crate::worker::{Reply, Workers};

/// Texts that are tokenized and sorted by length at a time: enough to fill
/// batches, few enough that a resumed run loses little.
const WINDOW: usize = 256;

/// A model that is loaded and has proven that it runs. Shared: the small
/// profile embeds and reranks with one.
pub struct OnnxModel {
    spec: ModelSpec,
    precision: Precision,
    revision: String,
    identity: Identity,
    device: DeviceChoice,
    tokenizer: Arc<TextTokenizer>,
    rule: BatchRule,
    workers: Workers<Session>,
    ports: Arc<Ports>,
    /// Nanoseconds that sessions were running, over all workers.
    busy: Arc<AtomicU64>,
    counts: Counts,
}

/// A model that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its files are missing or not the right ones.
    #[error(transparent)]
    Files(Box<FilesError>),
    /// The catalogue has no such files.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Its tokenizer cannot be read.
    #[error("cannot load the model {model}")]
    Tokenizer {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: TokenizerError,
    },
    /// Its graph cannot be opened, or not where it was asked for.
    #[error("cannot load the model {model}")]
    Session {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: SessionError,
    },
    /// Its threads cannot be started.
    #[error("cannot start the threads of the model {model}")]
    Threads {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It does something else.
    #[error("the model {model} is not {wanted}")]
    Kind {
        /// The model.
        model: String,
        /// What it should have been.
        wanted: &'static str,
    },
}

impl From<FilesError> for LoadError {
    fn from(error: FilesError) -> Self {
        Self::Files(Box::new(error))
    }
}

/// What a model has done since it was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchStats {
    /// Texts, or pairs.
    pub texts: u64,
    /// Texts that were cut short.
    pub truncated: u64,
    /// Runs of a session.
    pub batches: u64,
    /// Tokens, without padding.
    pub tokens: u64,
    /// Tokens computed, padding included.
    pub padded_tokens: u64,
    /// Time in which the sessions ran, added up over the workers and divided
    /// by their number: what of the wall clock was the model.
    pub model_time: Duration,
}

impl BatchStats {
    /// The share of the computed tokens that was padding, from 0 to 1.
    pub fn padding_share(&self) -> f64 {
        if self.padded_tokens == 0 {
            return 0.0;
        }
        1.0 - self.tokens as f64 / self.padded_tokens as f64
    }
}

#[derive(Debug, Default)]
struct Counts {
    texts: AtomicU64,
    truncated: AtomicU64,
    batches: AtomicU64,
    tokens: AtomicU64,
    padded_tokens: AtomicU64,
}

impl OnnxModel {
    /// Loads a model: reads its identity, checks pinned digests, opens its
    /// sessions on the device asked for and runs each graph once.
    ///
    /// # Errors
    /// When a file is missing, damaged or not the pinned one, when the graph
    /// is not what the catalogue says, or when the device is not usable.
    pub fn load(
        runtime: &Runtime,
        spec: &ModelSpec,
        precision: Precision,
        files: &ModelFiles,
        digests: &DigestCache,
        options: &SessionOptions,
    ) -> Result<Arc<Self>, LoadError> {
        let set = spec.files(precision)?;
        let graph = Graph {
            path: &files.graph,
            outputs: &spec.output,
        };
        // Reading the vocabulary takes about as long as opening the graph.
        let (tokenizer, identity, opened) = std::thread::scope(|scope| {
            let tokenizer = scope.spawn(|| TextTokenizer::load(&spec.name, &files.tokenizer));
            let identity = files.identify(spec, precision, digests);
            let opened = identity.is_ok().then(|| open(runtime, &graph, options));
            let tokenizer = tokenizer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (tokenizer, identity, opened)
        });
        let identity = identity?;
        let tokenizer = tokenizer.map_err(|source| LoadError::Tokenizer {
            model: spec.name.clone(),
            source,
        })?;
        let opened = opened
            .unwrap_or_else(|| open(runtime, &graph, options))
            .map_err(|source| LoadError::Session {
                model: spec.name.clone(),
                source,
            })?;
        let workers =
            Workers::start(&spec.name, opened.sessions).map_err(|source| LoadError::Threads {
                model: spec.name.clone(),
                source,
            })?;
        tracing::info!(
            model = spec.name,
            %precision,
            device = %opened.device.device,
            reason = opened.device.reason,
            workers = workers.len(),
            threads = options.threads,
            "model loaded"
        );
        Ok(Arc::new(Self {
            spec: spec.clone(),
            precision,
            revision: set.source.revision().to_owned(),
            identity,
            tokenizer: Arc::new(tokenizer),
            rule: BatchRule {
                budget: options.budget_on(opened.device.device),
                mates: set.batch,
                max_tokens: spec.max_tokens,
                pad_id: spec.pad_id,
            },
            device: opened.device,
            workers,
            ports: Arc::new(opened.ports),
            busy: Arc::default(),
            counts: Counts::default(),
        }))
    }

    /// The catalogue's entry.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// At which precision it computes.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The source's revision of its files.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// What identifies its files.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where it runs, and why there.
    pub fn device(&self) -> &DeviceChoice {
        &self.device
    }

    /// Its tokenizer, to cut passages by.
    pub fn tokenizer(&self) -> Arc<TextTokenizer> {
        Arc::clone(&self.tokenizer)
    }

    /// What it has done so far.
    pub fn stats(&self) -> BatchStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        BatchStats {
            texts: read(&self.counts.texts),
            truncated: read(&self.counts.truncated),
            batches: read(&self.counts.batches),
            tokens: read(&self.counts.tokens),
            padded_tokens: read(&self.counts.padded_tokens),
            model_time: Duration::from_nanos(read(&self.busy) / self.workers.len().max(1) as u64),
        }
    }

    pub(crate) fn error(
        &self,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> ModelError {
        ModelError::new(&self.spec.name, cause)
    }

    /// Runs the model over `texts` texts. `encode` gives each one's tokens,
    /// `read` takes one value a text from a batch's output, on the worker's
    /// thread, and `done` gets a batch's values as soon as there are any.
    /// Tokenizing the next window overlaps the model's work on this one.
    pub(crate) fn run_each<T: Send + 'static>(
        &self,
        texts: usize,
        encode: &(dyn Fn(usize) -> Result<Encoded, TokenizerError> + Sync),
        read: impl Fn(&Batch, &Output<'_>) -> Result<Vec<T>, RunError> + Clone + Send + 'static,
        done: &mut dyn FnMut(&Batch, Vec<T>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        let window = |start: usize| -> Result<Vec<Batch>, TokenizerError> {
            let texts = (start..texts.min(start + WINDOW))
                .map(|index| Ok((index, encode(index)?)))
                .collect::<Result<_, _>>()?;
            Ok(self.rule.batches(texts))
        };
        if texts <= WINDOW {
            return self.run_windows(std::iter::once(window(0)), read, done);
        }
        std::thread::scope(|scope| {
            let (windows, ready) = sync_channel(1);
            scope.spawn(move || {
                for start in (0..texts).step_by(WINDOW) {
                    // An error, or nobody listening: either way the last.
                    let window = window(start);
                    let last = window.is_err();
                    if windows.send(window).is_err() || last {
                        return;
                    }
                }
            });
            self.run_windows(ready, read, done)
        })
    }

    fn run_windows<T: Send + 'static>(
        &self,
        windows: impl IntoIterator<Item = Result<Vec<Batch>, TokenizerError>>,
        read: impl Fn(&Batch, &Output<'_>) -> Result<Vec<T>, RunError> + Clone + Send + 'static,
        done: &mut dyn FnMut(&Batch, Vec<T>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        let (reply, replies) = channel::<Reply<Vec<T>>>();
        let mut waiting = 0;
        for window in windows {
            for batch in window.map_err(|error| self.error(error))? {
                if waiting == self.workers.depth() {
                    waiting -= 1;
                    if self.take(&replies, done)?.is_break() {
                        return Ok(());
                    }
                }
                let (ports, busy, read) = (self.ports.clone(), self.busy.clone(), read.clone());
                let work = move |session: &mut Session, batch: &Batch| {
                    run(session, &ports, batch, &busy, read)
                };
                self.workers
                    .submit(batch, work, &reply)
                    .map_err(|error| self.error(error))?;
                waiting += 1;
            }
        }
        for _ in 0..waiting {
            if self.take(&replies, done)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for one batch and hands it on.
    fn take<T>(
        &self,
        replies: &Receiver<Reply<Vec<T>>>,
        done: &mut dyn FnMut(&Batch, Vec<T>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ModelError> {
        let (batch, values) = replies.recv().map_err(|_| self.error(RunError::Ended))?;
        let values = values.map_err(|error| self.error(error))?;
        let add = |count: &AtomicU64, number: usize| {
            count.fetch_add(number as u64, Ordering::Relaxed);
        };
        let truncated = batch.rows.iter().filter(|row| row.truncated).count();
        add(&self.counts.texts, batch.rows.len());
        add(&self.counts.truncated, truncated);
        add(&self.counts.batches, 1);
        add(&self.counts.tokens, batch.tokens());
        add(&self.counts.padded_tokens, batch.ids.len());
        Ok(done(&batch, values))
    }
}
