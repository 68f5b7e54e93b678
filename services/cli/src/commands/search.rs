//! `quire search`

mod shares;

use std::io::{self, Read};

use anyhow::{Context as _, Result, bail};
use quire_corpus::BookId;
use quire_engine::{Highlighter, ModelSource, Search, Trace, search};
use quire_index::{Recipe, Store};
use quire_server::wire::{Hit, Shares, Stages};
use serde::Serialize;

use crate::Ending;
use crate::args::SearchArgs;
use crate::commands::scope::Scope;
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{Output, Style, print_json};

/// A question longer than this is a mistake, such as a book on standard input.
const LONGEST_QUESTION: u64 = 64 << 10;

#[derive(Serialize)]
struct Document<'a> {
    question: &'a str,
    books: Vec<BookId>,
    hits: Vec<Hit>,
    /// `None` where one book was searched.
    shares: Option<Shares>,
    trace: &'a Trace,
}

pub fn run(context: &mut Context, args: SearchArgs) -> Result<Ending> {
    let question = question(&args.question)?;
    let cut = context.settings.cut(&args.cut)?;
    let models = context.settings.models(&args.models)?;
    let budgets = context.settings.budgets(&args.budgets, &models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let store = context.store()?;
    let scope = Scope::read(context, &store, &recipe, args.scope)?;

    // The model and the index are read from disk at the same time.
    let (models, view) = std::thread::scope(|threads| {
        let view = threads.spawn(|| scope.open(&store, &recipe));
        (
            loader.models(),
            view.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let (view, models) = (view?, models?);
    let found = search(&view, &models, &question, &budgets)?;
    let highlighter = Highlighter::new(&question);
    let hits: Vec<Hit> = (1..)
        .zip(&found.hits)
        .map(|(rank, hit)| Hit::of(&view, &highlighter, rank, hit))
        .collect::<Result<_, _>>()?;

    let shares = Shares::of(&view, &found.trace);

    if args.json {
        let books = view.books().map(|(book, _)| book).collect();
        print_json(&Document {
            question: &question,
            books,
            hits,
            shares,
            trace: &found.trace,
        })?;
    } else {
        print(context.output, &hits, &found, args.explain);
        if let Some(shares) = &shares {
            println!();
            shares::print(shares)?;
        }
        if args.explain {
            println!("\n{}", timings(&found.trace));
        }
    }
    Ok(Ending::Done)
}

pub(super) fn question(given: &str) -> Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut bytes = Vec::new();
    io::stdin()
        .take(LONGEST_QUESTION + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the question")?;
    if bytes.len() as u64 > LONGEST_QUESTION {
        bail!("the question on standard input is longer than {LONGEST_QUESTION} bytes");
    }
    let text = String::from_utf8(bytes).context("the question on standard input is not UTF-8")?;
    Ok(text.trim().to_owned())
}

/// Every book with an artifact under the recipe.
pub(super) fn all_books(store: &Store, recipe: &Recipe) -> Result<Vec<BookId>> {
    let key = recipe.key();
    let mut books = Vec::new();
    let mut other = 0;
    for found in store.artifacts()? {
        let quire_index::Subject::Book(book) = found.key.subject else {
            continue;
        };
        if found.key.recipe == key {
            books.push(book);
        } else {
            other += 1;
        }
    }
    if books.is_empty() && other > 0 {
        bail!(
            "no book is indexed under the current settings (recipe {key}), though {other} \
             artifacts are under others; `quire books` lists them. Use their settings, or run \
             `quire index` again"
        );
    }
    Ok(books)
}

fn print(output: Output, hits: &[Hit], found: &Search, explain: bool) {
    let too_long = found.trace.evidence.too_long.len();
    if hits.is_empty() && too_long > 0 {
        println!(
            "{too_long} passages were found, but none fits {} tokens; raise --evidence-tokens",
            found.trace.fingerprint.budgets.evidence_tokens
        );
    } else if hits.is_empty() {
        println!("nothing found");
    }
    if found.trace.question_truncated {
        println!(
            "{}",
            output.paint(Style::Bad, "the question was longer than the model reads")
        );
    }
    for hit in hits {
        let mut heading = format!("{}. {}", hit.rank, hit.title);
        if let Some(chapter) = &hit.chapter {
            heading += &format!(" | {chapter}");
        }
        println!("\n{}", output.paint(Style::Heading, &heading));
        let id = format!("   {}:{}", hit.chunk.book.short(), hit.chunk.ordinal);
        println!("{}", output.paint(Style::Faint, &id));
        if explain {
            println!("   {}", stages(&hit.stages));
        }
        if hit.truncated.embedding || hit.truncated.rerank {
            let what = "the model read only part of this passage or of the question";
            println!("   {}", output.paint(Style::Bad, what));
        }
        let matches: Vec<_> = hit
            .highlights
            .iter()
            .map(|span| span.start..span.end)
            .collect();
        let text = output.highlight(&hit.text, &matches);
        for line in text.trim().lines() {
            println!("   {line}");
        }
    }
}

pub(super) fn stages(stages: &Stages) -> String {
    let stages = [
        ("bm25", stages.lexical),
        ("dense", stages.dense),
        ("fused", stages.fused),
        ("reranked", stages.reranked),
    ];
    let said = stages.map(|(name, place)| match place {
        Some(place) => format!("{name} #{} {:.4}", place.rank, place.score),
        None => format!("{name} -"),
    });
    said.join(" | ")
}

pub(super) fn timings(trace: &Trace) -> String {
    let mut stages = vec![
        ("bm25", trace.lexical.wall_ms),
        ("embed", trace.embed.wall_ms),
        ("dense", trace.dense.wall_ms),
        ("fuse", trace.fused.wall_ms),
    ];
    if let Some(stage) = &trace.reranked {
        stages.push(match stage.method {
            quire_model::RerankMethod::CrossEncoder => ("cross-encoder", stage.wall_ms),
            quire_model::RerankMethod::LateInteraction => ("late interaction", stage.wall_ms),
            quire_model::RerankMethod::Ensemble => {
                ("cross-encoder and late interaction", stage.wall_ms)
            }
        });
    }
    stages.push(("total", trace.total.wall_ms));
    let said: Vec<String> = stages
        .iter()
        .map(|(name, ms)| format!("{name} {ms:.1} ms"))
        .collect();
    format!("{} | on {}", said.join(" | "), trace.fingerprint.device)
}
