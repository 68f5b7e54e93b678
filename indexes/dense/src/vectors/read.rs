//! Reading a file of vectors.

use std::path::Path;

use quire_index::Mapped;

use crate::error::{DenseError, check_unit};
use crate::header::{HEADER, Header, Kind};

// Rows are read in place, as the machine's own numbers.
#[cfg(target_endian = "big")]
compile_error!("vector files are little-endian and are read in place");

/// Unit vectors of one length, row after row, in a mapped file.
///
/// Opening reads the header alone, so it costs the same at any size.
/// [`VectorFile::verify`] reads everything.
#[derive(Debug)]
pub struct VectorFile {
    mapped: Mapped,
    header: Header,
    dims: usize,
    rows: usize,
}

impl VectorFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be mapped, was not written by [`VectorWriter`]
    /// to its end, has another version, or is longer or shorter than its
    /// header says.
    ///
    /// [`VectorWriter`]: crate::VectorWriter
    pub fn open(path: &Path) -> Result<Self, DenseError> {
        let mapped = Mapped::open(path)?;
        let header = Header::read(Kind::Vectors, &mapped, path)?;
        // A file that shrank since it was mapped reads as zeros.
        mapped.check()?;
        let dims = header.width as usize;
        let rows = u32::try_from(header.rows)
            .map_err(|_| DenseError::damaged(path, "it has more rows than a row number can hold"))?
            as usize;
        let expected = header.rows.checked_mul(u64::from(header.width) * 4);
        if dims == 0 || expected != Some(header.payload_bytes) {
            return Err(DenseError::damaged(
                path,
                "its rows do not make up its length",
            ));
        }
        Ok(Self {
            mapped,
            header,
            dims,
            rows,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.mapped.path()
    }

    /// Values in a row, at least 1.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// How many rows; at most `u32::MAX`.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// All rows, one after the other: `len() * dims()` values.
    ///
    /// What is read is the file's as long as [`VectorFile::check`] says so.
    pub fn values(&self) -> &[f32] {
        let payload = &self.mapped[HEADER..];
        // SAFETY: every pattern of four bytes is an f32, and the slice that
        // comes back borrows the mapping like the one that went in.
        let (before, values, after) = unsafe { payload.align_to::<f32>() };
        // A mapping begins at a page and the header is 64 bytes, so the
        // payload is aligned; its length was checked by `open`.
        debug_assert!(before.is_empty() && after.is_empty());
        values
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        let start = row * self.dims;
        &self.values()[start..start + self.dims]
    }

    /// Whether everything read until now was what the file held when it was
    /// opened.
    ///
    /// # Errors
    /// When the file has been shortened or changed, or could not be read.
    pub fn check(&self) -> Result<(), DenseError> {
        Ok(self.mapped.check()?)
    }

    /// Reads everything: the checksum, then each row, which must be finite
    /// and of unit length.
    ///
    /// # Errors
    /// The first thing wrong, with the first bad row's number.
    pub fn verify(&self) -> Result<(), DenseError> {
        let verdict = self.verify_bytes();
        // A file that changed meanwhile is not a damaged one.
        self.check()?;
        verdict
    }

    fn verify_bytes(&self) -> Result<(), DenseError> {
        self.header
            .check_payload(&self.mapped[HEADER..], self.path())?;
        for (row, vector) in self.values().chunks_exact(self.dims).enumerate() {
            check_unit(vector, self.dims).map_err(|problem| DenseError::BadRow {
                path: self.path().to_owned(),
                row,
                problem,
            })?;
        }
        Ok(())
    }
}
