//! The two hashes by which the hub names a file's content.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::names::{BlobName, is_hex};

const BUFFER: usize = 1 << 18;

/// A hash that a content must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// SHA-256 of the bytes: the etag of a file in large file storage.
    Sha256(String),
    /// SHA-1 of `blob LENGTH\0` and the bytes: the etag of a file that lies
    /// in the git repository itself (git's object format).
    GitBlob(String),
}

impl Checksum {
    /// The hash that a blob's name is; `None` when it is neither kind.
    pub(crate) fn of_blob(name: &BlobName) -> Option<Self> {
        let name = name.as_str();
        if is_hex(name, 64) {
            Some(Self::Sha256(name.to_owned()))
        } else if is_hex(name, 40) {
            Some(Self::GitBlob(name.to_owned()))
        } else {
            None
        }
    }

    /// The hash of a file, of the same kind as this one.
    pub(crate) fn of_file_like_this(&self, file: &Path) -> io::Result<Self> {
        match self {
            Self::Sha256(_) => sha256_of(file).map(Self::Sha256),
            Self::GitBlob(_) => git_blob_of(file).map(Self::GitBlob),
        }
    }

    /// The digits alone.
    pub(crate) fn digits(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::GitBlob(digits) => digits,
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digits) => write!(f, "SHA-256 {digits}"),
            Self::GitBlob(digits) => write!(f, "git blob {digits}"),
        }
    }
}

/// The SHA-256 of a file, in lower-case hexadecimal digits.
pub(crate) fn sha256_of(file: &Path) -> io::Result<String> {
    hash(File::open(file)?, Sha256::new())
}

fn git_blob_of(file: &Path) -> io::Result<String> {
    let file = File::open(file)?;
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", file.metadata()?.len()));
    hash(file, hasher)
}

fn hash<D: Digest>(mut file: File, mut hasher: D) -> io::Result<String> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn a_file_in_large_storage_is_named_by_its_sha256() {
        let file = file_of(b"abc");
        let name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let checksum = Checksum::of_blob(&BlobName::parse(name).unwrap()).unwrap();
        assert_eq!(checksum.of_file_like_this(file.path()).unwrap(), checksum);
    }

    #[test]
    fn a_file_in_git_is_named_as_git_names_its_blob() {
        // `printf hello | git hash-object --stdin`, and of an empty file.
        for (content, name) in [
            (
                b"hello".as_slice(),
                "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0",
            ),
            (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        ] {
            let checksum = Checksum::of_blob(&BlobName::parse(name).unwrap()).unwrap();
            let file = file_of(content);
            assert_eq!(checksum.of_file_like_this(file.path()).unwrap(), checksum);
        }
    }

    #[test]
    fn other_names_are_no_checksum() {
        for name in ["abc", &"A".repeat(40), &"a".repeat(41)] {
            assert_eq!(Checksum::of_blob(&BlobName::parse(name).unwrap()), None);
        }
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_hashed_whole() {
        let mut content = vec![7; BUFFER + 1];
        let before = sha256_of(file_of(&content).path()).unwrap();
        content[BUFFER] = 8;
        assert_ne!(before, sha256_of(file_of(&content).path()).unwrap());
    }
}
