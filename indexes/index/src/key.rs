//! What an artifact is of, and its key.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use quire_corpus::BookId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::RecipeKey;
use crate::digest::{from_hex, to_hex};

/// The identity of a set of books: the SHA-256 of their ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryId([u8; 32]);

/// Not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a library id: expected 64 hexadecimal digits")]
pub struct ParseLibraryIdError(String);

impl LibraryId {
    /// The id of a set of books; their order and repetitions do not matter.
    ///
    /// Hashed are the written ids in ascending order, each ended by a line
    /// feed.
    pub fn of_books(books: &[BookId]) -> Self {
        let mut books = books.to_vec();
        books.sort_unstable();
        books.dedup();
        let mut hasher = Sha256::new();
        for book in books {
            hasher.update(format!("{book}\n"));
        }
        Self(hasher.finalize().into())
    }

    /// The first twelve hexadecimal digits, for people to read.
    pub fn short(&self) -> String {
        to_hex(&self.0[..6])
    }
}

impl fmt::Display for LibraryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for LibraryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LibraryId({self})")
    }
}

impl FromStr for LibraryId {
    type Err = ParseLibraryIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text)
            .map(Self)
            .ok_or_else(|| ParseLibraryIdError(text.to_owned()))
    }
}

/// Whether an artifact is of one book or of a set of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Of one book: it holds the text and the passages.
    Book,
    /// Of a set of books: text and passages are in the books' artifacts.
    Library,
}

impl Kind {
    /// The folder below the data folder where such artifacts lie.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Book => "indexes",
            Self::Library => "libraries",
        }
    }
}

/// What an artifact is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// One book.
    Book(BookId),
    /// A set of books.
    Library(LibraryId),
}

impl Subject {
    /// Whether it is one book or a set.
    pub fn kind(self) -> Kind {
        match self {
            Self::Book(_) => Kind::Book,
            Self::Library(_) => Kind::Library,
        }
    }

    /// Its id, as its folder is named.
    pub(crate) fn folder(self) -> String {
        match self {
            Self::Book(id) => id.to_string(),
            Self::Library(id) => id.to_string(),
        }
    }

    /// The subject a folder of that name is about.
    pub(crate) fn of_folder(kind: Kind, name: &str) -> Option<Self> {
        match kind {
            Kind::Book => name.parse().ok().map(Self::Book),
            Kind::Library => name.parse().ok().map(Self::Library),
        }
    }
}

impl From<BookId> for Subject {
    fn from(book: BookId) -> Self {
        Self::Book(book)
    }
}

impl From<LibraryId> for Subject {
    fn from(library: LibraryId) -> Self {
        Self::Library(library)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Book(id) => write!(f, "book {}", id.short()),
            Self::Library(id) => write!(f, "library {}", id.short()),
        }
    }
}

/// What keys an artifact: its subject and the recipe it is built by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactKey {
    /// What the artifact is of.
    pub subject: Subject,
    /// By which recipe it is built.
    pub recipe: RecipeKey,
}

impl ArtifactKey {
    /// The key of a book's or a library's artifact.
    pub fn new(subject: impl Into<Subject>, recipe: RecipeKey) -> Self {
        Self {
            subject: subject.into(),
            recipe,
        }
    }

    /// Where the artifact lies below the data folder.
    pub(crate) fn place(&self) -> PathBuf {
        [
            self.subject.kind().folder(),
            &self.subject.folder(),
            &self.recipe.to_string(),
        ]
        .iter()
        .collect()
    }

    /// The name of its folder while it is built.
    pub(crate) fn staging_name(&self) -> String {
        let kind = match self.subject.kind() {
            Kind::Book => "book",
            Kind::Library => "library",
        };
        format!("{kind}-{}-{}", self.subject.folder(), self.recipe)
    }

    /// The key a staging folder of that name is for.
    pub(crate) fn of_staging_name(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let kind = match parts.next()? {
            "book" => Kind::Book,
            "library" => Kind::Library,
            _ => return None,
        };
        let subject = Subject::of_folder(kind, parts.next()?)?;
        let recipe = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { subject, recipe })
    }
}

impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, recipe {}", self.subject, self.recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_set_of_books_has_one_id_in_any_order() {
        let [a, b] = ["one", "two"].map(BookId::of_text);
        assert_eq!(
            LibraryId::of_books(&[a, b]),
            LibraryId::of_books(&[b, a, b])
        );
        assert_ne!(LibraryId::of_books(&[a, b]), LibraryId::of_books(&[a]));
        let id = LibraryId::of_books(&[a]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(
            id.to_string(),
            crate::digest::sha256(format!("{a}\n").as_bytes())
        );
    }

    #[test]
    fn a_staging_folder_tells_its_key_by_its_name_alone() {
        let book = BookId::of_text("a book");
        let recipe = testing::recipe().key();
        for key in [
            ArtifactKey::new(book, recipe),
            ArtifactKey::new(LibraryId::of_books(&[book]), recipe),
        ] {
            let name = key.staging_name();
            assert_eq!(ArtifactKey::of_staging_name(&name), Some(key));
            for wrong in [&name[1..], &name[..name.len() - 1], &format!("{name}-")] {
                assert_eq!(ArtifactKey::of_staging_name(wrong), None, "{wrong}");
            }
        }
    }
}
