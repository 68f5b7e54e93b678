//! Reading the sources and building their books.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};

use quire_corpus::{BookId, ReadError, ReadOptions, ReadReport, SourceBook, read_books};
use quire_engine::{Built, EngineError, ModelSource, Progress, build};
use quire_index::{Recipe, Store};

use crate::Source;

/// Indexes sources one after the other.
pub struct Indexer<'a> {
    /// Where artifacts go.
    pub store: &'a Store,
    /// What they are made by.
    pub recipe: &'a Recipe,
    /// How sources are read.
    pub read: ReadOptions,
    /// Loaded when the first book needs them.
    pub models: &'a dyn ModelSource,
}

/// Told what happens, as it happens.
pub trait Reporter {
    /// A book is about to be built; where its progress goes.
    fn begin(&mut self, book: &SourceBook) -> Box<dyn Progress>;
    /// A book is done.
    fn book(&mut self, report: &BookReport);
    /// A source cannot be read at all.
    fn unreadable(&mut self, source: &str, error: &IndexError);
}

/// What became of one source.
#[derive(Debug)]
pub struct SourceReport {
    /// The source's name.
    pub source: String,
    /// Its books, or why it could not be read.
    pub books: Result<Vec<BookReport>, IndexError>,
}

impl SourceReport {
    /// Whether the source and all its books are indexed.
    pub fn is_complete(&self) -> bool {
        match &self.books {
            Ok(books) => books.iter().all(|book| book.outcome.is_ok()),
            Err(_) => false,
        }
    }
}

/// What became of one book.
#[derive(Debug)]
pub struct BookReport {
    /// The book.
    pub book: BookId,
    /// The name of what it was read from.
    pub source: String,
    /// Its title, if the source has one.
    pub title: Option<String>,
    /// How it was read.
    pub read: ReadReport,
    /// What was done.
    pub outcome: Result<Outcome, EngineError>,
}

/// What was done for a book.
#[derive(Debug)]
pub enum Outcome {
    /// It was built, or was there already.
    Built(Box<Built>),
    /// An earlier source of this run has the same text.
    SameText,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The operating system refused.
    #[error("cannot read {name}")]
    Open {
        /// The source's name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Its content is not a book.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Indexer<'_> {
    /// Indexes each source. A source or book that fails does not keep the
    /// others from being indexed.
    pub fn run(&self, sources: &[Source], reporter: &mut dyn Reporter) -> Vec<SourceReport> {
        let mut done = BTreeSet::new();
        let mut reports = Vec::with_capacity(sources.len());
        for source in sources {
            let books = match self.read(source) {
                Ok(books) => {
                    let built = books
                        .iter()
                        .map(|book| self.build(book, &mut done, reporter));
                    Ok(built.collect())
                }
                Err(error) => {
                    reporter.unreadable(&source.name(), &error);
                    Err(error)
                }
            };
            reports.push(SourceReport {
                source: source.name(),
                books,
            });
        }
        reports
    }

    fn read(&self, source: &Source) -> Result<Vec<SourceBook>, IndexError> {
        let name = source.name();
        let failed = |error| IndexError::Open {
            name: name.clone(),
            source: error,
        };
        // One byte more than is allowed tells that there is too much.
        let most = self.read.limits.max_file_bytes + 1;
        let mut bytes = Vec::new();
        match source {
            Source::File(path) => {
                let file = fs::File::open(path).map_err(failed)?;
                file.take(most).read_to_end(&mut bytes)
            }
            Source::StandardInput => io::stdin().take(most).read_to_end(&mut bytes),
        }
        .map_err(failed)?;
        Ok(read_books(&name, &bytes, &self.read)?)
    }

    fn build(
        &self,
        book: &SourceBook,
        done: &mut BTreeSet<BookId>,
        reporter: &mut dyn Reporter,
    ) -> BookReport {
        let outcome = if done.insert(book.id) {
            let progress = reporter.begin(book);
            build(
                self.store,
                book,
                self.recipe,
                self.models,
                progress.as_ref(),
            )
            .map(|built| Outcome::Built(Box::new(built)))
        } else {
            Ok(Outcome::SameText)
        };
        let report = BookReport {
            book: book.id,
            source: book.source.clone(),
            title: book.title.clone(),
            read: book.report.clone(),
            outcome,
        };
        reporter.book(&report);
        report
    }
}
