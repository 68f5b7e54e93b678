//! Reading records, while another process appends or none does.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use quire_index::IoError;

use crate::record::beginning;
use crate::{TraceError, TraceId, TraceRecord, files};

/// Reads the records of a log. Needs no lock and no right to write.
#[derive(Debug, Clone)]
pub struct TraceReader {
    folder: PathBuf,
}

impl TraceReader {
    /// The log in a folder, which need not be there yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The record of that name; `None` if it was never whole on the disk, or
    /// was removed to make room.
    ///
    /// # Errors
    /// When the operating system refuses, or the record is damaged.
    pub fn get(&self, id: &TraceId) -> Result<Option<TraceRecord>, TraceError> {
        let path = files::path_of(&self.folder, id.file);
        let line = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file
                .and_then(|file| line_at(file, *id))
                .map_err(IoError::of("read", &path))?,
        };
        let Some(line) = line else {
            return Ok(None);
        };
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|source| TraceError::Damaged { id: *id, source })
    }
}

/// The line at the record's place, if it is whole and that record's.
fn line_at(mut file: File, id: TraceId) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(id.offset.into()))?;
    let mut reader = BufReader::new(file);
    let expected = beginning(id);
    let mut line = Vec::new();
    reader
        .by_ref()
        .take(expected.len() as u64)
        .read_to_end(&mut line)?;
    // Before the rest is read: with another id it may be anything.
    if line != expected.as_bytes() {
        return Ok(None);
    }
    reader.read_until(b'\n', &mut line)?;
    Ok((line.last() == Some(&b'\n')).then_some(line))
}
