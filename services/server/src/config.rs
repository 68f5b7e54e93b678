//! How the service is set up. Read once at the edge, passed down.

use std::time::Duration;

use quire_engine::Budgets;

use crate::keys::Keys;

/// How the service is set up. Every field has a default that suits a machine
/// of a few cores.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Threads that run queries. More than there are cores, so that queries
    /// meet in the models' batches: 32.
    pub workers: usize,
    /// Queries that may wait for a thread; one more is refused: 256.
    pub queue: usize,
    /// Threads that run questions to be answered: they may wait long for a
    /// language model, and no search waits behind them: 32. As many questions
    /// are put to it at once, and `queue` more may wait.
    pub answer_workers: usize,
    /// What one request may ask for.
    pub limits: Limits,
    /// How long anything may take.
    pub times: Times,
    /// The budgets of a request that names none.
    pub budgets: Budgets,
    /// Who may ask. Without keys everybody may, and the service listens on
    /// this machine alone.
    pub keys: Keys,
    /// Whether books are taken and jobs are run: yes. Of the services over one
    /// data folder, one may.
    pub uploads: bool,
    /// Whether every query is written to the trace log: yes.
    pub traces: bool,
    /// Where spans go, if anywhere.
    pub telemetry: Option<TelemetryConfig>,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            workers: 32,
            queue: 256,
            answer_workers: 32,
            limits: Limits::default(),
            times: Times::default(),
            budgets: Budgets::default(),
            keys: Keys::default(),
            uploads: true,
            traces: true,
            telemetry: None,
        }
    }
}

/// What one request may ask for, and how many may be connected.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a JSON body: 64 KiB.
    pub json_bytes: usize,
    /// Bytes of a JSON body that brings texts for a model, or a conversation:
    /// 4 MiB.
    pub texts_json_bytes: usize,
    /// Bytes of one upload, all its files together: 256 MiB.
    pub upload_bytes: u64,
    /// Uploads that are received at once: 4.
    pub uploads: usize,
    /// Bytes of a question: 16 KiB.
    pub question_bytes: usize,
    /// Books a scope may name: 1000.
    pub scope_books: usize,
    /// The largest value of each budget.
    pub budgets: Budgets,
    /// Passages before and after the one asked for: 10.
    pub around: u32,
    /// Open connections; one more is told so and closed: 1024.
    pub connections: usize,
    /// Clients that follow jobs at once: 64.
    pub followers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: 64 << 10,
            texts_json_bytes: 4 << 20,
            upload_bytes: 256 << 20,
            uploads: 4,
            question_bytes: 16 << 10,
            scope_books: 1000,
            budgets: Budgets {
                lexical: 1000,
                dense: 1000,
                dense_ef: 2000,
                rerank: 200,
                evidence_passages: 100,
                evidence_tokens: 100_000,
            },
            around: 10,
            connections: 1024,
            followers: 64,
        }
    }
}

/// How long anything may take.
#[derive(Debug, Clone)]
pub struct Times {
    /// A query that names no time of its own: 30 s.
    pub query: Duration,
    /// A question to be answered that names no time of its own: 200 s.
    pub answer: Duration,
    /// The longest time a query may name: 300 s.
    pub query_most: Duration,
    /// From a connection's start, or the last answer, to the end of the next
    /// request's header: 10 s.
    pub header: Duration,
    /// Between two pieces of a body: 10 s.
    pub body_idle: Duration,
    /// All of a JSON body: 30 s.
    pub json_body: Duration,
    /// While the client takes nothing of an answer: 30 s.
    pub write_stall: Duration,
    /// For what is in flight when the service is told to stop: 30 s.
    pub drain: Duration,
    /// Between two looks at the books on disk: 2 s.
    pub shelf: Duration,
    /// How old a proof of readiness may be: 10 s.
    pub proof: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            query: Duration::from_secs(30),
            answer: Duration::from_secs(200),
            query_most: Duration::from_secs(300),
            header: Duration::from_secs(10),
            body_idle: Duration::from_secs(10),
            json_body: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            shelf: Duration::from_secs(2),
            proof: Duration::from_secs(10),
        }
    }
}

/// Where spans go: an OpenTelemetry collector that takes OTLP as JSON over
/// HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The collector's address, such as `http://127.0.0.1:4318`; spans go to
    /// `/v1/traces` below it.
    pub endpoint: String,
    /// What the service is called there, such as `quire`.
    pub service_name: String,
    /// Header lines to send along, such as a collector's key.
    pub headers: Vec<(String, String)>,
}
