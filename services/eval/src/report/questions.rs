//! Each question: what was found at every stage, and where it was lost.

use std::collections::BTreeMap;

use quire_engine::Ranked;
use serde::{Deserialize, Serialize};

use super::level::Run;
use super::{STAGES, stage_name};
use crate::run::{Answered, Found, Key, Lost, Usage};
use crate::support::Criterion;

/// Passages shown of each stage.
const SHOWN: usize = 5;
/// Characters shown of a passage.
const BEGINNING: usize = 600;

/// A question and all that was found for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionRow {
    /// The set's name.
    pub set: String,
    /// The question's name in it.
    pub id: String,
    /// The question.
    pub text: String,
    /// The title of its book.
    pub book: String,
    /// Its task, as InfiniteBench names it.
    pub task: String,
    /// Of a multiple choice the options.
    pub options: Vec<String>,
    /// The answers that count as right.
    pub gold: Vec<String>,
    /// Each search for it.
    pub looks: Vec<Look>,
}

/// One search for a question, and what was answered from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// How books are cut.
    pub passages: String,
    /// What was searched: `own book`, or `5 books, seed 1, bundle 2`.
    pub over: String,
    /// By what a passage is told to support the answer; `None` where no
    /// passage does.
    pub criterion: Option<Criterion>,
    /// How many passages support it.
    pub relevant: usize,
    /// By stage.
    pub stages: BTreeMap<String, StageView>,
    /// Where it was lost: in the first way of answering, or before.
    pub lost: Lost,
    /// The answers.
    pub answers: Vec<Told>,
    /// Wall milliseconds of the search.
    pub wall_ms: f64,
}

/// The best of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageView {
    /// The rank, from 1, of the first supporting passage.
    pub first: Option<usize>,
    /// The first passages: their names, and whether they support the answer.
    pub passages: Vec<(String, bool)>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The way of answering, by its place in the run.
    pub arm: usize,
    /// By which seed.
    pub seed: u64,
    /// The answer, or why there is none.
    pub text: Result<String, String>,
    /// Its score, where the set has answers.
    pub score: Option<f64>,
    /// Where the question was lost in this way of answering.
    pub lost: Lost,
    /// The evidence: passages' names, and whether they support the answer.
    pub evidence: Vec<(String, bool)>,
    /// What it took.
    pub usage: Usage,
}

/// The questions, and the beginnings of the passages they show.
pub(super) fn rows<E>(
    data: &Run<'_>,
    mut text: impl FnMut(usize, usize, u32) -> Result<String, E>,
) -> Result<(Vec<QuestionRow>, BTreeMap<String, String>), E> {
    let mut rows: BTreeMap<(usize, usize), QuestionRow> = BTreeMap::new();
    let mut passages = BTreeMap::new();
    let mut answered: BTreeMap<Key, Vec<&Answered>> = BTreeMap::new();
    for one in data.answered {
        answered.entry(one.key).or_default().push(one);
    }
    for found in data.found {
        let Key { set, question, .. } = found.key;
        let row = rows.entry((set, question)).or_insert_with(|| {
            let asked = &data.sets[set].questions[question];
            QuestionRow {
                set: data.sets[set].name.clone(),
                id: asked.id.clone(),
                text: asked.text.clone(),
                book: data.sets[set].books[asked.book].title.clone(),
                task: asked.task.name().to_owned(),
                options: asked.options.clone(),
                gold: asked.gold.texts().to_vec(),
                looks: Vec::new(),
            }
        });
        let answers = answered.remove(&found.key).unwrap_or_default();
        let cut = data.scope(found.key).cut;
        let mut name = |(book, ordinal): (usize, u32)| -> Result<String, E> {
            let name = name(data, cut, book, ordinal);
            if !passages.contains_key(&name) {
                let text: String = text(cut, book, ordinal)?.chars().take(BEGINNING).collect();
                passages.insert(name.clone(), text);
            }
            Ok(name)
        };
        row.looks.push(look(data, found, &answers, &mut name)?);
    }
    Ok((rows.into_values().collect(), passages))
}

/// A passage's name in a report. Books that are cut in several ways have
/// several passages of one number.
pub(super) fn name(data: &Run<'_>, cut: usize, book: usize, ordinal: u32) -> String {
    let entry = &data.run.books[book];
    let given = entry
        .passages
        .as_ref()
        .and_then(|names| names.get(ordinal as usize));
    match given {
        Some(name) => name.clone(),
        None if data.run.cuts.len() > 1 => {
            format!("{}:{ordinal} ({})", entry.id.short(), data.run.cuts[cut])
        }
        None => format!("{}:{ordinal}", entry.id.short()),
    }
}

fn look<E>(
    data: &Run<'_>,
    found: &Found,
    answers: &[&Answered],
    name: &mut impl FnMut((usize, u32)) -> Result<String, E>,
) -> Result<Look, E> {
    let scope = data.scope(found.key);
    let criterion = found.best_criterion();
    let relevant = criterion
        .and_then(|by| found.relevant(by))
        .unwrap_or_default();
    let mut told = |places: &[(usize, u32)]| -> Result<Vec<(String, bool)>, E> {
        let places = places.iter();
        let named = places.map(|&place| Ok((name(place)?, relevant.contains_key(&place))));
        named.collect()
    };
    let mut stages = BTreeMap::new();
    for stage in STAGES {
        if stage == Ranked::Reranked && found.reranked.is_empty() {
            continue;
        }
        let list = found.ranked(stage);
        let first = list.iter().position(|place| relevant.contains_key(place));
        let view = StageView {
            first: first.map(|at| at + 1),
            passages: told(&list[..list.len().min(SHOWN)])?,
        };
        stages.insert(stage_name(stage).to_owned(), view);
    }
    let mut answers_told = Vec::with_capacity(answers.len());
    for answered in answers {
        answers_told.push(Told {
            arm: answered.arm,
            seed: answered.seed,
            text: answered.answer.clone().ok_or_else(|| {
                let failure = answered.failure.clone();
                failure.unwrap_or_else(|| "no answer".to_owned())
            }),
            score: answered.score,
            lost: found.lost(&answered.evidence, answered.score),
            evidence: told(&answered.evidence)?,
            usage: answered.usage.clone(),
        });
    }
    let lost = match answers_told.first() {
        Some(first) => first.lost,
        None => {
            let shown = data.run.evidence_passages();
            let list = found.ranked(Ranked::Reranked);
            found.lost(&list[..list.len().min(shown)], None)
        }
    };
    Ok(Look {
        passages: data.run.cuts[scope.cut].clone(),
        over: match (scope.seed, scope.bundle) {
            (Some(seed), Some(bundle)) => {
                format!("{}, seed {seed}, bundle {}", scope.over, bundle + 1)
            }
            _ => scope.over.clone(),
        },
        criterion,
        relevant: relevant.len(),
        stages,
        lost,
        answers: answers_told,
        wall_ms: found.wall_ms.get("total").copied().unwrap_or_default(),
    })
}
