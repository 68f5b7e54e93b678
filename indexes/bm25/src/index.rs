//! Opening and searching an index.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

use quire_corpus::ChunkId;
use quire_index::{AnalyzerRecipe, Hit, PassageIds, Ranking};
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{InvertedIndexReader, Term};

use crate::Bm25Error;
use crate::analyzer::question_terms;
use crate::files::Fields;
use crate::guard;
use crate::scoring::Bm25;
use crate::segment::Segment;

/// An index, open for reading: one in a folder, or several of them searched as
/// one. Takes no lock, writes nothing and starts no thread; the files are
/// mapped and must stay as they are.
#[derive(Debug)]
pub struct Bm25Index {
    passages: Arc<PassageIds>,
    recipe: AnalyzerRecipe,
    bm25: Bm25,
    /// In the order of their rows.
    parts: Vec<Arc<Part>>,
}

/// The files of one folder.
struct Part {
    dir: PathBuf,
    terms: Field,
    postings: Arc<InvertedIndexReader>,
    /// Terms in each row.
    lengths: Vec<u64>,
    /// Set when reading failed half-way: the readers are not to be trusted again.
    damaged: AtomicBool,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("dir", &self.dir)
            .field("rows", &self.lengths.len())
            .finish_non_exhaustive()
    }
}

impl Bm25Index {
    /// Opens the index in `dir` for the passages it was built from, to score
    /// as the recipe says. Reads every byte once, to compare checksums.
    ///
    /// # Errors
    /// When the files are missing, damaged, from another version or hold
    /// another number of passages, or when the recipe is not for this version.
    pub fn open(
        dir: &Path,
        passages: Arc<PassageIds>,
        recipe: &AnalyzerRecipe,
    ) -> Result<Self, Bm25Error> {
        guard::reading(dir, || {
            let segment = Segment::open(dir)?;
            segment.check_rows(passages.len())?;
            let part = Part {
                lengths: segment.lengths()?,
                postings: segment.postings()?,
                terms: Fields::new().terms,
                dir: dir.to_owned(),
                damaged: AtomicBool::new(false),
            };
            Self::of_parts(passages, recipe, vec![Arc::new(part)])
        })
    }

    /// Several indexes searched as one. The statistics are those of all their
    /// passages together, so every score is, to the last bit, that of one
    /// index built over them all. Nothing is read or copied but the lengths.
    ///
    /// # Errors
    /// When `passages` is not the passages of these indexes one after the
    /// other, or they were built by different recipes.
    pub fn together(passages: Arc<PassageIds>, indexes: &[&Self]) -> Result<Self, Bm25Error> {
        let apart = indexes.iter().map(|index| index.passages.as_ref());
        let in_order = apart.flat_map(PassageIds::books).eq(passages.books());
        let rows: usize = indexes.iter().map(|index| index.passages.len()).sum();
        let Some(first) = indexes.first() else {
            return Err(Bm25Error::NotTogether);
        };
        let one_recipe = indexes.iter().all(|index| index.recipe == first.recipe);
        if !in_order || rows != passages.len() || !one_recipe {
            return Err(Bm25Error::NotTogether);
        }
        let parts = indexes.iter().flat_map(|index| index.parts.iter().cloned());
        Self::of_parts(passages, &first.recipe, parts.collect())
    }

    fn of_parts(
        passages: Arc<PassageIds>,
        recipe: &AnalyzerRecipe,
        parts: Vec<Arc<Part>>,
    ) -> Result<Self, Bm25Error> {
        let lengths = parts.iter().flat_map(|part| part.lengths.iter().copied());
        Ok(Self {
            bm25: Bm25::new(recipe, lengths)?,
            passages,
            recipe: recipe.clone(),
            parts,
        })
    }

    /// The passages of the artifact, in row order.
    pub fn passages(&self) -> &Arc<PassageIds> {
        &self.passages
    }

    /// The best `limit` passages that hold any of the question's terms. Equal
    /// scores go in the order of the passages. Empty when the question has no
    /// term that occurs in the artifact.
    ///
    /// Every term counts, however long the question: the work is bounded by
    /// the size of the index.
    ///
    /// # Errors
    /// When the files turn out to be damaged; every later call then fails too.
    pub fn search(&self, question: &str, limit: usize) -> Result<Ranking, Bm25Error> {
        let scores = self.all_scores(question)?;
        let hits = best(&scores, limit)
            .into_iter()
            .map(|(row, score)| {
                Ok(Hit {
                    chunk: self
                        .passages
                        .chunk(row)
                        .ok_or_else(|| self.parts[0].no_row(row))?,
                    score,
                })
            })
            .collect::<Result<_, Bm25Error>>()?;
        Ok(Ranking::by_score(hits)?)
    }

    /// The score of each passage, 0 where no term matches: to the last bit
    /// what [`search`](Self::search) gives a passage that makes its list.
    ///
    /// # Errors
    /// When a passage is not of this artifact, or the files are damaged.
    pub fn scores(&self, question: &str, chunks: &[ChunkId]) -> Result<Vec<f64>, Bm25Error> {
        let scores = self.all_scores(question)?;
        chunks
            .iter()
            .map(|&chunk| {
                let row = self.passages.row(chunk);
                row.and_then(|row| scores.get(row as usize).copied())
                    .ok_or(Bm25Error::UnknownPassage(chunk))
            })
            .collect()
    }

    /// Every row's score. Terms are added in the order of their bytes, so a
    /// sum never depends on who asks for it.
    fn all_scores(&self, question: &str) -> Result<Vec<f64>, Bm25Error> {
        let mut scores = vec![0.0; self.bm25.rows()];
        for term in question_terms(question) {
            self.add_scores(&term.term, term.weight, &mut scores)?;
        }
        Ok(scores)
    }

    /// Adds what one term is worth: first counted over all parts, since its
    /// rarity is that of the whole, then added part by part.
    fn add_scores(&self, term: &str, weight: f64, scores: &mut [f64]) -> Result<(), Bm25Error> {
        let mut found = Vec::with_capacity(self.parts.len());
        let mut passages_with = 0;
        let mut first_row = 0;
        for part in &self.parts {
            if let Some(block) = part.reading(|| part.postings(term))? {
                passages_with += block.doc_freq();
                found.push((part, first_row, block));
            }
            first_row += part.lengths.len();
        }
        let factor = self.bm25.term_factor(weight, passages_with);
        for (part, first_row, mut block) in found {
            let rows = first_row..first_row + part.lengths.len();
            part.reading(|| self.add_part(part, rows, &mut block, factor, scores))?;
        }
        Ok(())
    }

    fn add_part(
        &self,
        part: &Part,
        rows: Range<usize>,
        block: &mut BlockSegmentPostings,
        factor: f64,
        scores: &mut [f64],
    ) -> Result<(), Bm25Error> {
        let scores = &mut scores[rows.clone()];
        while !block.docs().is_empty() {
            for (&row, &frequency) in block.docs().iter().zip(block.freqs()) {
                let score = scores.get_mut(row as usize);
                let row_of_all = rows.start as u32 + row;
                let added = self.bm25.term_score(factor, row_of_all, frequency);
                let (Some(score), Some(added)) = (score, added) else {
                    return Err(part.no_row(row));
                };
                *score += added;
            }
            block.advance();
        }
        Ok(())
    }
}

impl Part {
    /// Runs a reader of the files, unless an earlier one failed.
    fn reading<T>(&self, read: impl FnOnce() -> Result<T, Bm25Error>) -> Result<T, Bm25Error> {
        if self.damaged.load(atomic::Ordering::Relaxed) {
            return Err(self.damage("an earlier read failed"));
        }
        let result = guard::reading(&self.dir, read);
        if result.is_err() {
            self.damaged.store(true, atomic::Ordering::Relaxed);
        }
        result
    }

    fn postings(&self, term: &str) -> Result<Option<BlockSegmentPostings>, Bm25Error> {
        let term = Term::from_field_text(self.terms, term);
        self.postings
            .read_block_postings(&term, IndexRecordOption::WithFreqs)
            .map_err(|source| Bm25Error::Open {
                dir: self.dir.clone(),
                source: Box::new(source.into()),
            })
    }

    fn no_row(&self, row: u32) -> Bm25Error {
        self.damage(&format!("it names row {row}, which it does not have"))
    }

    fn damage(&self, detail: &str) -> Bm25Error {
        Bm25Error::Damaged {
            dir: self.dir.clone(),
            detail: detail.to_owned(),
        }
    }
}

/// The rows with the highest scores above 0, best first, ties by row.
fn best(scores: &[f64], limit: usize) -> Vec<(u32, f64)> {
    let order =
        |a: &(u32, f64), b: &(u32, f64)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    let mut found: Vec<(u32, f64)> = (0..)
        .zip(scores.iter().copied())
        .filter(|&(_, score)| score > 0.0)
        .collect();
    if limit < found.len() {
        found.select_nth_unstable_by(limit, order);
        found.truncate(limit);
    }
    found.sort_unstable_by(order);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, recipe};
    use proptest::prelude::*;
    use quire_corpus::BookId;
    use std::fs;
    use tempfile::TempDir;

    const TEXTS: [&str; 6] = [
        "Call me Ishmael. Some years ago, never mind how long precisely.",
        "The whale, the white whale! cried Captain Ahab.",
        "石頭記：賈寶玉初會林黛玉。",
        "",
        "The whale, the white whale! cried Captain Ahab.",
        "A long chapter about whales, whaling, and the whiteness of whales at sea.",
    ];

    fn chunk(ordinal: u32) -> ChunkId {
        let book = BookId::of_text("the book");
        ChunkId { book, ordinal }
    }

    fn passages(count: usize) -> Arc<PassageIds> {
        Arc::new(PassageIds::of_books([(chunk(0).book, count as u32)]))
    }

    fn index_of(texts: &[&str]) -> (TempDir, Bm25Index) {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), texts).unwrap();
        let index = Bm25Index::open(dir.path(), passages(texts.len()), &recipe()).unwrap();
        (dir, index)
    }

    fn found(index: &Bm25Index, question: &str) -> Vec<u32> {
        let ranking = index.search(question, 10).unwrap();
        ranking.chunks().map(|chunk| chunk.ordinal).collect()
    }

    #[test]
    fn the_best_passages_come_first_and_equal_ones_in_their_order() {
        let (_dir, index) = index_of(&TEXTS);
        assert_eq!(found(&index, "Captain Ahab"), [1, 4]);
        assert_eq!(found(&index, "ISHMAEL?"), [0]);
        assert_eq!(found(&index, "林黛玉是谁"), [2]);
        assert_eq!(found(&index, "whale")[0], 5);
    }

    #[test]
    fn any_term_is_enough_and_no_term_finds_nothing() {
        let (_dir, index) = index_of(&TEXTS);
        assert_eq!(found(&index, "Ishmael and the submarine"), [0, 5, 1, 4]);
        assert_eq!(found(&index, "submarine"), [0; 0]);
        assert_eq!(found(&index, " ?! "), [0; 0]);
        assert_eq!(index.search("whale", 0).unwrap(), Ranking::default());
    }

    #[test]
    fn the_score_is_the_formula_over_exact_lengths() {
        let (_dir, index) = index_of(&["red fox", "red red deer runs far", "owl"]);
        let scores = index
            .scores("red", &[chunk(0), chunk(1), chunk(2)])
            .unwrap();
        // N = 3, n = 2, lengths 2, 5 and 1.
        let idf = f64::ln(1.0 + 1.5 / 2.5);
        let norm = |length: f64| 1.2 * (0.25 + 0.75 * length / (8.0 / 3.0));
        let expected = [
            idf * 2.2 / (1.0 + norm(2.0)),
            idf * 4.4 / (2.0 + norm(5.0)),
            0.0,
        ];
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-12, "{score} {expected}");
        }
    }

    #[test]
    fn an_index_of_no_passages_answers() {
        let (_dir, index) = index_of(&[]);
        assert_eq!(index.search("anything", 5).unwrap(), Ranking::default());
        let (_dir, index) = index_of(&["", "?"]);
        assert_eq!(index.search("anything", 5).unwrap(), Ranking::default());
    }

    #[test]
    fn a_very_long_question_is_answered_whole() {
        let (_dir, index) = index_of(&TEXTS);
        let question: String = (0..10_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(found(&index, &format!("{question} ishmael")), [0]);
    }

    #[test]
    fn a_passage_of_another_book_has_no_score() {
        let (_dir, index) = index_of(&TEXTS);
        let other = ChunkId {
            book: BookId::of_text("another"),
            ordinal: 0,
        };
        assert!(matches!(
            index.scores("whale", &[other]),
            Err(Bm25Error::UnknownPassage(chunk)) if chunk == other
        ));
    }

    #[test]
    fn reading_leaves_the_folder_as_it_was() {
        let (dir, index) = index_of(&TEXTS);
        let names = || -> Vec<_> {
            let entries = fs::read_dir(dir.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort_unstable();
            names
        };
        let before = names();
        index.search("whale", 3).unwrap();
        crate::verify(dir.path(), TEXTS.len()).unwrap();
        assert_eq!(names(), before);
    }

    #[test]
    fn another_number_of_passages_is_refused() {
        let (dir, _index) = index_of(&TEXTS);
        let opened = Bm25Index::open(dir.path(), passages(7), &recipe());
        assert!(matches!(
            opened,
            Err(Bm25Error::RowCount {
                found: 6,
                expected: 7,
                ..
            })
        ));
    }

    #[test]
    fn a_changed_byte_anywhere_is_an_error_and_never_a_wrong_answer() {
        let (dir, _index) = index_of(&TEXTS);
        let mut checked = 0;
        for entry in fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let sound = fs::read(&path).unwrap();
            for at in 0..sound.len() {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x15;
                fs::write(&path, &bytes).unwrap();
                let opened = Bm25Index::open(dir.path(), passages(TEXTS.len()), &recipe());
                // Some bytes say nothing: white space in the JSON, the name
                // of the version in a footer. Then the answers are the same.
                if let Ok(index) = opened {
                    assert_eq!(found(&index, "Captain Ahab"), [1, 4], "{path:?} {at}");
                    assert_eq!(found(&index, "林黛玉是谁"), [2], "{path:?} {at}");
                }
                checked += 1;
            }
            fs::write(&path, &sound[..sound.len() / 2]).unwrap();
            assert!(
                Bm25Index::open(dir.path(), passages(TEXTS.len()), &recipe()).is_err(),
                "{path:?} cut short"
            );
            fs::write(&path, &sound).unwrap();
        }
        assert!(checked > 500, "{checked}");
    }

    #[test]
    fn a_missing_file_or_folder_is_an_error_that_names_the_place() {
        let (dir, _index) = index_of(&TEXTS);
        for entry in fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let sound = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let error = Bm25Index::open(dir.path(), passages(6), &recipe()).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains(&dir.path().display().to_string())
            );
            fs::write(&path, &sound).unwrap();
        }
        assert!(Bm25Index::open(&dir.path().join("none"), passages(6), &recipe()).is_err());
    }

    #[test]
    fn after_a_failed_read_the_index_answers_no_more() {
        let (_dir, index) = index_of(&TEXTS);
        index.parts[0]
            .damaged
            .store(true, atomic::Ordering::Relaxed);
        assert!(matches!(
            index.search("whale", 3),
            Err(Bm25Error::Damaged { .. })
        ));
    }

    #[test]
    fn indexes_that_do_not_make_up_the_passages_are_not_searched_together() {
        let (_dir, index) = index_of(&TEXTS);
        let other = BookId::of_text("another");
        let counts = [(other, 1), (chunk(0).book, TEXTS.len() as u32)];
        let all = Arc::new(PassageIds::of_books(counts));
        for indexes in [&[][..], &[&index], &[&index, &index]] {
            let together = Bm25Index::together(Arc::clone(&all), indexes);
            assert!(matches!(together, Err(Bm25Error::NotTogether)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn indexes_together_score_as_one_index_over_all_passages(
            texts in prop::collection::vec("[abc天地 ]{0,30}", 2..30),
            question in "[abcd天地玄 ]{0,12}",
            cut in 0usize..30,
        ) {
            let mut books = [BookId::of_text("one"), BookId::of_text("two")];
            books.sort_unstable();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (first, second) = texts.split_at(cut % texts.len());
            let open = |texts: &[&str], counts: Vec<(BookId, u32)>| {
                let dir = tempfile::tempdir().unwrap();
                build(dir.path(), texts).unwrap();
                let passages = Arc::new(PassageIds::of_books(counts));
                (Bm25Index::open(dir.path(), passages, &recipe()).unwrap(), dir)
            };
            let counts = [(books[0], first.len() as u32), (books[1], second.len() as u32)];
            let (one, _a) = open(first, vec![counts[0]]);
            let (two, _b) = open(second, vec![counts[1]]);
            let (all, _c) = open(&texts, counts.to_vec());
            let together = Bm25Index::together(all.passages().clone(), &[&one, &two]).unwrap();
            let found = together.search(&question, 10).unwrap();
            prop_assert_eq!(&found, &all.search(&question, 10).unwrap());
            let chunks: Vec<ChunkId> = found.chunks().collect();
            prop_assert_eq!(
                together.scores(&question, &chunks).unwrap(),
                all.scores(&question, &chunks).unwrap()
            );
        }

        #[test]
        fn search_and_scores_agree_to_the_last_bit(
            texts in prop::collection::vec("[abc天地 ]{0,30}", 1..40),
            question in "[abcd天地玄 ]{0,12}",
            limit in 0usize..50,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (_dir, index) = index_of(&texts);
            let chunks: Vec<ChunkId> = (0..texts.len() as u32).map(chunk).collect();
            let scores = index.scores(&question, &chunks).unwrap();
            let hits = chunks.iter().zip(&scores).map(|(&chunk, &score)| Hit { chunk, score });
            let mut expected = Ranking::by_score(hits.filter(|hit| hit.score > 0.0).collect()).unwrap();
            expected.truncate(limit);
            prop_assert_eq!(index.search(&question, limit).unwrap(), expected);
        }
    }
}
