//! An artifact while it is built.
//!
//! Whatever kills a build, the store is left in one of three states: no
//! manifest in the staging folder (the work so far is in `scratch/`, the rest
//! is built again), a manifest in it (all files are whole, and whoever comes
//! next finishes the commit), or the artifact in its final place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::artifact::{Contents, Stamped};
use crate::digest::sha256_file;
use crate::io_error::{create_folder, entries, remove_file, remove_folder, sync_file, sync_folder};
use crate::lock::KeyLock;
use crate::manifest::MANIFEST_FILE;
use crate::{ArtifactDir, ArtifactKey, FileEntry, IoError, Manifest, StoreError};

/// The folder in a staging folder whose content outlives a kill and never
/// becomes part of the artifact.
pub(crate) const SCRATCH: &str = "scratch";

/// The folder in which an artifact is built, locked against other builders.
/// Dropped without a commit it stays on disk, to be resumed.
#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    key: ArtifactKey,
    folder: PathBuf,
    lock: KeyLock,
    resumed: bool,
}

/// What a killed builder left.
pub(crate) enum Left {
    /// A folder to build in.
    Unfinished(Staging),
    /// A whole artifact, now committed.
    Finished(Box<ArtifactDir>),
}

impl Staging {
    /// Takes over the staging folder of `key`, under its lock.
    pub(crate) fn take_over(
        root: &Path,
        key: ArtifactKey,
        lock: KeyLock,
    ) -> Result<Left, StoreError> {
        let folder = root.join("staging").join(key.staging_name());
        create_folder(&folder)?;
        let mut staging = Self {
            root: root.to_owned(),
            key,
            folder,
            lock,
            resumed: false,
        };
        if staging.is_whole() {
            let finished = staging.finish()?;
            return Ok(Left::Finished(Box::new(finished)));
        }
        staging.keep_scratch_only()?;
        staging.resumed = !entries(&staging.folder.join(SCRATCH))?.is_empty();
        Ok(Left::Unfinished(staging))
    }

    /// Whether a killed builder got as far as the manifest.
    fn is_whole(&self) -> bool {
        let Ok(artifact) = ArtifactDir::open(&self.root, &self.folder, self.key) else {
            return false;
        };
        let Ok(contents) = self.contents() else {
            return false;
        };
        let listed = artifact.manifest().files.iter().map(|file| &file.path);
        contents.odd.is_empty()
            && listed.eq(contents.files.iter())
            && artifact.damages(Stamped::Ignored).is_empty()
    }

    /// Nothing is known of files from before a kill but of those that guard
    /// themselves, such as a [`crate::ResumeLog`].
    fn keep_scratch_only(&self) -> Result<(), IoError> {
        for entry in entries(&self.folder)? {
            let path = entry.path();
            let kind = entry.file_type().map_err(IoError::of("inspect", &path))?;
            if !kind.is_dir() {
                remove_file(&path)?;
            } else if entry.file_name() != SCRATCH {
                remove_folder(&path)?;
            }
        }
        Ok(())
    }

    /// All that is to become the artifact, without manifest and scratch.
    fn contents(&self) -> Result<Contents, IoError> {
        let mut contents = Contents::of(&self.folder)?;
        let of_artifact =
            |path: &String| path != MANIFEST_FILE && path.split('/').next() != Some(SCRATCH);
        contents.files.retain(of_artifact);
        contents.folders.retain(of_artifact);
        contents.odd.retain(of_artifact);
        Ok(contents)
    }

    /// The artifact's key.
    pub fn key(&self) -> ArtifactKey {
        self.key
    }

    /// The folder. Every file in it becomes part of the artifact, but for
    /// those in [`Staging::scratch`].
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// Whether an earlier builder left scratch files to resume from.
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// The path of a file of the artifact, whose folder is created.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn file(&self, path: &str) -> Result<PathBuf, IoError> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            create_folder(folder)?;
        }
        Ok(path)
    }

    /// The path of a file that outlives a kill and is removed by the commit.
    ///
    /// # Errors
    /// When its folder cannot be created.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, IoError> {
        self.file(&format!("{SCRATCH}/{name}"))
    }

    /// Writes a file of the artifact.
    ///
    /// # Errors
    /// When the operating system refuses, as on a full disk.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), IoError> {
        let path = self.file(path)?;
        fs::write(&path, bytes).map_err(IoError::of("write", &path))
    }

    /// Makes the artifact visible, whole: syncs every file, lists them all in
    /// the manifest, writes that last, drops the scratch files and renames
    /// the folder to its final place.
    ///
    /// If an artifact is there by now, that one stays.
    ///
    /// # Errors
    /// When the manifest is that of another key, when something in the folder
    /// is no regular file, or when the operating system refuses; the staging
    /// folder then stays to be resumed.
    pub fn commit(self, mut manifest: Manifest) -> Result<ArtifactDir, StoreError> {
        if manifest.key() != self.key {
            return Err(StoreError::OtherKey {
                staged: self.key,
                given: manifest.key(),
            });
        }
        let contents = self.contents()?;
        if let Some(path) = contents.odd.first() {
            return Err(StoreError::OddFile {
                path: self.folder.join(path),
            });
        }
        manifest.files = Vec::with_capacity(contents.files.len());
        for path in contents.files {
            let on_disk = self.folder.join(&path);
            sync_file(&on_disk)?;
            let (bytes, sha256) = sha256_file(&on_disk)?;
            manifest.files.push(FileEntry {
                path,
                bytes,
                sha256,
            });
        }
        for folder in contents.folders {
            sync_folder(&self.folder.join(folder))?;
        }
        sync_folder(&self.folder)?;
        let beside = self.scratch(MANIFEST_FILE)?;
        manifest
            .write(&self.folder.join(MANIFEST_FILE), &beside)
            .map_err(StoreError::Manifest)?;
        self.finish()
    }

    /// The commit from the moment the manifest is written.
    fn finish(self) -> Result<ArtifactDir, StoreError> {
        let place = self.root.join(self.key.place());
        sync_folder(&self.folder)?;
        remove_folder(&self.folder.join(SCRATCH))?;
        sync_folder(&self.folder)?;
        let parent = place.parent().unwrap_or(&self.root);
        match rename_into(&self.folder, parent, &place) {
            // Locks do not reach every network file system, so another
            // machine may have been faster. Equal keys are equal bytes.
            Err(error) if taken(error.source.kind()) => {
                let existing = ArtifactDir::open(&self.root, &place, self.key)?;
                remove_folder(&self.folder)?;
                self.lock.remove()?;
                return Ok(existing);
            }
            renamed => renamed?,
        }
        for folder in [Some(parent), parent.parent(), Some(&self.root)] {
            folder.map_or(Ok(()), sync_folder)?;
        }
        let committed = ArtifactDir::open(&self.root, &place, self.key)?;
        self.lock.remove()?;
        tracing::info!(key = %self.key, path = %place.display(), "artifact committed");
        Ok(committed)
    }

    /// Removes the folder with all work in it.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn discard(self) -> Result<(), IoError> {
        remove_folder(&self.folder)?;
        self.lock.remove()
    }
}

/// Renames `folder` to `place` in `parent`, which is created.
fn rename_into(folder: &Path, parent: &Path, place: &Path) -> Result<(), IoError> {
    // Who removes another recipe of the book removes its folder too, when
    // empty, perhaps just before the rename; a few tries settle that.
    for _ in 0..16 {
        create_folder(parent)?;
        match fs::rename(folder, place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {}
            renamed => return renamed.map_err(IoError::of("commit to", place)),
        }
    }
    fs::rename(folder, place).map_err(IoError::of("commit to", place))
}

fn taken(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
    )
}
