//! Books in, passages out: decoding, canonical text, chapters and passages.
//!
//! A leaf crate. It knows bytes and text, never models or indexes; whoever
//! cuts a book passes in how tokens are counted (see [`TokenSplitter`]).

mod cut;
mod ids;
mod read;
mod sentences;
mod structure;

pub use cut::{
    CUT_VERSION, Chunk, CutError, CutPolicy, Passages, SplitterError, TokenSplitter, cut,
};
pub use ids::{BookId, ChunkId, ParseIdError};
pub use read::{
    Encoding, EncodingHow, EncodingReport, Format, Limits, Malformed, MalformedSpan, Problem,
    ReadError, ReadOptions, ReadReport, SourceBook, Strictness, UnknownEncoding, UnknownFormat,
    read_books,
};
pub use sentences::sentences;
pub use structure::{Chapter, chapter_path};
