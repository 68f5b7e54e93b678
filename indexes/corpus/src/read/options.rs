//! What the caller decides about reading.

use super::{Encoding, Format};

/// How to read a file. The default detects everything and keeps what it can.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// The format; by default told from the name, else from the content.
    pub format: Option<Format>,
    /// The encoding of the text (in an EPUB, of every chapter); by default
    /// the byte order mark, the declaration or the bytes tell.
    pub encoding: Option<Encoding>,
    /// Whether a damaged file is read or refused.
    pub strictness: Strictness,
    /// How much a file may ask for.
    pub limits: Limits,
}

/// Whether a damaged file is read or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Keeps what can be read; the report lists the rest.
    #[default]
    Lenient,
    /// Refuses a file at its first problem.
    Strict,
}

/// How much a file may ask for, so that a hostile one costs a bounded amount
/// of memory and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of the file, in bytes.
    pub max_file_bytes: u64,
    /// The size of one decompressed entry of an EPUB, in bytes.
    pub max_entry_bytes: u64,
    /// What is decompressed of an EPUB in all, in bytes.
    pub max_total_bytes: u64,
    /// How many times its compressed size an entry may grow to.
    pub max_compression_ratio: u64,
    /// The number of entries of an EPUB, and of the items of its spine.
    pub max_entries: usize,
    /// The depth to which elements nest.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_file_bytes: 1 << 30,
            max_entry_bytes: 64 << 20,
            max_total_bytes: 256 << 20,
            // Prose compresses 2 to 5 times, markup of tables up to 50.
            max_compression_ratio: 200,
            max_entries: 20_000,
            max_depth: 512,
        }
    }
}
