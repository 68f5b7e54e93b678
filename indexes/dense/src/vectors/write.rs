//! Writing a file of vectors.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use quire_index::IoError;

use super::VectorFile;
use crate::error::{DenseError, check_unit};
use crate::header::{HEADER, Header, Kind};

/// Writes unit vectors one by one, in constant memory.
///
/// The file is none of quire's until [`VectorWriter::finish`]: its header is
/// written last. The same vectors make the same bytes.
#[derive(Debug)]
pub struct VectorWriter {
    path: PathBuf,
    file: BufWriter<File>,
    crc: crc32fast::Hasher,
    dims: usize,
    announced: usize,
    given: usize,
    /// One row's bytes, kept to be used again.
    bytes: Vec<u8>,
}

impl VectorWriter {
    /// Creates the file at `path`, or empties the one that is there, for
    /// `rows` vectors of `dims` values.
    ///
    /// # Errors
    /// When the file cannot be created.
    ///
    /// # Panics
    /// When `dims` is 0, or `dims` or `rows` is more than `u32::MAX`.
    pub fn create(path: &Path, dims: usize, rows: usize) -> Result<Self, DenseError> {
        assert!(dims > 0, "a vector has at least one value");
        assert!(u32::try_from(dims).is_ok() && u32::try_from(rows).is_ok());
        let file = File::create(path).map_err(IoError::of("create", path))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&[0; HEADER])
            .map_err(IoError::of("write", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            crc: crc32fast::Hasher::new(),
            dims,
            announced: rows,
            given: 0,
            bytes: Vec::with_capacity(dims * 4),
        })
    }

    /// Writes the next row.
    ///
    /// # Errors
    /// When `vector` is no unit vector of the right length (to within .001),
    /// when all rows that were announced are written, or when the disk is
    /// full.
    pub fn push(&mut self, vector: &[f32]) -> Result<(), DenseError> {
        if self.given == self.announced {
            return Err(self.miscounted(self.given + 1));
        }
        check_unit(vector, self.dims).map_err(|problem| DenseError::Refused {
            path: self.path.clone(),
            row: self.given,
            problem,
        })?;
        self.bytes.clear();
        for value in vector {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
        self.crc.update(&self.bytes);
        self.file
            .write_all(&self.bytes)
            .map_err(IoError::of("write", &self.path))?;
        self.given += 1;
        Ok(())
    }

    /// Writes all rows of another file, as a library does with its books'.
    ///
    /// # Errors
    /// As for [`VectorWriter::push`]; and when the other file was changed
    /// meanwhile.
    pub fn append(&mut self, other: &VectorFile) -> Result<(), DenseError> {
        for vector in other.values().chunks_exact(other.dims()) {
            self.push(vector)?;
        }
        other.check()
    }

    /// Writes the header and waits until the file is on the disk.
    ///
    /// # Errors
    /// When fewer rows were written than announced, or the disk refuses.
    pub fn finish(mut self) -> Result<(), DenseError> {
        if self.given != self.announced {
            return Err(self.miscounted(self.given));
        }
        let header = Header {
            kind: Kind::Vectors,
            width: self.dims as u32,
            rows: self.given as u64,
            payload_bytes: (self.given * self.dims * 4) as u64,
            payload_crc: self.crc.finalize(),
        };
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(&header.to_bytes()))
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(IoError::of("write", &self.path))?;
        Ok(())
    }

    fn miscounted(&self, given: usize) -> DenseError {
        DenseError::Announced {
            path: self.path.clone(),
            announced: self.announced,
            given,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::VectorProblem;
    use crate::synthetic::Clusters;
    use crate::vectors::VECTORS_FILE;
    use proptest::prelude::*;
    use std::fs;
    use tempfile::TempDir;

    fn written(rows: &[f32], dims: usize) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        write_rows(&dir.path().join(VECTORS_FILE), rows, dims);
        dir
    }

    fn write_rows(path: &Path, rows: &[f32], dims: usize) {
        let mut writer = VectorWriter::create(path, dims, rows.len() / dims).unwrap();
        for row in rows.chunks_exact(dims) {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn rows_are_read_back_bit_for_bit(
            dims in 1usize..70, rows in 0usize..9, seed in any::<u64>()
        ) {
            let values = Clusters::new(dims, 3, seed).rows(rows);
            let dir = written(&values, dims);
            let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
            file.verify().unwrap();
            prop_assert_eq!((file.len(), file.dims()), (rows, dims));
            prop_assert_eq!(file.values(), &values[..]);
            for row in 0..rows {
                prop_assert_eq!(file.row(row), &values[row * dims..(row + 1) * dims]);
            }
        }
    }

    #[test]
    fn the_payload_is_aligned_to_a_cache_line() {
        let dir = written(&Clusters::new(5, 1, 1).rows(2), 5);
        let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        assert_eq!(file.values().as_ptr().align_offset(64), 0);
    }

    #[test]
    fn files_appended_are_the_file_written_at_once() {
        let values = Clusters::new(24, 4, 9).rows(20);
        let (whole, first, second) = (
            written(&values, 24),
            written(&values[..24 * 7], 24),
            written(&values[24 * 7..], 24),
        );
        let joined = tempfile::tempdir().unwrap();
        let path = joined.path().join(VECTORS_FILE);
        let mut writer = VectorWriter::create(&path, 24, 20).unwrap();
        for part in [&first, &second] {
            let file = VectorFile::open(&part.path().join(VECTORS_FILE)).unwrap();
            writer.append(&file).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(
            fs::read(path).unwrap(),
            fs::read(whole.path().join(VECTORS_FILE)).unwrap()
        );
    }

    #[test]
    fn what_is_no_unit_vector_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = VectorWriter::create(&dir.path().join(VECTORS_FILE), 2, 3).unwrap();
        writer.push(&[0.6, 0.8]).unwrap();
        for (vector, expected) in [
            (&[0.6, 0.9][..], "has length 1.081665 instead of 1"),
            (&[f32::NAN, 1.], "the one at 0, that is no finite number"),
            (&[1.], "has 1 values instead of 2"),
        ] {
            let error = writer.push(vector).unwrap_err().to_string();
            assert!(error.starts_with("vector 1 for "), "{error}");
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn too_many_and_too_few_rows_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(VECTORS_FILE);
        let mut writer = VectorWriter::create(&path, 1, 2).unwrap();
        writer.push(&[1.]).unwrap();
        let mut full = VectorWriter::create(&dir.path().join("full"), 1, 1).unwrap();
        full.push(&[1.]).unwrap();
        let too_few = writer.finish();
        assert!(matches!(
            too_few,
            Err(DenseError::Announced {
                announced: 2,
                given: 1,
                ..
            })
        ));
        assert!(matches!(
            full.push(&[1.]),
            Err(DenseError::Announced {
                announced: 1,
                given: 2,
                ..
            })
        ));
        let unfinished = VectorFile::open(&path);
        assert!(matches!(unfinished, Err(DenseError::Foreign { .. })));
    }

    #[test]
    fn a_damaged_row_is_found_and_named() {
        let dir = written(&Clusters::new(8, 1, 3).rows(6), 8);
        let path = dir.path().join(VECTORS_FILE);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[HEADER + 100] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let error = VectorFile::open(&path).unwrap().verify().unwrap_err();
        assert!(error.to_string().contains("checksum differs"), "{error}");

        // A writer with a bug: the checksum is right and the row is not.
        let mut forged = whole;
        let at = HEADER + 4 * 8 * 4;
        forged[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        let header = Header {
            kind: Kind::Vectors,
            width: 8,
            rows: 6,
            payload_bytes: 6 * 8 * 4,
            payload_crc: crc32fast::hash(&forged[HEADER..]),
        };
        forged[..HEADER].copy_from_slice(&header.to_bytes());
        fs::write(&path, &forged).unwrap();
        assert!(matches!(
            VectorFile::open(&path).unwrap().verify(),
            Err(DenseError::BadRow {
                row: 4,
                problem: VectorProblem::NotFinite { at: 0 },
                ..
            })
        ));
    }

    #[test]
    fn truncated_and_foreign_and_missing_files_are_clear_errors() {
        let dir = written(&Clusters::new(8, 1, 3).rows(6), 8);
        let path = dir.path().join(VECTORS_FILE);
        let whole = fs::read(&path).unwrap();
        for length in [0, 7, 63, 64, 65, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let error = VectorFile::open(&path).unwrap_err();
            assert!(
                matches!(
                    error,
                    DenseError::Length { .. } | DenseError::Foreign { .. }
                ),
                "{length} bytes: {error}"
            );
        }
        fs::write(&path, [b'x'; 200]).unwrap();
        let error = VectorFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("is not a finished vectors file"), "{error}");
        fs::remove_file(&path).unwrap();
        let error = VectorFile::open(&path).unwrap_err().to_string();
        assert!(error.contains(VECTORS_FILE), "{error}");
    }

    #[test]
    fn a_header_whose_numbers_disagree_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(VECTORS_FILE);
        for (width, rows) in [
            (0, 0),
            (3, 2),
            (1, u64::MAX),
            (u32::MAX, u64::from(u32::MAX)),
        ] {
            let header = Header {
                kind: Kind::Vectors,
                width,
                rows,
                payload_bytes: 8,
                payload_crc: 0,
            };
            fs::write(&path, [&header.to_bytes()[..], &[0; 8]].concat()).unwrap();
            let opened = VectorFile::open(&path);
            assert!(matches!(opened, Err(DenseError::Damaged { .. })));
        }
    }

    #[test]
    fn a_file_that_shrank_is_an_error_and_not_the_end_of_the_process() {
        let dir = written(&Clusters::new(256, 1, 3).rows(64), 256);
        let path = dir.path().join(VECTORS_FILE);
        let file = VectorFile::open(&path).unwrap();
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(100))
            .unwrap();
        assert!(matches!(file.verify(), Err(DenseError::Changed(_))));
        assert!(matches!(file.check(), Err(DenseError::Changed(_))));
    }
}
