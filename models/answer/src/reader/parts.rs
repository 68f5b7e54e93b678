//! The part of a sentence that answers a question.
//!
//! Every run of words (in Chinese, of characters) up to a length is a
//! candidate. A candidate's score is a sum of what can be seen of it, weighted:
//! whether it is of the kind that the question's own word asks for, how close
//! it stands to the question's words and how few of them it repeats, whether
//! it begins and ends where a phrase does, and how long it is. The weights make
//! the expected token F1 as large as they can on one half of public questions;
//! docs/notes-reader.md has the other half's figures. Nothing was parsed to get
//! them, and nothing needs to be.

mod chinese;
mod english;

use std::ops::Range;

use super::evidence::Weighed;
use crate::model::Language;

/// What a question wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Person,
    Time,
    Place,
    Number,
    Reason,
    Manner,
    /// What somebody does.
    Deed,
    Thing,
}

/// A part of a sentence, and how well it answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Bytes of the sentence.
    pub(super) bytes: Range<usize>,
    /// The greater the better; compares parts of any sentence for one
    /// question.
    pub(super) score: f64,
}

/// Parts of `sentence` that may answer `question`, best first; none when the
/// question is to be answered by yes or no, which only the whole sentence
/// does. `asked` is the question's words, weighed; `around` the text that the
/// sentence stands in.
pub(super) fn parts(question: &str, asked: &Weighed, sentence: &str, around: &str) -> Vec<Part> {
    let mut parts = match Language::of(sentence) {
        Language::En => english::parts(question, asked, sentence),
        Language::Zh => chinese::parts(question, sentence, around),
    };
    parts.sort_by(|a, b| {
        let in_text = (a.bytes.start, a.bytes.end).cmp(&(b.bytes.start, b.bytes.end));
        b.score.total_cmp(&a.score).then(in_text)
    });
    parts
}

/// What lengths are worth to a question: a quadratic in the logarithm.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    log: f64,
    squared: f64,
}

impl Lengths {
    fn worth(self, length: usize) -> f64 {
        let log = (length as f64).ln();
        self.log * log + self.squared * log * log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::words::terms;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_of_any_text_are_whole_characters_in_a_total_order(
            question in "(who|why|谁|多少|为什么)?[a-cA 灯亮了1,。?]{0,12}",
            sentence in "[a-cA-B灯亮在。,\"“「 \n1.é-]{0,60}",
        ) {
            let asked: Weighed = terms(&question).into_iter().map(|t| (t.text, t.content)).collect();
            let found = parts(&question, &asked, &sentence, &sentence);
            for pair in found.windows(2) {
                prop_assert!(pair[0].score >= pair[1].score);
            }
            for part in &found {
                prop_assert!(part.score.is_finite());
                let text = sentence.get(part.bytes.clone());
                prop_assert!(text.is_some_and(|text| text.chars().any(char::is_alphanumeric)));
            }
        }
    }

    #[test]
    fn a_sentence_without_end_is_read_to_a_bound() {
        let long = "lamp oil ".repeat(50_000);
        let han = "灯油亮".repeat(50_000);
        for (question, sentence) in [("Who lit the lamp?", &long), ("谁点的灯？", &han)] {
            assert!(parts(question, &Weighed::new(), sentence, sentence).len() < 50_000);
        }
    }
}
