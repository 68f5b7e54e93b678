//! A loaded model: tokenizer, sessions, identity.

use std::io;
use std::sync::Arc;

use quire_model::{Call, ModelError};

use crate::batch::BatchRule;
use crate::catalogue::{CatalogueError, ModelSpec, Precision};
use crate::device::DeviceChoice;
use crate::digest::DigestCache;
use crate::feed::{Done, Encode, Failure, run_each};
use crate::files::{FilesError, Identity, ModelFiles};
use crate::handoff::HandOff;
use crate::queue::{Limits, Queue};
use crate::run::{RunError, TextOutput};
use crate::runtime::Runtime;
use crate::session::{Graph, SessionError, SessionOptions, open};
use crate::stats::ModelStats;
use crate::text::{TextTokenizer, TokenizerError};
use crate::worker::Workers;

/// A model that is loaded and has proven that it runs. Shared: the small
/// profile embeds and reranks with one, and all callers share its queue.
pub struct OnnxModel {
    spec: ModelSpec,
    precision: Precision,
    revision: String,
    identity: Identity,
    device: DeviceChoice,
    tokenizer: Arc<TextTokenizer>,
    workers: Workers,
    hand_off: HandOff,
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
        let rule = BatchRule {
            budget: options.budget_on(opened.device.device),
            mates: set.batch,
            max_tokens: spec.max_tokens,
            pad_id: spec.pad_id,
        };
        let limits = Limits {
            questions: options.queue,
            linger: options.linger,
        };
        let queue = Queue::new(rule, limits);
        let workers = Workers::start(&spec.name, opened.sessions, queue).map_err(|source| {
            LoadError::Threads {
                model: spec.name.clone(),
                source,
            }
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
            device: opened.device,
            workers,
            hand_off: HandOff::default(),
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

    /// What it has done so far and is doing.
    pub fn stats(&self) -> ModelStats {
        let stats = self.workers.queue().stats();
        ModelStats {
            model_time: stats.model_time / self.workers.len().max(1) as u32,
            ..stats
        }
    }

    /// What the embedder leaves for late interaction.
    pub(crate) fn hand_off(&self) -> &HandOff {
        &self.hand_off
    }

    /// How many of the longest texts keep every worker busy for one run.
    pub(crate) fn texts_at_once(&self) -> usize {
        let rule = self.workers.queue().rule();
        self.workers.len() * rule.rows_of(rule.max_tokens)
    }

    pub(crate) fn error(
        &self,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> ModelError {
        ModelError::new(&self.spec.name, cause)
    }

    /// Runs the model over `texts` texts. `encode` gives each one's tokens,
    /// `read` takes one value a text from the output, on a worker's thread, and
    /// `done` gets values as soon as there are any, until it breaks.
    pub(crate) fn run_each<T: Send + 'static>(
        &self,
        texts: usize,
        call: &Call,
        encode: &Encode<'_>,
        read: impl Fn(&TextOutput<'_>) -> Result<T, RunError> + Send + Sync + 'static,
        done: &mut Done<'_, T>,
    ) -> Result<(), ModelError> {
        let queue = self.workers.queue();
        run_each(queue, texts, call, encode, read, done).map_err(|failure| match failure {
            Failure::Stopped(stop) => self.error(stop),
            Failure::Tokenizer(error) => self.error(error),
            Failure::Run(error) => self.error(error),
        })
    }
}
