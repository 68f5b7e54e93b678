//! Questions about books with the answers they accept, read from the formats
//! they are published in.
//!
//! A reader is a small file beside this one: it turns a line of its format
//! into a `Draft`, and `read_lines` does the rest, so that the same faults
//! are found and told alike in every format.

mod infinitebench;
mod leval;
mod novels;
mod own;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use infinitebench::infinitebench;
pub use leval::leval;
pub use novels::novels;
pub use own::own;

use crate::answers::{GoldAnswers, NotAnOption, Task};

/// A question, the book it is about, and what answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name, of which its file has no second.
    pub id: String,
    /// What it is asked about.
    pub book: Book,
    /// The question.
    pub text: String,
    /// Of a multiple choice the options, the first of which is `A`; otherwise
    /// empty.
    pub options: Vec<String>,
    /// The answers that count as right.
    pub gold: GoldAnswers,
    /// Texts of the book that hold the answer, word for word; often unknown.
    pub evidence: Vec<String>,
    /// By what a passage is told to hold the answer, besides quotations.
    pub support: Support,
    /// How its answers are scored.
    pub task: Task,
}

/// By what a passage is told to hold an answer where nobody quoted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The text of an answer is in it.
    AnswerText,
    /// All content words of an answer that the question does not hold are in
    /// it, by their stems: for answers that are worded freely.
    AnswerWords,
}

/// The book of a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Book {
    /// As the file of questions names it.
    Named(String),
    /// Its text, which the questions about it share.
    Text(Arc<str>),
}

/// Questions that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum QuestionsError {
    /// The file cannot be read.
    #[error("cannot read the questions {path}; check the path and its permissions")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not a question.
    #[error("{path}, line {line}: {fault}")]
    Line {
        /// Of which file.
        path: PathBuf,
        /// Which, from 1.
        line: usize,
        /// What is wrong with it, and what to do.
        fault: Fault,
    },
    /// The file is not of the format as a whole.
    #[error("{path} is not of this format: {source}; choose the format the file has")]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The file has no lines.
    #[error("{path} holds no questions; give a file of JSON objects, one a line")]
    Empty {
        /// Which.
        path: PathBuf,
    },
}

/// What is wrong with a line, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Not JSON, or not of the format.
    #[error(
        "not a question of this format: {0}; write one whole JSON object a line, in UTF-8, \
         or choose the format the file has"
    )]
    Format(serde_json::Error),
    /// A member is absent, null or blank.
    #[error("no {0:?}, or nothing in it; add it, or remove the line")]
    Missing(&'static str),
    /// No answer counts as right.
    #[error("no answer, or only blank ones; give one that counts as right, or remove the line")]
    NoAnswer,
    /// Free answers in a file of choices.
    #[error("no \"options\", which every question of {0} has; choose the task the file is of")]
    NoOptions(Task),
    /// Options in a file of free answers.
    #[error("\"options\" in a question of {0}, which has none; choose the task the file is of")]
    Options(Task),
    /// More options than letters, or a single one.
    #[error("{0} options; a multiple choice has 2 to 26")]
    OptionCount(usize),
    /// The answer cannot be chosen.
    #[error("{0}; copy the option's text exactly")]
    NotAnOption(#[from] NotAnOption),
    /// Questions and answers do not pair up.
    #[error("{questions} questions, but {answers} answers; give each question its answer")]
    Answers {
        /// How many questions.
        questions: usize,
        /// How many answers.
        answers: usize,
    },
    /// Two questions of one name.
    #[error("the id {id:?} is that of line {first} too; give each question its own")]
    Repeated {
        /// The name.
        id: String,
        /// Where it was first.
        first: usize,
    },
}

/// What a format's line says, before it is checked.
struct Draft {
    /// None where the format lets it be absent.
    id: Option<String>,
    book: Book,
    text: String,
    options: Vec<String>,
    gold: GoldAnswers,
    evidence: Vec<String>,
    support: Support,
    task: Task,
}

/// How the answers of a question of no set of InfiniteBench are scored: with
/// options as a choice, else as the language of the question asks; it is
/// Chinese if at least half of its letters are Han.
pub(crate) fn task_of(question: &str, choice: bool) -> Task {
    if choice {
        return Task::ChoiceEn;
    }
    let letters = question.chars().filter(|c| c.is_alphabetic());
    let (letters, han) = letters.fold((0, 0), |(letters, han), c| {
        (letters + 1, han + usize::from(is_han(c)))
    });
    if han > 0 && 2 * han >= letters {
        Task::QaZh
    } else {
        Task::QaEn
    }
}

/// The blocks of unified ideographs.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}')
}

/// A member that must be there.
fn present(name: &'static str, text: Option<String>) -> Result<String, Fault> {
    text.filter(|text| !text.trim().is_empty())
        .ok_or(Fault::Missing(name))
}

/// The questions of a file of JSON objects, one question a line.
fn read_lines(
    path: &Path,
    mut draft: impl FnMut(&[u8]) -> Result<Draft, Fault>,
) -> Result<Vec<Question>, QuestionsError> {
    read_drafts(path, |_, line| Ok(vec![draft(line)?]))
}

/// The questions of a file of JSON objects, of which each may hold several:
/// `drafts` gets a line's number and its bytes. Blank lines are skipped. One
/// line at a time is in memory, for a line may hold a whole book.
fn read_drafts(
    path: &Path,
    mut drafts: impl FnMut(usize, &[u8]) -> Result<Vec<Draft>, Fault>,
) -> Result<Vec<Question>, QuestionsError> {
    let unread = |source| QuestionsError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(unread)?);
    let mut questions = Vec::new();
    let mut lines_by_id = BTreeMap::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(unread)? == 0 {
            break;
        }
        let object = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let object = object.trim_ascii();
        if object.is_empty() {
            continue;
        }
        let fault_here = |fault| QuestionsError::Line {
            path: path.to_owned(),
            line,
            fault,
        };
        for draft in drafts(line, object).map_err(fault_here)? {
            let question = checked(draft, line, &mut lines_by_id);
            questions.push(question.map_err(fault_here)?);
        }
    }
    not_empty(path, questions)
}

fn not_empty(path: &Path, questions: Vec<Question>) -> Result<Vec<Question>, QuestionsError> {
    match questions.is_empty() {
        true => Err(QuestionsError::Empty {
            path: path.to_owned(),
        }),
        false => Ok(questions),
    }
}

fn checked(
    draft: Draft,
    line: usize,
    lines_by_id: &mut BTreeMap<String, usize>,
) -> Result<Question, Fault> {
    if !draft.gold.texts().is_empty()
        && draft.gold.texts().iter().all(|gold| gold.trim().is_empty())
    {
        return Err(Fault::NoAnswer);
    }
    if matches!(draft.options.len(), 1 | 27..) {
        return Err(Fault::OptionCount(draft.options.len()));
    }
    let id = draft.id.unwrap_or_else(|| format!("line-{line}"));
    if let Some(&first) = lines_by_id.get(&id) {
        return Err(Fault::Repeated { id, first });
    }
    lines_by_id.insert(id.clone(), line);
    Ok(Question {
        id,
        book: draft.book,
        text: draft.text,
        options: draft.options,
        gold: draft.gold,
        evidence: draft.evidence,
        support: draft.support,
        task: draft.task,
    })
}

#[cfg(test)]
mod tests;
