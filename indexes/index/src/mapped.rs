//! Read-only mapped files that cannot kill the process or pass off a changed
//! file as the one that was opened.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use memmap2::Mmap;
use stable_deref_trait::StableDeref;

use crate::IoError;
use crate::bus;

/// A read-only mapped file, as bytes.
///
/// The bytes are the file's as long as [`Mapped::check`] says so: when the
/// file shrinks, what it lost reads as zeros. Readers run inside [`guarded`],
/// which asks for all mappings at once.
pub struct Mapped {
    /// `None` for an empty file, which cannot be mapped everywhere.
    map: Option<Mmap>,
    watched: Arc<Watched>,
    /// The key in [`LIVE`].
    number: u64,
}

/// Why a file cannot be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file is not as long as it should be.
    #[error(
        "{} is {found} bytes long where {expected} are expected; run `quire verify`",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
}

/// A mapped file is no longer what was opened; what was read of it meanwhile
/// is worth nothing. Close the artifact, and open it again to learn more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingFault {
    /// It is shorter now.
    #[error(
        "{} shrank from {was} to {now} bytes while it was mapped; run `quire verify`",
        path.display()
    )]
    Shrank {
        /// The file.
        path: PathBuf,
        /// Its length when it was mapped.
        was: u64,
        /// Its length now.
        now: u64,
    },
    /// It was written to.
    #[error("{} was changed while it was mapped; run `quire verify`", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A page of it could not be read: it was shorter for a while, or the
    /// disk failed.
    #[error(
        "a part of {} could not be read while it was mapped; run `quire verify`",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// A mapping that is not a [`Mapped`] could not be read.
    #[error(
        "a mapped file could not be read, and it cannot be told which; \
         run `quire verify`, then start this process again"
    )]
    Stray,
}

/// What is known of a mapped file besides its bytes.
struct Watched {
    path: PathBuf,
    opened: Stat,
    region: Option<&'static bus::Region>,
}

/// What tells that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and inode, where there are such.
    identity: Option<(u64, u64)>,
}

impl Stat {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            identity,
        }
    }
}

/// The mappings there are, and the paths of those that were dropped faulted.
struct Mappings {
    live: BTreeMap<(PathBuf, u64), Arc<Watched>>,
    dropped_faulted: Vec<PathBuf>,
}

static MAPPINGS: Mutex<Mappings> = Mutex::new(Mappings {
    live: BTreeMap::new(),
    dropped_faulted: Vec::new(),
});

fn mappings() -> MutexGuard<'static, Mappings> {
    MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mapped {
    /// Maps a file of any length.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        Self::open_if(path, |_| Ok(()))
    }

    /// Maps a file that must have exactly `expected` bytes.
    ///
    /// # Errors
    /// When it has not, or the operating system refuses.
    pub fn open_exact(path: &Path, expected: u64) -> Result<Self, MapError> {
        Self::open_if(path, |found| {
            if found == expected {
                return Ok(());
            }
            Err(MapError::Length {
                path: path.to_owned(),
                expected,
                found,
            })
        })
    }

    fn open_if(
        path: &Path,
        length_is_right: impl FnOnce(u64) -> Result<(), MapError>,
    ) -> Result<Self, MapError> {
        let file = File::open(path).map_err(IoError::of("open", path))?;
        let metadata = file.metadata().map_err(IoError::of("inspect", path))?;
        if !metadata.is_file() {
            let kind = std::io::ErrorKind::InvalidInput;
            let why = std::io::Error::new(kind, "it is not a regular file");
            return Err(IoError::of("map", path)(why).into());
        }
        length_is_right(metadata.len())?;
        let map = if metadata.len() == 0 {
            None
        } else {
            // SAFETY: the mapping is read-only and private to this struct.
            // Nothing in quire writes to a committed file; if something else
            // does, the bytes may change under a reader, who only ever reads
            // them as plain bytes and learns of it from `check`.
            let map = unsafe { Mmap::map(&file) };
            Some(map.map_err(IoError::of("map", path))?)
        };
        let region = map.as_ref().map(|map| {
            let start = map.as_ptr() as usize;
            bus::protect(start..start + map.len())
        });
        let watched = Arc::new(Watched {
            path: path.to_owned(),
            opened: Stat::of(&metadata),
            region,
        });
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        mappings()
            .live
            .insert((path.to_owned(), number), Arc::clone(&watched));
        Ok(Self {
            map,
            watched,
            number,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.watched.path
    }

    /// Whether the bytes are still those of the file that was opened.
    ///
    /// # Errors
    /// When the file shrank, was written to, or could not be read.
    pub fn check(&self) -> Result<(), MappingFault> {
        self.watched.check()
    }
}

impl Watched {
    fn check(&self) -> Result<(), MappingFault> {
        let path = || self.path.clone();
        // A file that is gone or was replaced says nothing about the one that
        // is mapped: that lives on, unchanged, until it is unmapped.
        let now = fs::metadata(&self.path)
            .map(|metadata| Stat::of(&metadata))
            .ok()
            .filter(|now| now.identity == self.opened.identity);
        match now {
            Some(now) if now.len < self.opened.len => Err(MappingFault::Shrank {
                path: path(),
                was: self.opened.len,
                now: now.len,
            }),
            _ if self.faulted() => Err(MappingFault::Unreadable { path: path() }),
            Some(now) if now != self.opened => Err(MappingFault::Changed { path: path() }),
            _ => Ok(()),
        }
    }

    fn faulted(&self) -> bool {
        self.region.is_some_and(|region| region.faulted())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let mut mappings = mappings();
        let key = (self.watched.path.clone(), self.number);
        mappings.live.remove(&key);
        if self.watched.faulted() {
            mappings.dropped_faulted.push(key.0);
        }
        // The map itself is dropped after this.
        if let Some(region) = self.watched.region {
            region.release();
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

// SAFETY: the bytes are in the mapping, which stays where it is when the
// struct that owns it moves.
unsafe impl StableDeref for Mapped {}

impl std::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mapped({}, {} bytes)", self.path().display(), self.len())
    }
}

/// A stretch of time in which mapped files are read.
///
/// While one is open, a fault in a mapping of another library does not end
/// the process either; but since its reader cannot be told from others, every
/// later check fails with [`MappingFault::Stray`].
pub struct FaultWatch {
    /// How many faulted mappings had been dropped when the watch began.
    dropped_before: usize,
}

impl FaultWatch {
    /// Starts watching.
    pub fn begin() -> Self {
        bus::open_watch();
        Self {
            dropped_before: mappings().dropped_faulted.len(),
        }
    }

    /// Whether all that was read since the watch began from files mapped in
    /// these folders, at any depth, was what the files hold.
    ///
    /// Costs one look at each file's metadata, about a microsecond.
    ///
    /// # Errors
    /// The first fault, in the order of `folders` and then of paths.
    pub fn check(&self, folders: &[&Path]) -> Result<(), MappingFault> {
        let mappings = mappings();
        let mut mapped: Vec<Arc<Watched>> = Vec::new();
        for folder in folders {
            // Paths order by component, so a folder's files stand together.
            let from = (folder.to_path_buf(), 0);
            let within = mappings
                .live
                .range(from..)
                .take_while(|((path, _), _)| path.starts_with(folder));
            mapped.extend(within.map(|(_, watched)| Arc::clone(watched)));
        }
        let dropped = mappings.dropped_faulted[self.dropped_before..]
            .iter()
            .find(|path| folders.iter().any(|folder| path.starts_with(folder)))
            .cloned();
        drop(mappings);
        for watched in mapped {
            watched.check()?;
        }
        match dropped {
            Some(path) => Err(MappingFault::Unreadable { path }),
            None if bus::strayed() => Err(MappingFault::Stray),
            None => Ok(()),
        }
    }
}

impl Drop for FaultWatch {
    fn drop(&mut self) {
        bus::close_watch();
    }
}

/// Runs `read`, which reads files mapped in these folders, and returns what
/// it returned only if all it read was what the files hold.
///
/// A reader that panics over the zeros of a file that shrank is an error too;
/// any other panic goes on.
///
/// # Errors
/// See [`FaultWatch::check`].
pub fn guarded<T>(folders: &[&Path], read: impl FnOnce() -> T) -> Result<T, MappingFault> {
    let watch = FaultWatch::begin();
    // A panic over zeros may leave a reader's state broken: the error tells
    // the caller to let go of it.
    let outcome = catch_unwind(AssertUnwindSafe(read));
    watch.check(folders)?;
    outcome.or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
