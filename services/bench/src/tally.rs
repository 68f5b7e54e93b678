//! What became of the requests of one load.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;

use crate::connection::Outcome;
use crate::latency::{Latency, Recorder};
use crate::load::Window;
use crate::report::{Mismatch, Rejections};
use crate::server_timing;

/// Counts and histograms of the measured requests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests due in the measured time and done.
    pub(crate) requests: u64,
    pub(crate) answered: Recorder,
    pub(crate) rejected: Recorder,
    pub(crate) rejected_by_status: BTreeMap<u16, u64>,
    pub(crate) without_retry_after: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) mismatches: u64,
    pub(crate) first_mismatch: Option<Mismatch>,
    /// A handful, so a list is searched faster than a map.
    stages: Vec<(String, Recorder)>,
    /// Answers that came in the measured time, whenever they were due.
    pub(crate) answers_in_window: u64,
    /// When the last measured request was done.
    pub(crate) last: Option<Instant>,
    pub(crate) behind: u64,
    pub(crate) worst_lateness: Duration,
}

impl Tally {
    /// Counts a request that was due at a time and is done now.
    pub(crate) fn add(&mut self, question: &str, due: Instant, outcome: Outcome, window: &Window) {
        let now = Instant::now();
        if let Outcome::Answered { difference, .. } = &outcome {
            // A wrong answer is wrong in the warm-up too.
            if let Some(difference) = difference {
                self.mismatches += 1;
                self.first_mismatch.get_or_insert_with(|| Mismatch {
                    question: question.to_owned(),
                    at: difference.at as u64,
                    expected: difference.expected.clone(),
                    got: difference.got.clone(),
                });
            }
            if window.contains(now) {
                self.answers_in_window += 1;
            }
        }
        if due < window.begin() {
            return;
        }
        self.requests += 1;
        self.last = Some(now);
        let latency = now.duration_since(due);
        match outcome {
            Outcome::Answered { timing, .. } => {
                self.answered.record(latency);
                if let Some(timing) = &timing {
                    self.add_stages(timing);
                }
            }
            Outcome::Rejected {
                status,
                retry_after,
            } => {
                self.rejected.record(latency);
                *self.rejected_by_status.entry(status).or_default() += 1;
                if retry_after.is_none_or(|seconds| seconds == 0) {
                    self.without_retry_after += 1;
                }
            }
            Outcome::Failed(failure) => *self.errors.entry(failure.name()).or_default() += 1,
        }
    }

    /// Notes how late a measured request of an open loop was sent.
    pub(crate) fn sent(&mut self, lateness: Duration) {
        /// Later than the timers and a busy processor's scheduler explain.
        const BEHIND: Duration = Duration::from_millis(5);
        self.behind += u64::from(lateness > BEHIND);
        self.worst_lateness = self.worst_lateness.max(lateness);
    }

    fn add_stages(&mut self, timing: &HeaderValue) {
        let Ok(timing) = timing.to_str() else {
            return;
        };
        for (name, milliseconds) in server_timing::entries(timing) {
            let Ok(time) = Duration::try_from_secs_f64(milliseconds / 1000.0) else {
                continue;
            };
            let at = match self.stages.iter().position(|(known, _)| known == name) {
                Some(at) => at,
                None => {
                    self.stages.push((name.to_owned(), Recorder::default()));
                    self.stages.len() - 1
                }
            };
            self.stages[at].1.record(time);
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    pub(crate) fn rejections(&self) -> Rejections {
        Rejections {
            by_status: self.rejected_by_status.clone(),
            without_retry_after: self.without_retry_after,
            latency: self.rejected.summary(),
        }
    }

    pub(crate) fn stages(&self) -> BTreeMap<String, Latency> {
        let stages = self.stages.iter();
        stages
            .map(|(name, recorder)| (name.clone(), recorder.summary()))
            .collect()
    }
}
