//! The file that is appended to, as far as the log needs to know it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that is appended to. A trait, so that tests can fill the disk.
pub(crate) trait Sink: Send + Sync {
    /// Writes at the end: one call of the operating system unless that is
    /// interrupted or out of room.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to that length.
    fn cut(&self, length: u64) -> io::Result<()>;

    /// Waits until all of it is on the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Sink for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Opens a file to append to, and creates it if need be.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
}
