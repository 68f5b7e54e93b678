//! Putting indexes together without their texts.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::index::{Segment as Target, SegmentComponent};
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::postings::{FieldSerializer, InvertedIndexSerializer, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermMerger;
use tantivy::{Directory, Index, InvertedIndexReader, TantivyDocument, TantivyError};

use crate::files::{self, Fields};
use crate::segment::Segment;
use crate::writer::{BuildStats, TABLE_BUDGET, in_new_folder};
use crate::{Bm25Error, guard};

/// Builds in `dir`, which must be empty or absent, the index of the rows of
/// all `parts`, one part after the other. Its files are, byte for byte, those
/// that [`build()`](crate::build()) makes of the texts; nothing is analyzed.
///
/// # Errors
/// When the folder is not empty or cannot be written, or a part is missing,
/// damaged or from another version.
pub fn join(dir: &Path, parts: &[&Path]) -> Result<BuildStats, Bm25Error> {
    let mut opened = Vec::with_capacity(parts.len());
    let mut rows = 0usize;
    for &part in parts {
        let source = guard::reading(part, || Source::open(part, rows))?;
        rows += source.lengths.len();
        opened.push(source);
    }
    in_new_folder(dir, rows, |index| {
        let target = || index.segment(files::segment(index, 0));
        let built = |source: TantivyError| Bm25Error::build(dir, source);
        write_lengths(index, &target(), &opened).map_err(built)?;
        write_postings(dir, &target(), &opened)
    })
}

/// An index whose rows go into another.
struct Source<'a> {
    dir: &'a Path,
    /// The row of the other that is this one's first.
    first_row: usize,
    /// Terms in each row.
    lengths: Vec<u64>,
    postings: Arc<InvertedIndexReader>,
}

impl<'a> Source<'a> {
    fn open(dir: &'a Path, first_row: usize) -> Result<Self, Bm25Error> {
        let segment = Segment::open(dir)?;
        Ok(Self {
            dir,
            first_row,
            lengths: segment.lengths()?,
            postings: segment.postings()?,
        })
    }

    fn unreadable(&self, source: io::Error) -> Bm25Error {
        Bm25Error::Open {
            dir: self.dir.to_owned(),
            source: Box::new(source.into()),
        }
    }

    /// Appends what one term has here to `rows`, as rows of the other index
    /// and how often the term occurs in each.
    fn gather(&self, term: &TermInfo, rows: &mut Vec<(u32, u32)>) -> Result<(), Bm25Error> {
        let mut block = self
            .postings
            .read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs)
            .map_err(|source| self.unreadable(source))?;
        while !block.docs().is_empty() {
            for (&row, &frequency) in block.docs().iter().zip(block.freqs()) {
                if row as usize >= self.lengths.len() {
                    return Err(Bm25Error::Damaged {
                        dir: self.dir.to_owned(),
                        detail: format!("it names row {row}, which it does not have"),
                    });
                }
                rows.push((self.first_row as u32 + row, frequency));
            }
            block.advance();
        }
        Ok(())
    }
}

/// Writes all of the segment but its postings: tantivy's own writer is given
/// rows that have a length and no term.
fn write_lengths(
    index: &Index,
    target: &Target,
    sources: &[Source<'_>],
) -> Result<(), TantivyError> {
    let length = Fields::new().length;
    let mut writer = SegmentWriter::for_segment(TABLE_BUDGET, target.clone())?;
    for &terms in sources.iter().flat_map(|source| &source.lengths) {
        let mut document = TantivyDocument::default();
        document.add_u64(length, terms);
        writer.add_document(AddOperation {
            opstamp: 0,
            document,
        })?;
    }
    writer.finalize()?;
    // Those of no term at all, in the way of the real ones.
    for empty in [
        SegmentComponent::Terms,
        SegmentComponent::Postings,
        SegmentComponent::Positions,
    ] {
        let file = target.relative_path(empty);
        let deleted = index.directory().delete(&file);
        deleted.map_err(|error| TantivyError::InternalError(error.to_string()))?;
    }
    Ok(())
}

/// Writes terms and postings. Returns the number of terms, repeats included.
fn write_postings(dir: &Path, target: &Target, sources: &[Source<'_>]) -> Result<u64, Bm25Error> {
    let unwritable = |source: io::Error| Bm25Error::build(dir, source.into());
    let total = sources
        .iter()
        .map(|source| source.postings.total_num_tokens())
        .sum();
    let mut serializer =
        InvertedIndexSerializer::open(target).map_err(|source| Bm25Error::build(dir, source))?;
    // tantivy's writer leaves a field without terms out, and so must this.
    if total > 0 {
        let mut field = serializer
            .new_field(Fields::new().terms, total, None)
            .map_err(unwritable)?;
        write_terms(&mut field, sources, unwritable)?;
        field.close().map_err(unwritable)?;
    }
    serializer.close().map_err(unwritable)?;
    Ok(total)
}

fn write_terms(
    field: &mut FieldSerializer<'_>,
    sources: &[Source<'_>],
    unwritable: impl Fn(io::Error) -> Bm25Error,
) -> Result<(), Bm25Error> {
    let streams = sources.iter().map(|source| {
        let stream = source.postings.terms().stream();
        stream.map_err(|error| source.unreadable(error))
    });
    let mut terms = TermMerger::new(streams.collect::<Result<_, _>>()?);
    let mut rows = Vec::new();
    while terms.advance() {
        rows.clear();
        for (at, term) in terms.current_segment_ords_and_term_infos() {
            let source = &sources[at];
            guard::reading(source.dir, || source.gather(&term, &mut rows))?;
        }
        field
            .new_term(terms.key(), rows.len() as u32, true)
            .map_err(&unwritable)?;
        for &(row, frequency) in &rows {
            field.write_doc(row, frequency, &[]);
        }
        field.close_term().map_err(&unwritable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, verify};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::fs;
    use tempfile::TempDir;

    fn files_in(dir: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(dir).unwrap();
        let files = entries.map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        });
        files.collect()
    }

    fn built(texts: &[impl AsRef<str>]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        build(dir.path(), &texts).unwrap();
        dir
    }

    /// Builds each book's index and all books' at once; joins the former.
    fn assert_joined_is_built(books: &[Vec<String>]) {
        let apart: Vec<TempDir> = books.iter().map(|book| built(book)).collect();
        let whole = built(&books.concat());
        let joined = tempfile::tempdir().unwrap();
        let parts: Vec<&Path> = apart.iter().map(TempDir::path).collect();
        let stats = join(joined.path(), &parts).unwrap();
        let (joined_files, whole_files) = (files_in(joined.path()), files_in(whole.path()));
        assert!(joined_files.keys().eq(whole_files.keys()));
        for (name, bytes) in &whole_files {
            assert!(joined_files[name] == *bytes, "{name} differs");
        }
        let verified = verify(joined.path(), books.concat().len()).unwrap();
        assert_eq!(stats.terms, verified.terms);
    }

    #[test]
    fn joined_indexes_are_byte_for_byte_the_one_built_from_the_texts() {
        let book = |seed: usize, rows: usize| -> Vec<String> {
            (0..rows)
                .map(|row| {
                    (0..(row * seed) % 40)
                        .map(|at| format!("word{} 天地{} ", (row + at * seed) % 97, at % 5))
                        .collect()
                })
                .collect()
        };
        assert_joined_is_built(&[book(3, 700), book(7, 1), book(11, 1500)]);
        assert_joined_is_built(&[book(3, 200), book(3, 200)]);
    }

    #[test]
    fn books_without_terms_or_passages_join_as_they_would_build() {
        let texts = |of: &[&str]| of.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_joined_is_built(&[texts(&["", "?"]), texts(&["one two"]), vec![]]);
        assert_joined_is_built(&[texts(&["", "?"]), texts(&[""])]);
        assert_joined_is_built(&[vec![]]);
        assert_joined_is_built(&[]);
    }

    #[test]
    fn a_damaged_part_is_named_and_nothing_is_written() {
        let sound = built(&["one two"]);
        let damaged = built(&["three"]);
        let terms = fs::read_dir(damaged.path()).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            (path.extension()? == "term").then_some(path)
        });
        fs::write(terms.unwrap(), "no terms").unwrap();
        let joined = tempfile::tempdir().unwrap();
        let error = join(joined.path(), &[sound.path(), damaged.path()]).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains(&damaged.path().display().to_string()),
            "{said}"
        );
        assert!(files_in(joined.path()).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_books_join_as_they_would_build(
            books in prop::collection::vec(prop::collection::vec("[a-e 天地]{0,12}", 0..200), 0..5)
        ) {
            assert_joined_is_built(&books);
        }
    }
}
