//! quire's own format, that of the sample corpus.

use std::path::Path;

use serde::Deserialize;

use super::{Book, Draft, Fault, Question, QuestionsError, Support, present, read_lines, task_of};
use crate::answers::GoldAnswers;

/// A line. Other members are refused, so that a slip of the pen is found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    book: String,
    question: String,
    #[serde(default)]
    answers: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    evidence: Vec<String>,
}

/// Questions of one JSON object a line: `id`, `book` (the name of its file),
/// `question`, and where there are any `answers` (all that count as right;
/// without them a question is asked and not scored), `options` (the answers are among them, word for word) and `evidence`
/// (quotes of the book).
///
/// With options an answer is scored as a choice, else as the language of the
/// question asks: as Chinese if at least half of its letters are Han.
///
/// # Errors
/// When the file cannot be read or a line of it is not of the format.
pub fn own(path: &Path) -> Result<Vec<Question>, QuestionsError> {
    read_lines(path, |line| {
        let line: Line = serde_json::from_slice(line).map_err(Fault::Format)?;
        let gold = if line.options.is_empty() || line.answers.is_empty() {
            GoldAnswers::new(line.answers)
        } else {
            GoldAnswers::of_choice(&line.options, &line.answers)?
        };
        Ok(Draft {
            id: Some(present("id", Some(line.id))?),
            book: Book::Named(present("book", Some(line.book))?),
            task: task_of(&line.question, !line.options.is_empty()),
            text: present("question", Some(line.question))?,
            options: line.options,
            gold,
            evidence: line.evidence,
            support: Support::AnswerText,
        })
    })
}
