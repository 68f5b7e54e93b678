//! Answers scored as InfiniteBench scores them.
//!
//! The rules are those of the evaluation script that comes with InfiniteBench
//! (Zhang et al. 2024, "∞Bench: Extending Long Context Evaluation Beyond 100K
//! Tokens"; the script is `src/compute_scores.py` of its repository, at
//! revision 88b3daa), so that a score here can be set beside a published one.
//! They are kept to the letter, oddities included: text means what it means
//! to Python, and `tests/infinitebench.rs` compares every row bit for bit.
//! No model sits between an answer and its score.

mod choice;
mod f1;
mod gold;
mod normal;

use std::fmt;
use std::str::FromStr;

pub use gold::{GoldAnswers, NotAnOption};
pub(crate) use normal::{chinese_characters, english_words};

use crate::statistics::mean;

/// A task, which decides how its answers are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// En.MC: a choice among options by letter. Right or wrong.
    ChoiceEn,
    /// En.QA: a free answer in English. F1 of words.
    QaEn,
    /// Zh.QA: a free answer in Chinese. F1 of characters.
    QaZh,
}

impl Task {
    /// Every task.
    pub const ALL: [Task; 3] = [Task::ChoiceEn, Task::QaEn, Task::QaZh];

    /// The name InfiniteBench gives it in its file names.
    pub fn name(self) -> &'static str {
        match self {
            Task::ChoiceEn => "longbook_choice_eng",
            Task::QaEn => "longbook_qa_eng",
            Task::QaZh => "longbook_qa_chn",
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Task {
    type Err = UnknownTask;

    fn from_str(name: &str) -> Result<Self, UnknownTask> {
        let named = Task::ALL.into_iter().find(|task| task.name() == name);
        named.ok_or_else(|| UnknownTask(name.to_owned()))
    }
}

/// A name that is no task's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no task {0:?}: it is one of longbook_choice_eng, longbook_qa_eng, longbook_qa_chn"
)]
pub struct UnknownTask(pub String);

/// The score of one answer, 0 to 1: the best over the gold answers, 0 when
/// there are none. Of a choice it is 1 (right) or 0.
pub fn score(task: Task, prediction: &str, gold: &GoldAnswers) -> f64 {
    match task {
        Task::ChoiceEn => f64::from(u8::from(choice::is_right(prediction, gold))),
        Task::QaEn => best(gold, &normal::english_words(prediction), |answer| {
            normal::english_words(answer)
        }),
        Task::QaZh => best(gold, &normal::chinese_characters(prediction), |answer| {
            normal::chinese_characters(answer)
        }),
    }
}

fn best<T: Ord>(gold: &GoldAnswers, predicted: &[T], parts: impl Fn(&str) -> Vec<T>) -> f64 {
    gold.texts()
        .iter()
        .map(|answer| f1::f1(predicted, &parts(answer)))
        .fold(0.0, f64::max)
}

/// The score of a task over its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// How many rows were scored.
    pub rows: usize,
    /// How many of them scored 1: of a choice, the right ones.
    pub full: usize,
    /// The mean score. Rows are added in their order, as the script adds
    /// them, which decides the last bit.
    pub mean: f64,
}

impl Total {
    /// Of the rows' scores, in the rows' order; nothing without rows.
    pub fn of(scores: &[f64]) -> Option<Total> {
        Some(Total {
            rows: scores.len(),
            full: scores.iter().filter(|&&score| score == 1.0).count(),
            mean: mean(scores)?,
        })
    }
}

#[cfg(test)]
mod tests;
