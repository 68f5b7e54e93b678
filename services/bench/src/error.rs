//! What keeps a measurement from being made.

use std::io;
use std::path::PathBuf;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The address cannot be loaded.
    #[error("cannot load {url}: {why}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong, and what to give instead.
        why: &'static str,
    },
    /// Options that contradict one another or are out of range.
    #[error("{0}")]
    Options(String),
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds no question.
    #[error("{0} holds no question: give JSON lines with a \"question\", or one question a line")]
    NoQuestion(PathBuf),
    /// A line of a file is no question.
    #[error("line {line} of {path} is no JSON object with a \"question\"")]
    QuestionLine {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Why, where it is not JSON at all.
        source: Option<serde_json::Error>,
    },
    /// A report cannot be understood.
    #[error("{path} is no report of this version of `quire bench --json`")]
    Report {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Nothing answers at the address.
    #[error("nothing answers at {url}; start one with `quire serve`, or say where with --url")]
    Connect {
        /// The address.
        url: String,
        /// Why.
        source: io::Error,
    },
    /// The server did not answer a question that has to be answered first.
    #[error("{url} did not answer the question \"{question}\": {why}")]
    Unanswered {
        /// The address.
        url: String,
        /// The question.
        question: String,
        /// Its status and words, or what became of the connection.
        why: String,
    },
    /// The answer is not one of quire's.
    #[error(
        "the answer of {url} has no \"run\" member at its end, so equal answers cannot be told; is it quire's /v1/search?"
    )]
    NotQuire {
        /// The address.
        url: String,
    },
    /// The process named to be watched is not there.
    #[error("cannot watch process {pid}; leave --pid out, or give the server's")]
    Process {
        /// Its id.
        pid: u32,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused a thread, a socket or a folder.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The data folder refused.
    #[error(transparent)]
    Store(#[from] quire_index::StoreError),
    /// The models cannot be loaded.
    #[error(transparent)]
    Model(#[from] quire_model::ModelError),
    /// A plot cannot be drawn.
    #[error(transparent)]
    Plot(#[from] quire_pages::PlotError),
}
