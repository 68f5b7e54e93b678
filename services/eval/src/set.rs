//! A set to evaluate on: books, the questions about them, and what is known
//! of the answers and of the passages that support them.

mod format;
mod given;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quire_corpus::{BookId, Format as FileFormat, Passages, ReadOptions, SourceBook, read_books};
use sha2::{Digest, Sha256};

pub use format::{Format, UnknownFormat};

use crate::answers::{GoldAnswers, Task};
use crate::datasets::{Collection, DatasetError};
use crate::measures::Judgements;
use crate::questions::{Book, Question, QuestionsError, Support, task_of};

/// A set of questions with its books.
#[derive(Debug, Clone)]
pub struct EvalSet {
    /// Its name: that of its file or folder.
    pub name: String,
    /// The format it was read from.
    pub format: Format,
    /// SHA-256 of all that counts: books, passages, questions and answers, as
    /// 64 hexadecimal digits.
    pub digest: String,
    /// Its books, each once.
    pub books: Vec<SetBook>,
    /// Its questions, in its own order.
    pub questions: Vec<SetQuestion>,
    /// Questions that are left out because they have no text.
    pub blank: usize,
}

/// A book of a set.
#[derive(Debug, Clone)]
pub struct SetBook {
    /// Its title, or the name of its file.
    pub title: String,
    /// Its text.
    pub source: SourceBook,
    /// Its passages, where the set gives them; else it is cut.
    pub given: Option<Given>,
}

/// Passages that a set gives.
#[derive(Debug, Clone)]
pub struct Given {
    /// Where they lie in the book.
    pub passages: Passages,
    /// Their names in the set, in their order.
    pub names: Vec<String>,
}

/// A question of a set.
#[derive(Debug, Clone)]
pub struct SetQuestion {
    /// Its name, of which the set has no second.
    pub id: String,
    /// The question.
    pub text: String,
    /// The book it is about, by its place in the set.
    pub book: usize,
    /// Of a multiple choice the options, the first of which is `A`; otherwise
    /// empty.
    pub options: Vec<String>,
    /// The answers that count as right; empty where the set has none.
    pub gold: GoldAnswers,
    /// How its answers are scored.
    pub task: Task,
    /// Given passages that are judged relevant, by ordinal, of its book.
    pub judged: Judgements<u32>,
    /// Quotations of its book that hold the answer.
    pub quoted: Vec<String>,
    /// By what else a passage of its book is told to hold the answer.
    pub support: Support,
}

/// What of a file or folder is read, and how.
#[derive(Debug, Clone)]
pub struct SetOptions {
    /// The format; `None` tells it from the files.
    pub format: Option<Format>,
    /// Which part of a set that has several.
    pub split: String,
    /// How many questions, the first ones.
    pub limit: usize,
}

impl Default for SetOptions {
    fn default() -> Self {
        Self {
            format: None,
            split: "test".to_owned(),
            limit: usize::MAX,
        }
    }
}

/// A set that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// Its passages or judgements.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Its questions.
    #[error(transparent)]
    Questions(#[from] QuestionsError),
    /// Nobody said of which format it is, and it does not show.
    #[error(
        "{path} is of no format that shows in its files; name it with --format, one of {}",
        Format::names()
    )]
    NoFormat {
        /// Which.
        path: PathBuf,
    },
    /// A book that a question names.
    #[error("cannot read the book {path}, which {set} names; put it there, or mend its name")]
    Book {
        /// The book.
        path: PathBuf,
        /// The set.
        set: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A book's file is not one.
    #[error("{name}: {what}")]
    NotABook {
        /// Which file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// Two groups of passages are one text.
    #[error("{name}: {first:?} and {second:?} have the same text; remove one of them")]
    SameText {
        /// The set.
        name: String,
        /// A group.
        first: String,
        /// Another.
        second: String,
    },
}

impl EvalSet {
    /// Reads a set from its file or folder.
    ///
    /// # Errors
    /// When the format does not show, a file cannot be read or is not of the
    /// format, or a book is missing.
    pub fn read(path: &Path, options: &SetOptions) -> Result<Self, SetError> {
        let format = match options.format {
            Some(format) => format,
            None => Format::of(path)?,
        };
        format.read(path, options)
    }

    /// A set whose passages are given.
    fn of_collection(
        format: Format,
        collection: Collection,
        limit: usize,
    ) -> Result<Self, SetError> {
        let mut books: Vec<SetBook> = Vec::new();
        for group in &collection.groups {
            let passages = &collection.passages[group.passages.clone()];
            let book = given::as_book(&group.title, passages);
            let same = books.iter().find(|other| other.source.id == book.source.id);
            if let Some(other) = same {
                return Err(SetError::SameText {
                    name: collection.name,
                    first: other.title.clone(),
                    second: book.title,
                });
            }
            books.push(book);
        }
        let questions = collection.questions.into_iter().take(limit);
        let questions = questions.map(|question| {
            let first = collection.groups[question.group].passages.start;
            let judged = question.relevant.into_iter();
            SetQuestion {
                task: task_of(&question.text, false),
                id: question.id,
                text: question.text,
                book: question.group,
                options: Vec::new(),
                gold: GoldAnswers::new(question.answers),
                judged: judged
                    .map(|(passage, grade)| ((passage - first) as u32, grade))
                    .collect(),
                quoted: Vec::new(),
                support: Support::AnswerText,
            }
        });
        Ok(Self::new(
            collection.name,
            format,
            books,
            questions.collect(),
        ))
    }

    /// A set whose books are to be cut. `path` is what names of books are
    /// beside.
    fn of_questions(
        name: String,
        format: Format,
        path: &Path,
        questions: Vec<Question>,
        limit: usize,
    ) -> Result<Self, SetError> {
        let mut books: Vec<SetBook> = Vec::new();
        let mut places: BTreeMap<Book, usize> = BTreeMap::new();
        let mut asked = Vec::new();
        for question in questions.into_iter().take(limit) {
            let book = match places.get(&question.book) {
                Some(&place) => place,
                None => {
                    let book = read_book(path, &question.book)?;
                    let known = books.iter().position(|b| b.source.id == book.source.id);
                    let place = known.unwrap_or(books.len());
                    if known.is_none() {
                        books.push(book);
                    }
                    places.insert(question.book.clone(), place);
                    place
                }
            };
            asked.push(SetQuestion {
                id: question.id,
                text: question.text,
                book,
                options: question.options,
                gold: question.gold,
                task: question.task,
                judged: Judgements::new(),
                quoted: question.evidence,
                support: question.support,
            });
        }
        Ok(Self::new(name, format, books, asked))
    }

    fn new(
        name: String,
        format: Format,
        books: Vec<SetBook>,
        mut questions: Vec<SetQuestion>,
    ) -> Self {
        let all = questions.len();
        questions.retain(|question| !question.text.trim().is_empty());
        let blank = all - questions.len();
        let digest = digest(&books, &questions);
        Self {
            name,
            format,
            digest,
            books,
            questions,
            blank,
        }
    }

    /// Whether the set gives its passages.
    pub fn is_given(&self) -> bool {
        self.books.iter().any(|book| book.given.is_some())
    }

    /// The ids of its books, in their order.
    pub fn book_ids(&self) -> impl Iterator<Item = BookId> {
        self.books.iter().map(|book| book.source.id)
    }
}

/// A question's book: the text it carries, or the file it names beside the
/// set.
fn read_book(set: &Path, book: &Book) -> Result<SetBook, SetError> {
    let (name, bytes, options) = match book {
        Book::Text(text) => {
            let options = ReadOptions {
                format: Some(FileFormat::Text),
                ..ReadOptions::default()
            };
            (set.display().to_string(), text.as_bytes().to_vec(), options)
        }
        Book::Named(file) => {
            let path = set.with_file_name(file);
            let bytes = fs::read(&path).map_err(|source| SetError::Book {
                path: path.clone(),
                set: set.to_owned(),
                source,
            })?;
            (path.display().to_string(), bytes, ReadOptions::default())
        }
    };
    let not_a_book = |what: String| SetError::NotABook {
        name: name.clone(),
        what,
    };
    let mut read = read_books(&name, &bytes, &options).map_err(|e| not_a_book(e.to_string()))?;
    let (Some(source), true) = (read.pop(), read.is_empty()) else {
        return Err(not_a_book(
            "it holds several books; a question is asked about one".to_owned(),
        ));
    };
    let file = match book {
        Book::Named(_) => Path::new(&name).file_stem(),
        Book::Text(_) => None,
    };
    let file = file.map(|stem| stem.to_string_lossy().into_owned());
    let title = source.title.clone().or(file);
    Ok(SetBook {
        title: title.unwrap_or_else(|| source.id.short()),
        source,
        given: None,
    })
}

fn digest(books: &[SetBook], questions: &[SetQuestion]) -> String {
    let mut hasher = Sha256::new();
    // Each part with its length before it, so that no two lists look alike.
    let mut part = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    for book in books {
        part(&book.source.id.to_string());
        let names = book.given.iter().flat_map(|given| &given.names);
        names.for_each(|name| part(name));
    }
    for question in questions {
        part(&question.id);
        part(&question.text);
        part(&question.book.to_string());
        part(question.task.name());
        let lists = [
            &question.options[..],
            question.gold.texts(),
            &question.quoted,
        ];
        for list in lists {
            part(&list.len().to_string());
            list.iter().for_each(|text| part(text));
        }
        for (passage, grade) in &question.judged {
            part(&format!("{passage} {grade}"));
        }
    }
    let bytes = hasher.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
