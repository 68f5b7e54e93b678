//! The log, as the one process sees it that appends.

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use quire_index::IoError;

use crate::sink::{self, Sink};
use crate::sync::Syncer;
use crate::{TraceEntry, TraceError, TraceId, TraceReader, TraceRecord, files};

/// How much a log may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLogOptions {
    /// The length of a file at most, in bytes. A longer record is refused. At
    /// most 4 GiB and half of `most_bytes`, so that the older half of what is
    /// kept is never lost at once with the newer.
    pub file_bytes: u64,
    /// All files together at most, in bytes; the oldest go first.
    pub most_bytes: u64,
}

impl Default for TraceLogOptions {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            most_bytes: 1 << 30,
        }
    }
}

impl TraceLogOptions {
    fn file_bytes(&self) -> u64 {
        let most = u64::from(u32::MAX).min(self.most_bytes / 2);
        self.file_bytes.min(most)
    }
}

/// The log, opened to append to.
///
/// A record that was appended outlives a kill of this process at once, and a
/// power cut after a second: files are synced in the background, once a
/// second if anything was appended, and when the log is dropped.
pub struct TraceLog {
    folder: PathBuf,
    options: TraceLogOptions,
    tail: Mutex<Tail>,
    syncer: Syncer,
    /// Held until this process ends, however it ends.
    _lock: File,
}

/// The file that is appended to, and those before it.
struct Tail {
    number: u64,
    sink: Arc<dyn Sink>,
    /// Bytes of whole records.
    length: u64,
    /// Whether a record that was cut short may follow them.
    torn: bool,
    /// Number and length of the files before it, ascending.
    older: VecDeque<(u64, u64)>,
}

impl TraceLog {
    /// Opens the log in a folder, which is created. A record that a kill cut
    /// short is cut off.
    ///
    /// # Errors
    /// When another process appends to it, or the operating system refuses.
    pub fn open(folder: impl Into<PathBuf>, options: TraceLogOptions) -> Result<Self, TraceError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(IoError::of("create the folder", &folder))?;
        let lock = lock(&folder)?;
        let mut older: VecDeque<_> = files::list(&folder)?.into();
        let (number, _) = older.pop_back().unwrap_or((1, 0));
        let (sink, length) = open_tail(&folder, number)?;
        let syncer =
            Syncer::start().map_err(IoError::of("start the thread that syncs", &folder))?;
        Ok(Self {
            folder,
            options,
            tail: Mutex::new(Tail {
                number,
                sink,
                length,
                torn: false,
                older,
            }),
            syncer,
            _lock: lock,
        })
    }

    /// Appends a record and gives its name.
    ///
    /// # Errors
    /// When the record is longer than a file may be or has a number that is
    /// not finite, or when the operating system refuses, as on a full disk.
    /// The log then is as it was before.
    pub fn append(&self, entry: &TraceEntry<'_>) -> Result<TraceId, TraceError> {
        let body = entry.body()?;
        // Tail stays whole whatever panics: it changes after what it tells of.
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let mut id = TraceId::new(tail.number, tail.length as u32);
        let mut line = body.line(id, now);
        if tail.length > 0 && tail.length + line.len() as u64 > self.options.file_bytes() {
            self.rotate(&mut tail)?;
            id = TraceId::new(tail.number, 0);
            line = body.line(id, now);
        }
        let bytes = line.len() as u64;
        if bytes > self.options.file_bytes() {
            return Err(TraceError::TooLong {
                bytes,
                most: self.options.file_bytes(),
            });
        }
        self.make_room(&mut tail, bytes)?;
        tail.append(&line)
            .map_err(IoError::of("write", self.path(tail.number)))?;
        self.syncer.soon(&tail.sink);
        Ok(id)
    }

    /// The record of that name: see [`TraceReader::get`].
    ///
    /// # Errors
    /// See there.
    pub fn get(&self, id: &TraceId) -> Result<Option<TraceRecord>, TraceError> {
        TraceReader::open(&self.folder).get(id)
    }

    /// Waits until all that was appended is on the disk.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn sync(&self) -> Result<(), TraceError> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, sink) = (tail.number, Arc::clone(&tail.sink));
        drop(tail);
        sink.sync()
            .map_err(IoError::of("sync", self.path(number)))?;
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        files::path_of(&self.folder, number)
    }

    /// Goes on in a new file.
    fn rotate(&self, tail: &mut Tail) -> Result<(), TraceError> {
        let number = tail.number + 1;
        let (sink, length) = open_tail(&self.folder, number)?;
        self.syncer.soon(&tail.sink);
        tail.older.push_back((tail.number, tail.length));
        tail.number = number;
        tail.sink = sink;
        tail.length = length;
        tail.torn = false;
        Ok(())
    }

    /// Removes the oldest files until that many bytes more are allowed.
    fn make_room(&self, tail: &mut Tail, bytes: u64) -> Result<(), TraceError> {
        let mut total: u64 = tail.older.iter().map(|(_, length)| length).sum();
        total += tail.length + bytes;
        while total > self.options.most_bytes
            && let Some(&(number, length)) = tail.older.front()
        {
            let path = self.path(number);
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(IoError::of("remove", &path))?,
            }
            tracing::info!(file = number, "old traces removed to make room");
            tail.older.pop_front();
            total -= length;
        }
        Ok(())
    }
}

impl Tail {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.sink.cut(self.length)?;
            self.torn = false;
        }
        if let Err(error) = self.sink.append(line) {
            // A part of the record may be there. If it cannot be cut off now,
            // the next append or opening does it; readers know it by its
            // missing end.
            self.torn = self.sink.cut(self.length).is_err();
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

/// The lock that one process at a time holds.
fn lock(folder: &Path) -> Result<File, TraceError> {
    let path = folder.join("lock");
    let file = sink::open(&path).map_err(IoError::of("open the lock", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(TraceError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(IoError::of("lock", &path)(error).into()),
    }
}

/// Opens a file to append to; gives it with the bytes of its whole records,
/// and nothing after them.
fn open_tail(folder: &Path, number: u64) -> Result<(Arc<dyn Sink>, u64), TraceError> {
    let path = files::path_of(folder, number);
    let mut file = sink::open(&path).map_err(IoError::of("open", &path))?;
    let length = files::whole_lines(&mut file)
        .and_then(|whole| {
            let torn = file.metadata()?.len() - whole;
            if torn > 0 {
                tracing::warn!(
                    file = number,
                    bytes = torn,
                    "a trace was cut short; cut off"
                );
                file.set_len(whole)?;
            }
            Ok(whole)
        })
        .map_err(IoError::of("recover", &path))?;
    files::sync_folder(folder)?;
    Ok((Arc::new(file), length))
}

#[cfg(test)]
mod tests;
