//! The lexical view: BM25 over tantivy's postings, with one analyzer for a
//! corpus that mixes English and Chinese.
//!
//! This is the only crate that names tantivy. [`build()`] writes the passages
//! of an artifact as one segment whose bytes depend on the texts alone, and
//! [`join()`] makes the same bytes from the indexes of several books;
//! [`Bm25Index`] reads it, without locks, watchers or background threads, and
//! scores in `f64` with exact passage lengths. What becomes a term, and what
//! weight a question gives it, is the business of [`analyzer`].

pub mod analyzer;
mod directory;
mod error;
mod files;
mod guard;
mod index;
mod join;
mod scoring;
mod segment;
mod verify;
mod writer;

pub use analyzer::highlight::Highlighter;
pub use error::Bm25Error;
pub use index::Bm25Index;
pub use join::join;
pub use scoring::recipe;
pub use verify::{Verified, verify};
pub use writer::{BuildStats, build};
