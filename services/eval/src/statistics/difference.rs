//! What a difference between two runs is worth.

use serde::{Deserialize, Serialize};

use super::{MisfitPairs, bootstrap_interval, mean, paired_differences, randomization_test};

/// Of the bootstrap interval.
const LEVEL: f64 = 0.95;
/// Samples of the test and of the interval, where they are drawn.
const ROUNDS: u32 = 10_000;
/// By which they are drawn.
const SEED: u64 = 0;

/// A mean difference over the same questions, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Questions.
    pub questions: usize,
    /// The first run's mean.
    pub before: f64,
    /// The second's.
    pub after: f64,
    /// The mean difference.
    pub mean: f64,
    /// The lower end of its 95 % bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Of the paired randomization test, two-sided.
    pub p: f64,
    /// Questions on which the second is better.
    pub better: usize,
    /// Questions on which it is worse.
    pub worse: usize,
}

impl Difference {
    /// Of the same questions' scores, in the same order. Nothing without
    /// questions.
    ///
    /// # Errors
    /// When they do not pair up.
    pub fn of(before: &[f64], after: &[f64]) -> Result<Option<Self>, MisfitPairs> {
        let differences = paired_differences(before, after)?;
        let Some(interval) = bootstrap_interval(&differences, LEVEL, ROUNDS, SEED) else {
            return Ok(None);
        };
        let count = |wanted: fn(&f64) -> bool| differences.iter().filter(|d| wanted(d)).count();
        Ok(Some(Self {
            questions: differences.len(),
            before: mean(before).unwrap_or_default(),
            after: mean(after).unwrap_or_default(),
            mean: interval.mean,
            low: interval.low,
            high: interval.high,
            p: randomization_test(&differences, ROUNDS, SEED).p,
            better: count(|d| *d > 0.0),
            worse: count(|d| *d < 0.0),
        }))
    }
}
