//! Two runs over the same questions.

use super::mean;
use super::rng::Rng;

/// Up to how many pairs that differ the randomization test goes through every
/// assignment (about a million) and leaves nothing to chance.
pub const EXACT_PAIRS: usize = 20;

/// Scores that cannot be compared in pairs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MisfitPairs {
    /// One run has more scores than the other.
    #[error(
        "{left} scores against {right}: only the questions that both runs answered can be compared"
    )]
    Lengths {
        /// Of the first run.
        left: usize,
        /// Of the second.
        right: usize,
    },
    /// A score is infinite or not a number.
    #[error("score {0} of a run is not a finite number")]
    NotFinite(usize),
}

/// What the second run scored more than the first, question by question.
///
/// # Errors
/// When the runs are not of the same length, or a score is not finite.
pub fn paired_differences(left: &[f64], right: &[f64]) -> Result<Vec<f64>, MisfitPairs> {
    if left.len() != right.len() {
        return Err(MisfitPairs::Lengths {
            left: left.len(),
            right: right.len(),
        });
    }
    let differences: Vec<f64> = left.iter().zip(right).map(|(l, r)| r - l).collect();
    match differences.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(MisfitPairs::NotFinite(at)),
        None => Ok(differences),
    }
}

/// How likely chance alone makes a mean difference as large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Randomization {
    /// The two-sided p-value, above 0 and up to 1.
    pub p: f64,
    /// Whether every assignment was gone through; else a sample was.
    pub exact: bool,
    /// How many assignments `p` comes from.
    pub assignments: u64,
}

/// Fisher's paired randomization test (1935; for retrieval: Smucker, Allan and
/// Carterette 2007). If the runs were alike, each difference could as well
/// have the other sign; `p` is the share of sign assignments whose mean is at
/// least as far from 0 as the one seen.
///
/// Differences of 0 have no sign and change nothing. With at most
/// [`EXACT_PAIRS`] others the test is exact; else `rounds` assignments are
/// drawn from `seed`, to which the one seen is added, so that `p` is never 0
/// (Davison and Hinkley 1997).
pub fn randomization_test(differences: &[f64], rounds: u32, seed: u64) -> Randomization {
    let signed: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let seen: f64 = signed.iter().sum();
    // Sums that are equal but for rounding count as equal.
    let slack = 1e-12 * signed.iter().map(|d| d.abs()).sum::<f64>();
    let as_far = |sum: f64| sum.abs() >= seen.abs() - slack;

    if signed.len() <= EXACT_PAIRS {
        let assignments = 1u64 << signed.len();
        let far = (0..assignments)
            .filter(|&signs| as_far(sum_under(&signed, signs)))
            .count();
        return Randomization {
            p: far as f64 / assignments as f64,
            exact: true,
            assignments,
        };
    }
    let mut rng = Rng::new(seed);
    let far = (0..rounds)
        .filter(|_| {
            let words = signed.chunks(64);
            as_far(words.map(|word| sum_under(word, rng.bits())).sum())
        })
        .count();
    Randomization {
        p: (far + 1) as f64 / (f64::from(rounds) + 1.0),
        exact: false,
        assignments: u64::from(rounds) + 1,
    }
}

/// The sum in which each set bit of `signs` turns a difference round.
fn sum_under(differences: &[f64], signs: u64) -> f64 {
    (0..)
        .zip(differences)
        .map(|(bit, difference)| match signs >> bit & 1 {
            1 => -difference,
            _ => *difference,
        })
        .sum()
}

/// A mean difference and where it may lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean of the differences given.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The percentile bootstrap interval of a mean difference (Efron 1979): the
/// middle `level` (0.95, say) of the means of `rounds` samples, each of as
/// many differences drawn with replacement from `seed`. Nothing without
/// differences or rounds.
///
/// The differences are taken to be independent. Questions about one book are
/// not quite, so over few books the interval is too narrow.
///
/// # Panics
/// When `level` is not between 0 and 1.
pub fn bootstrap_interval(
    differences: &[f64],
    level: f64,
    rounds: u32,
    seed: u64,
) -> Option<Interval> {
    assert!(level > 0.0 && level < 1.0, "a level between 0 and 1");
    let seen = mean(differences)?;
    let count = differences.len();
    let mut rng = Rng::new(seed);
    let mut means: Vec<f64> = (0..rounds)
        .map(|_| {
            let drawn = (0..count).map(|_| differences[rng.below(count)]);
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Some(Interval {
        mean: seen,
        low: quantile(&means, outside)?,
        high: quantile(&means, 1.0 - outside)?,
    })
}

/// The value below which a share of sorted values lies, between its
/// neighbours in proportion (Hyndman and Fan 1996, type 7).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * sorted.len().checked_sub(1)? as f64;
    let below = sorted[at.floor() as usize];
    let above = sorted[at.ceil() as usize];
    Some(below + (above - below) * (at - at.floor()))
}
