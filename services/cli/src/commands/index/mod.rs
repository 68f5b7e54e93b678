//! `quire index`

use std::collections::BTreeMap;

use anyhow::Result;
use quire_corpus::{
    BookId, Encoding, EncodingHow, Format, ReadOptions, ReadReport, SourceBook, Strictness,
};
use quire_engine::{BuildEvent, How, Progress};
use quire_index::Counts;
use quire_indexer::{
    BookReport, Discovered, IndexError, Indexer, Outcome, Reporter, SourceReport, discover,
};
use serde::Serialize;

use crate::args::IndexArgs;
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{grouped, print_json, printable_line};
use crate::progress::{BookProgress, duration};
use crate::{Ending, one_line};

#[derive(Serialize)]
struct Document {
    recipe: String,
    /// Named paths that cannot be indexed at all, and why.
    failed: Vec<String>,
    sources: Vec<SourceEntry>,
    passed_over: Vec<String>,
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
    let format = args
        .format
        .as_deref()
        .map(str::parse::<Format>)
        .transpose()?;
    let encoding = settings.optional("encoding", args.encoding)?;
    let encoding = encoding
        .as_deref()
        .map(str::parse::<Encoding>)
        .transpose()?;
    let strict = settings.or("strict", args.strict, false)?;
    let cut = settings.cut(&args.cut)?;
    let models = settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let Discovered {
        sources,
        passed_over,
        failed,
    } = discover(&args.paths);
    let store = context.store()?;

    let indexer = Indexer {
        store: &store,
        recipe: &recipe,
        read: ReadOptions {
            format,
            encoding,
            strictness: if strict {
                Strictness::Strict
            } else {
                Strictness::Lenient
            },
            ..ReadOptions::default()
        },
        models: &loader,
    };
    let mut reporter = TerminalReporter { quiet: args.json };
    let reports = indexer.run(&sources, &mut reporter);
    for error in &failed {
        eprintln!("quire: {}", printable_line(&one_line(error)));
    }
    let complete = failed.is_empty() && reports.iter().all(SourceReport::is_complete);
    let any = reports.iter().any(|report| {
        report
            .books
            .iter()
            .flatten()
            .any(|book| book.outcome.is_ok())
    });
    if args.json {
        print_json(&Document {
            recipe: recipe.key().to_string(),
            failed: failed.iter().map(|error| one_line(error)).collect(),
            sources: reports.iter().map(source_entry).collect(),
            passed_over: passed_over
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        })?;
    } else {
        summarize(&reports, failed.len(), passed_over.len());
    }
    match (complete, any) {
        (true, _) => Ok(Ending::Done),
        (false, true) => Ok(Ending::Partly),
        (false, false) => Err(anyhow::anyhow!(
            "nothing was indexed; what failed is said above"
        )),
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

fn said_of(report: &BookReport) -> Vec<String> {
    let name = match &report.title {
        Some(title) => format!("{} ({title})", report.source),
        None => report.source.clone(),
    };
    let id = report.book.short();
    let first = match &report.outcome {
        Ok(Outcome::SameText) => format!("{name}: the same text as an earlier input, book {id}"),
        Ok(Outcome::Built(built)) => {
            let manifest = built.artifact.manifest();
            let counts = &manifest.counts;
            let total = manifest
                .build
                .seconds
                .get("total")
                .copied()
                .unwrap_or_default();
            match built.how {
                How::Found => format!("{name}: already indexed, book {id}"),
                How::Fresh | How::Resumed => format!(
                    "{name}: indexed as book {id}: {} passages, {} tokens, {} chapters in {} \
                     ({:.0} tokens/s on {})",
                    grouped(counts.passages),
                    grouped(counts.tokens),
                    counts.chapters,
                    duration(total),
                    manifest.build.tokens_per_second.unwrap_or_default(),
                    manifest.build.device.split(',').next().unwrap_or_default(),
                ),
            }
        }
        Err(error) => format!("quire: {name}: {}", one_line(error)),
    };
    let mut lines = vec![first];
    let encoding = &report.read.encoding;
    let runner_up = encoding
        .runner_up
        .as_ref()
        .map(|other| format!(", next best {other}"));
    lines.push(format!(
        "  read as {}, {} ({}, confidence {:.2}{})",
        report.read.format,
        encoding.name,
        encoding.how,
        encoding.confidence,
        runner_up.unwrap_or_default()
    ));
    if encoding.confidence < 0.5 && encoding.how != EncodingHow::Given {
        lines
            .push("  the encoding is a guess; if the text looks wrong, give --encoding".to_owned());
    }
    if let (EncodingHow::Given, Some(other)) = (encoding.how, &encoding.runner_up) {
        lines.push(format!(
            "  the bytes look like {other}; if the text reads wrong, leave --encoding out"
        ));
    }
    let malformed = &report.read.malformed;
    if malformed.count > 0 {
        let places: Vec<String> = malformed
            .first
            .iter()
            .map(|span| match &span.part {
                Some(part) => format!("{part} byte {}", span.offset),
                None => format!("byte {}", span.offset),
            })
            .collect();
        lines.push(format!(
            "  {} undecodable sequences became U+FFFD: {}{}",
            malformed.count,
            places.join(", "),
            if malformed.count > places.len() as u64 {
                ", ..."
            } else {
                ""
            }
        ));
    }
    for problem in &report.read.problems {
        lines.push(format!("  {}: {}", problem.part, problem.what));
    }
    lines
}

fn summarize(reports: &[SourceReport], unreadable: usize, passed_over: usize) {
    let mut fresh = 0;
    let mut there = 0;
    let mut failed = unreadable;
    for report in reports {
        let Ok(books) = &report.books else {
            failed += 1;
            continue;
        };
        for book in books {
            match &book.outcome {
                Ok(Outcome::Built(built)) if built.how != How::Found => fresh += 1,
                Ok(_) => there += 1,
                Err(_) => failed += 1,
            }
        }
    }
    let mut said = vec![format!("{fresh} indexed")];
    if there > 0 {
        said.push(format!("{there} already there"));
    }
    if failed > 0 {
        said.push(format!("{failed} failed"));
    }
    if passed_over > 0 {
        said.push(format!("{passed_over} other files passed over"));
    }
    println!("{}", said.join(", "));
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
