//! The part of a sentence that a question asks for.
//!
//! Only where the question's own word says what kind of thing it wants: a
//! person, a time, a number, a place. In all other cases, and when nothing of
//! the kind stands in the sentence, the sentence is the answer. Whether the
//! answer is yes or no is left to the reader of the sentence.

mod chinese;
mod english;

use std::ops::Range;

use crate::model::{EvidenceText, Language};

/// What a question wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Person,
    Time,
    Number,
    Place,
}

/// The bytes of `sentence` that answer `question`.
pub(super) fn narrow(question: &str, sentence: &str, evidence: &[EvidenceText]) -> Range<usize> {
    let part = match Language::of(sentence) {
        Language::En => english::narrow(question, sentence, evidence),
        Language::Zh => chinese::narrow(question, sentence, evidence),
    };
    part.unwrap_or(0..sentence.len())
}
