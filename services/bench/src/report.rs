//! What was measured, as it is stored.

use std::collections::BTreeMap;

use quire_index::Machine;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Knee, Latency, Load};

/// The version of the report's shape.
pub const SCHEMA: u32 = 1;

/// A measurement, with all that is needed to make it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it began, by RFC 3339 in UTC.
    pub started: String,
    /// The address under load.
    pub url: String,
    /// The server there.
    pub server: ServerRecord,
    /// The machine the load came from.
    pub machine: Machine,
    /// Decided the order of the questions and the times of the arrivals.
    pub seed: u64,
    /// What was asked.
    pub questions: QuestionsRecord,
    /// The rest of each request.
    pub request: Map<String, Value>,
    /// When a client gave up, in seconds.
    pub give_up_seconds: f64,
    /// Connections of an open loop at most.
    pub most_connections: usize,
    /// How answers were checked, if they were.
    pub check: Option<Check>,
    /// One for each load, in the order they were run.
    pub runs: Vec<Run>,
    /// What a sweep found.
    pub knee: Option<Knee>,
}

impl Report {
    /// Answers that were not the idle server's.
    pub fn mismatches(&self) -> u64 {
        self.runs.iter().map(|run| run.mismatches).sum()
    }

    /// The first answer that was not the idle server's.
    pub fn first_mismatch(&self) -> Option<&Mismatch> {
        self.runs.iter().find_map(|run| run.first_mismatch.as_ref())
    }
}

/// What the server said of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// By its health, the fingerprint of an answer or its `Server` header.
    pub version: Option<String>,
    /// What `/healthz` answered, where that is JSON.
    pub health: Option<Value>,
    /// The fingerprint of its first answer.
    pub fingerprint: Option<Value>,
    /// Its process, where that is on this machine.
    pub pid: Option<u32>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionsRecord {
    /// The files the questions are from.
    pub files: Vec<String>,
    /// How many.
    pub count: usize,
    /// SHA-256 over them.
    pub sha256: String,
}

/// How answers were checked against the idle server's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Questions asked one at a time before the load.
    pub asked: usize,
    /// Bytes of their answers that are compared.
    pub bytes: u64,
}

/// One load and what became of it. Latencies are of the requests due in the
/// measured time; the throughput counts the answers that came in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The load.
    pub load: Load,
    /// Seconds of load before the measurement.
    pub warmup_seconds: f64,
    /// Seconds measured.
    pub seconds: f64,
    /// Requests due in them.
    pub requests: u64,
    /// Answers (200) a second.
    pub throughput: f64,
    /// Requests that were answered with 200. In an open loop, from when a
    /// request was due, not from when it could be sent.
    pub answered: Latency,
    /// Requests the server refused.
    pub rejected: Rejections,
    /// Requests that failed, by kind: `connect`, `timeout`, `short_body`,
    /// `closed`, or `status NNN`.
    pub errors: BTreeMap<String, u64>,
    /// Answers that were not the idle server's, those of the warm-up included.
    pub mismatches: u64,
    /// The first of those.
    pub first_mismatch: Option<Mismatch>,
    /// Times of the stages, by `Server-Timing`.
    pub stages: BTreeMap<String, Latency>,
    /// What the load itself took.
    pub generator: Generator,
    /// What the server took; `None` where it is not on this machine.
    pub server: Option<ServerUse>,
}

impl Run {
    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// Requests refused with 429 or 503.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rejections {
    /// How many, by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Those without a `Retry-After` of whole seconds, at least 1.
    pub without_retry_after: u64,
    /// How soon they were refused.
    pub latency: Latency,
}

/// An answer that was not the idle server's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The question.
    pub question: String,
    /// The first byte that differs.
    pub at: u64,
    /// What the idle server said around there.
    pub expected: String,
    /// What it said now.
    pub got: String,
}

/// What the load itself took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Requests of an open loop that were sent more than 5 ms after they were
    /// due, for want of a processor or a free connection.
    pub behind: u64,
    /// How late the latest was sent, in microseconds.
    pub worst_lateness_us: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Processor seconds of this process in the measured time, where known.
    pub cpu_seconds: Option<f64>,
}

/// What the server's process took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUse {
    /// Processor seconds in the measured time.
    pub cpu_seconds: f64,
    /// Those for each answer; `None` without answers.
    pub cpu_seconds_per_answer: Option<f64>,
    /// Resident memory before the load, in bytes.
    pub rss_start: u64,
    /// The most that was seen, looking once a second.
    pub rss_peak: u64,
    /// After the load.
    pub rss_end: u64,
    /// The most since the process began, by the kernel.
    pub high_water_mark: u64,
    /// Seconds since the load began, its warm-up included, and resident bytes:
    /// one pair a second.
    pub rss_samples: Vec<(f64, u64)>,
}
