//! What a difference between scores is worth: spread, and paired tests.
//!
//! Everything is a pure function of its arguments. What is drawn by chance is
//! drawn from a seed by a generator of our own, so that a report can be made
//! again on any machine.

mod difference;
mod paired;
mod rng;

pub use difference::Difference;
pub use paired::{
    EXACT_PAIRS, Interval, MisfitPairs, Randomization, bootstrap_interval, paired_differences,
    randomization_test,
};
pub(crate) use rng::Rng;

/// The mean, added from the left; nothing of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let sum = values.iter().fold(0.0, |sum, value| sum + value);
    Some(sum / values.len() as f64)
}

/// The sample standard deviation, with `n - 1` in the denominator; nothing of
/// fewer than two values, which have no spread to speak of.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    // Twice over the values: the sum of squares less the square of the sum
    // loses the digits that matter when values are alike.
    let mean = mean(values)?;
    let squares = values
        .iter()
        .fold(0.0, |sum, value| sum + (value - mean) * (value - mean));
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The standard error of the mean of independent values: the sample standard
/// deviation by the root of their number. Nothing of fewer than two.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    Some(standard_deviation(values)? / (values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests;
