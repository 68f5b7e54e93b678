//! SHA-256 and hexadecimal digits.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::IoError;

/// Enough that system calls cost nothing beside hashing.
const BUFFER: usize = 1 << 20;

/// Lower-case hexadecimal digits, two a byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes written by [`to_hex`]; `None` for anything else, upper case too.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

/// The SHA-256 of some bytes, as 64 hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// How long a file is and its SHA-256, read once from start to end.
pub(crate) fn sha256_file(path: &Path) -> Result<(u64, String), IoError> {
    let mut file = File::open(path).map_err(IoError::of("read", path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(IoError::of("read", path))? {
            0 => return Ok((bytes, to_hex(&hasher.finalize()))),
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_back_and_upper_case_signs_and_odd_lengths_are_not() {
        assert_eq!(from_hex(&to_hex(&[0, 15, 255])), Some([0, 15, 255]));
        for wrong in ["", "0", "+1", "0G", "0A", "001", "é"] {
            assert_eq!(from_hex::<1>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_longer_than_the_buffer_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..BUFFER + 17).map(|at| at as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let expected = (bytes.len() as u64, sha256(&bytes));
        assert_eq!(sha256_file(&path).unwrap(), expected);
    }
}
