//! An index's folder as tantivy reads it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quire_index::{MapError, Mapped};
use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{Directory, FileHandle, OwnedBytes, WatchCallback, WatchHandle, WritePtr};

/// A folder that is only read, through mappings that notice when a file
/// shrinks or changes: tantivy's own would end the process.
#[derive(Debug, Clone)]
pub(crate) struct MappedDirectory {
    dir: PathBuf,
}

impl MappedDirectory {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    fn bytes(&self, path: &Path) -> Result<OwnedBytes, OpenReadError> {
        match Mapped::open(&self.dir.join(path)) {
            Ok(mapped) => Ok(OwnedBytes::new(mapped)),
            Err(MapError::Io(error)) if error.is_not_found() => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(
                io::Error::other(error),
                path.to_owned(),
            )),
        }
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the index is only read")
}

impl Directory for MappedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.bytes(path)?))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.dir
            .join(path)
            .try_exists()
            .map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        Ok(self.bytes(path)?.as_slice().to_vec())
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(read_only()),
            filepath: path.to_owned(),
        })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        // Nothing ever changes in a committed index.
        Ok(WatchHandle::empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bm25Index, build, recipe};
    use quire_corpus::BookId;
    use quire_index::{PassageIds, guarded};

    #[test]
    fn a_file_cut_short_under_an_open_index_fails_the_search_and_not_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..3_000)
            .map(|row| format!("lamp quay harbour word{row} other{}", row % 77))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        build(dir.path(), &texts).unwrap();
        let ids = PassageIds::of_books([(BookId::of_text("a book"), 3_000)]);
        let index = Bm25Index::open(dir.path(), Arc::new(ids), &recipe()).unwrap();
        let search = || guarded(&[dir.path()], || index.search("lamp quay", 5));
        assert_eq!(search().unwrap().unwrap().len(), 5);
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(entry.unwrap().path())
                .unwrap();
            file.set_len(10).unwrap();
        }
        let said = search().unwrap_err().to_string();
        assert!(said.contains("shrank"), "{said}");
    }
}
