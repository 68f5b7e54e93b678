//! Changing a library that has a name.

use std::collections::BTreeSet;

use quire_corpus::BookId;
use quire_index::{ArtifactDir, LibraryError, LibraryName, NamedLibrary, Pointed, Recipe, Store};

use crate::{EngineError, library};

/// A change to a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryEdit<'a> {
    /// There is to be one of these books; there must be none yet.
    Create(&'a [BookId]),
    /// These books are to be in it as well.
    Add(&'a [BookId]),
    /// These books are to be in it; it is created if there is none.
    CreateOrAdd(&'a [BookId]),
    /// These books, which must be in it, are to be no longer.
    Remove(&'a [BookId]),
}

/// A library after a change.
#[derive(Debug)]
pub struct EditedLibrary {
    /// The library.
    pub library: NamedLibrary,
    /// Its artifact.
    pub artifact: ArtifactDir,
    /// Whether it was otherwise before.
    pub changed: bool,
}

/// Changes a library. Its new artifact is put together from those of its
/// books, with nothing embedded or analyzed again, and committed before the
/// name leads to it; until then queries run on the old one. Of two changes at
/// once, the second builds on the first.
///
/// # Errors
/// When the library is or is not there against what the edit takes for
/// granted, would have no book, a book is not indexed under the recipe or
/// damaged, or the store refuses. The library is then as it was.
pub fn edit_library(
    store: &Store,
    recipe: &Recipe,
    name: &LibraryName,
    edit: LibraryEdit<'_>,
) -> Result<EditedLibrary, EngineError> {
    loop {
        let before = store.library(name)?;
        let books = edit.books_after(name, before.as_ref())?;
        let artifact = match whole(store, &books, recipe) {
            // Another edit may have removed it before it was seen whole.
            Err(_) if store.library(name)? != before => continue,
            artifact => artifact?,
        };
        if let Some(library) = before.as_ref().filter(|before| before.books == books) {
            return Ok(EditedLibrary {
                library: library.clone(),
                artifact,
                changed: false,
            });
        }
        match store.point_library(name, before.as_ref(), &books, recipe.key())? {
            Pointed::Done(library) => {
                return Ok(EditedLibrary {
                    library,
                    artifact,
                    changed: true,
                });
            }
            Pointed::Outdated => tracing::info!(%name, "the library changed meanwhile"),
        }
    }
}

/// The artifact of these books, every file of it sound.
fn whole(store: &Store, books: &[BookId], recipe: &Recipe) -> Result<ArtifactDir, EngineError> {
    let artifact = library::of_books(store, books, recipe)?;
    artifact.check()?;
    Ok(artifact)
}

impl LibraryEdit<'_> {
    /// The books of the library after this edit, ascending.
    fn books_after(
        self,
        name: &LibraryName,
        before: Option<&NamedLibrary>,
    ) -> Result<Vec<BookId>, EngineError> {
        let held = || match before {
            Some(before) => Ok(before.books.iter().copied().collect()),
            None => Err(LibraryError::Unknown(name.clone())),
        };
        let after: BTreeSet<BookId> = match self {
            Self::Create(_) if before.is_some() => {
                return Err(LibraryError::Exists(name.clone()).into());
            }
            Self::Create(books) => books.iter().copied().collect(),
            Self::CreateOrAdd(books) if before.is_none() => books.iter().copied().collect(),
            Self::Add(books) | Self::CreateOrAdd(books) => {
                let mut after: BTreeSet<BookId> = held()?;
                after.extend(books);
                after
            }
            Self::Remove(books) => {
                let mut after: BTreeSet<BookId> = held()?;
                for &book in books {
                    if !after.remove(&book) {
                        let name = name.clone();
                        return Err(EngineError::NotInLibrary { name, book });
                    }
                }
                after
            }
        };
        if after.is_empty() {
            return Err(LibraryError::Empty(name.clone()).into());
        }
        Ok(after.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_gives_an_ascending_set_or_says_what_it_took_for_granted() {
        let name: LibraryName = "a".parse().unwrap();
        let mut ids = ["one", "two", "three"].map(BookId::of_text);
        ids.sort_unstable();
        let [a, b, c] = ids;
        let library = NamedLibrary {
            name: name.clone(),
            version: 1,
            books: vec![a, b],
        };
        let after = |edit: LibraryEdit<'_>, there: bool| {
            edit.books_after(&name, there.then_some(&library))
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            after(LibraryEdit::Create(&[c, a, c]), false),
            Ok(vec![a, c])
        );
        assert_eq!(after(LibraryEdit::Add(&[c, a]), true), Ok(vec![a, b, c]));
        assert_eq!(after(LibraryEdit::CreateOrAdd(&[c]), false), Ok(vec![c]));
        assert_eq!(
            after(LibraryEdit::CreateOrAdd(&[c]), true),
            Ok(vec![a, b, c])
        );
        assert_eq!(after(LibraryEdit::Remove(&[a]), true), Ok(vec![b]));
        for (edit, there, said) in [
            (
                LibraryEdit::Create(&[a]),
                true,
                "there is a library 'a' already",
            ),
            (LibraryEdit::Add(&[a]), false, "there is no library 'a'"),
            (LibraryEdit::Remove(&[c]), true, "is not in library 'a'"),
            (
                LibraryEdit::Remove(&[a, b]),
                true,
                "would have no book left",
            ),
        ] {
            let error = after(edit, there).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
