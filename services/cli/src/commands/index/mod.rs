//! `quire index`

mod said;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use quire_corpus::{BookId, Encoding, Format, ReadOptions, ReadReport, SourceBook, Strictness};
use quire_engine::{BuildEvent, How, LibraryEdit, Progress, edit_library};
use quire_index::Counts;
use quire_indexer::{
    BookReport, DiscoverError, Discovered, IndexError, Indexer, Outcome, Reporter, SourceReport,
    discover,
};
use serde::Serialize;

use self::said::{said_of, summarize};
use crate::args::IndexArgs;
use crate::commands::library::{LibraryEntry, said_of_edit};
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{print_json, printable_line};
use crate::progress::BookProgress;
use crate::{Ending, one_line};

#[derive(Serialize)]
struct Document {
    recipe: String,
    /// Named paths that cannot be indexed at all, and why.
    failed: Vec<String>,
    sources: Vec<SourceEntry>,
    passed_over: Vec<String>,
    /// The library that the books went to, if one was named.
    library: Option<LibraryEntry>,
}

#[derive(Serialize)]
struct SourceEntry {
    source: String,
    error: Option<String>,
    books: Vec<BookEntry>,
}

#[derive(Serialize)]
struct BookEntry {
    book: BookId,
    source: String,
    title: Option<String>,
    /// `indexed`, `resumed`, `already_indexed`, `same_text` or `failed`.
    status: &'static str,
    error: Option<String>,
    read: ReadReport,
    counts: Option<Counts>,
    /// Of the build that made the artifact, whenever that was.
    seconds: Option<BTreeMap<String, f64>>,
    tokens_per_second: Option<f64>,
    device: Option<String>,
}

pub fn run(context: &mut Context, args: IndexArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let format = args.format.as_deref().map(str::parse::<Format>);
    let encoding = settings.optional("encoding", args.encoding)?;
    let encoding = encoding.as_deref().map(str::parse::<Encoding>);
    let strict = settings.or("strict", args.strict, false)?;
    let read = ReadOptions {
        format: format.transpose()?,
        encoding: encoding.transpose()?,
        strictness: if strict {
            Strictness::Strict
        } else {
            Strictness::Lenient
        },
        ..ReadOptions::default()
    };
    let cut = settings.cut(&args.cut)?;
    let models = settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let store = context.store()?;
    let indexer = Indexer {
        store: &store,
        recipe: &recipe,
        read,
        models: &loader,
    };
    let indexed = Indexed::of(&indexer, &args.paths, args.json);
    let books = indexed.books();
    let library = match &args.library {
        Some(name) if !books.is_empty() => {
            let edit = LibraryEdit::CreateOrAdd(&books);
            Some(edit_library(&store, &recipe, name, edit)?)
        }
        _ => None,
    };
    if args.json {
        print_json(&Document {
            recipe: recipe.key().to_string(),
            failed: indexed.failed.iter().map(|error| one_line(error)).collect(),
            sources: indexed.reports.iter().map(source_entry).collect(),
            passed_over: indexed
                .passed_over
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
            library: library.as_ref().map(LibraryEntry::of),
        })?;
    } else {
        summarize(
            &indexed.reports,
            indexed.failed.len(),
            indexed.passed_over.len(),
        );
        if let Some(library) = &library {
            println!("{}", said_of_edit(library));
        }
    }
    match (indexed.is_complete(), books.is_empty()) {
        (true, _) => Ok(Ending::Done),
        (false, false) => Ok(Ending::Partly),
        (false, true) => Err(anyhow::anyhow!(
            "nothing was indexed; what failed is said above"
        )),
    }
}

/// What became of paths that were to be indexed.
pub(super) struct Indexed {
    reports: Vec<SourceReport>,
    passed_over: Vec<PathBuf>,
    failed: Vec<DiscoverError>,
}

impl Indexed {
    /// Indexes what lies at these paths and says what fails; unless `quiet`,
    /// what succeeds as well.
    pub(super) fn of(indexer: &Indexer<'_>, paths: &[PathBuf], quiet: bool) -> Self {
        let Discovered {
            sources,
            passed_over,
            failed,
        } = discover(paths);
        let reports = indexer.run(&sources, &mut TerminalReporter { quiet });
        for error in &failed {
            eprintln!("quire: {}", printable_line(&one_line(error)));
        }
        Self {
            reports,
            passed_over,
            failed,
        }
    }

    /// Whether nothing failed.
    pub(super) fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.reports.iter().all(SourceReport::is_complete)
    }

    /// The books that are indexed now, each once, in the order of the paths.
    pub(super) fn books(&self) -> Vec<BookId> {
        let books = self.reports.iter().flat_map(|report| report.books.iter());
        // A book of the same text as an earlier one is there if that one is.
        let books = books.flatten().filter_map(|book| match &book.outcome {
            Ok(Outcome::Built(_)) => Some(book.book),
            Ok(Outcome::SameText) | Err(_) => None,
        });
        books.collect()
    }
}

/// Says what happens, a line or two a book.
struct TerminalReporter {
    quiet: bool,
}

impl Reporter for TerminalReporter {
    fn begin(&mut self, book: &SourceBook) -> Box<dyn Progress> {
        if self.quiet {
            return Box::new(quire_engine::Silent);
        }
        Box::new(Finishing(BookProgress::new(&book.source)))
    }

    fn book(&mut self, report: &BookReport) {
        if self.quiet && report.outcome.is_ok() {
            return;
        }
        for line in said_of(report) {
            // What succeeded is the command's result; what failed is not.
            let line = printable_line(&line);
            if report.outcome.is_ok() {
                println!("{line}")
            } else {
                eprintln!("{line}")
            }
        }
    }

    fn unreadable(&mut self, _: &str, error: &IndexError) {
        eprintln!("quire: {}", printable_line(&one_line(error)));
    }
}

/// Takes the bar off the screen when the book is done.
struct Finishing(BookProgress);

impl Progress for Finishing {
    fn event(&self, event: BuildEvent) {
        self.0.event(event);
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn source_entry(report: &SourceReport) -> SourceEntry {
    match &report.books {
        Ok(books) => SourceEntry {
            source: report.source.clone(),
            error: None,
            books: books.iter().map(book_entry).collect(),
        },
        Err(error) => SourceEntry {
            source: report.source.clone(),
            error: Some(one_line(error)),
            books: Vec::new(),
        },
    }
}

fn book_entry(report: &BookReport) -> BookEntry {
    let mut entry = BookEntry {
        book: report.book,
        source: report.source.clone(),
        title: report.title.clone(),
        status: "failed",
        error: None,
        read: report.read.clone(),
        counts: None,
        seconds: None,
        tokens_per_second: None,
        device: None,
    };
    match &report.outcome {
        Ok(Outcome::SameText) => entry.status = "same_text",
        Ok(Outcome::Built(built)) => {
            let manifest = built.artifact.manifest();
            entry.status = match built.how {
                How::Found => "already_indexed",
                How::Fresh => "indexed",
                How::Resumed => "resumed",
            };
            entry.counts = Some(manifest.counts.clone());
            entry.seconds = Some(manifest.build.seconds.clone());
            entry.tokens_per_second = manifest.build.tokens_per_second;
            entry.device = Some(manifest.build.device.clone());
        }
        Err(error) => entry.error = Some(one_line(error)),
    }
    entry
}
