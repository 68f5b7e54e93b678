//! A book's text and passages, read from its artifact.

use std::fs;
use std::ops::Range;

use quire_corpus::{BookId, ChunkId};

use crate::digest::sha256;
use crate::passages::{CHAPTERS_FILE, PASSAGES_FILE, TEXT_FILE};
use crate::{
    ArtifactDir, ArtifactError, ChapterRecord, Damage, IoError, Mapped, PassageError, PassageTable,
    Subject,
};

/// A book's text and passages. The text is mapped, the table of passages is
/// in memory, about 32 bytes a passage.
#[derive(Debug)]
pub struct BookArtifact {
    book: BookId,
    text: Mapped,
    table: PassageTable,
    remedy: String,
}

/// One passage with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its id.
    pub chunk: ChunkId,
    /// Its bytes in the canonical text.
    pub span: Range<usize>,
    /// Its text: that of the span, exactly.
    pub text: String,
    /// The title of its chapter, if it is in one.
    pub chapter: Option<String>,
    /// Its length in tokens, as cutting counted them.
    pub tokens: u32,
}

impl BookArtifact {
    /// Opens the text and the passages of a book's artifact and proves them:
    /// checksums, that the text is the one the book's id stands for, and that
    /// the passages fit it.
    ///
    /// # Errors
    /// When something in these files is damaged, or the artifact is a
    /// library's, which has no such files.
    pub fn open(artifact: &ArtifactDir) -> Result<Self, ArtifactError> {
        let Subject::Book(book) = artifact.key().subject else {
            return Err(artifact.damaged(TEXT_FILE, Damage::Unlisted));
        };
        let mapped = artifact.map(TEXT_FILE)?;
        // A book's id is the digest of its text, so this one proof stands for
        // both: the bytes are whole, and they are this book's.
        if sha256(&mapped) != book.to_string() {
            let whole = artifact.check_file(TEXT_FILE);
            return Err(whole.map_or_else(
                |damage| damage,
                |()| artifact.damaged(TEXT_FILE, Damage::AnotherText),
            ));
        }
        let damaged = |file, error: PassageError| artifact.damaged(file, error.into());
        let text = std::str::from_utf8(&mapped)
            .map_err(|error| damaged(TEXT_FILE, PassageError::NotUtf8(error.valid_up_to())))?;
        let read = |file| {
            artifact.check_file(file)?;
            let path = artifact.file(file);
            let bytes = fs::read(&path).map_err(IoError::of("read", &path))?;
            Ok::<_, ArtifactError>(bytes)
        };
        let table = PassageTable::read(&read(PASSAGES_FILE)?, &read(CHAPTERS_FILE)?, text)
            .map_err(|error| match error {
                PassageError::Chapters(_) | PassageError::ChapterPlace(_) => {
                    damaged(CHAPTERS_FILE, error)
                }
                _ => damaged(PASSAGES_FILE, error),
            })?;
        mapped.check()?;
        Ok(Self {
            book,
            text: mapped,
            table,
            remedy: artifact.remedy(),
        })
    }

    /// The book.
    pub fn book(&self) -> BookId {
        self.book
    }

    /// Where its passages lie.
    pub fn table(&self) -> &PassageTable {
        &self.table
    }

    /// Its chapters, in order.
    pub fn chapters(&self) -> &[ChapterRecord] {
        self.table.chapters()
    }

    /// The canonical text.
    ///
    /// # Errors
    /// When the file changed since it was opened.
    pub fn text(&self) -> Result<String, ArtifactError> {
        self.slice(0..self.text.len())
    }

    /// The passage of that ordinal, with its text.
    ///
    /// # Errors
    /// When the book has no such passage, or the text's file changed since it
    /// was opened.
    pub fn passage(&self, ordinal: u32) -> Result<Passage, ArtifactError> {
        let record = self
            .table
            .get(ordinal)
            .ok_or_else(|| ArtifactError::NoSuchPassage {
                subject: self.book.into(),
                ordinal,
                passages: self.table.len(),
            })?;
        Ok(Passage {
            chunk: ChunkId {
                book: self.book,
                ordinal,
            },
            span: record.span(),
            text: self.slice(record.span())?,
            chapter: self.table.chapter_title(record).map(str::to_owned),
            tokens: record.tokens,
        })
    }

    /// A span of the text, copied and then proved: a view of a mapped file
    /// could change after the proof.
    fn slice(&self, span: Range<usize>) -> Result<String, ArtifactError> {
        let copy = self.text.get(span).unwrap_or_default().to_vec();
        self.text.check()?;
        String::from_utf8(copy).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            ArtifactError::Damaged {
                path: self.text.path().to_owned(),
                damage: PassageError::NotUtf8(at).into(),
                remedy: self.remedy.clone(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::MANIFEST_FILE;
    use crate::testing::{self, TEXT, commit, recipe};

    #[test]
    fn a_passage_is_its_span_of_the_text() {
        let (_folder, store) = testing::store();
        let book = BookArtifact::open(&commit(&store, TEXT, recipe())).unwrap();
        assert_eq!(book.text().unwrap(), TEXT);
        for ordinal in 0..2 {
            let passage = book.passage(ordinal).unwrap();
            assert_eq!(passage.text, TEXT[passage.span.clone()]);
            assert_eq!(passage.chunk.ordinal, ordinal);
        }
        assert_eq!(book.passage(0).unwrap().chapter.as_deref(), Some("第一章"));
        let error = book.passage(2).unwrap_err().to_string();
        assert!(error.contains("has no passage 2: it has 2"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named_with_what_mends_it() {
        for file in [TEXT_FILE, PASSAGES_FILE, CHAPTERS_FILE] {
            for length in [0, 1, 10_000] {
                let (_folder, store) = testing::store();
                let artifact = commit(&store, TEXT, recipe());
                fs::write(artifact.file(file), vec![b' '; length]).unwrap();
                let error = BookArtifact::open(&artifact).unwrap_err().to_string();
                assert!(error.contains(file), "{error}");
                assert!(error.contains("quire index 'books/a book.txt'"), "{error}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_of_the_text_is_seen() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        let mut bytes = TEXT.as_bytes().to_vec();
        bytes[15] ^= 4;
        fs::write(artifact.file(TEXT_FILE), bytes).unwrap();
        assert!(matches!(
            BookArtifact::open(&artifact),
            Err(ArtifactError::Damaged {
                damage: Damage::Digest,
                ..
            })
        ));
    }

    #[test]
    fn the_whole_text_of_another_book_is_seen() {
        let (_folder, store) = testing::store();
        let key = testing::key(TEXT);
        let staging = testing::begin(&store, key);
        testing::write_files(&staging, TEXT);
        staging
            .write(TEXT_FILE, TEXT.to_uppercase().as_bytes())
            .unwrap();
        let artifact = staging.commit(testing::manifest(TEXT, recipe())).unwrap();
        artifact.check().unwrap();
        assert!(matches!(
            BookArtifact::open(&artifact),
            Err(ArtifactError::Damaged {
                damage: Damage::AnotherText,
                ..
            })
        ));
        assert!(artifact.file(MANIFEST_FILE).exists());
    }

    #[test]
    #[cfg(unix)]
    fn a_text_that_shrinks_while_it_is_open_gives_no_wrong_passage() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        let book = BookArtifact::open(&artifact).unwrap();
        let file = fs::OpenOptions::new()
            .write(true)
            .open(artifact.file(TEXT_FILE))
            .unwrap();
        for length in [TEXT.len() as u64 - 1, 0] {
            file.set_len(length).unwrap();
            let read = book.passage(0);
            assert!(matches!(read, Err(ArtifactError::Fault(_))), "{read:?}");
        }
    }
}
