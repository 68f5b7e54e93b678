//! A report in the terminal, and `quire eval report`.

use std::fs;

use anyhow::{Context as _, Result};
use quire_eval::report::{Estimate, Level, Report};

use super::run::folder;
use crate::Ending;
use crate::args::EvalReportArgs;
use crate::output::{grouped, print_json, print_table};
use crate::progress::duration;

pub fn run(args: &EvalReportArgs) -> Result<Ending> {
    let path = folder(&args.run)?.join("report.json");
    let json = fs::read(&path).with_context(|| {
        let path = path.display();
        format!("cannot read {path}; the run is not at its end: give its command again")
    })?;
    let report: Report = serde_json::from_slice(&json)
        .with_context(|| format!("{} is not a report of this version", path.display()))?;
    print(&report, args.json)?;
    Ok(Ending::Done)
}

pub fn print(report: &Report, json: bool) -> Result<()> {
    if json {
        return print_json(report);
    }
    for set in &report.run.identity.sets {
        println!("{set}");
    }
    retrieval(report)?;
    steps(report)?;
    routing(report)?;
    answers(report)?;
    cost(report)
}

/// What the rows of a table are about.
fn heading(what: &str, level: &Level) {
    let Level {
        set,
        passages,
        over,
    } = level;
    println!("\n{what}: {set}, over {over}, passages: {passages}");
}

fn measured(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(
        || "-".to_owned(),
        |estimate| format!("{:.4}", estimate.mean),
    )
}

fn with_error(estimate: Option<&Estimate>) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate {
            mean,
            standard_error: Some(error),
            ..
        }) => format!("{mean:.3} ± {error:.3}"),
        Some(estimate) => format!("{:.3}", estimate.mean),
    }
}

fn retrieval(report: &Report) -> Result<()> {
    const SHOWN: [&str; 7] = [
        "hit@1",
        "hit@5",
        "hit@10",
        "mrr@10",
        "ndcg@10",
        "recall@20",
        "map@100",
    ];
    let mut rest = &report.retrieval[..];
    while let Some(first) = rest.first() {
        let same = rest
            .iter()
            .take_while(|row| (&row.level, row.criterion) == (&first.level, first.criterion));
        let (rows, after) = rest.split_at(same.count());
        rest = after;
        heading("retrieval", &first.level);
        let (questions, asked) = (first.questions, first.asked);
        println!(
            "{questions} of {asked} questions, passages {}",
            words(first.criterion.name())
        );
        let rows = rows.iter().map(|row| {
            let values = SHOWN.map(|name| measured(row.measures.get(name)));
            [vec![row.stage.clone()], values.to_vec()].concat()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        print_table(&[&["stage"], &SHOWN[..]].concat(), &rows)?;
    }
    Ok(())
}

/// What a criterion says of a passage.
fn words(criterion: &str) -> &'static str {
    match criterion {
        "judged" => "judged by the set",
        "quoted" => "that hold quoted evidence",
        "answer_text" => "that hold an answer's text",
        _ => "that hold an answer's words",
    }
}

fn steps(report: &Report) -> Result<()> {
    if report.steps.is_empty() {
        return Ok(());
    }
    println!("\nwhat each stage is worth, in MRR@10");
    let rows = report.steps.iter().map(|row| {
        let difference = &row.difference;
        vec![
            row.level.set.clone(),
            row.level.over.clone(),
            row.level.passages.clone(),
            row.criterion.to_string(),
            format!("{} -> {}", row.from, row.to),
            format!("{:+.4}", difference.mean),
            format!("{:+.4} .. {:+.4}", difference.low, difference.high),
            format!("{:.4}", difference.p),
            format!("{}/{}", difference.better, difference.worse),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "set",
        "over",
        "passages",
        "by",
        "step",
        "gain",
        "95 % interval",
        "p",
        "better/worse",
    ];
    print_table(&header, &rows)
}

fn routing(report: &Report) -> Result<()> {
    if report.routing.is_empty() {
        return Ok(());
    }
    println!("\nfrom the right book");
    let rows = report.routing.iter().map(|row| {
        let value = |name: &str| with_error(row.measures.get(name));
        vec![
            row.level.set.clone(),
            row.level.over.clone(),
            row.level.passages.clone(),
            row.stage.clone(),
            value("share@5"),
            value("share@10"),
            value("book_first"),
            value("book_mrr"),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "set",
        "over",
        "passages",
        "stage",
        "share of 5",
        "share of 10",
        "book first",
        "book MRR",
    ];
    print_table(&header, &rows)
}

fn answers(report: &Report) -> Result<()> {
    if report.answers.is_empty() {
        return Ok(());
    }
    let model = report.run.identity.answer_model.as_ref();
    println!(
        "\nanswers by {}",
        model.map_or("nobody", |model| &model.name)
    );
    let rows = report.answers.iter().map(|row| {
        let seeds = match row.over_seeds {
            Some((mean, Some(deviation))) => format!("{mean:.3} ± {deviation:.3}"),
            _ => "-".to_owned(),
        };
        let recall = row.evidence_recall.values().next();
        vec![
            row.level.set.clone(),
            row.level.over.clone(),
            row.level.passages.clone(),
            row.task.clone(),
            row.arm.to_string(),
            row.answers.to_string(),
            with_error(row.score.as_ref()),
            seeds,
            row.failed.to_string(),
            measured(recall),
            format!("{:.0}", row.tokens.evidence),
            format!("{:.0}", row.wall_ms.p50),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "set",
        "over",
        "passages",
        "task",
        "way",
        "answers",
        "score ± s.e.",
        "seeds ± s.d.",
        "failed",
        "evidence recall",
        "evidence tokens",
        "median ms",
    ];
    print_table(&header, &rows)
}

/// What it took: indexing once, apart from each search.
fn cost(report: &Report) -> Result<()> {
    println!("\nindexing, once");
    for row in &report.indexing {
        println!(
            "{}: {} books, {} passages, {} tokens, {:.1} MB, built in {}",
            row.passages,
            row.books,
            grouped(row.count),
            grouped(row.tokens),
            row.bytes as f64 / 1e6,
            duration(row.seconds),
        );
    }
    println!("\nmilliseconds of a search");
    let totals = report.latency.iter().filter(|row| row.stage == "total");
    let rows = totals.map(|row| {
        let quantiles = &row.wall_ms;
        let values = [quantiles.p50, quantiles.p95, quantiles.p99];
        let values = values.map(|value| format!("{value:.1}"));
        let names = [&row.level.set, &row.level.over, &row.level.passages];
        [names.map(String::clone).to_vec(), values.to_vec()].concat()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    print_table(&["set", "over", "passages", "p50", "p95", "p99"], &rows)?;
    for row in &report.answers {
        if let Some((amount, currency)) = &row.cost {
            println!("{}, {}: {amount:.4} {currency}", row.level.set, row.arm);
        }
    }
    Ok(())
}
