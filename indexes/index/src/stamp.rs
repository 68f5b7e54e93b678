//! Remembers that a large file was found whole, so that opening it again is
//! cheap.
//!
//! A stamp holds all that the file system knows of the file: device, inode,
//! length, and the times of its last change of content and of metadata. Any
//! write through the file system changes one of these, even if the time of
//! modification is set back afterwards. A disk that loses bits by itself
//! changes none: `quire verify` believes no stamp.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256;

/// Below this length a file is always read, at 1 to 2 GB/s; above, a stamp is
/// believed.
pub(crate) const LARGE: u64 = 256 << 20;

/// A file's state as the file system knows it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    bytes: u64,
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Of the metadata; nobody can set it back.
    changed: (i64, i64),
}

impl FileState {
    /// `None` where the file system tells too little to be believed.
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self {
            bytes: metadata.len(),
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// `None`: the file system tells too little to be believed.
    #[cfg(not(unix))]
    pub(crate) fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }

    /// Whether the last change is so recent that another one could bear the
    /// same time: clocks of file systems tick coarsely.
    fn is_fresh(&self) -> bool {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() as i64);
        now.saturating_sub(self.changed.0) < 3
    }
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    state: FileState,
    sha256: String,
}

/// The stamps of one artifact's files.
pub(crate) struct Stamps {
    folder: PathBuf,
}

impl Stamps {
    /// Those kept below a data folder for the artifact of that staging name.
    pub(crate) fn of(root: &Path, artifact: &str) -> Self {
        Self {
            folder: root.join("cache").join("verified").join(artifact),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder
            .join(format!("{}.json", &sha256(file.as_bytes())[..16]))
    }

    /// Whether the file in this state was once found to have this digest.
    pub(crate) fn vouch(&self, file: &str, state: FileState, sha256: &str) -> bool {
        let stamp = fs::read(self.path(file))
            .ok()
            .and_then(|json| serde_json::from_slice::<Stamp>(&json).ok());
        let sha256 = sha256.to_owned();
        stamp.is_some_and(|stamp| stamp == Stamp { state, sha256 })
    }

    /// Remembers what was found. A stamp that cannot be written costs the
    /// next opening time and nothing else.
    pub(crate) fn remember(&self, file: &str, state: FileState, sha256: &str) {
        if state.is_fresh() {
            return;
        }
        let sha256 = sha256.to_owned();
        let json = serde_json::to_vec(&Stamp { state, sha256 }).expect("a stamp is plain data");
        let path = self.path(file);
        let written = fs::create_dir_all(&self.folder).and_then(|()| {
            let beside = path.with_extension(format!("{}.tmp", std::process::id()));
            fs::write(&beside, json)?;
            fs::rename(beside, &path)
        });
        if let Err(error) = written {
            tracing::debug!(path = %path.display(), %error, "stamp not kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(inode: u64) -> FileState {
        FileState {
            bytes: LARGE,
            device: 1,
            inode,
            modified: (5, 6),
            changed: (7, 8),
        }
    }

    #[test]
    fn a_stamp_vouches_for_the_very_state_and_digest_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let stamps = Stamps::of(folder.path(), "an-artifact");
        assert!(!stamps.vouch("vectors.bin", state(1), "digest"));
        stamps.remember("vectors.bin", state(1), "digest");
        assert!(stamps.vouch("vectors.bin", state(1), "digest"));
        assert!(!stamps.vouch("vectors.bin", state(2), "digest"));
        assert!(!stamps.vouch("vectors.bin", state(1), "another"));
        assert!(!stamps.vouch("graph.bin", state(1), "digest"));
        std::fs::write(stamps.path("vectors.bin"), "{").unwrap();
        assert!(!stamps.vouch("vectors.bin", state(1), "digest"));
    }

    #[test]
    #[cfg(unix)]
    fn a_file_changed_a_moment_ago_gets_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let state = || FileState::of(&std::fs::metadata(&path).unwrap()).unwrap();
        let stamps = Stamps::of(folder.path(), "an-artifact");
        stamps.remember("file", state(), "digest");
        assert!(!stamps.vouch("file", state(), "digest"));
    }
}
