//! Libraries on the wire.

use quire_index::LibraryName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::BookSummary;

/// A library that is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "dickens", "books": ["1f3b", "9ac0"]}))]
pub struct LibraryRequest {
    /// What it is called: 1 to 64 letters and digits of any script, and `-`,
    /// `_` and `.` after the first.
    pub name: String,
    /// The ids of its books, or at least four digits each that only one id
    /// begins with.
    pub books: Vec<String>,
}

/// Every library there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibraryList {
    /// Libraries that can be searched, by name.
    pub libraries: Vec<LibrarySummary>,
    /// Libraries that cannot.
    pub damaged: Vec<DamagedLibrary>,
}

/// A library in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarySummary {
    /// What it is called.
    #[schema(value_type = String)]
    pub name: LibraryName,
    /// Counts its changes, from 1.
    pub version: u64,
    /// How many books it has.
    pub books: usize,
    /// Passages of those.
    pub passages: u64,
    /// Tokens of those.
    pub tokens: u64,
}

/// A library that cannot be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DamagedLibrary {
    /// What it is called.
    #[schema(value_type = String)]
    pub name: LibraryName,
    /// What is wrong.
    pub error: String,
}

/// All about one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Library {
    /// What a list says of it.
    #[serde(flatten)]
    pub summary: LibrarySummary,
    /// The id of its set of books, which two libraries of the same books share.
    pub id: String,
    /// Its books, ascending by id.
    pub book_list: Vec<BookSummary>,
}

/// What the deletion of a library did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedLibrary {
    /// The library that is gone. Its books are not.
    #[schema(value_type = String)]
    pub name: LibraryName,
}
