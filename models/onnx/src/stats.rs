//! What a model did, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quire_model::{Stop, Urgency};

use crate::batch::Batch;

/// Upper bounds, inclusive, of the buckets in which runs are counted by their
/// texts. Greater numbers are in [`Histogram::beyond`].
pub const BATCH_BOUNDS: [u64; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Upper bounds, inclusive and in nanoseconds, of the buckets in which texts
/// are counted by the time they waited: from 0.1 ms to 10 s. Longer times are
/// in [`Histogram::beyond`].
pub const WAIT_BOUNDS: [u64; 16] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Values counted in buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram<const BUCKETS: usize> {
    /// How many values were in each bucket: above the bound before it, up to
    /// its own. Not added up.
    pub counts: [u64; BUCKETS],
    /// How many were above the last bound.
    pub beyond: u64,
    /// All values, added up.
    pub sum: u64,
}

impl<const BUCKETS: usize> Histogram<BUCKETS> {
    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }
}

impl<const BUCKETS: usize> Default for Histogram<BUCKETS> {
    fn default() -> Self {
        Self {
            counts: [0; BUCKETS],
            beyond: 0,
            sum: 0,
        }
    }
}

/// The texts of one urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneStats {
    /// Texts that wait now.
    pub waiting: usize,
    /// Texts that were dropped unread because whoever asked was gone, had
    /// enough, or had failed with other texts.
    pub cancelled: u64,
    /// Texts that were dropped unread because their time had passed.
    pub late: u64,
    /// Texts that were not let in because too much was waiting.
    pub refused: u64,
    /// How long the texts waited that went into a run, in nanoseconds, by
    /// [`WAIT_BOUNDS`].
    pub waits: Histogram<{ WAIT_BOUNDS.len() }>,
}

/// What a model has done since it was loaded, and is doing. Numbers only grow,
/// but for `running` and `waiting`; they are read one after the other, so a run
/// that ends meanwhile may be in some of them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelStats {
    /// Texts, or pairs, that were run.
    pub texts: u64,
    /// Texts that were cut short.
    pub truncated: u64,
    /// Runs of a session that gave an output.
    pub batches: u64,
    /// Runs that gave none.
    pub failed: u64,
    /// Tokens, without padding.
    pub tokens: u64,
    /// Tokens computed, padding included.
    pub padded_tokens: u64,
    /// Time in which the sessions ran, added up over the workers and divided
    /// by their number: what of the wall clock was the model.
    pub model_time: Duration,
    /// The runs that gave an output by the number of their texts, by
    /// [`BATCH_BOUNDS`].
    pub batch_sizes: Histogram<{ BATCH_BOUNDS.len() }>,
    /// Runs in flight now.
    pub running: usize,
    /// Texts somebody waits for.
    pub questions: LaneStats,
    /// Texts of indexing.
    pub bulk: LaneStats,
}

impl ModelStats {
    /// The share of the computed tokens that was padding, from 0 to 1.
    pub fn padding_share(&self) -> f64 {
        if self.padded_tokens == 0 {
            return 0.0;
        }
        1.0 - self.tokens as f64 / self.padded_tokens as f64
    }
}

#[derive(Debug)]
struct Buckets<const BUCKETS: usize> {
    counts: [AtomicU64; BUCKETS],
    beyond: AtomicU64,
    sum: AtomicU64,
}

impl<const BUCKETS: usize> Default for Buckets<BUCKETS> {
    fn default() -> Self {
        Self {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            beyond: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }
}

impl<const BUCKETS: usize> Buckets<BUCKETS> {
    fn add(&self, bounds: &[u64; BUCKETS], value: u64) {
        let bucket = bounds.partition_point(|bound| *bound < value);
        add(self.counts.get(bucket).unwrap_or(&self.beyond), 1);
        add(&self.sum, value);
    }

    fn read(&self) -> Histogram<BUCKETS> {
        Histogram {
            counts: std::array::from_fn(|bucket| read(&self.counts[bucket])),
            beyond: read(&self.beyond),
            sum: read(&self.sum),
        }
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Debug, Default)]
struct LaneCounters {
    cancelled: AtomicU64,
    late: AtomicU64,
    refused: AtomicU64,
    waits: Buckets<{ WAIT_BOUNDS.len() }>,
}

/// Counts as it happens, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    texts: AtomicU64,
    truncated: AtomicU64,
    batches: AtomicU64,
    failed: AtomicU64,
    tokens: AtomicU64,
    padded_tokens: AtomicU64,
    busy: AtomicU64,
    batch_sizes: Buckets<{ BATCH_BOUNDS.len() }>,
    questions: LaneCounters,
    bulk: LaneCounters,
}

impl Counters {
    fn of(&self, urgency: Urgency) -> &LaneCounters {
        match urgency {
            Urgency::Question => &self.questions,
            Urgency::Bulk => &self.bulk,
        }
    }

    /// A batch was run in `time`.
    pub(crate) fn ran(&self, batch: &Batch, time: Duration) {
        let truncated = batch.rows.iter().filter(|row| row.truncated).count();
        add(&self.texts, batch.rows.len() as u64);
        add(&self.truncated, truncated as u64);
        add(&self.batches, 1);
        add(&self.tokens, batch.tokens() as u64);
        add(&self.padded_tokens, batch.ids.len() as u64);
        add(&self.busy, nanoseconds(time));
        self.batch_sizes.add(&BATCH_BOUNDS, batch.rows.len() as u64);
    }

    /// A run gave no output.
    pub(crate) fn failed(&self) {
        add(&self.failed, 1);
    }

    /// A text went into a run after that time.
    pub(crate) fn waited(&self, urgency: Urgency, time: Duration) {
        self.of(urgency).waits.add(&WAIT_BOUNDS, nanoseconds(time));
    }

    /// Texts were dropped unread, or not let in.
    pub(crate) fn dropped(&self, urgency: Urgency, stop: Stop, texts: usize) {
        let lane = self.of(urgency);
        let counter = match stop {
            Stop::Cancelled => &lane.cancelled,
            Stop::DeadlinePassed => &lane.late,
            Stop::QueueFull => &lane.refused,
        };
        add(counter, texts as u64);
    }

    /// The counts of one lane; nothing is known of what waits.
    pub(crate) fn lane(&self, urgency: Urgency) -> LaneStats {
        let lane = self.of(urgency);
        LaneStats {
            waiting: 0,
            cancelled: read(&lane.cancelled),
            late: read(&lane.late),
            refused: read(&lane.refused),
            waits: lane.waits.read(),
        }
    }

    /// The counts of all runs; nothing is known of the lanes.
    pub(crate) fn read(&self) -> ModelStats {
        ModelStats {
            texts: read(&self.texts),
            truncated: read(&self.truncated),
            batches: read(&self.batches),
            failed: read(&self.failed),
            tokens: read(&self.tokens),
            padded_tokens: read(&self.padded_tokens),
            model_time: Duration::from_nanos(read(&self.busy)),
            batch_sizes: self.batch_sizes.read(),
            ..ModelStats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_in_the_bucket_whose_bound_it_does_not_exceed() {
        let buckets = Buckets::default();
        for value in [0, 1, 2, 3, 4, 2048, 2049] {
            buckets.add(&BATCH_BOUNDS, value);
        }
        let histogram = buckets.read();
        assert_eq!(histogram.counts[..4], [2, 1, 2, 0]);
        assert_eq!((histogram.counts[11], histogram.beyond), (1, 1));
        assert_eq!((histogram.count(), histogram.sum), (7, 4107));
    }

    #[test]
    fn bounds_ascend() {
        assert!(BATCH_BOUNDS.is_sorted_by(|a, b| a < b));
        assert!(WAIT_BOUNDS.is_sorted_by(|a, b| a < b));
    }
}
