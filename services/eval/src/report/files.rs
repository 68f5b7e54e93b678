//! Files beside a report: TREC runs and judgements, and every question's
//! measures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quire_engine::Ranked;
use serde::Serialize;

use super::level::{Level, Run};
use super::{STAGES, questions, stage_name};
use crate::measures::Measure;
use crate::run::{Answered, Found, RunFile};
use crate::set::EvalSet;
use crate::support::Criterion;

/// A file: its name below the run's folder, and what is in it.
pub struct RunOutput {
    /// Its name, with `/` between folder and file.
    pub name: String,
    /// Its content.
    pub content: String,
}

/// One question's measures at one stage: a line of `measures.jsonl`.
#[derive(Serialize)]
struct Measured<'a> {
    question: &'a str,
    #[serde(flatten)]
    level: &'a Level,
    seed: Option<u64>,
    bundle: Option<usize>,
    criterion: Criterion,
    stage: &'static str,
    measures: BTreeMap<String, f64>,
}

/// `trec/LEVEL.STAGE.run` and `trec/LEVEL.CRITERION.qrels` in the forms of
/// trec_eval, and `measures.jsonl`.
///
/// A run's score is the number of passages from there to the end of the list,
/// not the stage's own: trec_eval sorts by the score, in 32 bits, and breaks
/// ties its own way, which would not be the ranking that was measured. Names
/// have `_` for white space. Questions that were asked over several bundles
/// are named `ID@SEED.BUNDLE`.
pub fn files(
    run: &RunFile,
    sets: &[EvalSet],
    found: &[Found],
    answered: &[Answered],
) -> Vec<RunOutput> {
    let data = Run {
        run,
        sets,
        found,
        answered,
    };
    let mut files = Vec::new();
    let mut measured = String::new();
    for (level, found) in data.by_level() {
        let stem = [&level.set, &level.passages, &level.over].map(|part| bare(part));
        let stem = format!("trec/{}", stem.join("."));
        for stage in STAGES {
            if stage == Ranked::Reranked && found.iter().all(|f| f.reranked.is_empty()) {
                continue;
            }
            files.push(RunOutput {
                name: format!("{stem}.{}.run", stage_name(stage)),
                content: found.iter().map(|f| lines(&data, f, stage)).collect(),
            });
        }
        let mut criteria: BTreeMap<Criterion, String> = BTreeMap::new();
        for found in &found {
            let query = query(&data, found);
            for (&criterion, passages) in &found.support {
                let content = criteria.entry(criterion).or_default();
                for &(book, ordinal, grade) in passages {
                    let document = document(&data, found, book, ordinal);
                    let _ = writeln!(content, "{query} 0 {document} {grade}");
                }
            }
            measures(&data, &level, found, &mut measured);
        }
        for (criterion, content) in criteria {
            files.push(RunOutput {
                name: format!("{stem}.{criterion}.qrels"),
                content,
            });
        }
    }
    files.push(RunOutput {
        name: "measures.jsonl".to_owned(),
        content: measured,
    });
    files
}

fn lines(data: &Run<'_>, found: &Found, stage: Ranked) -> String {
    let query = query(data, found);
    let list = found.ranked(stage);
    let mut lines = String::new();
    for (at, &(book, ordinal)) in list.iter().enumerate() {
        let document = document(data, found, book, ordinal);
        let (rank, score) = (at + 1, list.len() - at);
        let stage = stage_name(stage);
        let _ = writeln!(lines, "{query} Q0 {document} {rank} {score} quire-{stage}");
    }
    lines
}

fn measures(data: &Run<'_>, level: &Level, found: &Found, out: &mut String) {
    let question = &data.sets[found.key.set].questions[found.key.question];
    let scope = data.scope(found.key);
    for &criterion in found.support.keys() {
        let Some(relevant) = found.relevant(criterion) else {
            continue;
        };
        for stage in STAGES {
            if stage == Ranked::Reranked && found.reranked.is_empty() {
                continue;
            }
            let list = found.ranked(stage);
            let values = Measure::all();
            let line = Measured {
                question: &question.id,
                level,
                seed: scope.seed,
                bundle: scope.bundle,
                criterion,
                stage: stage_name(stage),
                measures: values
                    .map(|measure| (measure.to_string(), measure.of(&list, &relevant)))
                    .collect(),
            };
            let json = serde_json::to_string(&line).expect("measures are plain data");
            let _ = writeln!(out, "{json}");
        }
    }
}

fn query(data: &Run<'_>, found: &Found) -> String {
    let id = bare(&data.sets[found.key.set].questions[found.key.question].id);
    let scope = data.scope(found.key);
    match (scope.seed, scope.bundle) {
        (Some(seed), Some(bundle)) => format!("{id}@{seed}.{bundle}"),
        _ => id,
    }
}

fn document(data: &Run<'_>, found: &Found, book: usize, ordinal: u32) -> String {
    bare(&questions::name(
        data,
        data.scope(found.key).cut,
        book,
        ordinal,
    ))
}

/// Without white space and path separators.
fn bare(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            c if c.is_whitespace() || c == '/' || c == '\\' => '_',
            c => c,
        })
        .collect()
}
