//! Quality by stage, and what each stage is worth.

use std::collections::BTreeMap;

use quire_engine::Ranked;
use serde::{Deserialize, Serialize};

use super::level::{Estimate, Level, Run};
use super::{STAGES, stage_name};
use crate::measures::{Kind, Measure};
use crate::run::{Found, Key};
use crate::statistics::{Difference, mean};
use crate::support::Criterion;

/// The measures of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievalRow {
    /// Of which questions.
    #[serde(flatten)]
    pub level: Level,
    /// By what a passage is told to support the answer.
    pub criterion: Criterion,
    /// The stage: `bm25`, `dense`, `fused`, `reranked`.
    pub stage: String,
    /// Questions measured: those to which the criterion applies, and that some
    /// passage supports.
    pub questions: usize,
    /// Questions asked.
    pub asked: usize,
    /// By name: `hit@5`, `recall@5`, `mrr@10`, `ndcg@10`, `map@100`.
    pub measures: BTreeMap<String, Estimate>,
}

/// What a stage is worth beside the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// Of which questions.
    #[serde(flatten)]
    pub level: Level,
    /// By what a passage is told to support the answer.
    pub criterion: Criterion,
    /// The measure.
    pub measure: String,
    /// The stage before: of fusion, the better one of its two.
    pub from: String,
    /// The stage.
    pub to: String,
    /// What it gains.
    pub difference: Difference,
}

/// By what steps are told.
const STEP: Measure = Measure::at(Kind::Mrr, 10);

/// One list's value, where the criterion applies and something is relevant.
fn value(found: &Found, criterion: Criterion, stage: Ranked, measure: Measure) -> Option<f64> {
    let relevant = found.relevant(criterion)?;
    Some(measure.of(&found.ranked(stage), &relevant))
}

/// The criteria of some searches.
fn criteria(found: &[&Found]) -> Vec<Criterion> {
    let mut criteria: Vec<Criterion> = found
        .iter()
        .flat_map(|found| found.support.keys().copied())
        .collect();
    criteria.sort_unstable();
    criteria.dedup();
    criteria
}

pub(super) fn rows(data: &Run<'_>) -> Vec<RetrievalRow> {
    let mut rows = Vec::new();
    for (level, found) in data.by_level() {
        for criterion in criteria(&found) {
            for stage in STAGES {
                if stage == Ranked::Reranked && found.iter().all(|f| f.reranked.is_empty()) {
                    continue;
                }
                // Once a question, not once a measure.
                let judged: Vec<_> = found
                    .iter()
                    .filter_map(|found| {
                        let relevant = found.relevant(criterion)?;
                        Some((found.key, found.ranked(stage), relevant))
                    })
                    .collect();
                let measures = Measure::all().filter_map(|measure| {
                    let values = judged.iter();
                    let values =
                        values.map(|(key, list, relevant)| (*key, measure.of(list, relevant)));
                    Some((measure.to_string(), data.estimate_of(values)?))
                });
                let measures: BTreeMap<_, _> = measures.collect();
                if !judged.is_empty() {
                    rows.push(RetrievalRow {
                        level: level.clone(),
                        criterion,
                        stage: stage_name(stage).to_owned(),
                        questions: judged.len(),
                        asked: found.len(),
                        measures,
                    });
                }
            }
        }
    }
    rows
}

pub(super) fn steps(data: &Run<'_>) -> Vec<StepRow> {
    let mut rows = Vec::new();
    for (level, found) in data.by_level() {
        for criterion in criteria(&found) {
            let of = |stage| by_question(&found, |found| value(found, criterion, stage, STEP));
            let [lexical, dense, fused, reranked] = STAGES.map(of);
            let Some((lexical_mean, dense_mean)) = mean(&lexical).zip(mean(&dense)) else {
                continue;
            };
            let better = match lexical_mean >= dense_mean {
                true => (Ranked::Lexical, lexical),
                false => (Ranked::Dense, dense),
            };
            let mut steps = vec![(better, (Ranked::Fused, fused.clone()))];
            if found.iter().any(|found| !found.reranked.is_empty()) {
                steps.push(((Ranked::Fused, fused), (Ranked::Reranked, reranked)));
            }
            for ((from, before), (to, after)) in steps {
                let Ok(Some(difference)) = Difference::of(&before, &after) else {
                    continue;
                };
                rows.push(StepRow {
                    level: level.clone(),
                    criterion,
                    measure: STEP.to_string(),
                    from: stage_name(from).to_owned(),
                    to: stage_name(to).to_owned(),
                    difference,
                });
            }
        }
    }
    rows
}

/// One value a question, the mean of those in several scopes: asked twice, it
/// is still one question.
fn by_question(found: &[&Found], value: impl Fn(&Found) -> Option<f64>) -> Vec<f64> {
    let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for found in found {
        let Key { set, question, .. } = found.key;
        if let Some(value) = value(found) {
            values.entry((set, question)).or_default().push(value);
        }
    }
    values.values().filter_map(|values| mean(values)).collect()
}
