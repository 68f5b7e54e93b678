//! The 64 bytes that both of this crate's files begin with.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | what kind of file it is |
//! | 8..12 | the version of the format |
//! | 12..16 | how values are encoded: 1 is `f32`, 2 is `u32` |
//! | 16..20 | values in a row (vectors) or layers (graph) |
//! | 20..24 | CRC-32 of everything after the header |
//! | 24..32 | rows |
//! | 32..40 | bytes after the header |
//! | 40..60 | zero |
//! | 60..64 | CRC-32 of the bytes before it |
//!
//! Numbers are little-endian. The header is as long as a cache line, so what
//! follows it in a mapped file is aligned to one.

use std::path::Path;

use crate::error::DenseError;

/// Bytes in a header.
pub(crate) const HEADER: usize = 64;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Vectors,
    Graph,
}

impl Kind {
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Vectors => b"quireVEC",
            Self::Graph => b"quireHNS",
        }
    }

    const fn version(self) -> u32 {
        match self {
            Self::Vectors => 1,
            Self::Graph => 2,
        }
    }

    const fn encoding(self) -> u32 {
        match self {
            Self::Vectors => 1,
            Self::Graph => 2,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Vectors => "vectors",
            Self::Graph => "graph",
        }
    }
}

/// What a header says of the bytes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Values in a row, or layers.
    pub(crate) width: u32,
    pub(crate) rows: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) payload_crc: u32,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&self.kind.version().to_le_bytes());
        bytes[12..16].copy_from_slice(&self.kind.encoding().to_le_bytes());
        bytes[16..20].copy_from_slice(&self.width.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.rows.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.payload_bytes.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of `file`, the whole content of the file at `path`,
    /// and checks it against the file's length.
    pub(crate) fn read(kind: Kind, file: &[u8], path: &Path) -> Result<Self, DenseError> {
        if !file.starts_with(kind.magic()) {
            return Err(DenseError::Foreign {
                path: path.to_owned(),
                kind: kind.name(),
            });
        }
        let Some(bytes) = file.first_chunk::<HEADER>() else {
            return Err(DenseError::Length {
                path: path.to_owned(),
                found: file.len() as u64,
                expected: HEADER as u64,
            });
        };
        let version = u32_at(bytes, 8);
        if version != kind.version() {
            return Err(DenseError::Version {
                path: path.to_owned(),
                found: version,
                expected: kind.version(),
            });
        }
        if crc32fast::hash(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(DenseError::damaged(path, "its header's checksum differs"));
        }
        if u32_at(bytes, 12) != kind.encoding() {
            return Err(DenseError::damaged(path, "its encoding is unknown"));
        }
        let header = Self {
            kind,
            width: u32_at(bytes, 16),
            payload_crc: u32_at(bytes, 20),
            rows: u64_at(bytes, 24),
            payload_bytes: u64_at(bytes, 32),
        };
        let expected = header.payload_bytes.saturating_add(HEADER as u64);
        if file.len() as u64 != expected {
            return Err(DenseError::Length {
                path: path.to_owned(),
                found: file.len() as u64,
                expected,
            });
        }
        Ok(header)
    }

    /// Whether `payload` is what the header was written for.
    pub(crate) fn check_payload(&self, payload: &[u8], path: &Path) -> Result<(), DenseError> {
        if crc32fast::hash(payload) == self.payload_crc {
            return Ok(());
        }
        Err(DenseError::damaged(path, "its checksum differs"))
    }
}

fn u32_at(bytes: &[u8; HEADER], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(value)
}

fn u64_at(bytes: &[u8; HEADER], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let payload = [1, 2, 3, 4];
        let header = Header {
            kind: Kind::Vectors,
            width: 1,
            rows: 1,
            payload_bytes: 4,
            payload_crc: crc32fast::hash(&payload),
        };
        let mut file = header.to_bytes().to_vec();
        file.extend(payload);
        file
    }

    fn read(file: &[u8]) -> Result<Header, DenseError> {
        Header::read(Kind::Vectors, file, Path::new("a.bin"))
    }

    #[test]
    fn a_header_is_read_back_as_written() {
        let header = read(&file()).unwrap();
        assert_eq!(header.to_bytes(), file()[..HEADER]);
        header
            .check_payload(&file()[HEADER..], Path::new("a.bin"))
            .unwrap();
    }

    #[test]
    fn every_damaged_bit_of_a_header_is_noticed() {
        for bit in 0..HEADER * 8 {
            let mut file = file();
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&file).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_shorter_or_longer_file_is_refused() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        let longer = [whole, vec![0]].concat();
        assert!(matches!(
            read(&longer),
            Err(DenseError::Length {
                found: 69,
                expected: 68,
                ..
            })
        ));
    }

    #[test]
    fn another_kind_of_file_and_another_version_are_told_apart() {
        let graph = Header::read(Kind::Graph, &file(), Path::new("a.bin"));
        assert!(matches!(graph, Err(DenseError::Foreign { .. })));
        let mut newer = file();
        newer[8] = 2;
        assert!(matches!(
            read(&newer),
            Err(DenseError::Version { found: 2, .. })
        ));
    }
}
