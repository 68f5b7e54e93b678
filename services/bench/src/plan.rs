//! What is to be measured.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BenchError, Questions, Target};

/// One load on the server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// So many clients, each asking its next question when it has its answer.
    Closed {
        /// Clients.
        concurrency: usize,
    },
    /// Requests sent at their times, whether or not earlier ones are answered.
    Open {
        /// Requests a second, in the mean.
        rate: f64,
        /// How they follow one another.
        arrivals: Arrivals,
    },
}

impl Load {
    /// Clients or requests a second: what orders the points of a sweep.
    pub fn size(&self) -> f64 {
        match *self {
            Self::Closed { concurrency } => concurrency as f64,
            Self::Open { rate, .. } => rate,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { concurrency: 1 } => write!(f, "1 client"),
            Self::Closed { concurrency } => write!(f, "{concurrency} clients"),
            Self::Open { rate, arrivals } => match arrivals {
                Arrivals::Poisson => write!(f, "{rate}/s"),
                Arrivals::Fixed => write!(f, "{rate}/s fixed"),
            },
        }
    }
}

/// How requests of an open loop follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// As from many people who know nothing of one another: exponential gaps.
    Poisson,
    /// At equal gaps.
    Fixed,
}

/// Which loads, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Loads {
    /// These, in this order.
    Each(Vec<Load>),
    /// These, by size, to find the knee.
    Sweep(Vec<Load>),
    /// 1, 2, 4, ... clients until it no longer helps, to find the knee.
    Doubling,
}

/// How long each load lasts, after its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So long.
    Time(Duration),
    /// Until so many requests were sent.
    Requests(u64),
}

/// A bearer key; never shown.
#[derive(Clone)]
pub struct Key(pub String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(...)")
    }
}

/// A measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where the server is.
    pub target: Target,
    /// What it asks of a client, if it does.
    pub key: Option<Key>,
    /// What is asked.
    pub questions: Questions,
    /// The rest of each request: budgets, scope and so on.
    pub request: Map<String, Value>,
    /// The loads.
    pub loads: Loads,
    /// Load that is put on before each measurement and not counted.
    pub warmup: Duration,
    /// How long each lasts.
    pub length: Length,
    /// Decides the order of the questions and the times of the arrivals.
    pub seed: u64,
    /// Whether every answer is compared with the idle server's.
    pub check: bool,
    /// When a client gives up: from the time its request was due.
    pub give_up: Duration,
    /// Connections of an open loop at most.
    pub most_connections: usize,
    /// The server's process, where it is not to be looked for.
    pub pid: Option<u32>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

impl Plan {
    /// Says what cannot be measured.
    ///
    /// # Errors
    /// When an option is out of range or contradicts another.
    pub fn check_options(&self) -> Result<(), BenchError> {
        let refuse = |why: &str| Err(BenchError::Options(why.to_owned()));
        if self.check && self.request.contains_key("deadline_ms") {
            return refuse(
                "--check and --deadline-ms contradict each other: how deep the reranker gets by \
                 a deadline depends on the load; leave one out",
            );
        }
        if self.request.contains_key("question") {
            return refuse("--body may not hold a \"question\"; questions come from --questions");
        }
        if self.most_connections == 0 || self.give_up.is_zero() {
            return refuse("--connections and --give-up must be above 0");
        }
        let empty = match self.length {
            Length::Time(time) => time.is_zero(),
            Length::Requests(requests) => requests == 0,
        };
        if empty {
            return refuse("--duration and --requests must be above 0");
        }
        let loads = match &self.loads {
            Loads::Doubling => return Ok(()),
            Loads::Each(loads) | Loads::Sweep(loads) => loads,
        };
        let sound = |load: &Load| match *load {
            Load::Closed { concurrency } => (1..=MOST_CLIENTS).contains(&concurrency),
            Load::Open { rate, .. } => rate.is_finite() && (0.001..=1e6).contains(&rate),
        };
        if loads.is_empty() || !loads.iter().all(sound) {
            return Err(BenchError::Options(format!(
                "--concurrency takes numbers from 1 to {MOST_CLIENTS}, --rate from 0.001 to 1000000"
            )));
        }
        Ok(())
    }
}

/// Clients of a closed loop at most.
const MOST_CLIENTS: usize = 16_384;
