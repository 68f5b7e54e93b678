//! Removing what is stored: books, and sets of them.

use std::fs;
use std::io;
use std::path::Path;

use quire_corpus::BookId;

use super::{Store, StoreError, TRASH};
use crate::io_error::{create_folder, entries, remove_folder, sync_folder};
use crate::lock::KeyLock;
use crate::stamp::Stamps;
use crate::{ArtifactKey, IoError, Kind, LibraryId, Subject};

impl Store {
    /// Removes all of a book: every artifact of it, every artifact of a set
    /// that holds it, and unfinished builds of it. Returns the keys of the artifacts
    /// that were there, in the order in which they were removed.
    ///
    /// Each artifact vanishes at once, libraries before the books in them.
    /// Readers that have one mapped keep it until they close it.
    ///
    /// # Errors
    /// When a library of some name has the book or another process is building
    /// one of these (nothing is removed then), or when the operating system
    /// refuses.
    pub fn remove(&self, book: BookId) -> Result<Vec<ArtifactKey>, StoreError> {
        self.removing(book, || self.remove_all_of(book))
    }

    fn remove_all_of(&self, book: BookId) -> Result<Vec<ArtifactKey>, StoreError> {
        let mut artifacts: Vec<ArtifactKey> = Vec::new();
        for found in self.artifacts()? {
            let within = match (found.key.subject, &found.artifact) {
                (Subject::Book(id), _) => id == book,
                (Subject::Library(_), Ok(library)) => library.manifest().books.contains(&book),
                (Subject::Library(_), Err(_)) => false,
            };
            if within {
                artifacts.push(found.key);
            }
        }
        artifacts.sort_by_key(|key| (key.subject.kind() == Kind::Book, *key));
        let mut unfinished = self.unfinished()?;
        unfinished.retain(|key| key.subject == Subject::Book(book));
        if artifacts.is_empty() && unfinished.is_empty() {
            return Ok(artifacts);
        }
        create_folder(&self.root.join("staging"))?;
        self.sweep()?;
        let mut keys: Vec<ArtifactKey> = artifacts.iter().chain(&unfinished).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let mut locks = Vec::with_capacity(keys.len());
        for key in keys {
            let lock = KeyLock::try_acquire(&self.lock_path(key))?;
            locks.push(lock.ok_or(StoreError::Busy { key })?);
        }
        for key in &unfinished {
            self.discard(&self.staging_path(&key.staging_name()), *key)?;
        }
        for key in &artifacts {
            self.discard_artifact(*key)?;
        }
        for lock in locks {
            lock.remove()?;
        }
        tracing::info!(%book, artifacts = artifacts.len(), "book removed");
        Ok(artifacts)
    }

    /// Removes what there is of a set of books, finished or not. What another
    /// process is building is left to it.
    pub(crate) fn remove_artifacts_of(&self, set: LibraryId) -> Result<(), StoreError> {
        let places = self.places()?.into_iter().map(|(key, _)| key);
        let mut keys: Vec<ArtifactKey> = places.chain(self.unfinished()?).collect();
        keys.retain(|key| key.subject == Subject::Library(set));
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            create_folder(&self.root.join("staging"))?;
            let Some(lock) = KeyLock::try_acquire(&self.lock_path(key))? else {
                continue;
            };
            self.discard(&self.staging_path(&key.staging_name()), key)?;
            self.discard_artifact(key)?;
            lock.remove()?;
        }
        Ok(())
    }

    fn discard_artifact(&self, key: ArtifactKey) -> Result<(), IoError> {
        self.discard(&self.root.join(key.place()), key)?;
        let stamps = Stamps::of(&self.root, &key.staging_name());
        remove_folder(stamps.folder())
    }

    /// Moves a folder out of sight at once, then removes it at leisure.
    fn discard(&self, folder: &Path, key: ArtifactKey) -> Result<(), IoError> {
        let trash = self.staging_path(&format!("{TRASH}{}", key.staging_name()));
        remove_folder(&trash)?;
        match fs::rename(folder, &trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed.map_err(IoError::of("remove", folder))?,
        }
        if let Some(parent) = folder.parent() {
            sync_folder(parent)?;
            // Left if another recipe, or something foreign, is in it.
            if parent.file_name() != Some("staging".as_ref()) {
                let _ = fs::remove_dir(parent);
            }
        }
        remove_folder(&trash)
    }

    /// Removes what killed removals left. Two processes may be at it at once.
    pub(super) fn sweep(&self) -> Result<(), IoError> {
        for entry in entries(&self.root.join("staging"))? {
            if entry.file_name().to_string_lossy().starts_with(TRASH) {
                remove_folder(&entry.path())?;
            }
        }
        Ok(())
    }
}
