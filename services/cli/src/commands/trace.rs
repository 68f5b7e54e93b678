//! `quire trace show` and `quire trace replay`

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use quire_corpus::{BookId, ChunkId};
use quire_engine::{AnswerTrace, Budgets, ModelSource, Scored, Trace, View, search, title_of};
use quire_index::Store;
use quire_traces::{Comparison, TraceId, TraceReader, TraceRecord, compare};
use serde::Serialize;

use crate::Ending;
use crate::args::{TraceReplayArgs, TraceShowArgs};
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{Style, print_json, print_table, printable_line};

/// The trace log's folder within the data folder.
pub const FOLDER: &str = "traces";

pub fn show(context: &Context, args: TraceShowArgs) -> Result<Ending> {
    let record = find(context, &args.id)?;
    if args.json {
        print_json(&record)?;
        return Ok(Ending::Done);
    }
    let trace = &record.trace;
    let question = printable_line(&trace.question);
    println!("{}", context.output.paint(Style::Heading, &question));
    println!(
        "{} | {} | recipe {}",
        record.id, record.time, trace.fingerprint.recipe
    );
    let titles = titles(&context.store()?, &record.books);
    for &book in &record.books {
        let title = titles.get(&book).map_or("(not indexed)", String::as_str);
        println!("{} {}", book.short(), printable_line(title));
    }
    println!();
    let mut table = Vec::new();
    for (rank, row) in rows(trace, args.top) {
        let place = |hit: Option<&Scored>| match hit {
            Some(hit) => format!("{} {:.4}", short(hit.chunk), hit.score),
            None => String::new(),
        };
        let mut cells = vec![rank.to_string()];
        cells.extend(row.map(place));
        table.push(cells);
    }
    print_table(&["rank", "bm25", "dense", "fused", "reranked"], &table)?;
    if let Some(stage) = &trace.reranked
        && stage.hits.len() < stage.wanted
    {
        println!(
            "\nthe time for reranking ended after {} of {} candidates",
            stage.hits.len(),
            stage.wanted
        );
    }
    let evidence: Vec<String> = trace.evidence.chunks.iter().map(|&c| short(c)).collect();
    println!(
        "\nevidence: {} ({} tokens)",
        evidence.join(", "),
        trace.evidence.tokens
    );
    println!("{}", super::search::timings(trace));
    if let Some(answer) = &record.answer {
        print_answer(answer);
    }
    Ok(Ending::Done)
}

fn print_answer(answer: &AnswerTrace) {
    let model = match &answer.model.host {
        Some(host) => format!("{} at {host}", answer.model.name),
        None => answer.model.name.clone(),
    };
    println!("\nasked: {}", printable_line(&model));
    if let Some(prompt) = &answer.prompt {
        println!(
            "prompt: {} version {} ({} tokens), sha256 {}",
            prompt.name, prompt.version, prompt.tokens, prompt.rendered
        );
    }
    for (number, item) in (1..).zip(&answer.evidence.items) {
        println!("[{number}] {}", printable_line(&item.label));
    }
    for left_out in &answer.evidence.left_out {
        println!("left out {}: {}", short(left_out.chunk), left_out.reason);
    }
    let outcome = &answer.outcome;
    match (&outcome.text, &outcome.failure) {
        (Some(text), _) => println!("answer: {}", printable_line(text)),
        (None, failure) => println!(
            "no answer: {}",
            printable_line(failure.as_deref().unwrap_or("not said why"))
        ),
    }
    if !outcome.raw.is_empty() {
        let raw: Vec<&str> = outcome.raw.split_whitespace().collect();
        println!("as received: {}", printable_line(&raw.join(" ")));
    }
    println!(
        "evidence {:.1} ms | answer {:.1} ms",
        answer.assemble.wall_ms, answer.answer.wall_ms
    );
}

#[derive(Serialize)]
struct ReplayDocument<'a> {
    id: TraceId,
    identical: bool,
    comparison: &'a Comparison,
    again: &'a Trace,
}

pub fn replay(context: &mut Context, args: TraceReplayArgs) -> Result<Ending> {
    let record = find(context, &args.id)?;
    let cut = context.settings.cut(&args.cut)?;
    let models = context.settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let recorded = &record.trace;
    if recipe.key().to_string() != recorded.fingerprint.recipe {
        bail!(
            "trace {} was made under recipe {}, the current settings make {}: give the profile, \
             precision and passage length it was made with",
            record.id,
            recorded.fingerprint.recipe,
            recipe.key()
        );
    }
    let store = context.store()?;
    let view = View::open_recorded(&store, &record.books, &recipe, &recorded.fingerprint)?;
    let again = search_again(&view, &loader, recorded)?;
    let comparison = compare(recorded, &again);
    let identical = comparison.is_identical();
    if args.json {
        print_json(&ReplayDocument {
            id: record.id,
            identical,
            comparison: &comparison,
            again: &again,
        })?;
    } else {
        print_comparison(context, &comparison);
    }
    Ok(if identical {
        Ending::Done
    } else {
        Ending::Partly
    })
}

/// Asks the recorded question again. A query that ran out of time is asked to
/// rerank as many as it had reranked.
fn search_again(view: &View, loader: &Loader, recorded: &Trace) -> Result<Trace> {
    let asked = &recorded.fingerprint.budgets;
    let reached = recorded.reranked.as_ref().map(|stage| stage.hits.len());
    let ended_early = recorded
        .reranked
        .as_ref()
        .is_some_and(|stage| stage.hits.len() < stage.wanted);
    let budgets = Budgets {
        rerank: if ended_early {
            reached.unwrap_or(0)
        } else {
            asked.rerank
        },
        ..asked.clone()
    };
    let mut again = search(view, &loader.models()?, &recorded.question, &budgets)?.trace;
    if ended_early {
        again.fingerprint.budgets = asked.clone();
        match (&mut again.reranked, &recorded.reranked) {
            (Some(again), Some(recorded)) => again.wanted = recorded.wanted,
            // Not one candidate was reranked in time.
            (none, Some(recorded)) => *none = Some(recorded.clone()),
            _ => {}
        }
    }
    Ok(again)
}

fn print_comparison(context: &Context, comparison: &Comparison) {
    let output = context.output;
    let nothing = || "nothing".to_owned();
    for field in &comparison.fingerprint {
        let was = field.recorded.clone().unwrap_or_else(nothing);
        let is = field.again.clone().unwrap_or_else(nothing);
        println!("{} was {was} and is {is}", field.field);
    }
    for stage in &comparison.stages {
        let said = match &stage.difference {
            None => output.paint(Style::Good, "identical"),
            Some(found) => {
                let at = found
                    .rank
                    .map_or(String::new(), |rank| format!(" at rank {rank}"));
                let was = found.recorded.clone().unwrap_or_else(nothing);
                let is = found.again.clone().unwrap_or_else(nothing);
                let said = format!("{}{at} was {was} and is {is}", found.what);
                output.paint(Style::Bad, &printable_line(&said))
            }
        };
        println!("{:9} {said}", stage.stage);
    }
    println!(
        "{}",
        if comparison.is_identical() {
            "every id and score is identical"
        } else {
            "not identical"
        }
    );
}

fn find(context: &Context, id: &str) -> Result<TraceRecord> {
    let folder = context.data().join(FOLDER);
    let found = TraceReader::open(&folder).get(&id.parse::<TraceId>()?)?;
    found.ok_or_else(|| {
        anyhow!(
            "there is no trace {id} in {}: it was made in another data folder, or removed to make \
             room for newer ones",
            folder.display()
        )
    })
}

/// Titles of those books that are still indexed.
fn titles(store: &Store, books: &[BookId]) -> BTreeMap<BookId, String> {
    let mut titles = BTreeMap::new();
    for found in store.artifacts().into_iter().flatten() {
        if let (quire_index::Subject::Book(book), Ok(artifact)) =
            (found.key.subject, found.artifact)
            && books.contains(&book)
        {
            titles.insert(book, title_of(&artifact));
        }
    }
    titles
}

/// The first `top` ranks of each stage, side by side.
fn rows(trace: &Trace, top: usize) -> impl Iterator<Item = (usize, [Option<&Scored>; 4])> {
    let reranked = trace.reranked.as_ref().map_or(&[][..], |stage| &stage.hits);
    let stages = [
        trace.lexical.hits.as_slice(),
        trace.dense.hits.as_slice(),
        trace.fused.hits.as_slice(),
        reranked,
    ];
    let longest = stages.iter().map(|hits| hits.len()).max().unwrap_or(0);
    (0..longest.min(top)).map(move |at| (at + 1, stages.map(|hits| hits.get(at))))
}

fn short(chunk: ChunkId) -> String {
    format!("{}:{}", chunk.book.short(), chunk.ordinal)
}
