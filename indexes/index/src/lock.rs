//! One builder a key, across processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::IoError;
use crate::io_error::remove_file;

/// An exclusive lock on a file, held until dropped or until the process ends,
/// however it ends.
#[derive(Debug)]
pub(crate) struct KeyLock {
    file: File,
    path: PathBuf,
}

impl KeyLock {
    /// Takes the lock; calls `waiting` once if somebody else holds it.
    pub(crate) fn acquire(path: &Path, waiting: impl FnOnce()) -> Result<Self, IoError> {
        let mut waiting = Some(waiting);
        loop {
            let file = open(path)?;
            let locked = match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    file.lock()
                }
                Err(TryLockError::Error(error)) => Err(error),
                Ok(()) => Ok(()),
            };
            match locked {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                locked => locked.map_err(IoError::of("lock", path))?,
            }
            // Whoever held it may have removed the file; a lock on a file
            // that others can no longer open keeps nobody out.
            if is_at(&file, path) {
                return Ok(Self {
                    file,
                    path: path.to_owned(),
                });
            }
        }
    }

    /// Takes the lock if nobody holds it.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Self>, IoError> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(IoError::of("lock", path)(error)),
                Ok(()) if is_at(&file, path) => {
                    return Ok(Some(Self {
                        file,
                        path: path.to_owned(),
                    }));
                }
                Ok(()) => {}
            }
        }
    }

    /// Gives the lock back and leaves no file behind.
    pub(crate) fn remove(self) -> Result<(), IoError> {
        // Removed while held, so that nobody can lock it in between. Where an
        // open file cannot be removed, an empty one stays.
        if cfg!(unix) {
            remove_file(&self.path)?;
        }
        drop(self.file);
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, IoError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(IoError::of("open the lock", path))
}

/// Whether `file` is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => identity(held) == identity(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_held_lock_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = KeyLock::acquire(&path, || panic!("nobody to wait for")).unwrap();
        assert!(KeyLock::try_acquire(&path).unwrap().is_none());
        held.remove().unwrap();
        assert!(KeyLock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn a_lock_whose_file_comes_and_goes_still_admits_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let lock = KeyLock::acquire(&path, || {}).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        lock.remove().unwrap();
                    }
                });
            }
        });
    }
}
