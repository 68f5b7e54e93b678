//! Retrieval measures of one ranked list against its judgements.
//!
//! They are those of trec_eval, in 64-bit floats and added in its order, so
//! that a value here is the value there, to the last digit:
//! `tests/clients/trec_measures.py` compares every one.

use std::collections::BTreeMap;
use std::fmt;

/// The relevant passages of a question and their grades (1 and above).
pub type Judgements<P> = BTreeMap<P, u32>;

/// What is measured, of the first passages of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Whether a relevant passage is there: 1 or 0 (trec_eval: `success`).
    Hit,
    /// The share of the relevant passages that is there.
    Recall,
    /// The reciprocal of the rank of the first relevant passage, or 0.
    Mrr,
    /// Normalized discounted cumulative gain: gain is the grade, discount
    /// `log2(rank + 1)` (Järvelin and Kekäläinen 2002; trec_eval: `ndcg_cut`).
    Ndcg,
    /// The mean, over all relevant passages, of the precision at the rank of
    /// each one that is there (trec_eval: `map_cut`).
    Map,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Kind; 5] = [Kind::Hit, Kind::Recall, Kind::Mrr, Kind::Ndcg, Kind::Map];
}

/// A measure and how many passages it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Measure {
    /// What is measured.
    pub kind: Kind,
    /// Of how many passages, the first ones.
    pub depth: usize,
}

/// The depths of a report.
pub const DEPTHS: [usize; 6] = [1, 3, 5, 10, 20, 100];

impl Measure {
    /// A measure at a depth.
    pub const fn at(kind: Kind, depth: usize) -> Self {
        Self { kind, depth }
    }

    /// Every measure of a report: each kind at each of [`DEPTHS`].
    pub fn all() -> impl Iterator<Item = Measure> {
        let kinds = Kind::ALL.into_iter();
        kinds.flat_map(|kind| DEPTHS.map(|depth| Measure { kind, depth }))
    }

    /// The measure of a list, best first; 0 where nothing is relevant.
    pub fn of<P: Ord>(self, ranked: &[P], relevant: &Judgements<P>) -> f64 {
        let first = &ranked[..ranked.len().min(self.depth)];
        let grades = first
            .iter()
            .map(|passage| relevant.get(passage).copied().unwrap_or(0));
        let of_all = |found: f64| match relevant.len() {
            0 => 0.0,
            all => found / all as f64,
        };
        match self.kind {
            Kind::Hit => f64::from(u8::from(grades.into_iter().any(|grade| grade > 0))),
            Kind::Recall => of_all(grades.filter(|&grade| grade > 0).count() as f64),
            Kind::Mrr => {
                let at = grades.into_iter().position(|grade| grade > 0);
                at.map_or(0.0, |at| 1.0 / (at + 1) as f64)
            }
            Kind::Ndcg => {
                let mut best: Vec<u32> = relevant.values().copied().collect();
                best.sort_unstable_by(|a, b| b.cmp(a));
                best.truncate(self.depth);
                match gain(best) {
                    0.0 => 0.0,
                    ideal => gain(grades) / ideal,
                }
            }
            Kind::Map => {
                let mut found = 0.0;
                let mut sum = 0.0;
                for (rank, grade) in (1..).zip(grades) {
                    if grade > 0 {
                        found += 1.0;
                        sum += found / f64::from(rank);
                    }
                }
                of_all(sum)
            }
        }
    }
}

/// Discounted cumulative gain.
fn gain(grades: impl IntoIterator<Item = u32>) -> f64 {
    let discounted = (1..)
        .zip(grades)
        .filter(|(_, grade)| *grade > 0)
        .map(|(rank, grade): (u32, u32)| f64::from(grade) / f64::from(rank + 1).log2());
    // Not `sum`, whose start is -0.
    discounted.fold(0.0, |sum, gain| sum + gain)
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Hit => "hit",
            Kind::Recall => "recall",
            Kind::Mrr => "mrr",
            Kind::Ndcg => "ndcg",
            Kind::Map => "map",
        })
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kind, self.depth)
    }
}

/// A name that is no measure's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no measure {0:?}: write one of hit, recall, mrr, ndcg, map, and its depth, as in mrr@10"
)]
pub struct UnknownMeasure(pub String);

impl std::str::FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<Self, UnknownMeasure> {
        let parsed = name.split_once('@').and_then(|(kind, depth)| {
            let kind = Kind::ALL.into_iter().find(|k| k.to_string() == kind)?;
            let depth = depth.parse().ok().filter(|&depth| depth > 0)?;
            Some(Measure { kind, depth })
        });
        parsed.ok_or_else(|| UnknownMeasure(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(usize, u32)]) -> Judgements<usize> {
        pairs.iter().copied().collect()
    }

    fn value(name: &str, ranked: &[usize], relevant: &Judgements<usize>) -> f64 {
        let measure: Measure = name.parse().unwrap();
        measure.of(ranked, relevant)
    }

    #[test]
    fn the_reciprocal_rank_stops_at_its_depth() {
        let relevant = judged(&[(7, 1)]);
        assert_eq!(value("mrr@10", &[1, 7], &relevant), 0.5);
        assert_eq!(value("mrr@1", &[1, 7], &relevant), 0.0);
        assert_eq!(value("hit@2", &[1, 7], &relevant), 1.0);
        assert_eq!(value("hit@1", &[1, 7], &relevant), 0.0);
    }

    #[test]
    fn recall_counts_relevant_passages() {
        let relevant = judged(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(value("recall@3", &[9, 2, 4, 1], &relevant), 0.5);
    }

    #[test]
    fn ndcg_is_the_value_computed_by_hand() {
        let relevant = judged(&[(1, 3), (2, 1)]);
        let by_hand = (1.0 + 3.0 / 3f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        assert!((value("ndcg@10", &[2, 1], &relevant) - by_hand).abs() < 1e-12);
        assert_eq!(value("ndcg@10", &[1, 2], &relevant), 1.0);
        assert_eq!(value("ndcg@10", &[8], &relevant), 0.0);
    }

    #[test]
    fn average_precision_is_the_value_computed_by_hand() {
        let relevant = judged(&[(1, 1), (2, 2), (3, 1)]);
        let by_hand = (1.0 + 2.0 / 3.0) / 3.0;
        assert_eq!(value("map@10", &[1, 8, 2, 9], &relevant), by_hand);
        assert_eq!(value("map@2", &[1, 8, 2, 9], &relevant), 1.0 / 3.0);
    }

    #[test]
    fn nothing_relevant_measures_nothing() {
        for measure in Measure::all() {
            assert_eq!(measure.of(&[1, 2], &judged(&[])), 0.0, "{measure}");
        }
    }

    #[test]
    fn a_name_reads_back() {
        for measure in Measure::all() {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        for wrong in ["mrr", "mrr@0", "mrr@x", "accuracy@1", ""] {
            assert!(wrong.parse::<Measure>().is_err(), "{wrong}");
        }
    }
}
