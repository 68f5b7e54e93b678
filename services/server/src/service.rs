//! The service: everything a request may need, put together once.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use quire_corpus::ReadOptions;
use quire_engine::Models;
use quire_index::{Recipe, Store};
use quire_indexer::jobs::{JobError, JobHooks, JobOptions, JobParts, JobQueue, JobReport};
use quire_traces::{TraceError, TraceLogOptions};
use tokio::sync::Semaphore;

use crate::ask::Answerers;
use crate::config::ServiceConfig;
use crate::pool::Pool;
use crate::problem::{Code, Problem};
use crate::readiness::Prover;
use crate::routes::jobs::count_jobs;
use crate::shelf::Shelf;
use crate::telemetry::{Exporter, Metrics, ModelStats};
use crate::traces::Traces;

/// Threads for what is short but may wait for the disk: passages, jobs,
/// traces, deletions.
const CHORE_THREADS: usize = 4;
/// How many of those may wait.
const CHORE_QUEUE: usize = 128;

/// What the service works with.
#[derive(Clone)]
pub struct Parts {
    /// The loaded models.
    pub models: Models,
    /// Where the books are.
    pub store: Store,
    /// Which of their indexes are searched, and how uploads are indexed.
    pub recipe: Recipe,
    /// How uploads are read; its limits bound archives.
    pub read: ReadOptions,
    /// How much uploads may take; the bytes of a job come from
    /// [`Limits`](crate::Limits).
    pub jobs: JobOptions,
    /// How much the trace log may hold.
    pub traces: TraceLogOptions,
    /// What answers questions.
    pub answerers: Answerers,
    /// What the models say of their batches, if they do.
    pub model_stats: Option<Arc<dyn ModelStats>>,
}

impl Parts {
    /// These, the rest as it is by default.
    pub fn new(models: Models, store: Store, recipe: Recipe) -> Self {
        Self {
            answerers: Answerers::built_in(&models),
            models,
            store,
            recipe,
            read: ReadOptions::default(),
            jobs: JobOptions::default(),
            traces: TraceLogOptions::default(),
            model_stats: None,
        }
    }
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Everybody in reach could ask.
    #[error(
        "without keys the service listens on this machine alone, and {address} is in reach of \
         others: write a key file, or listen on 127.0.0.1"
    )]
    KeysNeeded {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The operating system starts no thread.
    #[error("cannot start the threads of the service; allow more threads or ask for fewer")]
    Threads(#[source] std::io::Error),
    /// The jobs cannot be taken over.
    #[error("cannot take over the upload jobs")]
    Jobs(#[from] JobError),
    /// The trace log cannot be opened.
    #[error("cannot open the trace log")]
    Traces(#[from] TraceError),
    /// The address to listen on is not known.
    #[error("cannot tell the address to listen on")]
    Address(#[source] std::io::Error),
}

/// The service, started: its threads run, its books are being opened. Give it
/// to [`run`](crate::run) to answer requests.
pub struct Service {
    pub(crate) app: Arc<App>,
}

/// Everything a request may need.
pub(crate) struct App {
    pub(crate) config: ServiceConfig,
    pub(crate) models: Models,
    pub(crate) answerers: Answerers,
    pub(crate) queries: Pool,
    pub(crate) answers: Pool,
    pub(crate) chores: Pool,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) traces: Traces,
    jobs: Option<JobQueue>,
    pub(crate) prover: Prover,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) exporter: Option<Exporter>,
    pub(crate) uploads: Arc<Semaphore>,
    pub(crate) followers: Arc<Semaphore>,
    pub(crate) in_flight: AtomicUsize,
    /// When the service started.
    pub(crate) started: SystemTime,
    draining: AtomicBool,
}

impl Service {
    /// Starts the threads of the service. The books are opened and the models
    /// proven in the background; `/readyz` says when that is done. The models
    /// must outlast the service.
    ///
    /// # Errors
    /// When another process runs the jobs or writes the traces of this data
    /// folder, or the operating system refuses.
    pub fn start(config: ServiceConfig, parts: Parts) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::new(parts.model_stats));
        let data: PathBuf = parts.store.root().to_owned();
        let shelf = Shelf::start(
            parts.store.clone(),
            parts.recipe.clone(),
            config.times.shelf,
            Arc::clone(&metrics),
        );
        let shelf = Arc::new(shelf.map_err(StartError::Threads)?);
        let traces = if config.traces {
            Traces::open(&data, parts.traces, Arc::clone(&metrics))?
        } else {
            Traces::off(Arc::clone(&metrics))
        };
        let job_parts = JobParts {
            store: parts.store,
            recipe: parts.recipe,
            read: parts.read,
            models: Arc::new(parts.models.clone()),
        };
        let options = JobOptions {
            max_job_bytes: config.limits.upload_bytes,
            ..parts.jobs
        };
        let jobs = match config.uploads {
            true => Some(JobQueue::start(job_parts, options, hooks(&shelf))?),
            false => None,
        };
        if let Some(jobs) = &jobs {
            count_jobs(&metrics, jobs);
        }
        let queries = Pool::start(
            "query",
            config.workers,
            config.queue,
            Some(Arc::clone(&metrics)),
        );
        let answers = Pool::start("answer", config.answer_workers, config.queue, None);
        let chores = Pool::start("chore", CHORE_THREADS, CHORE_QUEUE, None);
        let prover = Prover::start(parts.models.clone(), data, config.times.proof);
        let exporter = config
            .telemetry
            .clone()
            .map(|telemetry| Exporter::start(telemetry, Arc::clone(&metrics)))
            .transpose();
        let app = App {
            queries: queries.map_err(StartError::Threads)?,
            answers: answers.map_err(StartError::Threads)?,
            chores: chores.map_err(StartError::Threads)?,
            prover: prover.map_err(StartError::Threads)?,
            exporter: exporter.map_err(StartError::Threads)?,
            uploads: Arc::new(Semaphore::new(config.limits.uploads)),
            followers: Arc::new(Semaphore::new(config.limits.followers)),
            in_flight: AtomicUsize::new(0),
            started: SystemTime::now(),
            draining: AtomicBool::new(false),
            models: parts.models,
            answerers: parts.answerers,
            shelf,
            traces,
            jobs,
            metrics,
            config,
        };
        Ok(Self { app: Arc::new(app) })
    }

    /// Whether the service may listen there.
    ///
    /// # Errors
    /// When it has no keys and others reach the address.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), StartError> {
        if self.app.config.keys.is_empty() && !address.ip().is_loopback() {
            return Err(StartError::KeysNeeded { address });
        }
        Ok(())
    }
}

/// A book is open before its job says that it is indexed.
fn hooks(shelf: &Arc<Shelf>) -> JobHooks {
    let shelf = Arc::clone(shelf);
    JobHooks {
        indexed: Box::new(move |book| shelf.shelve(book)),
        finished: Box::new(|report: &JobReport| {
            tracing::info!(job = %report.id, state = ?report.state, "job finished");
        }),
    }
}

impl App {
    /// Whether the service is stopping.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// The queue of upload jobs.
    ///
    /// # Errors
    /// When this service takes no uploads.
    pub(crate) fn jobs(&self) -> Result<&JobQueue, Problem> {
        let off = || Problem::new(Code::SwitchedOff, "This service takes no uploads.");
        self.jobs.as_ref().ok_or_else(off)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Ends every thread: queries first, since they write traces. Waits for
    /// what runs.
    pub(crate) fn close(&self) {
        self.drain();
        self.queries.close();
        self.answers.close();
        self.chores.close();
        if let Some(jobs) = &self.jobs {
            jobs.stop();
        }
        self.shelf.close();
        self.prover.close();
        self.traces.sync();
        if let Some(exporter) = &self.exporter {
            exporter.close();
        }
    }
}
