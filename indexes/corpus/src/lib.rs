//! Books in, passages out: decoding, canonical text, chapters and passages.
//!
//! A leaf crate. It knows bytes and text, never models or indexes; whoever
//! cuts a book passes in how tokens are counted (see [`TokenSplitter`]).

mod ids;

pub use ids::{BookId, ChunkId, ParseIdError};
