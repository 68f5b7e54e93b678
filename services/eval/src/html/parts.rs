//! Tables and lists of the page.

use quire_pages::{Cell, cell, count, escape, number, table, unwanted};

use crate::report::{Estimate, Level, Report};

/// The figures one looks for first.
pub(super) fn tiles(report: &Report) -> String {
    let mut tiles: Vec<(String, String, String)> = Vec::new();
    for row in &report.answers {
        if let Some(score) = row.score {
            tiles.push((
                format!("{}, {}", row.level.set, row.level.over),
                value(Some(&score)),
                format!("{}, {}", row.task, row.arm),
            ));
        }
    }
    if tiles.is_empty() {
        let last = report
            .retrieval
            .iter()
            .filter(|row| row.stage == "reranked");
        for row in last {
            tiles.push((
                format!("{}, {}", row.level.set, row.level.over),
                value(row.measures.get("mrr@10")),
                format!("MRR@10, reranked, by {}", row.criterion),
            ));
        }
    }
    const MOST: usize = 8;
    let shown = tiles.iter().take(MOST).map(|(name, value, note)| {
        format!(
            "<div><dt>{}</dt><dd>{} <small>{}</small></dd></div>\n",
            escape(name),
            escape(value),
            escape(note)
        )
    });
    format!("<dl class=\"tiles\">\n{}</dl>\n", shown.collect::<String>())
}

fn value(estimate: Option<&Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate {
            mean,
            standard_error: Some(error),
            ..
        }) => format!("{mean:.3} ± {error:.3}"),
        Some(of) => format!("{:.3}", of.mean),
    }
}

fn level(level: &Level) -> Cell {
    cell(format!("{}, {}, {}", level.set, level.over, level.passages))
}

fn section(id: &str, heading: &str, note: &str, content: &str) -> String {
    format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n<p>{note}</p>\n\
         {content}</section>\n"
    )
}

/// What each stage is worth.
pub(super) fn steps(report: &Report) -> String {
    if report.steps.is_empty() {
        return String::new();
    }
    let rows = report.steps.iter().map(|row| {
        let of = &row.difference;
        vec![
            level(&row.level),
            cell(row.criterion.to_string()),
            cell(format!("{} → {}", row.from, row.to)),
            cell(format!("{:+.4}", of.mean)),
            cell(format!("{:+.4} … {:+.4}", of.low, of.high)),
            cell(format!("{:.4}", of.p)),
            cell(of.better.to_string()),
            cell(of.worse.to_string()),
        ]
    });
    let header = [
        "set, searched, passages",
        "by",
        "step",
        "gain",
        "95 % interval",
        "p",
        "better",
        "worse",
    ];
    section(
        "steps",
        "What each stage is worth",
        "Gain in MRR@10, question by question: fusion beside the better of its two retrievers, \
         the reranked list beside fusion. The interval is a bootstrap's, p Fisher's paired \
         randomization test.",
        &table(&header, rows.collect()),
    )
}

/// Whether the right book is found.
pub(super) fn routing(report: &Report) -> String {
    if report.routing.is_empty() {
        return String::new();
    }
    let rows = report.routing.iter().map(|row| {
        let of = |name: &str| cell(value(row.measures.get(name)));
        vec![
            level(&row.level),
            cell(row.stage.clone()),
            of("share@5"),
            of("share@10"),
            of("book_first"),
            of("book_mrr"),
        ]
    });
    let header = [
        "set, searched, passages",
        "stage",
        "share of 5",
        "share of 10",
        "book first",
        "book MRR",
    ];
    section(
        "routing",
        "From the right book",
        "Share of the first passages that are from the book a question is about, how often that \
         book is the first, and its mean reciprocal rank among the books.",
        &table(&header, rows.collect()),
    )
}

/// The answers' scores, and what they took.
pub(super) fn answers(report: &Report) -> String {
    if report.answers.is_empty() {
        return String::new();
    }
    let rows = report.answers.iter().map(|row| {
        let tokens = |tokens: Option<f64>| cell(tokens.map_or_else(|| "–".to_owned(), number));
        let seeds = match row.over_seeds {
            Some((mean, Some(deviation))) => format!("{mean:.3} ± {deviation:.3}"),
            _ => "–".to_owned(),
        };
        vec![
            level(&row.level),
            cell(row.task.clone()),
            cell(row.arm.to_string()),
            cell(row.answers.to_string()),
            cell(value(row.score.as_ref())),
            cell(seeds),
            unwanted(row.failed as u64),
            cell(value(row.evidence_recall.values().next())),
            tokens(Some(row.tokens.evidence)),
            tokens(row.tokens.prompt),
            tokens(row.tokens.completion),
            cell(number(row.wall_ms.p50)),
        ]
    });
    let header = [
        "set, searched, passages",
        "task",
        "way",
        "answers",
        "score ± s.e.",
        "seeds ± s.d.",
        "failed",
        "evidence recall",
        "evidence tokens",
        "prompt tokens",
        "completion tokens",
        "median ms",
    ];
    let model = report.run.identity.answer_model.as_ref();
    let model = model.map_or("nobody", |model| &model.name);
    section(
        "answers",
        "Answers",
        &format!(
            "By {}, scored as InfiniteBench scores them: accuracy of choices, F1 of free answers. \
             Tokens are means of a question.",
            escape(model)
        ),
        &table(&header, rows.collect()),
    )
}

/// What indexing took, once.
pub(super) fn indexing(report: &Report) -> String {
    let rows = report.indexing.iter().map(|row| {
        vec![
            cell(row.passages.clone()),
            cell(count(row.books as u64)),
            cell(count(row.count)),
            cell(count(row.tokens)),
            cell(number(row.bytes as f64 / 1e6)),
            cell(number(row.seconds)),
        ]
    });
    let header = ["passages", "books", "count", "tokens", "MB", "seconds"];
    section(
        "indexing",
        "Indexing, once",
        "What building the indexes took, whenever that was; no query waits for it.",
        &table(&header, rows.collect()),
    )
}

/// What is needed to measure it again.
pub(super) fn conditions(report: &Report) -> String {
    let run = &report.run;
    let code = |text: &str| format!("<code>{}</code>", escape(text));
    let mut facts: Vec<(String, String)> = vec![
        ("Command".to_owned(), code(&run.command.join(" "))),
        ("Run".to_owned(), code(&run.id)),
    ];
    for set in &run.identity.sets {
        let what = escape(&set.to_string());
        facts.push((
            "Set".to_owned(),
            format!("{what}; SHA-256 {}", code(&set.digest)),
        ));
    }
    for (cut, search) in &run.identity.search {
        let json = serde_json::to_string(search).unwrap_or_default();
        facts.push((format!("Search, passages: {cut}"), code(&json)));
    }
    if let Some(model) = &run.identity.answer_model {
        let json = serde_json::to_string(model).unwrap_or_default();
        facts.push(("Answer model".to_owned(), code(&json)));
    }
    for (name, digest) in &run.identity.prompts {
        facts.push((format!("Prompt {name}"), code(digest)));
    }
    let seeds: Vec<String> = run.identity.seeds.iter().map(ToString::to_string).collect();
    facts.push(("Seeds".to_owned(), seeds.join(", ")));
    let machine = &run.machine;
    facts.push((
        "Machine".to_owned(),
        escape(&format!(
            "{}, {} cores, {}",
            machine.cpu, machine.cores, machine.os
        )),
    ));
    facts.push((
        "Time".to_owned(),
        escape(&format!("{} to {}", run.started, report.finished)),
    ));
    let facts = facts
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{value}</dd>\n", escape(name)));
    section(
        "conditions",
        "Conditions",
        "All that decides these figures; the same run gives the same ones, but for times.",
        &format!("<dl class=\"facts\">\n{}</dl>\n", facts.collect::<String>()),
    )
}
