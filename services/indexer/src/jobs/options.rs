//! What jobs are made with.

use std::path::PathBuf;
use std::sync::Arc;

use quire_corpus::{BookId, ReadOptions};
use quire_engine::ModelSource;
use quire_index::{Recipe, Store};

use super::JobReport;

/// How much uploads may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOptions {
    /// Bytes of all files of one job at most.
    pub max_job_bytes: u64,
    /// Files of one job at most.
    pub max_files: usize,
    /// Jobs that wait, and uploads that are being received, together at most.
    pub max_waiting: usize,
    /// Finished jobs whose records are kept; the oldest go first.
    pub keep: usize,
    /// Folders whose paths no client is to read in an error, such as that of
    /// the models. The data folder is always one of them.
    pub private: Vec<PathBuf>,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            max_job_bytes: 1 << 30,
            max_files: 1000,
            max_waiting: 64,
            keep: 1000,
            private: Vec::new(),
        }
    }
}

/// What books are built with.
#[derive(Clone)]
pub struct JobParts {
    /// Where artifacts go. The jobs lie in its folder, too.
    pub store: Store,
    /// What artifacts are made by.
    pub recipe: Recipe,
    /// How uploads are read. Its limits bound each file.
    pub read: ReadOptions,
    /// Loaded when the first book needs them.
    pub models: Arc<dyn ModelSource + Send + Sync>,
}

/// Called by the thread that runs the jobs, which waits for them.
pub struct JobHooks {
    /// A book's artifact is there, whether this job built it or found it.
    /// Called before the job says so, so that who reads it there can search
    /// the book at once.
    pub indexed: Box<dyn Fn(BookId) + Send + Sync>,
    /// A job is finished.
    pub finished: Box<dyn Fn(&JobReport) + Send + Sync>,
}

impl Default for JobHooks {
    /// Hooks that do nothing.
    fn default() -> Self {
        Self {
            indexed: Box::new(|_| {}),
            finished: Box::new(|_| {}),
        }
    }
}
