//! What is known of a job: its record on the disk and its form on the wire.

use quire_corpus::BookId;
use serde::{Deserialize, Serialize};

use super::JobId;

/// What is known of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// Its name.
    pub id: JobId,
    /// Grows with every change, from 1 at every start of the server: see
    /// [`JobQueue::wait_change`](super::JobQueue::wait_change).
    #[serde(default)]
    pub version: u64,
    /// How far it is.
    pub state: JobState,
    /// When it was accepted: RFC 3339 in UTC.
    pub accepted: String,
    /// When its first book was begun.
    pub started: Option<String>,
    /// When it was finished.
    pub finished: Option<String>,
    /// What was uploaded, in order.
    pub files: Vec<JobFile>,
    /// The books that are settled, in order.
    pub books: Vec<BookStatus>,
    /// How it gets on, while it runs.
    #[serde(default)]
    pub progress: Option<JobProgress>,
    /// What is wrong with the job as a whole.
    pub problem: Option<Problem>,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Until others are finished, or until the server starts again.
    Waiting,
    /// Its books are being indexed.
    Running,
    /// All its books are indexed.
    Done,
    /// Some of its books are indexed.
    Partly,
    /// None of its books is indexed.
    Failed,
}

impl JobState {
    /// Whether nothing will change any more.
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// A file that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFile {
    /// The last part of the client's name for it.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// What became of a book, or of a file that holds none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookStatus {
    /// The file it is from, as its place in [`JobReport::files`].
    pub file: usize,
    /// The file's name, with `#N` for the N-th book of several in it.
    pub source: String,
    /// Its id; `None` if the file cannot be read.
    pub book: Option<BookId>,
    /// Its title, if the file states one.
    pub title: Option<String>,
    /// What was done.
    pub outcome: BookOutcome,
    /// Into how many passages it is cut, if it is indexed.
    pub passages: Option<u64>,
    /// Their tokens together.
    pub tokens: Option<u64>,
    /// What is wrong, if it failed.
    pub problem: Option<Problem>,
}

/// What was done for a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookOutcome {
    /// It was built.
    Indexed,
    /// It was built from what an interrupted build left.
    Resumed,
    /// It was there.
    AlreadyIndexed,
    /// An earlier book of this job has the same text.
    SameText,
    /// It was not indexed.
    Failed,
}

/// What is wrong and what to do about it, each in one line; neither has a path
/// of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The error with its causes.
    pub error: String,
    /// What to do.
    pub remedy: String,
}

/// How a running job gets on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobProgress {
    /// Books that are settled, with those that failed.
    pub books_done: usize,
    /// Books there are at least: a file that was not read yet counts as one.
    pub books_known: usize,
    /// The source that is read or indexed now.
    pub source: Option<String>,
    /// Tokens of its book that are embedded.
    pub tokens_done: u64,
    /// Tokens of its book; 0 until it is cut.
    pub tokens_total: u64,
    /// Tokens embedded a second, by this run.
    pub tokens_per_second: Option<f64>,
    /// Seconds until its book is embedded, at that rate.
    pub eta_seconds: Option<f64>,
}

impl JobReport {
    /// The state that follows from the books, when all are settled.
    pub(super) fn outcome(&self) -> JobState {
        let failed = |book: &&BookStatus| book.outcome == BookOutcome::Failed;
        match self.books.iter().filter(failed).count() {
            0 if self.problem.is_none() && !self.books.is_empty() => JobState::Done,
            failed if failed == self.books.len() => JobState::Failed,
            _ => JobState::Partly,
        }
    }
}
