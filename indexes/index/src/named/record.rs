//! What the file of a name says.

use std::fs;
use std::io::Write;
use std::path::Path;

use quire_corpus::BookId;
use serde::{Deserialize, Serialize};

use super::LibraryName;
use crate::{IoError, LibraryId};

/// The version of the file's own form.
const FORMAT: u32 = 1;

/// A library: a set of books under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLibrary {
    /// What it is called.
    pub name: LibraryName,
    /// Counts its edits, from 1.
    pub version: u64,
    /// Its books, ascending, each once; at least one.
    pub books: Vec<BookId>,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    version: u64,
    books: Vec<BookId>,
}

impl NamedLibrary {
    /// The library after an edit that gives it these books, or `None` if there
    /// are none.
    pub(super) fn following(
        name: &LibraryName,
        before: Option<&Self>,
        books: &[BookId],
    ) -> Option<Self> {
        let mut books = books.to_vec();
        books.sort_unstable();
        books.dedup();
        (!books.is_empty()).then(|| Self {
            name: name.clone(),
            version: before.map_or(0, |before| before.version) + 1,
            books,
        })
    }

    /// The id of its set of books, which keys its artifact.
    pub fn id(&self) -> LibraryId {
        LibraryId::of_books(&self.books)
    }

    /// What a file says, or what is wrong with it.
    pub(super) fn parse(name: LibraryName, bytes: &[u8]) -> Result<Self, String> {
        let record: Record = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let Record {
            format,
            version,
            books,
        } = record;
        if format != FORMAT {
            return Err(format!(
                "its format is {format}, this version reads {FORMAT}"
            ));
        }
        if version == 0 || books.is_empty() || !books.is_sorted_by(|a, b| a < b) {
            return Err("its books are not an ascending list".to_owned());
        }
        Ok(Self {
            name,
            version,
            books,
        })
    }

    /// Writes the file and waits until it is on the disk.
    pub(super) fn write(&self, path: &Path) -> Result<(), IoError> {
        let record = Record {
            format: FORMAT,
            version: self.version,
            books: self.books.clone(),
        };
        let mut json = serde_json::to_vec_pretty(&record).expect("a record is plain data");
        json.push(b'\n');
        fs::File::create(path)
            .and_then(|mut file| {
                file.write_all(&json)?;
                file.sync_all()
            })
            .map_err(IoError::of("write", path))
    }
}
