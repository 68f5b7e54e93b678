//! What `quire index` says to people.

use quire_corpus::EncodingHow;
use quire_engine::How;
use quire_indexer::{BookReport, Outcome, SourceReport};

use crate::one_line;
use crate::output::grouped;
use crate::progress::duration;

/// What became of a book, a line or two.
pub(super) fn said_of(report: &BookReport) -> Vec<String> {
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

/// One line about a whole run.
pub(super) fn summarize(reports: &[SourceReport], unreadable: usize, passed_over: usize) {
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
