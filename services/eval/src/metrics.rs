//! Retrieval measures of one ranked list against its judgements.

use std::collections::BTreeMap;

/// The relevant passages of a question and their grades (1 and above), by
/// passage number.
pub type Judgements = BTreeMap<usize, u32>;

/// The reciprocal of the rank of the first relevant passage among the first
/// `depth`, or 0.
pub fn reciprocal_rank(ranked: &[usize], relevant: &Judgements, depth: usize) -> f64 {
    let first = ranked
        .iter()
        .take(depth)
        .position(|passage| relevant.contains_key(passage));
    first.map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// The share of the relevant passages found among the first `depth`.
pub fn recall(ranked: &[usize], relevant: &Judgements, depth: usize) -> f64 {
    if relevant.is_empty() {
        return 0.0;
    }
    let found = ranked
        .iter()
        .take(depth)
        .filter(|passage| relevant.contains_key(passage))
        .count();
    found as f64 / relevant.len() as f64
}

/// Normalized discounted cumulative gain at `depth`: gain is the grade,
/// discount `log2(rank + 1)` (Järvelin and Kekäläinen 2002, as in trec_eval).
pub fn ndcg(ranked: &[usize], relevant: &Judgements, depth: usize) -> f64 {
    let gain = |grades: &mut dyn Iterator<Item = u32>| -> f64 {
        (1..=depth)
            .zip(grades)
            .map(|(rank, g)| f64::from(g) / ((rank + 1) as f64).log2())
            .sum()
    };
    let mut best: Vec<u32> = relevant.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = gain(&mut best.into_iter());
    if ideal == 0.0 {
        return 0.0;
    }
    gain(
        &mut ranked
            .iter()
            .map(|passage| relevant.get(passage).copied().unwrap_or(0)),
    ) / ideal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(usize, u32)]) -> Judgements {
        pairs.iter().copied().collect()
    }

    #[test]
    fn the_reciprocal_rank_stops_at_its_depth() {
        let relevant = judged(&[(7, 1)]);
        assert_eq!(reciprocal_rank(&[1, 7], &relevant, 10), 0.5);
        assert_eq!(reciprocal_rank(&[1, 7], &relevant, 1), 0.0);
    }

    #[test]
    fn recall_counts_relevant_passages() {
        let relevant = judged(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(recall(&[9, 2, 4, 1], &relevant, 3), 0.5);
    }

    #[test]
    fn ndcg_is_the_value_computed_by_hand() {
        let relevant = judged(&[(1, 3), (2, 1)]);
        let by_hand = (1.0 + 3.0 / 3f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        assert!((ndcg(&[2, 1], &relevant, 10) - by_hand).abs() < 1e-12);
        assert_eq!(ndcg(&[1, 2], &relevant, 10), 1.0);
        assert_eq!(ndcg(&[8], &relevant, 10), 0.0);
    }
}
