//! An operating system's error that knows its file, and the small file
//! operations whose errors it names.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The operating system refused something.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}{}", path.display(), remedy(source.kind()))]
pub struct IoError {
    /// What was tried, such as `read`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the operating system said.
    #[source]
    pub source: io::Error,
}

impl IoError {
    /// For `map_err`: the error of doing `action` to `path`.
    pub fn of(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self {
            action,
            path,
            source,
        }
    }

    /// Whether the file or folder does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// What a person can do about an error of this kind, to end a message with.
fn remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": no space is left; free some and run the command again, finished work is kept"
        }
        io::ErrorKind::PermissionDenied => {
            ": permission denied; choose another data folder or change its permissions"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            ": the file system is read-only; choose another data folder"
        }
        io::ErrorKind::NotADirectory => ": a part of the path is a file, not a folder",
        io::ErrorKind::CrossesDevices => {
            ": the data folder spans two file systems; keep all of it on one"
        }
        _ => "",
    }
}

/// Creates a folder and those above it.
pub(crate) fn create_folder(path: &Path) -> Result<(), IoError> {
    fs::create_dir_all(path).map_err(IoError::of("create the folder", path))
}

/// Waits until a file's bytes are on the disk.
pub(crate) fn sync_file(path: &Path) -> Result<(), IoError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(IoError::of("sync", path))
}

/// Waits until a folder's entries are on the disk. Only Unix lets a folder be
/// opened for that; elsewhere the file system's own journal has to do.
pub(crate) fn sync_folder(path: &Path) -> Result<(), IoError> {
    if cfg!(unix) {
        sync_file(path)?;
    }
    Ok(())
}

/// Removes a folder and all in it. Another process may be at it as well, so
/// what is already gone is no error.
pub(crate) fn remove_folder(path: &Path) -> Result<(), IoError> {
    // Each try can lose a race for one entry; a handful settles any contest.
    for _ in 0..16 {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => return done.map_err(IoError::of("remove", path)),
        }
    }
    fs::remove_dir_all(path).map_err(IoError::of("remove", path))
}

/// Removes a file unless it is already gone.
pub(crate) fn remove_file(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(IoError::of("remove", path)),
    }
}

/// The entries of a folder by name, ascending; none if there is no such folder.
pub(crate) fn entries(path: &Path) -> Result<Vec<fs::DirEntry>, IoError> {
    let listing = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(IoError::of("list", path))?,
    };
    let mut entries = listing
        .collect::<io::Result<Vec<_>>>()
        .map_err(IoError::of("list", path))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_file_and_what_to_do_about_it() {
        for (kind, remedy) in [
            (io::ErrorKind::StorageFull, "free some"),
            (io::ErrorKind::PermissionDenied, "another data folder"),
            (io::ErrorKind::ReadOnlyFilesystem, "read-only"),
            (io::ErrorKind::CrossesDevices, "two file systems"),
        ] {
            let error = IoError::of("write", Path::new("data/x"))(kind.into());
            let message = error.to_string();
            assert!(message.starts_with("cannot write data/x: "), "{message}");
            assert!(message.contains(remedy), "{message}");
        }
    }

    #[test]
    fn removing_what_is_gone_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        remove_folder(&folder.path().join("nothing")).unwrap();
        remove_file(&folder.path().join("nothing")).unwrap();
        assert!(entries(&folder.path().join("nothing")).unwrap().is_empty());
    }
}
