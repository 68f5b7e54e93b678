//! Books and passages on the wire.

use quire_corpus::{BookId, ChunkId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Span;

/// Every book there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookList {
    /// Books that can be searched, ascending by id.
    pub books: Vec<BookSummary>,
    /// Books whose index cannot be opened.
    pub damaged: Vec<DamagedBook>,
}

/// A book in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookSummary {
    /// The book's id.
    #[schema(value_type = String)]
    pub book: BookId,
    /// Its title.
    pub title: String,
    /// Passages it is cut into.
    pub passages: u64,
    /// Tokens of those.
    pub tokens: u64,
    /// Chapters found in it.
    pub chapters: u64,
    /// When its indexing began: RFC 3339 in UTC.
    pub indexed: String,
}

/// A book whose index cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DamagedBook {
    /// The book's id.
    #[schema(value_type = String)]
    pub book: BookId,
    /// What is wrong.
    pub error: String,
    /// What helps.
    pub remedy: String,
}

/// All about one book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Book {
    /// What a list says of it.
    #[serde(flatten)]
    pub summary: BookSummary,
    /// The author it states.
    pub author: Option<String>,
    /// Its source's format, such as `epub`.
    pub format: Option<String>,
    /// Its source's encoding.
    pub encoding: Option<String>,
    /// What was reported about the source, a sentence each.
    pub problems: Vec<String>,
    /// Bytes of its canonical text.
    pub text_bytes: u64,
    /// Bytes of its index on disk.
    pub index_bytes: u64,
    /// The key of `recipe`.
    pub recipe_key: String,
    /// All that decides the index besides the text.
    #[schema(value_type = Object)]
    pub recipe: quire_index::Recipe,
    /// How the index was built.
    #[schema(value_type = Object)]
    pub build: quire_index::Build,
    /// Its chapters, in order.
    pub chapter_list: Vec<Chapter>,
}

/// A chapter of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chapter {
    /// Its heading.
    pub title: String,
    /// Where it starts in the canonical text, in bytes.
    pub start: u64,
}

/// What a deletion did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deleted {
    /// The book that is gone.
    #[schema(value_type = String)]
    pub book: BookId,
    /// Indexes that were removed, those of other recipes included.
    pub indexes: usize,
}

/// A passage in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Around {
    /// The passage asked for.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// The book's title.
    pub title: String,
    /// Passages of the book.
    pub of: u64,
    /// That passage and its neighbours, in the book's order.
    pub passages: Vec<Passage>,
    /// The passage before the first of these.
    #[schema(value_type = Option<String>)]
    pub previous: Option<ChunkId>,
    /// The passage after the last of these.
    #[schema(value_type = Option<String>)]
    pub next: Option<ChunkId>,
}

/// A passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Passage {
    /// Its id, `BOOK:NUMBER`.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// The chapter's heading.
    pub chapter: Option<String>,
    /// Its bytes in the book's canonical text.
    pub span: Span,
    /// Its length, by the embedder's tokenizer.
    pub tokens: u32,
    /// Its text.
    pub text: String,
}
