//! Judged data sets whose passages are given.

mod cranfield;
mod fairytaleqa;
mod squad;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use cranfield::cranfield;
pub use fairytaleqa::fairytaleqa;
pub use squad::squad;

use crate::metrics::Judgements;

/// Passages and the questions asked of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// The set's name.
    pub name: String,
    /// The passages' texts.
    pub passages: Vec<String>,
    /// Passages that belong together (a story), ascending and without gaps.
    pub groups: Vec<Range<usize>>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question and where its answer is.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// Which passages answer it.
    pub relevant: Judgements,
    /// The group it is asked about.
    pub group: usize,
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
    #[error("cannot read {path}")]
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
        /// What is wrong, and where.
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
