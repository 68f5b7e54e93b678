//! Which texts share a run of the model, and how long each is made.
//!
//! A text's padded length depends on the text alone, and a batch holds texts
//! of one padded length only. So no text ever sees more or less padding
//! because of the others, and a model whose rows do not depend on each other
//! gives a text the same vector, bit for bit, alone and in any batch.

use crate::catalogue::BatchMates;
use crate::text::Encoded;

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
    fn width(&self, tokens: usize) -> usize {
        match self.mates {
            BatchMates::Any => tokens.next_multiple_of(LENGTH_STEP).min(self.max_tokens),
            BatchMates::Single => tokens,
        }
    }

    fn rows_of(&self, width: usize) -> usize {
        match self.mates {
            BatchMates::Any => (self.budget / width).max(1),
            BatchMates::Single => 1,
        }
    }

    /// Batches of the texts, the longest first, so that memory is asked for
    /// once and the last runs are short. Each text is in one batch.
    pub(crate) fn batches(&self, texts: Vec<(usize, Encoded)>) -> Vec<Batch> {
        let mut texts: Vec<(usize, usize, Encoded)> = texts
            .into_iter()
            .map(|(index, text)| (self.width(text.ids.len()), index, text))
            .collect();
        texts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        texts
            .chunk_by(|a, b| a.0 == b.0)
            .flat_map(|equal| {
                let width = equal[0].0;
                equal
                    .chunks(self.rows_of(width))
                    .map(move |texts| self.batch(width, texts))
            })
            .collect()
    }

    fn batch(&self, width: usize, texts: &[(usize, usize, Encoded)]) -> Batch {
        let mut ids = Vec::with_capacity(width * texts.len());
        let mut rows = Vec::with_capacity(texts.len());
        for (_, index, text) in texts {
            ids.extend(text.ids.iter().copied().map(i64::from));
            ids.resize(width * (rows.len() + 1), i64::from(self.pad_id));
            rows.push(Row {
                index: *index,
                tokens: text.ids.len(),
                truncated: text.truncated,
            });
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

    fn texts(lengths: &[usize]) -> Vec<(usize, Encoded)> {
        let encoded = |length: &usize| Encoded {
            ids: vec![7; *length],
            truncated: false,
        };
        lengths.iter().map(encoded).enumerate().collect()
    }

    #[test]
    fn texts_of_one_padded_length_share_a_batch() {
        let batches = rule(40, BatchMates::Any).batches(texts(&[3, 17, 8, 5, 9, 1, 2, 4]));
        let shape = |batch: &Batch| {
            let rows: Vec<usize> = batch.rows.iter().map(|row| row.index).collect();
            (batch.width, rows)
        };
        let shapes: Vec<_> = batches.iter().map(shape).collect();
        assert_eq!(
            shapes,
            [
                (24, vec![1]),
                (16, vec![4]),
                (8, vec![0, 2, 3, 5, 6]),
                (8, vec![7])
            ]
        );
        assert_eq!(batches[1].ids[8..11], [7, 1, 1]);
        assert_eq!(batches[1].mask()[8..11], [1, 0, 0]);
        assert_eq!(batches[2].mask().iter().sum::<i64>(), 19);
    }

    #[test]
    fn a_model_that_minds_its_mates_gets_every_text_alone_and_unpadded() {
        let batches = rule(400, BatchMates::Single).batches(texts(&[3, 3, 17]));
        let widths: Vec<usize> = batches.iter().map(|batch| batch.width).collect();
        assert_eq!(widths, [17, 3, 3]);
    }

    #[test]
    fn no_text_is_made_longer_than_the_model_reads() {
        let batches = rule(400, BatchMates::Any).batches(texts(&[58]));
        assert_eq!(batches[0].width, 60);
    }

    proptest! {
        #[test]
        fn every_text_is_in_one_batch_and_its_length_is_its_own(
            lengths in prop::collection::vec(1usize..=60, 0..80),
            budget in 1usize..300,
        ) {
            let rule = rule(budget, BatchMates::Any);
            let mut seen = vec![0; lengths.len()];
            for batch in rule.batches(texts(&lengths)) {
                prop_assert_eq!(batch.ids.len(), batch.width * batch.rows.len());
                prop_assert!(batch.rows.len() == 1 || batch.ids.len() <= budget);
                for row in &batch.rows {
                    seen[row.index] += 1;
                    prop_assert_eq!(row.tokens, lengths[row.index]);
                    prop_assert_eq!(batch.width, rule.width(row.tokens));
                }
            }
            prop_assert!(seen.iter().all(|times| *times == 1));
        }
    }
}
