//! SHA-256 of large files, remembered between runs.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Read at a time while hashing.
const BLOCK: usize = 1 << 20;

/// A file younger than this could change again within the clock's
/// granularity and look the same, so its digest is not remembered.
const SETTLED: Duration = Duration::from_secs(2);

/// Hashes files, and remembers the digest of a file that has not changed:
/// same path, size, times, device and inode.
#[derive(Debug, Clone)]
pub struct DigestCache {
    folder: Option<PathBuf>,
}

/// A file that cannot be hashed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct DigestError {
    /// Which.
    path: PathBuf,
    /// Why.
    #[source]
    source: io::Error,
}

/// A file as it was when it was hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    path: PathBuf,
    bytes: u64,
    /// Whatever changes when the content does, as the file system tells it.
    state: Vec<i64>,
    sha256: String,
}

impl DigestCache {
    /// Remembers digests in a folder, which is made when first needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
        }
    }

    /// Remembers nothing: every file is hashed every time.
    pub fn none() -> Self {
        Self { folder: None }
    }

    /// A file's SHA-256, as 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn sha256(&self, path: &Path) -> Result<String, DigestError> {
        let fail = |source| DigestError {
            path: path.to_owned(),
            source,
        };
        let full = path.canonicalize().map_err(fail)?;
        let mut file = File::open(&full).map_err(fail)?;
        let before = file.metadata().map_err(fail)?;
        if let Some(stamp) = self.remembered(&full, &before) {
            return Ok(stamp.sha256);
        }
        let sha256 = hash(&mut file).map_err(fail)?;
        let after = file.metadata().map_err(fail)?;
        if state(&before) == state(&after) && settled(&after) {
            let stamp = Stamp {
                path: full,
                bytes: after.len(),
                state: state(&after),
                sha256: sha256.clone(),
            };
            if let Err(error) = self.remember(&stamp) {
                // Costs only time: the file is hashed again next time.
                tracing::debug!(%error, "cannot remember a model file's digest");
            }
        }
        Ok(sha256)
    }

    fn remembered(&self, path: &Path, now: &Metadata) -> Option<Stamp> {
        let text = fs::read(self.place(path)?).ok()?;
        let stamp: Stamp = serde_json::from_slice(&text).ok()?;
        let same = stamp.path == path && stamp.bytes == now.len() && stamp.state == state(now);
        same.then_some(stamp)
    }

    fn remember(&self, stamp: &Stamp) -> io::Result<()> {
        let (Some(folder), Some(place)) = (&self.folder, self.place(&stamp.path)) else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        // Renamed into place, so that nobody reads half a stamp.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(stamp)?)?;
        file.persist(place)?;
        Ok(())
    }

    fn place(&self, path: &Path) -> Option<PathBuf> {
        let name = hex(&Sha256::digest(path.as_os_str().as_encoded_bytes()));
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }
}

fn hash(file: &mut File) -> io::Result<String> {
    let mut sha256 = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex(&sha256.finalize())),
            read => sha256.update(&block[..read]),
        }
    }
}

fn settled(file: &Metadata) -> bool {
    file.modified()
        .ok()
        .and_then(|changed| SystemTime::now().duration_since(changed).ok())
        .is_some_and(|age| age > SETTLED)
}

#[cfg(unix)]
fn state(file: &Metadata) -> Vec<i64> {
    use std::os::unix::fs::MetadataExt;
    vec![
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec(),
        file.dev().cast_signed(),
        file.ino().cast_signed(),
    ]
}

#[cfg(not(unix))]
fn state(file: &Metadata) -> Vec<i64> {
    let since = |time: io::Result<SystemTime>| {
        time.ok()
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
            .map_or(0, |age| age.as_nanos() as i64)
    };
    vec![since(file.modified()), since(file.created())]
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old_file(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        let then = SystemTime::now() - Duration::from_secs(60);
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }

    #[test]
    fn a_digest_is_remembered_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        let cache = DigestCache::in_folder(folder.path().join("digests"));
        old_file(&path, "abc");
        let first = cache.sha256(&path).unwrap();
        assert!(first.starts_with("ba7816bf"), "{first}");

        // What is remembered is what is answered: put another digest there.
        let full = path.canonicalize().unwrap();
        let place = cache.place(&full).unwrap();
        let mut stamp: Stamp = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
        stamp.sha256 = "remembered".to_owned();
        fs::write(&place, serde_json::to_vec(&stamp).unwrap()).unwrap();
        assert_eq!(cache.sha256(&path).unwrap(), "remembered");

        // Same length, same modification time: the change time tells.
        old_file(&path, "abd");
        let second = cache.sha256(&path).unwrap();
        assert_eq!(second, hex(&Sha256::digest("abd")));
    }

    #[test]
    fn a_file_that_was_written_just_now_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        fs::write(&path, "abc").unwrap();
        let digests = folder.path().join("digests");
        DigestCache::in_folder(&digests).sha256(&path).unwrap();
        assert!(!digests.exists());
    }

    #[test]
    fn a_damaged_memory_is_ignored_and_a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        old_file(&path, "abc");
        let cache = DigestCache::in_folder(folder.path());
        let place = cache.place(&path.canonicalize().unwrap()).unwrap();
        fs::write(place, "{").unwrap();
        assert_eq!(
            cache.sha256(&path).unwrap(),
            DigestCache::none().sha256(&path).unwrap()
        );
        let error = cache.sha256(&folder.path().join("none")).unwrap_err();
        assert!(error.to_string().ends_with("none"), "{error}");
    }
}
