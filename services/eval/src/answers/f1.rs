use std::cmp::Ordering;

/// The harmonic mean of precision and recall of two bags of words or
/// characters, in which a part counts as often as both hold it (SQuAD's F1,
/// Rajpurkar et al. 2016). Two empty bags share nothing: 0.
pub(super) fn f1<T: Ord>(predicted: &[T], gold: &[T]) -> f64 {
    let shared = shared(predicted, gold);
    if shared == 0 {
        return 0.0;
    }
    // The order of the operations decides the last bit.
    let precision = shared as f64 / predicted.len() as f64;
    let recall = shared as f64 / gold.len() as f64;
    (2.0 * precision * recall) / (precision + recall)
}

fn shared<T: Ord>(left: &[T], right: &[T]) -> usize {
    let (left, right) = (sorted(left), sorted(right));
    let (mut at, mut other, mut shared) = (0, 0, 0);
    while at < left.len() && other < right.len() {
        match left[at].cmp(right[other]) {
            Ordering::Less => at += 1,
            Ordering::Greater => other += 1,
            Ordering::Equal => (at, other, shared) = (at + 1, other + 1, shared + 1),
        }
    }
    shared
}

fn sorted<T: Ord>(parts: &[T]) -> Vec<&T> {
    let mut parts: Vec<&T> = parts.iter().collect();
    parts.sort_unstable();
    parts
}
