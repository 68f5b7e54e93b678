//! A committed artifact on disk.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::digest::sha256_file;
use crate::io_error::entries;
use crate::manifest::MANIFEST_FILE;
use crate::stamp::{FileState, LARGE, Stamps};
use crate::{
    ArtifactKey, FileEntry, IoError, Manifest, ManifestError, MapError, Mapped, MappingFault,
    PassageError, Subject,
};

/// A committed artifact: its folder and its manifest, which has been read and
/// fits the folder. Its files may still be damaged: see [`ArtifactDir::check`].
#[derive(Debug, Clone)]
pub struct ArtifactDir {
    root: PathBuf,
    path: PathBuf,
    key: ArtifactKey,
    manifest: Manifest,
}

/// Why an artifact cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Its manifest is not to be trusted.
    #[error("the artifact of {key} cannot be opened; mend it: {remedy}")]
    Manifest {
        /// Which artifact.
        key: ArtifactKey,
        /// What to do.
        remedy: String,
        /// What is wrong.
        #[source]
        source: Box<ManifestError>,
    },
    /// Its manifest is that of another artifact.
    #[error("{} holds the artifact of {found}; mend it: {remedy}", path.display())]
    Elsewhere {
        /// The folder.
        path: PathBuf,
        /// Whose artifact it is.
        found: ArtifactKey,
        /// What to do.
        remedy: String,
    },
    /// A file of it is damaged.
    #[error("{} {damage}; mend it: {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
        /// What to do.
        remedy: String,
    },
    /// A file of it changed while it was in use.
    #[error(transparent)]
    Fault(#[from] MappingFault),
    /// The book has no such passage.
    #[error("{subject} has no passage {ordinal}: it has {passages}, counted from 0")]
    NoSuchPassage {
        /// The book.
        subject: Subject,
        /// The passage asked for.
        ordinal: u32,
        /// How many there are.
        passages: usize,
    },
}

/// What is wrong with a file of an artifact.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It is not there.
    #[error("is missing")]
    Missing,
    /// It is a folder, a link or something else.
    #[error("is not a regular file")]
    NotAFile,
    /// It is shorter or longer than the manifest says.
    #[error("is {found} bytes long, not {expected} as its manifest says")]
    Length {
        /// Bytes by the manifest.
        expected: u64,
        /// Bytes on disk.
        found: u64,
    },
    /// Its bytes are not those the manifest tells of.
    #[error("is damaged: its SHA-256 is not the one in its manifest")]
    Digest,
    /// The manifest does not list it though every artifact of its kind has it.
    #[error("is not listed in the manifest")]
    Unlisted,
    /// The text is not the one that the book's id stands for.
    #[error("is not the text of this book: its SHA-256 is not the book's id")]
    AnotherText,
    /// Text or passages do not fit together.
    #[error("is damaged: {0}")]
    Passages(#[from] PassageError),
}

/// Whether a stamp of an earlier check may stand for reading a large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamped {
    Believed,
    Ignored,
}

impl ArtifactDir {
    /// Reads the manifest of the artifact in the folder `path`, which should
    /// be that of `key`, below the data folder `root`.
    pub(crate) fn open(root: &Path, path: &Path, key: ArtifactKey) -> Result<Self, ArtifactError> {
        let manifest = Manifest::read(&path.join(MANIFEST_FILE)).map_err(|source| {
            ArtifactError::Manifest {
                key,
                remedy: remedy(key.subject, None, path),
                source: Box::new(source),
            }
        })?;
        if manifest.key() != key {
            return Err(ArtifactError::Elsewhere {
                path: path.to_owned(),
                found: manifest.key(),
                remedy: remedy(key.subject, None, path),
            });
        }
        Ok(Self {
            root: root.to_owned(),
            path: path.to_owned(),
            key,
            manifest,
        })
    }

    /// The artifact's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The artifact's key.
    pub fn key(&self) -> ArtifactKey {
        self.key
    }

    /// What is in it and how it came to be.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where a file of the artifact lies, by its path in the manifest.
    pub fn file(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Maps a file of the artifact, which must be as long as its manifest says.
    ///
    /// # Errors
    /// When the manifest does not list it, or it is missing, or has another
    /// length.
    pub fn map(&self, path: &str) -> Result<Mapped, ArtifactError> {
        let entry = self.entry(path)?;
        match Mapped::open_exact(&self.file(path), entry.bytes) {
            Ok(mapped) => Ok(mapped),
            Err(MapError::Length {
                expected, found, ..
            }) => Err(self.damaged(path, Damage::Length { expected, found })),
            Err(MapError::Io(error)) if error.is_not_found() => {
                Err(self.damaged(path, Damage::Missing))
            }
            Err(MapError::Io(error)) => Err(error.into()),
        }
    }

    /// Proves that every file the manifest lists is there and is, by length
    /// and SHA-256, the one that was committed.
    ///
    /// A file of at least 256 MiB that was proved before and has not been
    /// touched since, by all the file system knows, is not read again.
    ///
    /// # Errors
    /// The first damaged file, by path.
    pub fn check(&self) -> Result<(), ArtifactError> {
        match self.damages(Stamped::Believed).into_iter().next() {
            Some(damage) => Err(damage),
            None => Ok(()),
        }
    }

    /// Proves the one file of that path, as [`ArtifactDir::check`] proves all.
    ///
    /// # Errors
    /// When the manifest does not list it, or it is damaged.
    pub fn check_file(&self, path: &str) -> Result<(), ArtifactError> {
        self.check_entry(self.entry(path)?, Stamped::Believed)
    }

    /// Everything wrong with the files the manifest lists, by path.
    pub(crate) fn damages(&self, stamped: Stamped) -> Vec<ArtifactError> {
        let files = &self.manifest.files;
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, ArtifactError)>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = files.get(at) else {
                    return;
                };
                if let Err(error) = self.check_entry(entry, stamped) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push((at, error));
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..cores.min(files.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, error)| error).collect()
    }

    fn check_entry(&self, entry: &FileEntry, stamped: Stamped) -> Result<(), ArtifactError> {
        let path = self.file(&entry.path);
        let damaged = |damage| Err(self.damaged(&entry.path, damage));
        let metadata = match fs::symlink_metadata(&path) {
            Err(error) if gone(error.kind()) => return damaged(Damage::Missing),
            metadata => metadata.map_err(IoError::of("inspect", &path))?,
        };
        if !metadata.is_file() {
            return damaged(Damage::NotAFile);
        }
        if metadata.len() != entry.bytes {
            return damaged(Damage::Length {
                expected: entry.bytes,
                found: metadata.len(),
            });
        }
        let stamps = Stamps::of(&self.root, &self.key.staging_name());
        let believed = stamped == Stamped::Believed && entry.bytes >= LARGE;
        if believed
            && let Some(state) = FileState::of(&metadata)
            && stamps.vouch(&entry.path, state, &entry.sha256)
        {
            return Ok(());
        }
        let (found, sha256) = sha256_file(&path)?;
        if found != entry.bytes {
            let expected = entry.bytes;
            return damaged(Damage::Length { expected, found });
        }
        if sha256 != entry.sha256 {
            return damaged(Damage::Digest);
        }
        // The state from before reading: a change during it leaves a stamp
        // that fits nothing.
        if believed && let Some(state) = FileState::of(&metadata) {
            stamps.remember(&entry.path, state, &entry.sha256);
        }
        Ok(())
    }

    fn entry(&self, path: &str) -> Result<&FileEntry, ArtifactError> {
        self.manifest
            .file(path)
            .ok_or_else(|| self.damaged(path, Damage::Unlisted))
    }

    /// The error of a damaged file, with what to do about it.
    pub fn damaged(&self, path: &str, damage: Damage) -> ArtifactError {
        ArtifactError::Damaged {
            path: self.file(path),
            damage,
            remedy: self.remedy(),
        }
    }

    /// What mends this artifact when something in it is damaged.
    pub fn remedy(&self) -> String {
        let source = self.manifest.source.as_ref();
        let source = source.and_then(|source| source.path.as_deref());
        remedy(self.key.subject, source, &self.path)
    }
}

/// Whether a file that gives such an error is not there.
fn gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What mends a damaged artifact: building it again.
pub(crate) fn remedy(subject: Subject, source: Option<&str>, folder: &Path) -> String {
    match subject {
        Subject::Book(book) => {
            let path = source.map_or("PATH".to_owned(), quoted);
            format!("`quire rm {} && quire index {path}`", book.short())
        }
        Subject::Library(_) => format!(
            "remove the folder {}, it is built again when it is needed",
            folder.display()
        ),
    }
}

/// A path as a shell takes it for one word.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=".contains(c);
    if !path.is_empty() && !path.starts_with('-') && path.chars().all(plain) {
        return path.to_owned();
    }
    let dashes = if path.starts_with('-') { "./" } else { "" };
    format!("'{dashes}{}'", path.replace('\'', r"'\''"))
}

/// The files and folders below a folder, as paths relative to it with `/`
/// between their parts, ascending.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) files: Vec<String>,
    pub(crate) folders: Vec<String>,
    /// Links, sockets and the like, and names that are not Unicode.
    pub(crate) odd: Vec<String>,
}

impl Contents {
    pub(crate) fn of(folder: &Path) -> Result<Self, IoError> {
        let mut contents = Self::default();
        contents.gather(folder, "")?;
        contents.files.sort_unstable();
        contents.folders.sort_unstable();
        contents.odd.sort_unstable();
        Ok(contents)
    }

    fn gather(&mut self, folder: &Path, prefix: &str) -> Result<(), IoError> {
        for entry in entries(folder)? {
            let name = entry.file_name();
            let path = format!("{prefix}{}", name.to_string_lossy());
            let kind = entry
                .file_type()
                .map_err(IoError::of("inspect", entry.path()))?;
            if name.to_str().is_none() || !(kind.is_file() || kind.is_dir()) {
                self.odd.push(path);
            } else if kind.is_dir() {
                self.gather(&entry.path(), &format!("{path}/"))?;
                self.folders.push(path);
            } else {
                self.files.push(path);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, TEXT, begin, commit, key, manifest, recipe, write_files};

    #[test]
    fn a_remedy_can_be_pasted_into_a_shell() {
        for (path, word) in [
            ("a/b.txt", "a/b.txt"),
            ("书/一.txt", "书/一.txt"),
            ("it's here", r"'it'\''s here'"),
            ("-rf", "'./-rf'"),
            ("$(x)", "'$(x)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(path), word);
        }
    }

    #[test]
    fn the_first_damage_by_path_is_the_one_told() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        for file in ["vectors.bin", "bm25/meta.json", "text.txt"] {
            fs::remove_file(artifact.file(file)).unwrap();
        }
        let error = artifact.check().unwrap_err().to_string();
        assert!(error.contains("bm25/meta.json is missing"), "{error}");
        assert_eq!(artifact.damages(Stamped::Ignored).len(), 3);
    }

    #[test]
    fn a_file_that_is_not_listed_is_not_mapped() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        fs::write(artifact.file("extra"), "").unwrap();
        assert!(matches!(
            artifact.map("extra"),
            Err(ArtifactError::Damaged {
                damage: Damage::Unlisted,
                ..
            })
        ));
        assert_eq!(artifact.map("vectors.bin").unwrap()[..], [1, 2, 3, 4]);
    }

    #[test]
    #[cfg(unix)]
    fn a_large_file_is_read_again_once_it_was_touched_and_not_before() {
        use std::os::unix::fs::FileExt;
        let (_folder, store) = testing::store();
        let staging = begin(&store, key(TEXT));
        write_files(&staging, TEXT);
        let large = staging.file("large.bin").unwrap();
        fs::File::create(large).unwrap().set_len(LARGE).unwrap();
        let artifact = staging.commit(manifest(TEXT, recipe())).unwrap();
        let path = artifact.file("large.bin");
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_at(&[1], LARGE / 2).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(4));
        // A stamp that lies shows by what is believed whether the file is read.
        let state = FileState::of(&fs::metadata(&path).unwrap()).unwrap();
        let sha256 = &artifact.manifest().file("large.bin").unwrap().sha256;
        Stamps::of(store.root(), &artifact.key().staging_name()).remember(
            "large.bin",
            state,
            sha256,
        );
        artifact.check().unwrap();
        assert_eq!(artifact.damages(Stamped::Ignored).len(), 1);
        // Setting the time back does not hide that it was touched.
        let modified = file.metadata().unwrap().modified().unwrap();
        file.write_at(&[2], LARGE / 2).unwrap();
        file.set_modified(modified).unwrap();
        assert!(matches!(
            artifact.check(),
            Err(ArtifactError::Damaged {
                damage: Damage::Digest,
                ..
            })
        ));
    }
}
