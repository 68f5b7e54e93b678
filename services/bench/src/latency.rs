//! Latencies in histograms.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A day, in microseconds: more counts as this.
const MOST: u64 = 86_400_000_000;

/// A histogram of microseconds to three significant digits.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Histogram<u64>);

impl Recorder {
    pub(crate) fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record(micros);
    }

    /// Microseconds, to three significant digits.
    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    pub(crate) fn summary(&self) -> Latency {
        if self.0.is_empty() {
            return Latency::default();
        }
        Latency {
            count: self.0.len(),
            mean_us: self.0.mean(),
            min_us: self.0.min(),
            p50_us: self.quantile(0.5),
            p90_us: self.quantile(0.9),
            p95_us: self.quantile(0.95),
            p99_us: self.quantile(0.99),
            p999_us: self.quantile(0.999),
            max_us: self.0.max(),
            histogram: self
                .0
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, MOST, 3)
            .unwrap_or_else(|error| unreachable!("these bounds are sound: {error}"));
        Self(histogram)
    }
}

/// Latencies, in microseconds. Percentiles and the maximum are exact to three
/// significant digits; all are 0 where nothing was recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many were recorded.
    pub count: u64,
    /// Their mean.
    pub mean_us: f64,
    /// The least.
    pub min_us: u64,
    /// The median.
    pub p50_us: u64,
    /// The 90th percentile.
    pub p90_us: u64,
    /// The 95th percentile.
    pub p95_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The 99.9th percentile.
    pub p999_us: u64,
    /// The greatest.
    pub max_us: u64,
    /// Value and count of every cell of the histogram that is not empty, values
    /// ascending: from these the rest can be computed again.
    pub histogram: Vec<(u64, u64)>,
}

impl Latency {
    /// All latencies of several runs together.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Recorder::default();
        for (value, count) in parts.into_iter().flat_map(|part| &part.histogram) {
            all.0.saturating_record_n(*value, *count);
        }
        all.summary()
    }

    /// The latency that a share of all does not exceed, in microseconds; the
    /// share from 0 to 1.
    pub fn at(&self, share: f64) -> u64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(value, count) in &self.histogram {
            seen += count;
            if seen >= rank {
                return value;
            }
        }
        self.max_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl IntoIterator<Item = u64>) -> Latency {
        let mut recorder = Recorder::default();
        for m in millis {
            recorder.record(Duration::from_millis(m));
        }
        recorder.summary()
    }

    fn close(value: u64, expected: u64) -> bool {
        value.abs_diff(expected) * 1000 <= expected
    }

    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let latency = of(1..=1000);
        assert_eq!(latency.count, 1000);
        assert!(close(latency.p50_us, 500_000), "{}", latency.p50_us);
        assert!(close(latency.p99_us, 990_000), "{}", latency.p99_us);
        assert!(close(latency.p999_us, 999_000), "{}", latency.p999_us);
        assert!(close(latency.max_us, 1_000_000), "{}", latency.max_us);
        assert!(close(latency.at(0.95), latency.p95_us));
    }

    #[test]
    fn the_stored_cells_give_the_same_percentiles_and_can_be_merged() {
        let (low, high) = (of(1..=50), of(51..=100));
        let merged = Latency::merged([&low, &high]);
        let whole = of(1..=100);
        assert_eq!(merged.count, 100);
        assert_eq!(merged.p95_us, whole.p95_us);
        assert_eq!(merged.histogram, whole.histogram);
    }

    #[test]
    fn nothing_recorded_is_zero() {
        assert_eq!(of([]), Latency::default());
        assert_eq!(Latency::default().at(0.5), 0);
    }
}
