//! One repository's part of the cache, in the layout all tools of the hub
//! share.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::HubError;
use crate::names::{BlobName, Commit, Repo, Revision};

/// Tells backup tools to leave the cache out (the Cache Directory Tagging
/// Specification).
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
# This folder is a cache of model files; they can be fetched again.\n";

/// The folders of one repository.
#[derive(Debug)]
pub(crate) struct RepoCache {
    cache: PathBuf,
    root: PathBuf,
    locks: PathBuf,
}

/// Held while one process fetches a blob; released when dropped, and by the
/// system when the process dies.
#[derive(Debug)]
pub(crate) struct BlobLock {
    _file: File,
}

impl RepoCache {
    pub(crate) fn new(cache: &Path, repo: &Repo) -> Self {
        Self {
            cache: cache.to_owned(),
            root: cache.join(repo.folder()),
            locks: cache.join(".locks").join(repo.folder()),
        }
    }

    pub(crate) fn blob(&self, name: &BlobName) -> PathBuf {
        self.root.join("blobs").join(name.as_str())
    }

    /// Where a blob's bytes gather until it is whole.
    pub(crate) fn incomplete(&self, name: &BlobName) -> PathBuf {
        let name = format!("{}.incomplete", name.as_str());
        self.root.join("blobs").join(name)
    }

    pub(crate) fn snapshot(&self, commit: &Commit) -> PathBuf {
        self.root.join("snapshots").join(commit.as_str())
    }

    /// The commit a revision stands for, as far as the cache knows.
    pub(crate) fn commit_of(&self, revision: &Revision) -> Option<Commit> {
        match revision {
            Revision::Commit(commit) => Some(commit.clone()),
            Revision::Ref(name) => {
                let text = fs::read_to_string(self.root.join("refs").join(name)).ok()?;
                Commit::parse(text.trim())
            }
        }
    }

    /// A snapshot's file, if it is there and its link leads to a file.
    pub(crate) fn find(&self, commit: &Commit, file: &str) -> Option<PathBuf> {
        let entry = self.snapshot(commit).join(file);
        entry.is_file().then_some(entry)
    }

    /// The blob that a snapshot's file links to.
    pub(crate) fn blob_of(&self, entry: &Path) -> Option<BlobName> {
        let target = fs::read_link(entry).ok()?;
        BlobName::parse(target.file_name()?.to_str()?)
    }

    /// Makes the folders that a pull writes to.
    pub(crate) fn prepare(&self) -> Result<(), HubError> {
        for folder in [self.root.join("blobs"), self.locks.clone()] {
            make_folder(&folder)?;
        }
        let tag = self.cache.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(&tag, CACHE_TAG).map_err(HubError::disk("write", tag))?;
        }
        Ok(())
    }

    /// Waits until no other process fetches the blob. `on_wait` is called
    /// once if another does.
    pub(crate) fn lock(
        &self,
        name: &BlobName,
        on_wait: impl FnOnce(),
    ) -> Result<BlobLock, HubError> {
        let path = self.locks.join(format!("{}.lock", name.as_str()));
        let failed = || HubError::disk("lock", path.clone());
        let mut on_wait = Some(on_wait);
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(failed())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if let Some(on_wait) = on_wait.take() {
                        on_wait();
                    }
                    file.lock().map_err(failed())?;
                }
                Err(TryLockError::Error(error)) => return Err(failed()(error)),
            }
            // Some tools remove the lock file when they are done; a lock on a
            // removed file keeps nobody out.
            if is_same_file(&file, &path) {
                return Ok(BlobLock { _file: file });
            }
        }
    }

    /// Makes a snapshot's file a link to the blob. Call with the blob locked.
    pub(crate) fn link(
        &self,
        commit: &Commit,
        file: &str,
        name: &BlobName,
    ) -> Result<PathBuf, HubError> {
        let entry = self.snapshot(commit).join(file);
        if let Some(folder) = entry.parent() {
            make_folder(folder)?;
        }
        // Up from the file's folder to the repository's.
        let up = "../".repeat(file.matches('/').count() + 2);
        let target = PathBuf::from(format!("{up}blobs/{}", name.as_str()));
        // Made beside the blobs and moved into place, so the entry is never
        // missing while it is replaced; the lock makes the name unique.
        let fresh = self
            .root
            .join("blobs")
            .join(format!("{}.link", name.as_str()));
        let failed = || HubError::disk("link", entry.clone());
        remove_if_there(&fresh).map_err(failed())?;
        make_link(&target, &self.blob(name), &fresh).map_err(failed())?;
        fs::rename(&fresh, &entry).map_err(failed())?;
        Ok(entry)
    }

    /// Records which commit a branch or tag stands for.
    pub(crate) fn write_ref(&self, name: &str, commit: &Commit) -> Result<(), HubError> {
        let path = self.root.join("refs").join(name);
        if fs::read_to_string(&path).is_ok_and(|text| text.trim() == commit.as_str()) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let serial = COUNTER.fetch_add(1, Ordering::Relaxed);
        let fresh = self
            .root
            .join("blobs")
            .join(format!("ref.{}.{serial}.tmp", process::id()));
        fs::write(&fresh, commit.as_str()).map_err(HubError::disk("write", fresh.clone()))?;
        fs::rename(&fresh, &path).map_err(HubError::disk("write", path))
    }
}

/// The length of a file; 0 when there is none.
pub(crate) fn length_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |facts| facts.len())
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make_folder(folder: &Path) -> Result<(), HubError> {
    fs::create_dir_all(folder).map_err(HubError::disk("create the folder", folder))
}

#[cfg(unix)]
fn make_link(target: &Path, _blob: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Links need a privilege on some systems; a copy serves as well.
#[cfg(not(unix))]
fn make_link(_target: &Path, blob: &Path, link: &Path) -> io::Result<()> {
    fs::copy(blob, link).map(|_| ())
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn cache() -> (tempfile::TempDir, RepoCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = RepoCache::new(folder.path(), &Repo::parse("org/name").unwrap());
        cache.prepare().unwrap();
        (folder, cache)
    }

    #[test]
    fn a_file_in_a_folder_is_linked_to_its_blob_by_a_relative_path() {
        let (folder, cache) = cache();
        let blob = BlobName::parse("abc").unwrap();
        fs::write(cache.blob(&blob), "text").unwrap();
        let commit = Commit::parse(COMMIT).unwrap();
        for _ in 0..2 {
            let entry = cache.link(&commit, "onnx/model.onnx", &blob).unwrap();
            assert_eq!(
                entry.strip_prefix(folder.path()).unwrap(),
                Path::new("models--org--name/snapshots")
                    .join(COMMIT)
                    .join("onnx/model.onnx")
            );
            assert_eq!(
                fs::read_link(&entry).unwrap(),
                Path::new("../../../blobs/abc")
            );
            assert_eq!(fs::read_to_string(&entry).unwrap(), "text");
            assert_eq!(cache.blob_of(&entry).unwrap(), blob);
        }
    }

    #[test]
    fn a_link_to_nothing_is_no_file() {
        let (_folder, cache) = cache();
        let commit = Commit::parse(COMMIT).unwrap();
        let blob = BlobName::parse("abc").unwrap();
        cache.link(&commit, "a", &blob).unwrap();
        assert_eq!(cache.find(&commit, "a"), None);
    }

    #[test]
    fn a_ref_is_read_back_and_a_foreign_one_cannot_lead_elsewhere() {
        let (_folder, cache) = cache();
        let commit = Commit::parse(COMMIT).unwrap();
        let revision = Revision::parse("refs/pr/1").unwrap();
        assert_eq!(cache.commit_of(&revision), None);
        cache.write_ref("refs/pr/1", &commit).unwrap();
        assert_eq!(cache.commit_of(&revision), Some(commit));
        fs::write(cache.root.join("refs/refs/pr/1"), "../../etc").unwrap();
        assert_eq!(cache.commit_of(&revision), None);
    }

    #[test]
    fn a_lock_is_held_by_one_and_survives_the_removal_of_its_file() {
        let (_folder, cache) = cache();
        let blob = BlobName::parse("abc").unwrap();
        let first = cache
            .lock(&blob, || panic!("nobody else holds it"))
            .unwrap();
        let (waits, waiting) = mpsc::channel();
        let (has_it, got_it) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let second = cache.lock(&blob, || waits.send(()).unwrap()).unwrap();
                has_it.send(()).unwrap();
                drop(second);
            });
            waiting.recv_timeout(Duration::from_secs(10)).unwrap();
            fs::remove_file(cache.locks.join("abc.lock")).unwrap();
            // The waiter still waits for the removed file's lock.
            assert!(got_it.recv_timeout(Duration::from_millis(50)).is_err());
            drop(first);
            got_it.recv_timeout(Duration::from_secs(10)).unwrap();
        });
        assert!(cache.locks.join("abc.lock").exists());
    }
}
