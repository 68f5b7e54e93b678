//! The folder that holds all artifacts.
//!
//! ```text
//! <data>/indexes/<book>/<recipe>/      committed artifacts of books
//! <data>/libraries/<set>/<recipe>/     committed artifacts of sets of books
//! <data>/names/                        libraries by name
//! <data>/staging/                      artifacts being built, locks, trash
//! <data>/cache/verified/               which large files were found whole
//! ```

mod remove;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quire_corpus::BookId;

use crate::artifact::ArtifactError;
use crate::io_error::{create_folder, entries};
use crate::lock::KeyLock;
use crate::staging::Left;
use crate::{
    ArtifactDir, ArtifactKey, IoError, Kind, LibraryName, ManifestError, RecipeKey, Staging,
    Subject,
};

/// How the names of folders begin that are being removed.
pub(crate) const TRASH: &str = "trash-";
/// How the names of lock files end.
pub(crate) const LOCK: &str = ".lock";
/// Digits of a book's id that are at least to be given.
const SHORTEST_PREFIX: usize = 4;

/// The folder that holds all artifacts. Cheap to clone; any number of
/// processes may share one.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// What [`Store::begin`] finds.
#[derive(Debug)]
pub enum Begin {
    /// The artifact is there.
    Committed(Box<ArtifactDir>),
    /// It is to be built here.
    Staging(Staging),
}

/// An artifact's key and, if it can be opened, the artifact.
#[derive(Debug)]
pub struct Found {
    /// The key, by the names of its folders.
    pub key: ArtifactKey,
    /// Its folder.
    pub path: PathBuf,
    /// The artifact, or why it cannot be used.
    pub artifact: Result<ArtifactDir, ArtifactError>,
}

/// Why the store cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The data folder is something else.
    #[error("the data folder {} is not a folder; choose another one", path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },
    /// An artifact is damaged.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The manifest cannot be written.
    #[error("the manifest cannot be written")]
    Manifest(#[source] ManifestError),
    /// The manifest to commit is not that of the artifact.
    #[error("the manifest of {given} does not belong to the artifact of {staged}")]
    OtherKey {
        /// What was begun.
        staged: ArtifactKey,
        /// What was given.
        given: ArtifactKey,
    },
    /// A link, a socket or the like is among the files to commit.
    #[error("{} is not a regular file with a Unicode name, so it is not committed", path.display())]
    OddFile {
        /// What is in the way.
        path: PathBuf,
    },
    /// Another process builds what is to be removed.
    #[error("another process is building {key}: wait for it or stop it, then try again")]
    Busy {
        /// What it builds.
        key: ArtifactKey,
    },
    /// Libraries have the book that is to be removed.
    #[error(
        "book {} is in {}; take it out first: `quire library remove {} {}`",
        book.short(),
        libraries.iter().map(|name| format!("library {name}")).collect::<Vec<_>>().join(", "),
        libraries.first().map_or("NAME", LibraryName::as_str),
        book.short()
    )]
    InLibrary {
        /// The book.
        book: BookId,
        /// The libraries, by name; at least one.
        libraries: Vec<LibraryName>,
    },
    /// Too little or something else was given for a book's id.
    #[error(
        "'{prefix}' is not the beginning of a book's id: \
         give at least {SHORTEST_PREFIX} of its hexadecimal digits"
    )]
    NotAPrefix {
        /// What was given.
        prefix: String,
    },
    /// No book's id begins so.
    #[error("no book's id begins with {prefix}; `quire books` lists them")]
    Unknown {
        /// What was given.
        prefix: String,
    },
    /// Several books' ids begin so.
    #[error(
        "{} books' ids begin with {prefix}: {}; give more digits",
        candidates.len(),
        candidates.iter().map(BookId::to_string).collect::<Vec<_>>().join(", ")
    )]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// The books, ascending.
        candidates: Vec<BookId>,
    },
}

impl Store {
    /// The store in a data folder, which is created if it is not there.
    /// Reading needs no right to write.
    ///
    /// # Errors
    /// When `root` is something else or cannot be created.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(StoreError::NotAFolder { path: root }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => create_folder(&root)?,
            Err(error) => return Err(IoError::of("open the data folder", &root)(error).into()),
        }
        Ok(Self { root })
    }

    /// The data folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the artifact of a key lies, whether it is there or not.
    pub fn path_of(&self, key: ArtifactKey) -> PathBuf {
        self.root.join(key.place())
    }

    fn staging_path(&self, name: &str) -> PathBuf {
        self.root.join("staging").join(name)
    }

    fn lock_path(&self, key: ArtifactKey) -> PathBuf {
        self.staging_path(&format!("{}{LOCK}", key.staging_name()))
    }

    /// The artifact of a book or a library, if it was built.
    ///
    /// # Errors
    /// When it is there and its manifest is not to be trusted.
    pub fn find(
        &self,
        subject: impl Into<Subject>,
        recipe: RecipeKey,
    ) -> Result<Option<ArtifactDir>, ArtifactError> {
        let key = ArtifactKey::new(subject, recipe);
        let path = self.path_of(key);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::of("open", &path)(error).into()),
            Ok(_) => ArtifactDir::open(&self.root, &path, key).map(Some),
        }
    }

    /// [`Store::begin_or_wait`], with a line in the log when it waits.
    ///
    /// # Errors
    /// See there.
    pub fn begin(&self, key: ArtifactKey) -> Result<Begin, StoreError> {
        self.begin_or_wait(key, || {
            tracing::info!(%key, "another process is building this; waiting for it");
        })
    }

    /// Finds an artifact or begins to build it, which one process at a time
    /// does. `waiting` is called once if another one is at it; when that has
    /// committed, its artifact is found; when it was killed, its work is
    /// handed on.
    ///
    /// # Errors
    /// When an artifact is there but its manifest is not to be trusted, or
    /// when the store cannot be written to.
    pub fn begin_or_wait(
        &self,
        key: ArtifactKey,
        waiting: impl FnOnce(),
    ) -> Result<Begin, StoreError> {
        // Before anything is written: a store that may only be read is enough
        // for an artifact that is there.
        if let Some(artifact) = self.find(key.subject, key.recipe)? {
            return Ok(Begin::Committed(Box::new(artifact)));
        }
        create_folder(&self.root.join("staging"))?;
        self.sweep()?;
        let lock = KeyLock::acquire(&self.lock_path(key), waiting)?;
        if let Some(artifact) = self.find(key.subject, key.recipe)? {
            lock.remove()?;
            return Ok(Begin::Committed(Box::new(artifact)));
        }
        Ok(match Staging::take_over(&self.root, key, lock)? {
            Left::Unfinished(staging) => Begin::Staging(staging),
            Left::Finished(artifact) => Begin::Committed(artifact),
        })
    }

    /// The places of artifacts, by the names of their folders: books before
    /// libraries, then by key.
    pub(crate) fn places(&self) -> Result<Vec<(ArtifactKey, PathBuf)>, IoError> {
        let mut places = Vec::new();
        for kind in [Kind::Book, Kind::Library] {
            for (subject, folder) in self.subjects(kind)? {
                for recipe in entries(&folder)? {
                    let key = recipe
                        .file_name()
                        .to_str()
                        .and_then(|name| name.parse().ok());
                    if let Some(recipe_key) = key
                        && recipe.path().is_dir()
                    {
                        places.push((ArtifactKey::new(subject, recipe_key), recipe.path()));
                    }
                }
            }
        }
        Ok(places)
    }

    fn subjects(&self, kind: Kind) -> Result<Vec<(Subject, PathBuf)>, IoError> {
        let mut subjects = Vec::new();
        for entry in entries(&self.root.join(kind.folder()))? {
            let subject = entry
                .file_name()
                .to_str()
                .and_then(|name| Subject::of_folder(kind, name));
            if let Some(subject) = subject
                && entry.path().is_dir()
            {
                subjects.push((subject, entry.path()));
            }
        }
        Ok(subjects)
    }

    /// Every artifact there is, the damaged ones with what is wrong: books
    /// before libraries, then by key.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn artifacts(&self) -> Result<Vec<Found>, IoError> {
        let mut found = Vec::new();
        for (key, path) in self.places()? {
            let artifact = ArtifactDir::open(&self.root, &path, key);
            // Another process may have removed it since it was listed.
            if artifact.is_ok() || path.exists() {
                found.push(Found {
                    key,
                    path,
                    artifact,
                });
            }
        }
        Ok(found)
    }

    /// The books that have an artifact, damaged or not, ascending.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn books(&self) -> Result<Vec<BookId>, IoError> {
        let mut books: Vec<BookId> = self
            .places()?
            .into_iter()
            .filter_map(|(key, _)| match key.subject {
                Subject::Book(book) => Some(book),
                Subject::Library(_) => None,
            })
            .collect();
        books.sort_unstable();
        books.dedup();
        Ok(books)
    }

    /// The one book whose id begins with these hexadecimal digits, at least
    /// four, in upper or lower case.
    ///
    /// # Errors
    /// When there is none, or several, or a folder cannot be listed.
    pub fn resolve(&self, prefix: &str) -> Result<BookId, StoreError> {
        let digits = prefix.to_ascii_lowercase();
        let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !hexadecimal || !(SHORTEST_PREFIX..=64).contains(&digits.len()) {
            return Err(StoreError::NotAPrefix {
                prefix: prefix.to_owned(),
            });
        }
        let mut candidates = self.books()?;
        candidates.retain(|book| book.to_string().starts_with(&digits));
        match candidates[..] {
            [book] => Ok(book),
            [] => Err(StoreError::Unknown { prefix: digits }),
            _ => Err(StoreError::Ambiguous {
                prefix: digits,
                candidates,
            }),
        }
    }

    /// The keys whose build was begun and neither committed nor discarded,
    /// whether somebody is at it or not, ascending.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn unfinished(&self) -> Result<Vec<ArtifactKey>, IoError> {
        let mut keys: Vec<ArtifactKey> = entries(&self.root.join("staging"))?
            .into_iter()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| ArtifactKey::of_staging_name(entry.file_name().to_str()?))
            .collect();
        keys.sort_unstable();
        Ok(keys)
    }
}

#[cfg(test)]
mod tests;
