//! Why a file is no book.

use super::Problem;

/// Why a file was not read. Every message names the file, the place in it
/// and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// More bytes than the limit.
    #[error("{name} has {bytes} bytes, more than the limit of {limit}: split it into books")]
    TooLarge {
        /// The file.
        name: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Not text at all.
    #[error("{name} is not text but {what}: convert it to text, HTML or EPUB first")]
    Binary {
        /// The file.
        name: String,
        /// What it looks like.
        what: String,
    },
    /// Nothing to read.
    #[error("{name} holds no text: there is nothing to index")]
    Empty {
        /// The file.
        name: String,
    },
    /// Undecodable bytes in strict reading.
    #[error(
        "{name} is not valid {encoding}: {count} malformed byte sequence(s), the first at byte \
         {offset}; name another encoding or read it without --strict"
    )]
    Malformed {
        /// The file.
        name: String,
        /// The encoding.
        encoding: String,
        /// How many sequences.
        count: u64,
        /// Where the first is, in bytes from the start.
        offset: u64,
    },
    /// Any other problem in strict reading.
    #[error(
        "{name}: {}: {}; mend the file or read it without --strict",
        problem.part,
        problem.what
    )]
    Problem {
        /// The file.
        name: String,
        /// The problem.
        problem: Problem,
    },
    /// Elements nest without end.
    #[error("{name} nests elements deeper than {limit}: it is damaged or hostile")]
    TooDeep {
        /// The file.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// A line that is not JSON or has no `context` string.
    #[error(
        "{name}, line {line}: not an InfiniteBench record (a JSON object with a string `context`)"
    )]
    Record {
        /// The file.
        name: String,
        /// The line, from 1.
        line: usize,
        /// What the JSON parser says.
        #[source]
        source: serde_json::Error,
    },
    /// A line whose `context` is blank.
    #[error("{name}, line {line}: the `context` holds no text")]
    BlankContext {
        /// The file.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// Not a zip archive, or a broken one.
    #[error("{name} is not a readable EPUB (a zip archive): get a fresh copy of it")]
    Archive {
        /// The file.
        name: String,
        /// What the archive reader says.
        #[source]
        source: zip::result::ZipError,
    },
    /// The archive lacks what makes it a book.
    #[error("{name} is not a readable EPUB: {part}: {what}")]
    Package {
        /// The file.
        name: String,
        /// The file inside it.
        part: String,
        /// What is wrong there.
        what: String,
    },
    /// Encrypted as a whole.
    #[error("{name} is encrypted ({scheme}): only a copy without copy protection can be indexed")]
    Protected {
        /// The file.
        name: String,
        /// The protection, as far as it shows.
        scheme: &'static str,
    },
    /// No chapter could be read.
    #[error(
        "{name}: none of its {count} chapters can be read; the first problem is {}: {}",
        first.part,
        first.what
    )]
    NoChapter {
        /// The file.
        name: String,
        /// How many chapters.
        count: usize,
        /// The first problem.
        first: Problem,
    },
    /// More than the limits allow.
    #[error("{name} asks for {what}, more than the limit of {limit}: it is damaged or hostile")]
    Excessive {
        /// The file.
        name: String,
        /// What it asks for.
        what: String,
        /// The limit.
        limit: u64,
    },
}
