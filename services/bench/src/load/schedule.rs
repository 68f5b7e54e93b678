//! When the requests of an open loop are due.

use std::time::Duration;

use crate::Arrivals;
use crate::rng::Rng;

/// Times since the start, without end, ascending.
#[derive(Debug)]
pub(crate) struct Schedule {
    rate: f64,
    arrivals: Arrivals,
    rng: Rng,
    count: u64,
    at: f64,
}

impl Schedule {
    pub(crate) fn new(rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        Self {
            rate,
            arrivals,
            rng: Rng::new(seed),
            count: 0,
            at: 0.0,
        }
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.count += 1;
        self.at = match self.arrivals {
            // Not a sum, which would drift.
            Arrivals::Fixed => self.count as f64 / self.rate,
            Arrivals::Poisson => self.at - self.rng.unit().ln() / self.rate,
        };
        Duration::try_from_secs_f64(self.at).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_arrivals_are_equally_apart() {
        let times: Vec<_> = Schedule::new(4.0, Arrivals::Fixed, 0).take(3).collect();
        assert_eq!(times, [250, 500, 750].map(Duration::from_millis));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        let times: Vec<f64> = Schedule::new(50.0, Arrivals::Poisson, 7)
            .take(20_000)
            .map(|time| time.as_secs_f64())
            .collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 50.0 - 1.0).abs() < 0.03, "{mean}");
        // The deviation of an exponential gap is its mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn a_seed_gives_the_same_times_again() {
        let times = |seed| -> Vec<_> {
            Schedule::new(9.0, Arrivals::Poisson, seed)
                .take(9)
                .collect()
        };
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(4));
    }
}
