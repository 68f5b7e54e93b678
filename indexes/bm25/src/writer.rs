//! Building an index.

use std::fs;
use std::io;
use std::path::Path;

use rayon::prelude::*;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Directory, Index, TantivyDocument, TantivyError};

use crate::Bm25Error;
use crate::analyzer::passage_terms;
use crate::files::{self, Fields, MANAGED, META};

/// Passages analyzed at a time: enough to keep every thread busy, few enough
/// to hold their terms in memory.
const BATCH: usize = 512;

/// What tantivy sizes its table of terms by, in bytes; the table grows.
pub(crate) const TABLE_BUDGET: usize = 64 << 20;

/// What was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildStats {
    /// Passages, which are the rows of the index.
    pub passages: u32,
    /// Terms, repeats included.
    pub terms: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Builds the index of `texts` in `dir`, which must be empty or absent: one
/// segment whose rows are the texts in their order.
///
/// The files' bytes depend on the texts alone, not on the time, the machine's
/// threads or chance. The texts are analyzed on rayon's current pool. Every
/// file is synced before this returns.
///
/// # Errors
/// When the folder is not empty or cannot be written.
pub fn build(dir: &Path, texts: &[&str]) -> Result<BuildStats, Bm25Error> {
    in_new_folder(dir, texts.len(), |index| {
        write_segment(index, texts).map_err(|source| Bm25Error::build(dir, source))
    })
}

/// Creates an index in `dir`, which must be empty or absent, has `write` write
/// its segment of so many rows, and then the file that names it. `write` gives
/// the number of terms.
pub(crate) fn in_new_folder(
    dir: &Path,
    rows: usize,
    write: impl FnOnce(&Index) -> Result<u64, Bm25Error>,
) -> Result<BuildStats, Bm25Error> {
    let passages = u32::try_from(rows).map_err(|_| Bm25Error::TooMany { passages: rows })?;
    let unwritable = |source: io::Error| Bm25Error::Write {
        dir: dir.to_owned(),
        source,
    };
    fs::create_dir_all(dir).map_err(unwritable)?;
    if fs::read_dir(dir).map_err(unwritable)?.next().is_some() {
        return Err(Bm25Error::NotEmpty {
            dir: dir.to_owned(),
        });
    }
    let index = create(dir).map_err(|source| Bm25Error::build(dir, source))?;
    let terms = write(&index)?;
    write_meta(&index, passages).map_err(|source| Bm25Error::build(dir, source))?;
    fs::remove_file(dir.join(MANAGED)).map_err(unwritable)?;
    fs::File::open(dir)
        .and_then(|folder| folder.sync_all())
        .map_err(unwritable)?;
    Ok(BuildStats {
        passages,
        terms,
        bytes: bytes_in(dir).map_err(unwritable)?,
    })
}

fn create(dir: &Path) -> Result<Index, TantivyError> {
    let schema = Fields::new().schema;
    Index::create(MmapDirectory::open(dir)?, schema, files::settings())
}

/// Writes the file that names the segment.
fn write_meta(index: &Index, rows: u32) -> Result<(), TantivyError> {
    let mut meta = serde_json::to_vec_pretty(&files::meta(index, rows))
        .map_err(|error| TantivyError::InternalError(error.to_string()))?;
    meta.push(b'\n');
    Ok(index.directory().atomic_write(Path::new(META), &meta)?)
}

/// Writes the segment of these texts. Returns the number of terms.
fn write_segment(index: &Index, texts: &[&str]) -> Result<u64, TantivyError> {
    let fields = Fields::new();
    let segment = index.segment(files::segment(index, 0));
    let mut writer = SegmentWriter::for_segment(TABLE_BUDGET, segment)?;
    let mut total = 0;
    for batch in texts.chunks(BATCH) {
        let analyzed: Vec<Vec<String>> = batch.par_iter().map(|text| passage_terms(text)).collect();
        for terms in analyzed {
            total += terms.len() as u64;
            writer.add_document(AddOperation {
                opstamp: 0,
                document: document(&fields, terms),
            })?;
        }
    }
    writer.finalize()?;
    Ok(total)
}

fn document(fields: &Fields, terms: Vec<String>) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    document.add_u64(fields.length, terms.len() as u64);
    let tokens = terms
        .into_iter()
        .map(|text| Token {
            text,
            // Positions are not stored, and the default is the largest number,
            // to which tantivy adds.
            position: 0,
            ..Token::default()
        })
        .collect();
    document.add_pre_tokenized_text(
        fields.terms,
        PreTokenizedString {
            text: String::new(),
            tokens,
        },
    );
    document
}

fn bytes_in(dir: &Path) -> io::Result<u64> {
    fs::read_dir(dir)?.try_fold(0, |sum, entry| Ok(sum + entry?.metadata()?.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::collections::BTreeMap;

    fn some_texts() -> Vec<String> {
        let words = [
            "Heath",
            "cliff",
            "中国",
            "running",
            "42",
            "Catherine",
            "石頭記",
        ];
        (0..5000)
            .map(|row| {
                (0..row % 50)
                    .map(|at| format!("{}{} ", words[(row + at * at) % 7], (row * at) % 11))
                    .collect()
            })
            .collect()
    }

    fn built_with_threads(threads: usize) -> BTreeMap<String, String> {
        let texts = some_texts();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let dir = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| build(dir.path(), &texts)).unwrap();
        fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let digest = Sha256::digest(fs::read(entry.path()).unwrap());
                let name = entry.file_name().into_string().unwrap();
                (
                    name,
                    digest.iter().map(|byte| format!("{byte:02x}")).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn equal_texts_give_equal_files_on_any_number_of_threads() {
        let one = built_with_threads(1);
        assert_eq!(one, built_with_threads(4));
        assert!(one.contains_key(META) && !one.contains_key(MANAGED));
        assert!(one.keys().all(|name| !name.contains("lock")), "{one:?}");
    }

    #[test]
    fn a_folder_with_files_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(matches!(
            build(dir.path(), &["text"]),
            Err(Bm25Error::NotEmpty { .. })
        ));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_built_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let stats = build(&dir.path().join("new/folder"), &["one two", "", "石頭"]).unwrap();
        assert_eq!((stats.passages, stats.terms), (3, 5));
        assert!(stats.bytes > 0);
    }
}
