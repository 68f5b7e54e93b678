//! Reciprocal rank fusion.

use std::collections::BTreeMap;

use quire_corpus::ChunkId;

use crate::{Hit, Ranking};

/// The constant of the published formula.
pub const RRF_K: f64 = 60.0;

/// Merges rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher,
/// SIGIR 2009): a passage's score is the sum over the lists of
/// `weight / (k + rank)`, rank from 1; a list without it adds 0.
///
/// Ties go to the passage with the better best rank, then to the lower id.
/// The order of the lists does not matter.
pub fn fuse(lists: &[(&Ranking, f64)], k: f64) -> Ranking {
    // Terms are gathered and added in sorted order, so that the sum does not
    // depend on the order of the lists.
    let mut found: BTreeMap<ChunkId, (usize, Vec<f64>)> = BTreeMap::new();
    for (ranking, weight) in lists {
        for (rank, chunk) in (1..).zip(ranking.chunks()) {
            let (best, terms) = found.entry(chunk).or_insert((rank, Vec::new()));
            *best = rank.min(*best);
            terms.push(weight / (k + rank as f64));
        }
    }
    let mut fused: Vec<(usize, Hit)> = found
        .into_iter()
        .map(|(chunk, (best, mut terms))| {
            terms.sort_by(f64::total_cmp);
            (
                best,
                Hit {
                    chunk,
                    score: terms.iter().sum(),
                },
            )
        })
        .collect();
    fused.sort_by(|(best_a, a), (best_b, b)| {
        b.score
            .total_cmp(&a.score)
            .then(best_a.cmp(best_b))
            .then(a.chunk.cmp(&b.chunk))
    });
    Ranking::already_sorted(fused.into_iter().map(|(_, hit)| hit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quire_corpus::BookId;

    fn ranking(ordinals: &[u32]) -> Ranking {
        let book = BookId::of_text("a book");
        let hits = ordinals.iter().enumerate().map(|(rank, &ordinal)| Hit {
            chunk: ChunkId { book, ordinal },
            score: -(rank as f64),
        });
        Ranking::by_score(hits.collect()).unwrap()
    }

    fn ordinals(ranking: &Ranking) -> Vec<u32> {
        ranking.chunks().map(|chunk| chunk.ordinal).collect()
    }

    #[test]
    fn the_formula_is_the_published_one() {
        let fused = fuse(&[(&ranking(&[7, 8]), 1.), (&ranking(&[8]), 1.)], RRF_K);
        assert_eq!(ordinals(&fused), [8, 7]);
        assert_eq!(fused.hits()[0].score, 1. / 62. + 1. / 61.);
        assert_eq!(fused.hits()[1].score, 1. / 61.);
    }

    #[test]
    fn a_tie_goes_to_the_better_best_rank_and_then_the_lower_passage() {
        // With k = 0: 5 has 1/2 + 1/2, 9 has 1/1; 1 and 2 have 1/4 each... all by hand.
        let a = ranking(&[9, 5, 30, 1]);
        let b = ranking(&[40, 5, 31, 2]);
        let fused = fuse(&[(&a, 1.), (&b, 1.)], 0.);
        assert_eq!(ordinals(&fused), [9, 40, 5, 30, 31, 1, 2]);
    }

    proptest! {
        #[test]
        fn fusion_does_not_depend_on_the_order_of_the_lists(
            a in prop::collection::hash_set(0u32..60, 0..40),
            b in prop::collection::hash_set(0u32..60, 0..40),
            c in prop::collection::hash_set(0u32..60, 0..40),
        ) {
            let lists = [a, b, c].map(|set| ranking(&set.into_iter().collect::<Vec<_>>()));
            let [a, b, c] = &lists;
            let forth = fuse(&[(a, 1.), (b, 0.5), (c, 0.3)], RRF_K);
            let back = fuse(&[(c, 0.3), (a, 1.), (b, 0.5)], RRF_K);
            prop_assert_eq!(&forth, &back);
            let mut all: Vec<ChunkId> = lists.iter().flat_map(Ranking::chunks).collect();
            all.sort_unstable();
            all.dedup();
            let mut fused: Vec<ChunkId> = forth.chunks().collect();
            fused.sort_unstable();
            prop_assert_eq!(fused, all);
        }
    }
}
