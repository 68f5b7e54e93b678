//! What each term of a question weighs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use jieba_rs::Jieba;

use super::function_words::is_function_word;
use super::pieces::{Piece, Script, pieces};
use super::{Folded, Origin, Stemmer, characters_and_pairs, number_term, word_term};
use rust_stemmers::Algorithm;

/// A word of content.
const FULL: f64 = 1.0;
/// A pair of characters that two words share between them, which is a word
/// only if jieba parted it wrongly.
const ACROSS_WORDS: f64 = 0.5;
/// What repeats a heavier term or belongs to a function word.
const SLIGHT: f64 = 0.25;

// Loading the dictionary takes a good part of a second and tens of megabytes:
// only a question in Chinese pays for it, and only the first.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// A term and what it weighs in a question.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    /// As [`passage_terms`](super::passage_terms) writes it.
    pub term: String,
    /// Above 0. An occurrence of a word of content weighs 1; a term that
    /// occurs again weighs as much more.
    pub weight: f64,
    /// Whether it is, somewhere in the question, more than a function word or
    /// a character of a longer word.
    pub is_content: bool,
}

/// The terms of a question, each once, in the order of their bytes: the terms
/// the same text would have as a passage, all of them.
///
/// A function word weighs a quarter. A run of Chinese is parted into words by
/// jieba: a pair of characters within a word, or a word of one character,
/// weighs 1; a pair across two words a half; single characters of longer
/// words, and all that touches a function word, a quarter.
pub fn question_terms(question: &str) -> Vec<WeightedTerm> {
    let folded = Folded::new(question, Origin::Forgotten);
    let folded = folded.text();
    let stemmer = Stemmer::create(Algorithm::English);
    let mut weights: BTreeMap<String, (f64, bool)> = BTreeMap::new();
    let mut add = |term: String, weight: f64| {
        let (sum, is_content) = weights.entry(term).or_default();
        *sum += weight;
        *is_content |= weight > SLIGHT;
    };
    for piece in pieces(folded) {
        match piece {
            Piece::Word(range) => {
                let word = &folded[range];
                let weight = if is_function_word(word) { SLIGHT } else { FULL };
                add(word_term(&stemmer, word).into_owned(), weight);
            }
            Piece::Number(range) => add(number_term(&folded[range]), FULL),
            Piece::Run(range, Script::Han) => {
                let run = &folded[range];
                let words = Words::of(run);
                for part in characters_and_pairs(run) {
                    let weight = words.weight(run, &part);
                    add(run[part].to_owned(), weight);
                }
            }
            Piece::Run(range, Script::Other) => {
                let run = &folded[range];
                for part in characters_and_pairs(run) {
                    let weight = if is_pair(run, &part) { FULL } else { SLIGHT };
                    add(run[part].to_owned(), weight);
                }
            }
        }
    }
    weights
        .into_iter()
        .map(|(term, (weight, is_content))| WeightedTerm {
            term,
            weight,
            is_content,
        })
        .collect()
}

fn is_pair(run: &str, part: &Range<usize>) -> bool {
    run[part.clone()].chars().nth(1).is_some()
}

/// How jieba parts a run of Chinese.
struct Words {
    /// For each byte of the run, and the end, whether a word begins or ends there.
    bound: Vec<bool>,
    /// For each byte of the run, whether it belongs to a function word.
    function: Vec<bool>,
}

impl Words {
    fn of(run: &str) -> Self {
        let mut bound = vec![false; run.len() + 1];
        let mut function = vec![false; run.len()];
        let mut end = 0;
        bound[0] = true;
        for token in JIEBA.cut(run, true) {
            let start = end;
            end += token.word.len();
            bound[end] = true;
            if is_function_word(token.word) {
                function[start..end].fill(true);
            }
        }
        Self { bound, function }
    }

    fn weight(&self, run: &str, part: &Range<usize>) -> f64 {
        if self.function[part.clone()].contains(&true) {
            return SLIGHT;
        }
        if !is_pair(run, part) {
            let is_word = self.bound[part.start] && self.bound[part.end];
            return if is_word { FULL } else { SLIGHT };
        }
        let is_parted = self.bound[part.start + 1..part.end].contains(&true);
        if is_parted { ACROSS_WORDS } else { FULL }
    }
}

#[cfg(test)]
mod tests {
    use super::super::passage_terms;
    use super::*;
    use proptest::prelude::*;

    fn weight(question: &str, term: &str) -> f64 {
        question_terms(question)
            .into_iter()
            .find(|weighted| weighted.term == term)
            .map_or(0.0, |weighted| weighted.weight)
    }

    #[test]
    fn function_words_weigh_little_and_repeated_words_more() {
        let question = "Who was the man that the old man saw?";
        assert_eq!(weight(question, "man"), 2.0);
        assert_eq!(weight(question, "old"), 1.0);
        assert_eq!(weight(question, "the"), 0.5);
        assert_eq!(weight(question, "who"), 0.25);
    }

    #[test]
    fn chinese_weighs_by_its_words() {
        let question = "孙悟空在北京大学学什么";
        assert_eq!(weight(question, "悟空"), 1.0);
        assert_eq!(weight(question, "北京"), 1.0);
        assert_eq!(weight(question, "什么"), 0.25);
        assert_eq!(weight(question, "空在"), 0.25);
        assert_eq!(weight(question, "悟"), 0.25);
        assert_eq!(weight("红花白", "花白"), 0.5);
    }

    #[test]
    fn a_question_without_words_has_no_terms() {
        assert_eq!(question_terms(" ?！…\u{200b} "), []);
    }

    proptest! {
        #[test]
        fn a_question_has_the_terms_of_the_same_passage(text in "[a-z你好世界的什么か1,é ]{0,40}") {
            let asked: Vec<String> = question_terms(&text).into_iter().map(|t| t.term).collect();
            let mut written = passage_terms(&text);
            written.sort_unstable();
            written.dedup();
            prop_assert_eq!(asked, written);
        }
    }
}
