//! Judged data sets whose passages are given.
//!
//! A reader is a small file beside this one: it turns the files of its format
//! into a [`Collection`].

mod beir;
mod cranfield;
mod fairytaleqa;
mod squad;
mod trec;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use beir::beir;
pub use cranfield::cranfield;
pub use fairytaleqa::fairytaleqa;
pub use squad::squad;
pub use trec::trec;

use crate::measures::Judgements;

/// Passages and the questions asked of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// The set's name.
    pub name: String,
    /// The passages.
    pub passages: Vec<Document>,
    /// Passages that belong together (a story), ascending and without gaps.
    pub groups: Vec<Group>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A passage of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name in the set, of which there is no second.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// Passages that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its title.
    pub title: String,
    /// Its passages' numbers.
    pub passages: Range<usize>,
}

/// A question and where its answer is.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name in the set, of which there is no second.
    pub id: String,
    /// The question.
    pub text: String,
    /// Which passages answer it, by their numbers.
    pub relevant: Judgements<usize>,
    /// The group it is asked about.
    pub group: usize,
    /// The answers that count as right; empty where the set has none.
    pub answers: Vec<String>,
}

impl Collection {
    /// A set of one group, which has the set's name.
    fn of_one_group(name: &str, passages: Vec<Document>, questions: Vec<Question>) -> Self {
        let whole = Group {
            title: name.to_owned(),
            passages: 0..passages.len(),
        };
        Self {
            name: name.to_owned(),
            groups: vec![whole],
            passages,
            questions,
        }
    }
}

/// Documents by their names, as judgements name them.
struct Numbers(BTreeMap<String, usize>);

impl Numbers {
    /// Of the documents of a file; no two may have one name.
    fn of(path: &Path, documents: &[Document]) -> Result<Self, DatasetError> {
        let mut numbers = BTreeMap::new();
        for (number, document) in documents.iter().enumerate() {
            if numbers.insert(document.id.clone(), number).is_some() {
                let what = format!("two documents have the id {:?}; remove one", document.id);
                return Err(format_error(path, what));
            }
        }
        Ok(Self(numbers))
    }

    fn get(&self, id: &str) -> Option<usize> {
        self.0.get(id).copied()
    }
}

/// The rows of a comma-separated file, by the header's names.
fn rows(path: &Path) -> Result<Vec<BTreeMap<String, String>>, DatasetError> {
    let text = read(path)?;
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let rows: Result<Vec<_>, csv::Error> = reader.deserialize().collect();
    rows.map_err(|error| format_error(path, error.to_string()))
}

/// A data set that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file cannot be read.
    #[error("cannot read {path}; check the path and its permissions")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what the set's format says.
    #[error("{path}: {what}")]
    Format {
        /// Which.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        what: String,
    },
}

fn read(path: &Path) -> Result<String, DatasetError> {
    let bytes = std::fs::read(path).map_err(|source| DatasetError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes)
        .trim_start_matches('\u{feff}')
        .to_owned())
}

fn format_error(path: &Path, what: impl Into<String>) -> DatasetError {
    DatasetError::Format {
        path: path.to_owned(),
        what: what.into(),
    }
}

/// A name for messages and files: that of a folder, or that of a file without
/// its ending, or both of them where that is `.questions.jsonl`.
pub(crate) fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = match whole.is_dir() {
        true => whole.file_name(),
        false => whole.file_stem(),
    };
    let name = name.unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".questions").to_owned()
}
