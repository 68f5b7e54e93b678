//! Which texts share a run of the model, and how long each is made.
//!
//! A text's padded length depends on the text alone, and a batch holds texts
//! of one padded length only. So no text ever sees more or less padding
//! because of the others, and a model whose rows do not depend on each other
//! gives a text the same vector, bit for bit, alone and in any batch.

use crate::catalogue::BatchMates;

/// Padded lengths are multiples of this: few enough lengths that texts find
/// mates, at a cost of 3.5 tokens a text on average.
const LENGTH_STEP: usize = 8;

/// How batches are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchRule {
    /// Tokens in a batch at most, padding included; a longer text is a batch
    /// of its own.
    pub(crate) budget: usize,
    /// Whether texts may share a batch.
    pub(crate) mates: BatchMates,
    /// The longest text the model reads.
    pub(crate) max_tokens: usize,
    /// What fills a text up.
    pub(crate) pad_id: u32,
}

/// A text's place in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// The text's place among those that were asked for.
    pub(crate) index: usize,
    /// Its tokens, without padding.
    pub(crate) tokens: usize,
    /// Whether it was cut short.
    pub(crate) truncated: bool,
}

/// Texts of one padded length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The texts.
    pub(crate) rows: Vec<Row>,
    /// The padded length of each.
    pub(crate) width: usize,
    /// Row after row: `rows * width`.
    pub(crate) ids: Vec<i64>,
}

impl Batch {
    /// 1 for a token, 0 for padding: `rows * width`.
    pub(crate) fn mask(&self) -> Vec<i64> {
        let mut mask = Vec::with_capacity(self.ids.len());
        for row in &self.rows {
            mask.resize(mask.len() + row.tokens, 1);
            mask.resize(mask.len() + self.width - row.tokens, 0);
        }
        mask
    }

    /// Tokens without padding.
    pub(crate) fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

impl BatchRule {
    /// The padded length of a text.
    pub(crate) fn width(&self, tokens: usize) -> usize {
        match self.mates {
            BatchMates::Any => tokens.next_multiple_of(LENGTH_STEP).min(self.max_tokens),
            BatchMates::Single => tokens,
        }
    }

    /// How many texts of a padded length a batch holds at most.
    pub(crate) fn rows_of(&self, width: usize) -> usize {
        match self.mates {
            BatchMates::Any => (self.budget / width).max(1),
            BatchMates::Single => 1,
        }
    }

    /// A batch of texts, each of which has the padded length `width`.
    pub(crate) fn batch<'a>(
        &self,
        width: usize,
        texts: impl ExactSizeIterator<Item = (Row, &'a [u32])>,
    ) -> Batch {
        let mut ids = Vec::with_capacity(width * texts.len());
        let mut rows = Vec::with_capacity(texts.len());
        for (row, text) in texts {
            ids.extend(text.iter().copied().map(i64::from));
            rows.push(row);
            ids.resize(width * rows.len(), i64::from(self.pad_id));
        }
        Batch { rows, width, ids }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(budget: usize, mates: BatchMates) -> BatchRule {
        BatchRule {
            budget,
            mates,
            max_tokens: 60,
            pad_id: 1,
        }
    }

    #[test]
    fn every_text_is_filled_up_to_the_padded_length() {
        let texts: [&[u32]; 2] = [&[7; 6], &[9; 8]];
        let rows = texts.iter().enumerate().map(|(index, ids)| {
            let row = Row {
                index,
                tokens: ids.len(),
                truncated: false,
            };
            (row, *ids)
        });
        let batch = rule(40, BatchMates::Any).batch(8, rows);
        assert_eq!(batch.ids[4..10], [7, 7, 1, 1, 9, 9]);
        assert_eq!(batch.mask()[4..10], [1, 1, 0, 0, 1, 1]);
        assert_eq!((batch.ids.len(), batch.tokens()), (16, 14));
    }

    #[test]
    fn a_model_that_minds_its_mates_gets_every_text_alone_and_unpadded() {
        let rule = rule(400, BatchMates::Single);
        assert_eq!((rule.width(17), rule.rows_of(17)), (17, 1));
    }

    #[test]
    fn no_text_is_made_longer_than_the_model_reads() {
        assert_eq!(rule(400, BatchMates::Any).width(58), 60);
    }

    proptest! {
        #[test]
        fn a_batch_of_more_than_one_text_is_within_the_budget(
            tokens in 1usize..=60,
            budget in 1usize..300,
        ) {
            let rule = rule(budget, BatchMates::Any);
            let width = rule.width(tokens);
            prop_assert!((tokens..tokens + LENGTH_STEP).contains(&width));
            let rows = rule.rows_of(width);
            prop_assert!(rows == 1 || rows * width <= budget);
            prop_assert!((rows + 1) * width > budget);
        }
    }
}
