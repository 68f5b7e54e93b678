//! What reading found out about a file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Format, ReadError, Strictness};

/// How a file's bytes were understood, and what was wrong with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadReport {
    /// The format the file was read as.
    pub format: Format,
    /// The encoding of its text; of an EPUB, of the chapter least sure of it.
    pub encoding: EncodingReport,
    /// The bytes that are no text in that encoding. Of an InfiniteBench
    /// file: in the whole file.
    pub malformed: Malformed,
    /// What else was wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Which encoding a text was decoded with, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncodingReport {
    /// The name in the WHATWG Encoding Standard. GBK is detected as
    /// `gb18030`, its superset; HKSCS as `Big5`, which includes it.
    pub name: String,
    /// What decided.
    pub how: EncodingHow,
    /// From 0 (a guess) to 1 (no doubt): the share of this reading among all
    /// plausible ones, lowered when the text looks like no known writing or
    /// much of it is malformed.
    pub confidence: f32,
    /// The next best encoding, when it came near; beside a given encoding the
    /// one the bytes look like, when that reads them otherwise.
    pub runner_up: Option<String>,
}

/// What decided an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncodingHow {
    /// The byte order mark.
    Bom,
    /// The document's own declaration, which fits its bytes.
    Declared,
    /// The bytes.
    Detected,
    /// The caller.
    Given,
}

impl fmt::Display for EncodingHow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bom => "byte order mark",
            Self::Declared => "declared",
            Self::Detected => "detected",
            Self::Given => "given",
        })
    }
}

/// Bytes that are no text in the encoding; each sequence became U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Malformed {
    /// How many sequences.
    pub count: u64,
    /// The first ten of them.
    pub first: Vec<MalformedSpan>,
}

/// Where a malformed sequence is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedSpan {
    /// The file inside the EPUB; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Bytes from the start of the file (of the part, in an EPUB).
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// How many malformed sequences are located.
const LOCATED: usize = 10;

impl Malformed {
    pub(super) fn add(&mut self, offset: u64, len: u64) {
        self.count += 1;
        if self.first.len() < LOCATED {
            self.first.push(MalformedSpan {
                part: None,
                offset,
                len,
            });
        }
    }

    /// Adds what was found in a part of the file.
    pub(super) fn absorb(&mut self, part: &str, other: Malformed) {
        self.count += other.count;
        let room = LOCATED.saturating_sub(self.first.len());
        self.first.extend(
            other
                .first
                .into_iter()
                .take(room)
                .map(|span| MalformedSpan {
                    part: Some(part.to_owned()),
                    ..span
                }),
        );
    }
}

/// Something wrong in a part of a file, which was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The part: a file inside an EPUB, a line, or the file itself.
    pub part: String,
    /// What is wrong and what was done about it.
    pub what: String,
}

/// Collects problems, or refuses the file at the first.
pub(super) struct Problems<'a> {
    name: &'a str,
    strict: Strictness,
    list: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(name: &'a str, strict: Strictness) -> Self {
        Self {
            name,
            strict,
            list: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, part: &str, what: impl ToString) -> Result<(), ReadError> {
        let problem = Problem {
            part: part.to_owned(),
            what: what.to_string(),
        };
        if self.strict == Strictness::Strict {
            return Err(ReadError::Problem {
                name: self.name.to_owned(),
                problem,
            });
        }
        self.list.push(problem);
        Ok(())
    }

    pub(super) fn into_list(self) -> Vec<Problem> {
        self.list
    }
}
