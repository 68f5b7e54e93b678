//! A total order over scored rows, cheap enough for every row of a scan.

/// A row and its score in one number. A larger one is a better hit: the
/// score decides, by `f32::total_cmp`, then the lower row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scored(u64);

impl Scored {
    /// Worse than, or equal to, any row with any score.
    pub(crate) const WORST: Self = Self(0);

    pub(crate) fn new(score: f32, row: u32) -> Self {
        let bits = score.to_bits();
        // Negative numbers grow downwards in their bits: turned over, they
        // ascend, and the other numbers go above them.
        let ascending = if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        };
        Self(u64::from(ascending) << 32 | u64::from(!row))
    }

    pub(crate) fn row(self) -> u32 {
        !(self.0 as u32)
    }

    pub(crate) fn score(self) -> f32 {
        let ascending = (self.0 >> 32) as u32;
        f32::from_bits(if ascending >> 31 == 1 {
            ascending & !(1 << 31)
        } else {
            !ascending
        })
    }
}

/// The best `limit`, best first.
pub(crate) fn best(mut scored: Vec<Scored>, limit: usize) -> Vec<Scored> {
    if limit == 0 {
        return Vec::new();
    }
    if limit < scored.len() {
        scored.select_nth_unstable_by(limit - 1, |a, b| b.cmp(a));
        scored.truncate(limit);
    }
    scored.sort_unstable_by(|a, b| b.cmp(a));
    scored
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scored_rows_order_by_score_then_by_the_lower_row(
            (a, b) in (any::<f32>(), any::<f32>()), (i, j) in (any::<u32>(), any::<u32>())
        ) {
            let expected = a.total_cmp(&b).then(j.cmp(&i));
            prop_assert_eq!(Scored::new(a, i).cmp(&Scored::new(b, j)), expected);
            prop_assert_eq!(Scored::new(a, i).cmp(&Scored::new(a, j)), j.cmp(&i));
            prop_assert!(Scored::WORST <= Scored::new(a, i));
        }

        #[test]
        fn a_scored_row_gives_back_what_it_was_made_of(score in any::<f32>(), row in any::<u32>()) {
            let scored = Scored::new(score, row);
            prop_assert_eq!(scored.score().to_bits(), score.to_bits());
            prop_assert_eq!(scored.row(), row);
        }

        #[test]
        fn the_best_are_the_head_of_the_sorted_list(
            scores in prop::collection::vec(-3i8..3, 0..200), limit in 0usize..250
        ) {
            let scored: Vec<Scored> = (0..).zip(&scores)
                .map(|(row, score)| Scored::new(f32::from(*score), row))
                .collect();
            let mut sorted = scored.clone();
            sorted.sort_by(|a, b| b.cmp(a));
            sorted.truncate(limit);
            prop_assert_eq!(best(scored, limit), sorted);
        }
    }
}
