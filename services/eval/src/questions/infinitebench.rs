//! The data sets of InfiniteBench.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::{Book, Draft, Fault, Question, QuestionsError, Support, present, read_lines, task_of};
use crate::answers::{GoldAnswers, Task};

/// A line. Members that quire has no use for are passed over.
#[derive(Deserialize)]
struct Line {
    id: Option<Id>,
    context: Option<String>,
    input: Option<String>,
    answer: Option<Answer>,
    options: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Name(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    One(String),
    Several(Vec<String>),
}

/// Questions of one JSON object a line: `context` (the whole book), `input`
/// (the question), `answer` (a text or a list), `options` (of
/// `longbook_choice_eng` only) and `id`, in place of which the line's number
/// serves (`line-7`). The answer of a choice is an option's text, alone or
/// with its letter; a question without an answer is asked and not scored.
/// Without a `task` each question's is told by its options and its script.
///
/// Books of the same text are held once.
///
/// # Errors
/// When the file cannot be read or a line of it is not of the format.
pub fn infinitebench(task: Option<Task>, path: &Path) -> Result<Vec<Question>, QuestionsError> {
    let mut books: HashSet<Arc<str>> = HashSet::new();
    read_lines(path, |line| {
        let line: Line = serde_json::from_slice(line).map_err(Fault::Format)?;
        let context = present("context", line.context)?;
        let book = match books.get(context.as_str()) {
            Some(book) => Arc::clone(book),
            None => {
                let book: Arc<str> = context.into();
                books.insert(Arc::clone(&book));
                book
            }
        };
        let answers = match line.answer {
            None => Vec::new(),
            Some(Answer::One(text)) => vec![text],
            Some(Answer::Several(texts)) => texts,
        };
        let options = line.options.unwrap_or_default();
        let text = present("input", line.input)?;
        let task = task.unwrap_or_else(|| task_of(&text, !options.is_empty()));
        Ok(Draft {
            id: line.id.map(|id| match id {
                Id::Number(number) => number.to_string(),
                Id::Name(name) => name,
            }),
            book: Book::Text(book),
            text,
            gold: gold(task, &options, answers)?,
            options,
            evidence: Vec::new(),
            support: Support::AnswerText,
            task,
        })
    })
}

fn gold(task: Task, options: &[String], answers: Vec<String>) -> Result<GoldAnswers, Fault> {
    match (task, options.is_empty()) {
        (Task::ChoiceEn, true) => return Err(Fault::NoOptions(task)),
        (Task::QaEn | Task::QaZh, false) => return Err(Fault::Options(task)),
        (Task::QaEn | Task::QaZh, true) => return Ok(GoldAnswers::new(answers)),
        (Task::ChoiceEn, false) if answers.is_empty() => return Ok(GoldAnswers::new(answers)),
        (Task::ChoiceEn, false) => {}
    }
    if let [text, letter] = answers.as_slice() {
        let gold = GoldAnswers::of_choice(options, &[text])?;
        if gold.texts().last() == Some(letter) {
            return Ok(gold);
        }
    }
    Ok(GoldAnswers::of_choice(options, &answers)?)
}
