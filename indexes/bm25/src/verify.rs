//! Checking an index from end to end.

use std::path::Path;

use tantivy::schema::IndexRecordOption;

use crate::Bm25Error;
use crate::guard;
use crate::segment::Segment;

/// What [`verify()`] found in a sound index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Passages.
    pub passages: u32,
    /// Different terms.
    pub distinct_terms: u64,
    /// Terms, repeats included.
    pub terms: u64,
}

/// Compares every checksum, walks every list of postings, and adds up that
/// each row holds as many terms as its length says.
///
/// # Errors
/// When the files cannot be read, were not written by this version, hold
/// other than `rows` passages, or contradict themselves.
pub fn verify(dir: &Path, rows: usize) -> Result<Verified, Bm25Error> {
    guard::reading(dir, || {
        let segment = Segment::open(dir)?;
        segment.check_rows(rows)?;
        walk(dir, &segment)
    })
}

fn walk(dir: &Path, segment: &Segment) -> Result<Verified, Bm25Error> {
    let damaged = |detail: String| Bm25Error::Damaged {
        dir: dir.to_owned(),
        detail,
    };
    let unreadable = |source: std::io::Error| Bm25Error::Open {
        dir: dir.to_owned(),
        source: Box::new(source.into()),
    };
    let lengths = segment.lengths()?;
    let postings = segment.postings()?;
    let mut counted = vec![0u64; lengths.len()];
    let mut distinct_terms = 0;
    let mut terms = postings.terms().stream().map_err(unreadable)?;
    while let Some((term, info)) = terms.next() {
        distinct_terms += 1;
        let named = || String::from_utf8_lossy(term).into_owned();
        let mut block = postings
            .read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)
            .map_err(unreadable)?;
        let (mut rows, mut last) = (0, None);
        while !block.docs().is_empty() {
            for (&row, &frequency) in block.docs().iter().zip(block.freqs()) {
                let count = counted
                    .get_mut(row as usize)
                    .filter(|_| last < Some(row) && frequency > 0)
                    .ok_or_else(|| damaged(format!("'{}' has a wrong row {row}", named())))?;
                *count += u64::from(frequency);
                (rows, last) = (rows + 1, Some(row));
            }
            block.advance();
        }
        if rows != info.doc_freq {
            return Err(damaged(format!(
                "'{}' is said to be in {} rows and is in {rows}",
                named(),
                info.doc_freq
            )));
        }
    }
    if let Some(row) = (0..lengths.len()).find(|&row| counted[row] != lengths[row]) {
        return Err(damaged(format!(
            "row {row} is said to have {} terms and has {}",
            lengths[row], counted[row]
        )));
    }
    Ok(Verified {
        passages: lengths.len() as u32,
        distinct_terms,
        terms: lengths.iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;

    #[test]
    fn a_sound_index_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..1000)
            .map(|row| format!("common row{row} 天地"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        build(dir.path(), &texts).unwrap();
        let verified = verify(dir.path(), 1000).unwrap();
        assert_eq!(
            verified,
            Verified {
                passages: 1000,
                distinct_terms: 1004,
                terms: 5000,
            }
        );
    }

    #[test]
    fn another_number_of_rows_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), &["one"]).unwrap();
        assert!(matches!(
            verify(dir.path(), 2),
            Err(Bm25Error::RowCount { .. })
        ));
    }

    #[test]
    fn files_of_two_indexes_do_not_pass_for_one() {
        let [mixed, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let path = |dir: &tempfile::TempDir| {
            let mut entries = std::fs::read_dir(dir.path()).unwrap();
            entries
                .find_map(|entry| {
                    let path = entry.unwrap().path();
                    (path.extension()? == "fast").then_some(path)
                })
                .unwrap()
        };
        // The same sum of lengths, and another.
        for (texts, detail) in [
            (
                ["one", "one two"],
                "row 0 is said to have 1 terms and has 2",
            ),
            (["one", "one two three"], "4 terms and have 3"),
        ] {
            for dir in [&mixed, &other] {
                std::fs::remove_dir_all(dir.path()).unwrap();
            }
            build(mixed.path(), &["one two", "one"]).unwrap();
            build(other.path(), &texts).unwrap();
            std::fs::copy(path(&other), path(&mixed)).unwrap();
            let error = verify(mixed.path(), 2).unwrap_err();
            assert!(error.to_string().contains(detail), "{error}");
        }
    }
}
