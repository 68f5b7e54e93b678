//! `quire bench index`

use anyhow::{Result, bail};
use quire_bench::{IndexReport, index_books};
use quire_corpus::{ReadOptions, SourceBook};
use quire_engine::{BuildEvent, Progress, Silent};
use quire_indexer::{BookReport, IndexError, Reporter, discover};

use crate::args::BenchIndexArgs;
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{grouped, print_json, print_table, printable_line};
use crate::progress::BookProgress;
use crate::{Ending, one_line};

pub(super) fn run(context: &mut Context, args: BenchIndexArgs) -> Result<Ending> {
    let cut = context.settings.cut(&args.cut)?;
    let models = context.settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let found = discover(&args.paths);
    for error in &found.failed {
        eprintln!("quire: {}", printable_line(&one_line(error)));
    }
    if found.sources.is_empty() {
        bail!("there is nothing to index");
    }
    let mut reporter = Terminal { quiet: args.json };
    let read = ReadOptions::default();
    let mut report = index_books(&found.sources, read, &recipe, &loader, &mut reporter)?;
    report.failed += found.failed.len();
    if report.books == 0 {
        bail!("nothing was indexed; what failed is said above");
    }
    if args.json {
        print_json(&report)?;
    } else {
        show(&report)?;
    }
    Ok(match report.failed {
        0 => Ending::Done,
        _ => Ending::Partly,
    })
}

/// Shows progress, and says what fails.
struct Terminal {
    quiet: bool,
}

impl Reporter for Terminal {
    fn begin(&mut self, book: &SourceBook) -> Box<dyn Progress> {
        match self.quiet {
            true => Box::new(Silent),
            false => Box::new(Bar(BookProgress::new(&book.source))),
        }
    }

    fn book(&mut self, report: &BookReport) {
        if let Err(error) = &report.outcome {
            let line = format!("quire: {}: {}", report.source, one_line(error));
            eprintln!("{}", printable_line(&line));
        }
    }

    fn unreadable(&mut self, _: &str, error: &IndexError) {
        eprintln!("quire: {}", printable_line(&one_line(error)));
    }
}

/// Taken off the screen when the book is done.
struct Bar(BookProgress);

impl Progress for Bar {
    fn event(&self, event: BuildEvent) {
        self.0.event(event);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn show(report: &IndexReport) -> Result<()> {
    println!(
        "{} books, {} passages, {} tokens in {:.2} s: {:.0} tokens/s, {:.3} books/s",
        report.books,
        grouped(report.passages),
        grouped(report.tokens),
        report.seconds,
        report.tokens_per_second,
        report.books_per_second
    );
    if report.failed > 0 {
        println!("{} failed", report.failed);
    }
    println!(
        "models loaded in {:.2} s, on {}; the model has {:.1} % of the time",
        report.load_seconds,
        report.device.as_deref().unwrap_or("an unknown device"),
        report.model_share * 100.0
    );
    let rows: Vec<Vec<String>> = report
        .stages
        .iter()
        .map(|stage| {
            vec![
                stage.stage.clone(),
                format!("{:.3}", stage.seconds),
                format!("{:.1} %", stage.share * 100.0),
            ]
        })
        .collect();
    print_table(&["stage", "seconds", "share"], &rows)?;
    if let Some(bytes) = report.peak_memory {
        println!("peak memory {} MiB", grouped(bytes >> 20));
    }
    let disk = &report.disk;
    println!(
        "disk {} bytes for {} bytes of text ({:.2} to 1)",
        grouped(disk.artifacts),
        grouped(disk.text),
        disk.artifacts as f64 / disk.text.max(1) as f64
    );
    let rows: Vec<Vec<String>> = disk
        .parts
        .iter()
        .map(|(part, bytes)| vec![part.clone(), grouped(*bytes)])
        .collect();
    print_table(&["part", "bytes"], &rows)
}
