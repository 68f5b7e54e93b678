//! The one segment of an index, open for reading.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::{InvertedIndexReader, SegmentReader};

use crate::Bm25Error;
use crate::files::{self, Fields, LENGTH};

/// The segment of an index, its checksums compared.
pub(crate) struct Segment {
    dir: PathBuf,
    reader: SegmentReader,
}

impl Segment {
    /// # Errors
    /// When the files cannot be read, differ from their checksums, or were
    /// not written by this version.
    pub(crate) fn open(dir: &Path) -> Result<Self, Bm25Error> {
        let (index, meta) = files::open(dir)?;
        files::check_sums(dir, &index, &meta)?;
        // An IndexReader would take a lock, which a read-only folder has no
        // place for; nothing ever changes here that it would guard.
        let reader = SegmentReader::open(&index.segment(meta.segments[0].clone()));
        Ok(Self {
            dir: dir.to_owned(),
            reader: reader.map_err(|source| failed(dir, source))?,
        })
    }

    /// # Errors
    /// When there are not as many rows.
    pub(crate) fn check_rows(&self, expected: usize) -> Result<(), Bm25Error> {
        let found = self.reader.max_doc();
        if found as usize == expected {
            return Ok(());
        }
        Err(Bm25Error::RowCount {
            dir: self.dir.clone(),
            found,
            expected,
        })
    }

    /// How many terms each row has, repeats included.
    ///
    /// # Errors
    /// When a row has no length, or the lengths do not add up to the terms
    /// in the postings: the files are each sound but not of one index.
    pub(crate) fn lengths(&self) -> Result<Vec<u64>, Bm25Error> {
        let damaged = |detail: String| Bm25Error::Damaged {
            dir: self.dir.clone(),
            detail,
        };
        let column = self.reader.fast_fields().u64(LENGTH);
        let column = column.map_err(|source| failed(&self.dir, source))?;
        let rows = self.reader.max_doc();
        let lengths = (0..rows)
            .map(|row| {
                let length = column.first(row);
                length.ok_or_else(|| damaged(format!("row {row} has no length")))
            })
            .collect::<Result<Vec<u64>, _>>()?;
        let sum: u64 = lengths.iter().sum();
        let terms = self.postings()?.total_num_tokens();
        if sum != terms {
            return Err(damaged(format!(
                "its rows are said to have {sum} terms and have {terms}"
            )));
        }
        Ok(lengths)
    }

    /// The terms and where they occur.
    pub(crate) fn postings(&self) -> Result<Arc<InvertedIndexReader>, Bm25Error> {
        self.reader
            .inverted_index(Fields::new().terms)
            .map_err(|source| failed(&self.dir, source))
    }
}

fn failed(dir: &Path, source: tantivy::TantivyError) -> Bm25Error {
    Bm25Error::Open {
        dir: dir.to_owned(),
        source: Box::new(source),
    }
}
