//! What stands on the shelf.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use quire_corpus::BookId;
use quire_engine::{OpenBook, View};

use super::Standing;
use super::libraries::LibraryPlaces;
use crate::problem::{Code, Problem, ambiguous_book, unknown_book};

/// Digits of a book's id that are at least to be given.
const SHORTEST_PREFIX: usize = 4;

/// All of the shelf that changes, whole between any two of its changes.
#[derive(Default)]
pub(super) struct State {
    pub(super) places: BTreeMap<BookId, Place>,
    pub(super) libraries: LibraryPlaces,
    /// Being deleted: not to be opened again.
    pub(super) withdrawn: BTreeSet<BookId>,
    pub(super) views: HashMap<Vec<BookId>, (Arc<View>, u64)>,
    /// Counts the uses of views.
    pub(super) uses: u64,
    /// Whether the disk was looked at to the end once.
    pub(super) looked: bool,
    /// Why the last look failed.
    pub(super) failed: Option<String>,
    pub(super) closed: bool,
}

/// A book on the shelf.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) stamp: Stamp,
    pub(super) book: Standing,
}

/// What tells one artifact of a book from a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    identity: u64,
}

impl State {
    /// The books that can be searched, ascending.
    pub(super) fn open(&self) -> impl Iterator<Item = &Arc<OpenBook>> {
        self.places.values().filter_map(|place| match &place.book {
            Standing::Open(book) => Some(book),
            Standing::Damaged => None,
        })
    }

    /// Lets go of a book and of every view that holds it.
    pub(super) fn take(&mut self, id: BookId) {
        self.places.remove(&id);
        self.views.retain(|books, _| !books.contains(&id));
    }

    /// Whether these very books stand on the shelf.
    pub(super) fn holds(&self, books: &[Arc<OpenBook>]) -> bool {
        books.iter().all(|book| {
            matches!(
                self.places.get(&book.id()),
                Some(Place { book: Standing::Open(held), .. }) if Arc::ptr_eq(held, book)
            )
        })
    }

    /// The one book whose id is or begins with `given`.
    ///
    /// # Errors
    /// When `given` is no such beginning, or none or several begin so.
    pub(super) fn resolve(&self, given: &str) -> Result<BookId, Problem> {
        let digits = given.to_ascii_lowercase();
        let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !hexadecimal || !(SHORTEST_PREFIX..=64).contains(&digits.len()) {
            let detail =
                "A book's id has 64 hexadecimal digits, of which at least four are to be given.";
            return Err(Problem::new(Code::BadId, detail));
        }
        let candidates: Vec<BookId> = match digits.parse() {
            Ok(id) => self
                .places
                .contains_key(&id)
                .then_some(id)
                .into_iter()
                .collect(),
            Err(_) => {
                let ids = self.places.keys();
                ids.filter(|id| id.to_string().starts_with(&digits))
                    .copied()
                    .collect()
            }
        };
        match candidates[..] {
            [id] => Ok(id),
            [] => Err(unknown_book(&digits)),
            _ => Err(ambiguous_book(&digits, &candidates)),
        }
    }
}

impl Stamp {
    /// That of no artifact.
    pub(super) const UNKNOWN: Self = Self {
        modified: None,
        identity: u64::MAX,
    };

    pub(super) fn of(metadata: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let identity = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let identity = 0;
        Self {
            modified: metadata.modified().ok(),
            identity,
        }
    }
}
