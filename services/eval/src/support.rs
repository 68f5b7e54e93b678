//! Which passages of a book support the answer to a question.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use quire_engine::{EngineError, OpenBook};
use regex::Regex;
use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::answers::{Task, chinese_characters, english_words};
use crate::measures::Judgements;
use crate::questions::Support;
use crate::set::SetQuestion;

/// By what a passage is told to support an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// The set judged the passage itself.
    Judged,
    /// It holds at least half of a passage quoted as evidence.
    Quoted,
    /// It holds the text of an answer, normalized as for scoring.
    AnswerText,
    /// It holds all content words of an answer that the question does not
    /// hold, by their stems.
    AnswerWords,
}

impl Criterion {
    /// Its name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Judged => "judged",
            Criterion::Quoted => "quoted",
            Criterion::AnswerText => "answer_text",
            Criterion::AnswerWords => "answer_words",
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The supporting passages of a question's book, by ordinal, by each criterion
/// that the question has. A criterion without passages is there all the same:
/// none of the book's passages supports the answer.
pub type Supporting = BTreeMap<Criterion, Judgements<u32>>;

/// The passages of a book, made comparable with answers.
pub struct BookPassages {
    text: Vec<String>,
    spans: Vec<Range<usize>>,
    english: OnceLock<Vec<String>>,
    chinese: OnceLock<Vec<String>>,
    stems: OnceLock<Vec<BTreeSet<String>>>,
}

impl BookPassages {
    /// Of an open book.
    ///
    /// # Errors
    /// When its files changed.
    pub fn of(book: &OpenBook) -> Result<Self, EngineError> {
        let count = book.passages();
        let mut text = Vec::with_capacity(count);
        let mut spans = Vec::with_capacity(count);
        for ordinal in 0..count as u32 {
            let passage = book.passage(ordinal)?;
            spans.push(passage.span);
            text.push(passage.text);
        }
        Ok(Self {
            text,
            spans,
            english: OnceLock::new(),
            chinese: OnceLock::new(),
            stems: OnceLock::new(),
        })
    }

    /// The passages that support a question's answer; `book` is the canonical
    /// text of its book.
    ///
    /// A judged question is judged by nothing else. An answer that is found in
    /// more than a twentieth of the passages, and three, tells too little of
    /// where it was found: by the answer's text or words such a question has
    /// no criterion.
    pub fn supporting(&self, question: &SetQuestion, book: &str) -> Supporting {
        let mut found = Supporting::new();
        if !question.judged.is_empty() {
            found.insert(Criterion::Judged, question.judged.clone());
            return found;
        }
        let quotations = quotations(book, &question.quoted);
        if !quotations.is_empty() {
            let holds = |span: &Range<usize>| quotations.iter().any(|q| is_in(q, span));
            found.insert(Criterion::Quoted, self.those(|at| holds(&self.spans[at])));
        }
        let (criterion, passages) = match question.support {
            Support::AnswerText => (Criterion::AnswerText, self.with_text(question)),
            Support::AnswerWords => (Criterion::AnswerWords, self.with_words(question)),
        };
        let most = self.text.len() as f64 * 0.05 + 3.0;
        if let Some(passages) = passages.filter(|p| p.len() as f64 <= most) {
            found.insert(criterion, passages);
        }
        found
    }

    fn those(&self, holds: impl Fn(usize) -> bool) -> Judgements<u32> {
        let places = (0..self.text.len()).filter(|&at| holds(at));
        places.map(|at| (at as u32, 1)).collect()
    }

    /// `None` for a question without answers in words: where a passage says
    /// "true" is no evidence.
    fn with_text(&self, question: &SetQuestion) -> Option<Judgements<u32>> {
        let of_task = |text: &str| match question.task {
            Task::QaZh => chinese_characters(text).into_iter().collect(),
            Task::ChoiceEn | Task::QaEn => spaced(&english_words(text)),
        };
        let answers: Vec<String> = answers(question)
            .filter(|answer| !is_verdict(answer))
            .map(of_task)
            .filter(|answer| !answer.trim().is_empty())
            .collect();
        if answers.is_empty() {
            return None;
        }
        let normal = match question.task {
            Task::QaZh => &self.chinese,
            Task::ChoiceEn | Task::QaEn => &self.english,
        };
        let normal = normal.get_or_init(|| self.text.iter().map(|text| of_task(text)).collect());
        Some(self.those(|at| {
            answers
                .iter()
                .any(|answer| normal[at].contains(answer.as_str()))
        }))
    }

    /// `None` for a question whose answers have no words of their own, or more
    /// than six.
    fn with_words(&self, question: &SetQuestion) -> Option<Judgements<u32>> {
        let asked = content_stems(&question.text);
        let answers: Vec<BTreeSet<String>> = answers(question)
            .map(|answer| &content_stems(answer) - &asked)
            .filter(|words| (1..=6).contains(&words.len()))
            .collect();
        if answers.is_empty() {
            return None;
        }
        let stems = self
            .stems
            .get_or_init(|| self.text.iter().map(|text| content_stems(text)).collect());
        Some(self.those(|at| answers.iter().any(|words| words.is_subset(&stems[at]))))
    }
}

/// The answers of a question in words: of a choice without the letters.
fn answers(question: &SetQuestion) -> impl Iterator<Item = &str> {
    let choice = !question.options.is_empty();
    let texts = question.gold.texts().iter();
    texts
        .filter(move |text| !choice || question.options.contains(text))
        .map(String::as_str)
}

/// Words between blanks, so that only whole words are found in it.
fn spaced(words: &[String]) -> String {
    format!(" {} ", words.join(" "))
}

/// Where a text has these quotations, all of their places.
fn quotations(text: &str, quoted: &[String]) -> Vec<Range<usize>> {
    let places = quoted.iter().flat_map(|quoted| {
        let places = text.match_indices(quoted.as_str());
        places.map(|(at, quotation)| at..at + quotation.len())
    });
    places.collect()
}

/// Whether an answer only says yes or no.
fn is_verdict(answer: &str) -> bool {
    let bare = answer.trim_matches(|c: char| !c.is_alphanumeric());
    let verdicts = [
        "true", "false", "yes", "no", "是", "不是", "对", "不对", "否",
    ];
    verdicts.contains(&bare.to_lowercase().as_str())
}

/// Whether a passage holds a quotation: at least half of it, since one may lie
/// across two passages.
fn is_in(quotation: &Range<usize>, passage: &Range<usize>) -> bool {
    let start = quotation.start.max(passage.start);
    let end = quotation.end.min(passage.end);
    start < end && 2 * (end - start) >= quotation.len()
}

static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}_]+").expect("the pattern is a constant"));

/// Words that say nothing of what a text is about.
const FUNCTION_WORDS: &str = "a an the of to in on at by for with from and or is was were be been \
    are as it its his her he she they their them that this these those who whom whose which what \
    when where why how did do does had has have not no into out up down about after before during \
    over under than then there s t";

/// The stems of a text's content words (Snowball's English stemmer).
fn content_stems(text: &str) -> BTreeSet<String> {
    static STOP: LazyLock<BTreeSet<&str>> =
        LazyLock::new(|| FUNCTION_WORDS.split_whitespace().collect());
    let stemmer = Stemmer::create(Algorithm::English);
    let text = text.nfkc().collect::<String>().to_lowercase();
    let words = WORD.find_iter(&text).map(|word| word.as_str());
    words
        .filter(|word| !STOP.contains(word))
        .map(|word| stemmer.stem(word).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::GoldAnswers;

    fn passages(texts: &[&str]) -> (BookPassages, String) {
        let book = texts.concat();
        let mut at = 0;
        let spans = texts.iter().map(|text| {
            at += text.len();
            at - text.len()..at
        });
        let passages = BookPassages {
            spans: spans.collect(),
            text: texts.iter().map(ToString::to_string).collect(),
            english: OnceLock::new(),
            chinese: OnceLock::new(),
            stems: OnceLock::new(),
        };
        (passages, book)
    }

    fn question(text: &str, answers: &[&str]) -> SetQuestion {
        SetQuestion {
            id: "q".into(),
            text: text.into(),
            book: 0,
            options: Vec::new(),
            gold: GoldAnswers::new(answers.iter().copied()),
            task: Task::QaEn,
            judged: Judgements::new(),
            quoted: Vec::new(),
            support: Support::AnswerText,
        }
    }

    fn places(found: &Supporting, criterion: Criterion) -> Option<Vec<u32>> {
        let passages = found.get(&criterion)?;
        Some(passages.keys().copied().collect())
    }

    #[test]
    fn a_passage_holds_a_quotation_when_it_has_half_of_it() {
        assert!(is_in(&(10..20), &(0..15)));
        assert!(is_in(&(10..20), &(15..40)));
        assert!(!is_in(&(10..20), &(0..14)));
        assert!(!is_in(&(10..20), &(20..40)));
        let (book, text) = passages(&["The lamp, ", "the bell, ", "the lamp."]);
        let mut asked = question("What shone?", &["nothing"]);
        asked.quoted = vec!["lamp".into(), "a ship".into()];
        let found = book.supporting(&asked, &text);
        assert_eq!(places(&found, Criterion::Quoted), Some(vec![0, 2]));
        assert_eq!(places(&found, Criterion::AnswerText), Some(vec![]));
    }

    #[test]
    fn an_answer_is_found_as_whole_words_whatever_its_marks() {
        let (book, text) = passages(&["It was the Cat's cradle.", "Concatenate!", "A cats cradle"]);
        let found = book.supporting(&question("What?", &["a cat's cradle"]), &text);
        assert_eq!(places(&found, Criterion::AnswerText), Some(vec![0, 2]));
        let found = book.supporting(&question("What?", &["cat"]), &text);
        assert_eq!(places(&found, Criterion::AnswerText), Some(vec![]));
    }

    #[test]
    fn the_answer_of_a_choice_is_its_options_text() {
        let (book, text) = passages(&["B comes first.", "The green door."]);
        let mut asked = question("Which?", &[]);
        asked.options = vec!["red door".into(), "green door".into()];
        asked.gold = GoldAnswers::of_choice(&asked.options, &["green door"]).unwrap();
        let found = book.supporting(&asked, &text);
        assert_eq!(places(&found, Criterion::AnswerText), Some(vec![1]));
    }

    #[test]
    fn words_of_the_question_need_not_be_in_the_passage() {
        let (book, text) = passages(&["He walks to Paris.", "He sails.", "She walked in London."]);
        let mut asked = question("Who walked to Paris?", &["walking to London", "Paris"]);
        asked.support = Support::AnswerWords;
        let found = book.supporting(&asked, &text);
        assert_eq!(places(&found, Criterion::AnswerWords), Some(vec![2]));
    }

    #[test]
    fn a_verdict_is_no_criterion() {
        let (book, text) = passages(&["A true friend.", "It was not so."]);
        for verdict in ["True", "false.", " Yes", "不是"] {
            let found = book.supporting(&question("Was it?", &[verdict]), &text);
            assert!(found.is_empty(), "{verdict}");
        }
    }

    #[test]
    fn an_answer_that_is_everywhere_is_no_criterion() {
        let texts = ["yes, he said. "; 10];
        let (book, text) = passages(&texts);
        assert!(
            book.supporting(&question("Was it?", &["yes"]), &text)
                .is_empty()
        );
    }
}
