//! How alike texts are in meaning, as the models measure it.

use std::sync::Arc;

use quire_model::{Call, Embedder, ModelError, Reranker, Role};

/// Sentences about nothing in particular. How alike a question is to them is
/// how alike it is to anything: models differ in that, and so do questions.
const ABOUT_NOTHING: &[&str] = &[
    "The meeting was moved to another day.",
    "He closed the door and went home.",
    "It had been raining since the morning.",
    "Most of them agreed with the proposal.",
    "会议改到了另一天。",
    "他关上门回家去了。",
    "从早上起就一直在下雨。",
    "大多数人都同意这个提议。",
];

/// Measures by the embedder, or by a reranker where there is one.
pub(super) struct Meter {
    embedder: Arc<dyn Embedder>,
    reranker: Option<Arc<dyn Reranker>>,
}

/// How alike some texts and some sentences are.
pub(super) struct Likeness {
    rows: Vec<Vec<f64>>,
    /// How alike each text is to nothing in particular.
    nothing: Vec<f64>,
    /// The first row, spread.
    first: Vec<f64>,
}

impl Meter {
    pub(super) fn new(embedder: Arc<dyn Embedder>, reranker: Option<Arc<dyn Reranker>>) -> Self {
        Self { embedder, reranker }
    }

    /// The name of the model that measures.
    pub(super) fn name(&self) -> &str {
        match &self.reranker {
            Some(reranker) => &reranker.info().name,
            None => &self.embedder.info().name,
        }
    }

    /// How alike each of the texts and each of the sentences are.
    pub(super) fn measure(
        &self,
        texts: &[&str],
        sentences: &[&str],
        call: &Call,
    ) -> Result<Likeness, ModelError> {
        let all = [sentences, ABOUT_NOTHING].concat();
        let mut rows = match &self.reranker {
            Some(reranker) => rescored(&**reranker, texts, &all, call)?,
            None => embedded(&*self.embedder, texts, &all, call)?,
        };
        let nothing = rows
            .iter_mut()
            .map(|row| {
                let nothing = row.split_off(sentences.len());
                nothing.iter().sum::<f64>() / nothing.len().max(1) as f64
            })
            .collect();
        let first = rows.first().map(|row| spread(row)).unwrap_or_default();
        Ok(Likeness {
            rows,
            nothing,
            first,
        })
    }
}

impl Likeness {
    /// How alike a text is to each sentence, on the model's own scale.
    pub(super) fn row(&self, text: usize) -> &[f64] {
        &self.rows[text]
    }

    /// How alike the first text is to a sentence, between 0, the least of all
    /// sentences, and 1, the most: what a similarity is worth depends on the
    /// model, how it compares does not.
    pub(super) fn spread_of_question(&self, sentence: usize) -> f64 {
        self.first[sentence]
    }

    /// How alike they are between 0, as alike as to nothing in particular, and 1, the
    /// same. It compares between questions and between models.
    pub(super) fn above_nothing(&self, text: usize, sentence: usize) -> f64 {
        let nothing = self.nothing[text];
        let width = (1.0 - nothing).max(f64::EPSILON);
        ((self.rows[text][sentence] - nothing) / width).clamp(0.0, 1.0)
    }
}

fn rescored(
    reranker: &dyn Reranker,
    texts: &[&str],
    sentences: &[&str],
    call: &Call,
) -> Result<Vec<Vec<f64>>, ModelError> {
    let row = |text: &&str| {
        let scores = reranker.rerank(text, sentences, call)?;
        Ok(scores.iter().map(|score| f64::from(score.score)).collect())
    };
    texts.iter().map(row).collect()
}

fn embedded(
    embedder: &dyn Embedder,
    texts: &[&str],
    sentences: &[&str],
    call: &Call,
) -> Result<Vec<Vec<f64>>, ModelError> {
    let asked = embedder.embed(texts, Role::Question, call)?;
    let read = embedder.embed(sentences, Role::Passage, call)?;
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    let row = |text: &quire_model::Embedding| {
        let alike = read
            .iter()
            .map(|sentence| dot(&text.vector, &sentence.vector));
        alike.collect()
    };
    Ok(asked.iter().map(row).collect())
}

/// The same numbers between 0, the least, and 1, the greatest.
fn spread(numbers: &[f64]) -> Vec<f64> {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = greatest - least;
    let place = |number: &f64| {
        if width > 0.0 {
            (number - least) / width
        } else {
            0.0
        }
    };
    numbers.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_counted_from_nothing_in_particular() {
        let likeness = Likeness {
            rows: vec![vec![0.7, 0.8, 0.9, 1.2]],
            nothing: vec![0.8],
            first: Vec::new(),
        };
        let above: Vec<f64> = (0..4).map(|s| likeness.above_nothing(0, s)).collect();
        assert_eq!((above[0], above[1], above[3]), (0.0, 0.0, 1.0));
        assert!((above[2] - 0.5).abs() < 1e-9);
    }

    #[test]
    fn equal_numbers_spread_to_nothing() {
        assert_eq!(spread(&[3.0, 3.0]), [0.0, 0.0]);
        assert_eq!(spread(&[1.0, 3.0, 2.0]), [0.0, 1.0, 0.5]);
    }
}
