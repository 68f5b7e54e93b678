//! Upload jobs on the wire.

use quire_corpus::BookId;
use quire_indexer::jobs::{BookOutcome, BookStatus, JobId, JobReport, JobState, Problem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An upload that is indexed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: JobId,
    /// Grows with every change, from 1 at each start of the service.
    pub version: u64,
    /// `waiting`, `running`, `done`, `partly` or `failed`.
    #[schema(value_type = String)]
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
    pub books: Vec<JobBook>,
    /// How it gets on, while it runs.
    pub progress: Option<JobProgress>,
    /// What is wrong with the job as a whole.
    pub problem: Option<JobProblem>,
}

/// A file that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobFile {
    /// The last part of the client's name for it.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// What became of a book, or of a file that holds none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobBook {
    /// The file it is from, as its place in `files`.
    pub file: usize,
    /// The file's name, with `#N` for the N-th book of several in it.
    pub source: String,
    /// Its id; `null` if the file cannot be read.
    #[schema(value_type = Option<String>)]
    pub book: Option<BookId>,
    /// Its title, if the file states one.
    pub title: Option<String>,
    /// `indexed`, `resumed`, `already_indexed`, `same_text` or `failed`.
    #[schema(value_type = String)]
    pub outcome: BookOutcome,
    /// Passages it is cut into, if it is indexed.
    pub passages: Option<u64>,
    /// Tokens of those.
    pub tokens: Option<u64>,
    /// What is wrong, if it failed.
    pub problem: Option<JobProblem>,
}

/// What is wrong, and what helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobProblem {
    /// The error with its causes.
    pub error: String,
    /// What to do.
    pub remedy: String,
}

/// How a running job gets on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    /// Books that are settled, with those that failed.
    pub books_done: usize,
    /// Books there are at least.
    pub books_known: usize,
    /// What is read or indexed now.
    pub source: Option<String>,
    /// Tokens of its book that are embedded.
    pub tokens_done: u64,
    /// Tokens of its book; 0 until it is cut.
    pub tokens_total: u64,
    /// Tokens embedded a second.
    pub tokens_per_second: Option<f64>,
    /// Seconds until its book is embedded, at that rate.
    pub eta_seconds: Option<f64>,
}

/// Every job that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// By acceptance, the oldest first.
    pub jobs: Vec<JobView>,
}

impl From<JobReport> for JobView {
    fn from(report: JobReport) -> Self {
        let files = report.files.into_iter();
        Self {
            id: report.id,
            version: report.version,
            state: report.state,
            accepted: report.accepted,
            started: report.started,
            finished: report.finished,
            files: files
                .map(|file| JobFile {
                    name: file.name,
                    bytes: file.bytes,
                })
                .collect(),
            books: report.books.into_iter().map(JobBook::from).collect(),
            progress: report.progress.map(|progress| JobProgress {
                books_done: progress.books_done,
                books_known: progress.books_known,
                source: progress.source,
                tokens_done: progress.tokens_done,
                tokens_total: progress.tokens_total,
                tokens_per_second: progress.tokens_per_second,
                eta_seconds: progress.eta_seconds,
            }),
            problem: report.problem.map(JobProblem::from),
        }
    }
}

impl From<BookStatus> for JobBook {
    fn from(book: BookStatus) -> Self {
        Self {
            file: book.file,
            source: book.source,
            book: book.book,
            title: book.title,
            outcome: book.outcome,
            passages: book.passages,
            tokens: book.tokens,
            problem: book.problem.map(JobProblem::from),
        }
    }
}

impl From<Problem> for JobProblem {
    fn from(Problem { error, remedy }: Problem) -> Self {
        Self { error, remedy }
    }
}
