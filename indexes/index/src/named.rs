//! Libraries by name: `<data>/names/NAME.json` says which books a library has.
//!
//! A name is only a pointer. The artifact it leads to is keyed by the set of
//! its books, so it does not depend on the name or on the order of its edits,
//! and two names may share one. Every edit happens under one lock and replaces
//! the file at once; a name is pointed only at books whose artifact is there.
//! Whatever kills an edit, the name leads to the old set or to the new one.

mod findings;
mod name;
mod record;

use std::fs;
use std::path::PathBuf;

use quire_corpus::BookId;

use self::findings::BESIDE;
pub use name::{LibraryName, ParseLibraryNameError};
pub use record::NamedLibrary;

use crate::io_error::{create_folder, entries, remove_file, sync_folder};
use crate::lock::KeyLock;
use crate::{ArtifactKey, IoError, LibraryId, RecipeKey, Store, StoreError};

/// How the files of names end.
const ENDING: &str = ".json";
/// The file that is locked.
const LOCK_FILE: &str = "lock";

/// Why a library cannot be found or changed.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is none of that name.
    #[error("there is no library '{0}'; `quire library list` lists them")]
    Unknown(LibraryName),
    /// There is one already.
    #[error(
        "there is a library '{0}' already; `quire library add` adds books to it, \
         `quire library rm` removes it"
    )]
    Exists(LibraryName),
    /// It would have no book.
    #[error("library '{0}' would have no book left; `quire library rm {0}` removes it")]
    Empty(LibraryName),
    /// Its file is not one that was written here.
    #[error(
        "{} is damaged: {what}; remove it with `quire library rm {name}` and create the library \
         again, its books are unharmed",
        path.display()
    )]
    Damaged {
        /// The library.
        name: LibraryName,
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// What became of pointing a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pointed {
    /// It leads there now.
    Done(NamedLibrary),
    /// The library was changed meanwhile, or the artifact is gone again.
    /// Nothing was done; look again.
    Outdated,
}

/// A library by its name, or why it cannot be used.
pub type FoundLibrary = (LibraryName, Result<NamedLibrary, LibraryError>);

impl Store {
    fn names(&self) -> PathBuf {
        self.root().join("names")
    }

    fn name_path(&self, name: &LibraryName) -> PathBuf {
        self.names().join(format!("{name}{ENDING}"))
    }

    /// Held while names are changed, or while books are removed that they may
    /// need.
    fn lock_names(&self) -> Result<KeyLock, IoError> {
        create_folder(&self.names())?;
        KeyLock::acquire(&self.names().join(LOCK_FILE), || {})
    }

    /// Which books a library has, or `None` if there is none of that name.
    ///
    /// # Errors
    /// When its file cannot be read or is damaged.
    pub fn library(&self, name: &LibraryName) -> Result<Option<NamedLibrary>, LibraryError> {
        let path = self.name_path(name);
        match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::of("read", &path)(error).into()),
            Ok(bytes) => match NamedLibrary::parse(name.clone(), &bytes) {
                Ok(library) => Ok(Some(library)),
                Err(what) => Err(LibraryError::Damaged {
                    name: name.clone(),
                    path,
                    what,
                }),
            },
        }
    }

    /// Every library that has a name, by name.
    ///
    /// # Errors
    /// When the folder of names cannot be listed.
    pub fn libraries(&self) -> Result<Vec<FoundLibrary>, IoError> {
        let mut found = Vec::new();
        for entry in entries(&self.names())? {
            let file = entry.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(ENDING));
            let Some(name) = name.and_then(|name| name.parse().ok()) else {
                continue;
            };
            // Another process may have removed it since it was listed.
            if let Some(library) = self.library(&name).transpose() {
                found.push((name, library));
            }
        }
        Ok(found)
    }

    /// Points a name at a set of books whose artifact is there, if it still
    /// leads where it did `before`. The artifact of the set that no longer
    /// counts, the former one or else this, is removed unless a name needs it;
    /// who has it open keeps it.
    ///
    /// # Errors
    /// When there are no books, or the operating system refuses.
    pub fn point_library(
        &self,
        name: &LibraryName,
        before: Option<&NamedLibrary>,
        books: &[BookId],
        recipe: RecipeKey,
    ) -> Result<Pointed, LibraryError> {
        let library = NamedLibrary::following(name, before, books)
            .ok_or_else(|| LibraryError::Empty(name.clone()))?;
        let lock = self.lock_names()?;
        let there = self
            .find(library.id(), recipe)
            .map_err(StoreError::from)?
            .is_some();
        if self.library(name)?.as_ref() != before || !there {
            // Nobody may ever want what was built for this edit.
            self.release(library.id())?;
            lock.remove()?;
            return Ok(Pointed::Outdated);
        }
        let (path, beside) = (
            self.name_path(name),
            self.names().join(format!("{name}{BESIDE}")),
        );
        library.write(&beside)?;
        fs::rename(&beside, &path).map_err(IoError::of("write", &path))?;
        sync_folder(&self.names())?;
        sync_folder(self.root())?;
        if let Some(before) = before.filter(|before| before.id() != library.id()) {
            self.release(before.id())?;
        }
        lock.remove()?;
        tracing::info!(%name, version = library.version, books = library.books.len(), "library changed");
        Ok(Pointed::Done(library))
    }

    /// Removes a name and, unless another name needs it, the artifact it led
    /// to; never a book. Who has it open keeps it. A damaged name goes too.
    ///
    /// # Errors
    /// When there is none of that name, or the operating system refuses.
    pub fn remove_library(&self, name: &LibraryName) -> Result<(), LibraryError> {
        let lock = self.lock_names()?;
        let removed = self.library(name);
        if matches!(removed, Ok(None)) {
            lock.remove()?;
            return Err(LibraryError::Unknown(name.clone()));
        }
        remove_file(&self.name_path(name))?;
        sync_folder(&self.names())?;
        if let Ok(Some(library)) = removed {
            self.release(library.id())?;
        }
        lock.remove()?;
        tracing::info!(%name, "library removed");
        Ok(())
    }

    /// Removes the artifacts of a set that no name leads to. Under the lock of
    /// names. What somebody is building just now is left to them.
    fn release(&self, set: LibraryId) -> Result<(), LibraryError> {
        for (_, library) in self.libraries()? {
            // A name that cannot be read may be one that needs it.
            if library.map_or(true, |library| library.id() == set) {
                return Ok(());
            }
        }
        Ok(self.remove_artifacts_of(set)?)
    }

    /// Whether no library has a book.
    ///
    /// # Errors
    /// When one has it, with the names of all that do.
    pub fn check_in_no_library(&self, book: BookId) -> Result<(), StoreError> {
        let mut libraries = Vec::new();
        for (name, library) in self.libraries()? {
            if library.is_ok_and(|library| library.books.contains(&book)) {
                libraries.push(name);
            }
        }
        if libraries.is_empty() {
            return Ok(());
        }
        Err(StoreError::InLibrary { book, libraries })
    }

    /// Runs `remove` on a book that no library has, and no one adds it to one
    /// meanwhile.
    pub(crate) fn removing<T>(
        &self,
        book: BookId,
        remove: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let lock = self.lock_names()?;
        let removed = self.check_in_no_library(book).and_then(|()| remove());
        lock.remove()?;
        removed
    }
}

impl NamedLibrary {
    /// The key of its artifact under a recipe.
    pub fn key(&self, recipe: RecipeKey) -> ArtifactKey {
        ArtifactKey::new(self.id(), recipe)
    }
}

#[cfg(test)]
mod tests;
