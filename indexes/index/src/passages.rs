//! The passages of a book: where each lies in its text, and its chapter.
//!
//! `passages.bin`, all numbers little-endian: the magic `QUIREPSG`, then as
//! u32 the format's version, the number of passages, the CRC-32 of all
//! records, and 0; then a record of 24 bytes a passage: start and end (u64,
//! bytes into the text), chapter (u32, `u32::MAX` for none) and tokens (u32).
//! `chapters.json`: the chapters, in order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{IoError, Staging};

/// The canonical text's name in a book's artifact.
pub const TEXT_FILE: &str = "text.txt";
/// The passages' name in a book's artifact.
pub const PASSAGES_FILE: &str = "passages.bin";
/// The chapters' name in a book's artifact.
pub const CHAPTERS_FILE: &str = "chapters.json";

const MAGIC: &[u8; 8] = b"QUIREPSG";
const VERSION: u32 = 1;
const HEADER: usize = 24;
const RECORD: usize = 24;
const NO_CHAPTER: u32 = u32::MAX;

/// One passage of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageRecord {
    /// Its first byte in the canonical text.
    pub start: u64,
    /// The byte after its last.
    pub end: u64,
    /// Its chapter's place among the chapters, if it is in one.
    pub chapter: Option<u32>,
    /// Its length in tokens, as cutting counted them.
    pub tokens: u32,
}

impl PassageRecord {
    /// Its bytes in the canonical text.
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One chapter of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChapterRecord {
    /// Its heading.
    pub title: String,
    /// Where it starts in the canonical text, in bytes.
    pub start: u64,
}

/// Why passages are not those of a book.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PassageError {
    /// The file does not start as a passage file does.
    #[error("it is not a passage file of quire")]
    Foreign,
    /// Another version wrote it.
    #[error("its format has version {0}, this quire reads {VERSION}")]
    Version(u32),
    /// It is shorter or longer than its header says.
    #[error("it is {found} bytes long, not {expected} as its header says")]
    Length {
        /// Bytes by the header.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The records are not those that were written.
    #[error("the checksum of its records does not match")]
    Checksum,
    /// The chapter list cannot be read.
    #[error("it is not a list of chapters: {0}")]
    Chapters(String),
    /// A passage is empty, or ends before it starts.
    #[error("passage {0} is empty")]
    Empty(usize),
    /// A passage does not start where the one before it ends.
    #[error("passage {0} does not start where the one before it ends")]
    Gap(usize),
    /// A passage ends beyond the text.
    #[error("passage {0} ends beyond the text")]
    BeyondText(usize),
    /// A passage starts or ends inside a character.
    #[error("passage {0} starts or ends inside a character")]
    InsideCharacter(usize),
    /// A passage names a chapter that is not in the list.
    #[error("passage {0} is in a chapter that is not listed")]
    NoSuchChapter(usize),
    /// Chapters are out of order or beyond the text.
    #[error("chapter {0} starts before the one before it or beyond the text")]
    ChapterPlace(usize),
    /// There are more passages than an ordinal can count.
    #[error("{0} passages are more than an ordinal can count")]
    TooMany(usize),
    /// The text is not UTF-8.
    #[error("its text is not UTF-8 at byte {0}")]
    NotUtf8(usize),
}

/// The passages of a book, contiguous and in order, and its chapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageTable {
    passages: Vec<PassageRecord>,
    chapters: Vec<ChapterRecord>,
}

impl PassageTable {
    /// The passages of `text`.
    ///
    /// # Errors
    /// When a passage is empty, leaves a gap to the one before, ends inside a
    /// character or beyond the text, or names a chapter there is not; when
    /// chapters are out of order.
    pub fn new(
        passages: Vec<PassageRecord>,
        chapters: Vec<ChapterRecord>,
        text: &str,
    ) -> Result<Self, PassageError> {
        let table = Self { passages, chapters };
        table.check()?;
        table.check_against(text)?;
        Ok(table)
    }

    fn check(&self) -> Result<(), PassageError> {
        if u32::try_from(self.passages.len()).is_err() {
            return Err(PassageError::TooMany(self.passages.len()));
        }
        let mut expected_start = self.passages.first().map(|first| first.start);
        for (ordinal, passage) in self.passages.iter().enumerate() {
            if passage.start >= passage.end {
                return Err(PassageError::Empty(ordinal));
            }
            if Some(passage.start) != expected_start {
                return Err(PassageError::Gap(ordinal));
            }
            let listed = |chapter: u32| (chapter as usize) < self.chapters.len();
            if !passage.chapter.is_none_or(listed) {
                return Err(PassageError::NoSuchChapter(ordinal));
            }
            expected_start = Some(passage.end);
        }
        Ok(())
    }

    fn check_against(&self, text: &str) -> Result<(), PassageError> {
        let length = text.len() as u64;
        for (ordinal, passage) in self.passages.iter().enumerate() {
            if passage.end > length {
                return Err(PassageError::BeyondText(ordinal));
            }
            if text.get(passage.span()).is_none() {
                return Err(PassageError::InsideCharacter(ordinal));
            }
        }
        let mut earliest = 0;
        for (place, chapter) in self.chapters.iter().enumerate() {
            if chapter.start < earliest || chapter.start > length {
                return Err(PassageError::ChapterPlace(place));
            }
            earliest = chapter.start;
        }
        Ok(())
    }

    /// Reads back what [`PassageTable::write`] wrote, for the text of the
    /// same book.
    ///
    /// # Errors
    /// When the bytes are not a passage file and a chapter list, or do not
    /// fit each other or the text. Never panics, whatever the bytes.
    pub fn read(passages: &[u8], chapters: &[u8], text: &str) -> Result<Self, PassageError> {
        let chapters = serde_json::from_slice(chapters)
            .map_err(|error| PassageError::Chapters(error.to_string()))?;
        let table = Self {
            passages: records_of(passages)?,
            chapters,
        };
        table.check()?;
        table.check_against(text)?;
        Ok(table)
    }

    /// Writes the text, the passages and the chapters of a book into its
    /// artifact. `text` must be the one the table was made for.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn write(&self, text: &str, staging: &Staging) -> Result<(), IoError> {
        debug_assert_eq!(self.check_against(text), Ok(()));
        staging.write(TEXT_FILE, text.as_bytes())?;
        staging.write(PASSAGES_FILE, &self.passage_bytes())?;
        let mut chapters =
            serde_json::to_vec_pretty(&self.chapters).expect("chapters are plain data");
        chapters.push(b'\n');
        staging.write(CHAPTERS_FILE, &chapters)
    }

    fn passage_bytes(&self) -> Vec<u8> {
        let mut records = Vec::with_capacity(self.passages.len() * RECORD);
        for passage in &self.passages {
            records.extend(passage.start.to_le_bytes());
            records.extend(passage.end.to_le_bytes());
            records.extend(passage.chapter.unwrap_or(NO_CHAPTER).to_le_bytes());
            records.extend(passage.tokens.to_le_bytes());
        }
        let mut bytes = MAGIC.to_vec();
        for number in [
            VERSION,
            self.passages.len() as u32,
            crc32fast::hash(&records),
            0,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(records);
        bytes
    }

    /// How many passages.
    pub fn len(&self) -> usize {
        self.passages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// The passage of that ordinal.
    pub fn get(&self, ordinal: u32) -> Option<&PassageRecord> {
        self.passages.get(ordinal as usize)
    }

    /// The passages, by ordinal.
    pub fn passages(&self) -> &[PassageRecord] {
        &self.passages
    }

    /// The chapters, in order.
    pub fn chapters(&self) -> &[ChapterRecord] {
        &self.chapters
    }

    /// The title of a passage's chapter, if it is in one.
    pub fn chapter_title(&self, passage: &PassageRecord) -> Option<&str> {
        let chapter = self.chapters.get(passage.chapter? as usize)?;
        Some(&chapter.title)
    }

    /// Where the first passage starts and the last ends, in bytes.
    pub fn body(&self) -> Option<(u64, u64)> {
        Some((self.passages.first()?.start, self.passages.last()?.end))
    }

    /// Tokens of all passages.
    pub fn tokens(&self) -> u64 {
        self.passages.iter().map(|p| u64::from(p.tokens)).sum()
    }
}

fn records_of(bytes: &[u8]) -> Result<Vec<PassageRecord>, PassageError> {
    let (header, records) = bytes
        .split_at_checked(HEADER)
        .ok_or(PassageError::Foreign)?;
    if !header.starts_with(MAGIC) {
        return Err(PassageError::Foreign);
    }
    if u32_at(header, 8) != VERSION {
        return Err(PassageError::Version(u32_at(header, 8)));
    }
    let expected = HEADER as u64 + u64::from(u32_at(header, 12)) * RECORD as u64;
    if bytes.len() as u64 != expected {
        return Err(PassageError::Length {
            expected,
            found: bytes.len() as u64,
        });
    }
    if crc32fast::hash(records) != u32_at(header, 16) || u32_at(header, 20) != 0 {
        return Err(PassageError::Checksum);
    }
    let record = |bytes: &[u8]| PassageRecord {
        start: u64_at(bytes, 0),
        end: u64_at(bytes, 8),
        chapter: Some(u32_at(bytes, 16)).filter(|chapter| *chapter != NO_CHAPTER),
        tokens: u32_at(bytes, 20),
    };
    Ok(records.chunks_exact(RECORD).map(record).collect())
}

/// The little-endian number at a place that is known to be there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TEXT, table};
    use proptest::prelude::*;

    fn chapters(table: &PassageTable) -> Vec<u8> {
        serde_json::to_vec(table.chapters()).unwrap()
    }

    #[test]
    fn passages_are_read_back_as_they_were_written() {
        let table = table(TEXT);
        let read = PassageTable::read(&table.passage_bytes(), &chapters(&table), TEXT);
        assert_eq!(read.as_ref(), Ok(&table));
        assert_eq!(table.chapter_title(&table.passages()[0]), Some("第一章"));
        assert_eq!(table.chapter_title(&table.passages()[1]), None);
        assert_eq!(table.body(), Some((0, TEXT.len() as u64 - 7)));
    }

    #[test]
    fn a_book_without_passages_is_a_table_too() {
        let table = PassageTable::new(vec![], vec![], "").unwrap();
        let read = PassageTable::read(&table.passage_bytes(), b"[]", "");
        assert_eq!(read, Ok(table));
    }

    #[test]
    fn passages_that_do_not_fit_each_other_or_the_text_are_refused() {
        let sound = table(TEXT);
        let with = |change: &dyn Fn(&mut Vec<PassageRecord>)| {
            let mut passages = sound.passages().to_vec();
            change(&mut passages);
            PassageTable::new(passages, sound.chapters().to_vec(), TEXT).unwrap_err()
        };
        use PassageError::*;
        assert_eq!(with(&|p| p[1].start += 3), Gap(1));
        assert_eq!(with(&|p| p[1].start -= 3), Gap(1));
        assert_eq!(with(&|p| p[1].end = p[1].start), Empty(1));
        assert_eq!(with(&|p| p[0].start = 1), InsideCharacter(0));
        assert_eq!(with(&|p| p[1].end = 1000), BeyondText(1));
        assert_eq!(with(&|p| p[0].chapter = Some(1)), NoSuchChapter(0));
        let late = ChapterRecord {
            title: "late".into(),
            start: 1000,
        };
        let table = PassageTable::new(vec![], vec![late], TEXT);
        assert_eq!(table, Err(ChapterPlace(0)));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let table = table(TEXT);
        let whole = table.passage_bytes();
        let read = |bytes: &[u8]| PassageTable::read(bytes, &chapters(&table), TEXT);
        for at in 0..whole.len() {
            assert!(read(&whole[..at]).is_err());
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                assert!(read(&flipped).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(
            header in prop::bool::ANY,
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            chapters in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let start = if header { table(TEXT).passage_bytes()[..12].to_vec() } else { vec![] };
            let passages = [start, bytes].concat();
            prop_assert!(PassageTable::read(&passages, &chapters, TEXT).is_err());
        }
    }
}
