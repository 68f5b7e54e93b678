//! The bytes of a file to books with canonical text.
//!
//! Canonical text is UTF-8 without a byte order mark, with line ends LF;
//! nothing else is changed. Of HTML and EPUB it is the extraction: blocks
//! separated by blank lines, headings written `# Title` with one `#` a level.
//! It is a function of what the reader of the book sees, so the same text has
//! the same [`BookId`] whatever the metadata say.

mod binary;
mod canonical;
mod common;
mod declared;
mod decode;
mod detect;
mod encoding;
mod epub;
mod error;
mod format;
mod jsonl;
mod markup;
mod options;
mod page;
mod plausible;
mod report;

#[cfg(test)]
mod tests;

pub use encoding::{Encoding, UnknownEncoding};
pub use error::ReadError;
pub use format::{Format, UnknownFormat};
pub use options::{Limits, ReadOptions, Strictness};
pub use report::{EncodingHow, EncodingReport, Malformed, MalformedSpan, Problem, ReadReport};

use crate::BookId;
use canonical::canonical;
use decode::{Declared, decode};
use report::Problems;

/// A book as read: its canonical text and what is known of its source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceBook {
    /// The identity of [`text`](Self::text).
    pub id: BookId,
    /// The canonical text; never blank.
    pub text: String,
    /// The title the source states.
    pub title: Option<String>,
    /// The authors the source states, separated by a comma.
    pub author: Option<String>,
    /// The language the source states, as it writes it.
    pub language: Option<String>,
    /// The name shown to people: the file's, with `#N` behind it for the
    /// N-th distinct context of an InfiniteBench file.
    pub source: String,
    /// How the bytes were understood, and what was wrong with them.
    pub report: ReadReport,
}

/// Reads every book of a file.
///
/// `name` is shown to people and its extension tells the format, unless the
/// options do; the content of a name without a known extension (`-` for
/// standard input) is sniffed. Every format gives one book except
/// InfiniteBench, which gives one for each distinct context, in order.
///
/// # Errors
/// When the file is no book (too large, binary, blank, encrypted, a broken
/// container), and in strict reading for whatever the report would list.
pub fn read_books(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Vec<SourceBook>, ReadError> {
    let size = bytes.len() as u64;
    if size > options.limits.max_file_bytes {
        return Err(ReadError::TooLarge {
            name: name.to_owned(),
            bytes: size,
            limit: options.limits.max_file_bytes,
        });
    }
    let format = options
        .format
        .or_else(|| Format::of_path(name))
        .unwrap_or_else(|| Format::sniff(bytes));
    match format {
        Format::Text | Format::Markdown => Ok(vec![read_text(name, bytes, format, options)?]),
        Format::Html => Ok(vec![page::read(name, bytes, options)?]),
        Format::Epub => Ok(vec![epub::read(name, bytes, options)?]),
        Format::InfiniteBench => jsonl::read(name, bytes, options),
    }
}

fn read_text(
    name: &str,
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
) -> Result<SourceBook, ReadError> {
    let decoded = decode(name, bytes, options.encoding, Declared::Nothing)?;
    let mut problems = Problems::new(name, options.strictness);
    decoded.refuse_malformed_if_strict(name, options.strictness)?;
    decoded.note_wrong_declaration(name, &mut problems)?;
    let text = canonical(decoded.text);
    if text.trim().is_empty() {
        return Err(ReadError::Empty {
            name: name.to_owned(),
        });
    }
    Ok(SourceBook {
        id: BookId::of_text(&text),
        text,
        title: None,
        author: None,
        language: None,
        source: name.to_owned(),
        report: ReadReport {
            format,
            encoding: decoded.encoding,
            malformed: decoded.malformed,
            problems: problems.into_list(),
        },
    })
}
