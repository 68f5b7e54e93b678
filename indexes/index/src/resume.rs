//! The log of finished embeddings, from which a killed build resumes.
//!
//! All numbers little-endian. The header: the magic `QUIRELOG`, version and
//! dims (u32), the SHA-256 of what the log belongs to, and the CRC-32 of all
//! that. Then a record an embedding: ordinal, tokens and flags (u32; bit 0:
//! truncated), the values (f32), and a CRC-32 that continues the header's, so
//! that no record of another log passes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{ArtifactKey, IoError};

const MAGIC: &[u8; 8] = b"QUIRELOG";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 32 + 4;
/// Bytes of a record besides its values.
const FRAME: usize = 3 * 4 + 4;
const TRUNCATED: u32 = 1;

/// One passage's embedding, as it is logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEmbedding {
    /// The passage's ordinal.
    pub ordinal: u32,
    /// Tokens the model read.
    pub tokens: u32,
    /// Whether the passage was longer than the model reads.
    pub truncated: bool,
    /// The vector, all finite.
    pub vector: Vec<f32>,
}

/// An append-only log of embeddings. Whatever happened to its file, only
/// whole records that were written for the same artifact are ever read.
#[derive(Debug)]
pub struct ResumeLog {
    file: File,
    path: PathBuf,
    dims: usize,
    /// The header's CRC-32, with which every record's begins.
    seed: u32,
    /// Bytes that are good: the header and whole records.
    len: u64,
    /// Where each passage's record starts.
    places: BTreeMap<u32, u64>,
}

/// Why an embedding cannot be logged or read back.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A vector of another length than the log's.
    #[error("passage {ordinal} has a vector of {found} values, not {expected}")]
    Dims {
        /// The passage.
        ordinal: u32,
        /// Values a vector has in this log.
        expected: usize,
        /// Values it has.
        found: usize,
    },
    /// A vector with a value that is NaN or infinite.
    #[error("the vector of passage {0} has a value that is not finite")]
    NotFinite(u32),
    /// The passage is in the log already.
    #[error("passage {0} is logged twice")]
    Twice(u32),
    /// A record changed since the log was opened.
    #[error("{} changed while it was in use; run the command again", path.display())]
    Changed {
        /// The log.
        path: PathBuf,
    },
}

impl ResumeLog {
    /// Opens the log at `path` for the artifact of `key` with vectors of
    /// `dims` values. What follows the last whole record is cut off; a file
    /// that is no log, or one of another artifact, is begun anew.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn open(path: &Path, key: ArtifactKey, dims: usize) -> Result<Self, IoError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(IoError::of("open", path))?;
        let header = header(key, dims);
        let mut log = Self {
            file,
            path: path.to_owned(),
            dims,
            seed: crc32fast::hash(&header),
            len: 0,
            places: BTreeMap::new(),
        };
        log.recover(&header).map_err(IoError::of("recover", path))?;
        Ok(log)
    }

    fn recover(&mut self, header: &[u8]) -> std::io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut found = vec![0; header.len()];
        let is_ours = filled(&mut reader, &mut found)? && found == header;
        if is_ours {
            self.len = header.len() as u64;
            let mut record = vec![0; self.record_len()];
            while filled(&mut reader, &mut record)? {
                match self.parse(&record) {
                    Some(embedding) if !self.places.contains_key(&embedding.ordinal) => {
                        self.places.insert(embedding.ordinal, self.len);
                        self.len += record.len() as u64;
                    }
                    _ => break,
                }
            }
        }
        let on_disk = self.file.metadata()?.len();
        if on_disk > self.len {
            tracing::warn!(
                path = %self.path.display(),
                kept = self.len,
                dropped = on_disk - self.len,
                "the end of a resume log was not whole"
            );
        }
        self.file.set_len(self.len)?;
        if !is_ours {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(header)?;
            self.len = header.len() as u64;
        }
        Ok(())
    }

    /// Appends a batch and hands it to the operating system at once, so that
    /// a kill of this process after the call loses none of it.
    ///
    /// # Errors
    /// When an embedding does not fit the log, and nothing is written then;
    /// or when the operating system refuses, and the log is as it was before.
    pub fn append(&mut self, batch: &[LoggedEmbedding]) -> Result<(), ResumeError> {
        let mut bytes = Vec::with_capacity(batch.len() * self.record_len());
        let mut places = BTreeMap::new();
        for embedding in batch {
            let ordinal = embedding.ordinal;
            if embedding.vector.len() != self.dims {
                return Err(ResumeError::Dims {
                    ordinal,
                    expected: self.dims,
                    found: embedding.vector.len(),
                });
            }
            if !embedding.vector.iter().all(|value| value.is_finite()) {
                return Err(ResumeError::NotFinite(ordinal));
            }
            let place = self.len + bytes.len() as u64;
            if self.places.contains_key(&ordinal) || places.insert(ordinal, place).is_some() {
                return Err(ResumeError::Twice(ordinal));
            }
            self.put(embedding, &mut bytes);
        }
        let written = self
            .file
            .seek(SeekFrom::Start(self.len))
            .and_then(|_| self.file.write_all(&bytes));
        if let Err(error) = written {
            // A part of the batch may be there. If it cannot be cut off now,
            // the next opening does it.
            let _ = self.file.set_len(self.len);
            return Err(IoError::of("write", &self.path)(error).into());
        }
        self.len += bytes.len() as u64;
        self.places.append(&mut places);
        Ok(())
    }

    /// The ordinals of the passages that are done, ascending.
    pub fn done(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.keys().copied()
    }

    /// Whether that passage is done.
    pub fn is_done(&self, ordinal: u32) -> bool {
        self.places.contains_key(&ordinal)
    }

    /// How many passages are done.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nothing is done yet.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Reads one passage's embedding back; `None` if it is not done.
    ///
    /// # Errors
    /// When the operating system refuses, or the file was changed since.
    pub fn read(&mut self, ordinal: u32) -> Result<Option<LoggedEmbedding>, ResumeError> {
        let Some(place) = self.places.get(&ordinal) else {
            return Ok(None);
        };
        let mut record = vec![0; self.record_len()];
        let whole = self
            .file
            .seek(SeekFrom::Start(*place))
            .and_then(|_| filled(&mut self.file, &mut record))
            .map_err(IoError::of("read", &self.path))?;
        self.parse(&record)
            .filter(|embedding| whole && embedding.ordinal == ordinal)
            .map(Some)
            .ok_or_else(|| ResumeError::Changed {
                path: self.path.clone(),
            })
    }

    fn record_len(&self) -> usize {
        FRAME + 4 * self.dims
    }

    fn put(&self, embedding: &LoggedEmbedding, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let flags = if embedding.truncated { TRUNCATED } else { 0 };
        for number in [embedding.ordinal, embedding.tokens, flags] {
            bytes.extend(number.to_le_bytes());
        }
        for value in &embedding.vector {
            bytes.extend(value.to_le_bytes());
        }
        let sum = self.checksum(&bytes[start..]);
        bytes.extend(sum.to_le_bytes());
    }

    fn parse(&self, record: &[u8]) -> Option<LoggedEmbedding> {
        let (content, sum) = record.split_last_chunk::<4>()?;
        if self.checksum(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut words = content.chunks_exact(4).map(|word| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(word);
            u32::from_le_bytes(bytes)
        });
        let (ordinal, tokens, flags) = (words.next()?, words.next()?, words.next()?);
        let vector: Vec<f32> = words.map(f32::from_bits).collect();
        let sound = flags & !TRUNCATED == 0 && vector.iter().all(|value| value.is_finite());
        sound.then_some(LoggedEmbedding {
            ordinal,
            tokens,
            truncated: flags == TRUNCATED,
            vector,
        })
    }

    fn checksum(&self, content: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.seed);
        hasher.update(content);
        hasher.finalize()
    }
}

fn header(key: ArtifactKey, dims: usize) -> Vec<u8> {
    let owner = Sha256::digest(key.staging_name());
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend((dims as u32).to_le_bytes());
    header.extend(owner);
    let sum = crc32fast::hash(&header);
    header.extend(sum.to_le_bytes());
    debug_assert_eq!(header.len(), HEADER);
    header
}

/// Fills the buffer; `false` if the file ends before that.
fn filled(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match reader.read_exact(buffer) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TEXT, key};
    use proptest::prelude::*;
    use std::fs;

    const DIMS: usize = 4;

    fn embedding(ordinal: u32) -> LoggedEmbedding {
        LoggedEmbedding {
            ordinal,
            tokens: 7 + ordinal,
            truncated: ordinal.is_multiple_of(2),
            vector: (0..DIMS)
                .map(|at| (ordinal + 1) as f32 / (at + 1) as f32)
                .collect(),
        }
    }

    /// A log of these passages, in two batches, as bytes.
    fn bytes_of(ordinals: &[u32]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        let embeddings: Vec<_> = ordinals.iter().map(|ordinal| embedding(*ordinal)).collect();
        let (first, second) = embeddings.split_at(ordinals.len() / 2);
        log.append(first).unwrap();
        log.append(second).unwrap();
        fs::read(path).unwrap()
    }

    /// What is recovered from a file of these bytes, and whether a further
    /// passage can be logged and everything be read back after that.
    fn recovered(bytes: &[u8]) -> Vec<u32> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, bytes).unwrap();
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        let done: Vec<u32> = log.done().collect();
        log.append(&[embedding(1000)]).unwrap();
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        assert_eq!(log.len(), done.len() + 1);
        for ordinal in done.iter().copied().chain([1000]) {
            assert_eq!(log.read(ordinal).unwrap(), Some(embedding(ordinal)));
        }
        done
    }

    #[test]
    fn all_that_was_logged_is_there_after_a_kill() {
        let mut done = recovered(&bytes_of(&[4, 0, 3]));
        done.sort_unstable();
        assert_eq!(done, [0, 3, 4]);
    }

    #[test]
    fn a_log_of_another_artifact_or_other_vectors_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        log.append(&[embedding(0)]).unwrap();
        assert_eq!(ResumeLog::open(&path, key(TEXT), DIMS).unwrap().len(), 1);
        assert!(
            ResumeLog::open(&path, key(TEXT), DIMS + 1)
                .unwrap()
                .is_empty()
        );
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        log.append(&[embedding(0)]).unwrap();
        let other = ArtifactKey {
            recipe: crate::testing::other_recipe().key(),
            ..key(TEXT)
        };
        assert!(ResumeLog::open(&path, other, DIMS).unwrap().is_empty());
    }

    #[test]
    fn what_does_not_fit_is_not_logged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        let short = LoggedEmbedding {
            vector: vec![1.0],
            ..embedding(1)
        };
        let infinite = LoggedEmbedding {
            vector: vec![f32::INFINITY; DIMS],
            ..embedding(1)
        };
        for batch in [
            vec![embedding(0), short],
            vec![embedding(0), infinite],
            vec![embedding(0), embedding(0)],
        ] {
            log.append(&batch).unwrap_err();
            assert!(log.is_empty());
        }
        log.append(&[embedding(0)]).unwrap();
        assert!(matches!(
            log.append(&[embedding(0)]),
            Err(ResumeError::Twice(0))
        ));
    }

    #[test]
    fn a_log_that_changes_while_it_is_in_use_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = ResumeLog::open(&path, key(TEXT), DIMS).unwrap();
        log.append(&[embedding(0)]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER + 13] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(log.read(0), Err(ResumeError::Changed { .. })));
        fs::write(&path, &bytes[..HEADER]).unwrap();
        assert!(matches!(log.read(0), Err(ResumeError::Changed { .. })));
    }

    #[test]
    fn a_log_cut_anywhere_keeps_its_whole_records_and_no_other() {
        let whole = bytes_of(&[0, 1, 2]);
        let record = FRAME + 4 * DIMS;
        assert_eq!(whole.len(), HEADER + 3 * record);
        for length in 0..=whole.len() {
            let records = length.saturating_sub(HEADER) / record;
            let expected: Vec<u32> = (0..records as u32).collect();
            assert_eq!(recovered(&whole[..length]), expected, "cut at {length}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_flipped_bit_costs_its_record_and_those_after(
            records in 1u32..6, place in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let ordinals: Vec<u32> = (0..records).collect();
            let mut bytes = bytes_of(&ordinals);
            let at = place.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let kept = at.saturating_sub(HEADER) / (FRAME + 4 * DIMS);
            prop_assert_eq!(recovered(&bytes), (0..kept as u32).collect::<Vec<_>>());
        }

        #[test]
        fn garbage_after_whole_records_is_never_believed(
            records in 0u32..4, garbage in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let ordinals: Vec<u32> = (0..records).collect();
            let bytes = [bytes_of(&ordinals), garbage].concat();
            prop_assert_eq!(recovered(&bytes), ordinals);
        }

        #[test]
        fn zeros_after_a_power_cut_are_never_believed(records in 0u32..4, zeros in 0usize..300) {
            let ordinals: Vec<u32> = (0..records).collect();
            let bytes = [bytes_of(&ordinals), vec![0; zeros]].concat();
            prop_assert_eq!(recovered(&bytes), ordinals);
        }
    }
}
