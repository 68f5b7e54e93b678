//! Quality of answers, their tokens, cost and time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::level::{Estimate, Level, Run, grouped};
use crate::run::{Answered, Arm, Key};
use crate::statistics::{mean, standard_deviation};
use crate::support::Criterion;

/// The answers to a task's questions, in one way of answering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRow {
    /// Of which questions.
    #[serde(flatten)]
    pub level: Level,
    /// The task, as InfiniteBench names it: it decides the score.
    pub task: String,
    /// The way of answering.
    pub arm: Arm,
    /// Answers, over all seeds and scopes.
    pub answers: usize,
    /// Accuracy of a choice, F1 of a free answer; over questions (each the
    /// mean of its seeds), or over bundles. `None` where the set has no
    /// answers.
    pub score: Option<Estimate>,
    /// Mean and sample standard deviation of the seeds' means; the deviation
    /// is `None` for a single seed.
    pub over_seeds: Option<(f64, Option<f64>)>,
    /// Questions that the model gave no answer to.
    pub failed: usize,
    /// Answers that the model holds unsupported.
    pub unsupported: usize,
    /// By criterion, of the questions that some passage supports, the share
    /// whose evidence holds one.
    pub evidence_recall: BTreeMap<Criterion, Estimate>,
    /// Tokens.
    pub tokens: Tokens,
    /// What all answers cost, where prices are known, and in which currency.
    pub cost: Option<(f64, String)>,
    /// Wall milliseconds of the answer model.
    pub wall_ms: Quantiles,
}

/// Tokens, means of a question.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Of the evidence with its labels, by the embedder's tokenizer.
    pub evidence: f64,
    /// Of the prompt, as the answer model's server counted: an upper bound of
    /// what is paid for, since some may be cached there.
    pub prompt: Option<f64>,
    /// Of the completion, likewise.
    pub completion: Option<f64>,
}

/// Some of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The value below which nine in ten lie.
    pub p90: f64,
    /// The value below which 95 in a hundred lie.
    pub p95: f64,
    /// The value below which 99 in a hundred lie.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// Of some values: each quantile the smallest of them that enough lie at or
    /// below. `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
            sorted.get(rank - 1).copied()
        };
        Some(Self {
            mean: mean(values)?,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

pub(super) fn rows(data: &Run<'_>) -> Vec<AnswerRow> {
    let task_of = |key: Key| data.sets[key.set].questions[key.question].task.name();
    let groups = grouped(data.answered, |answered| {
        (
            data.level(answered.key),
            task_of(answered.key),
            answered.arm,
        )
    });
    let rows = groups.into_iter().map(|((level, task, arm), answered)| {
        let mean_of = |value: &dyn Fn(&Answered) -> Option<f64>| {
            let values: Vec<f64> = answered.iter().filter_map(|a| value(a)).collect();
            mean(&values)
        };
        let times: Vec<f64> = answered.iter().map(|a| a.usage.wall_ms).collect();
        let costs: Vec<f64> = answered.iter().filter_map(|a| a.usage.cost).collect();
        let currency = answered.iter().find_map(|a| a.usage.currency.clone());
        AnswerRow {
            task: task.to_owned(),
            arm: data.run.identity.arms[arm].clone(),
            answers: answered.len(),
            score: data.estimate_of(by_question(&answered)),
            over_seeds: over_seeds(&answered),
            failed: answered.iter().filter(|a| a.answer.is_none()).count(),
            unsupported: answered
                .iter()
                .filter(|a| a.answer.is_some() && !a.supported)
                .count(),
            evidence_recall: evidence_recall(data, &answered),
            tokens: Tokens {
                evidence: mean_of(&|a| Some(a.usage.evidence_tokens as f64)).unwrap_or_default(),
                prompt: mean_of(&|a| a.usage.prompt_tokens.map(|tokens| tokens as f64)),
                completion: mean_of(&|a| a.usage.completion_tokens.map(|tokens| tokens as f64)),
            },
            cost: currency.map(|currency| (costs.iter().fold(0.0, |sum, c| sum + c), currency)),
            wall_ms: Quantiles::of(&times).unwrap_or_default(),
            level,
        }
    });
    rows.collect()
}

/// One score a question and scope, the mean of its seeds.
fn by_question(answered: &[&Answered]) -> Vec<(Key, f64)> {
    let mut scores: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for answered in answered {
        if let Some(score) = answered.score {
            scores.entry(answered.key).or_default().push(score);
        }
    }
    let means = scores.into_iter();
    means
        .filter_map(|(key, scores)| Some((key, mean(&scores)?)))
        .collect()
}

fn over_seeds(answered: &[&Answered]) -> Option<(f64, Option<f64>)> {
    let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for answered in answered {
        if let Some(score) = answered.score {
            seeds.entry(answered.seed).or_default().push(score);
        }
    }
    let means: Vec<f64> = seeds.values().filter_map(|scores| mean(scores)).collect();
    Some((mean(&means)?, standard_deviation(&means)))
}

fn evidence_recall(data: &Run<'_>, answered: &[&Answered]) -> BTreeMap<Criterion, Estimate> {
    let found: BTreeMap<Key, _> = data.found.iter().map(|found| (found.key, found)).collect();
    let criteria = [
        Criterion::Judged,
        Criterion::Quoted,
        Criterion::AnswerText,
        Criterion::AnswerWords,
    ];
    let recalls = criteria.into_iter().filter_map(|criterion| {
        let shown = answered.iter().filter_map(|answered| {
            let relevant = found.get(&answered.key)?.relevant(criterion)?;
            let shown = answered.evidence.iter().any(|p| relevant.contains_key(p));
            Some((answered.key, f64::from(u8::from(shown))))
        });
        Some((criterion, data.estimate_of(shown)?))
    });
    recalls.collect()
}

#[cfg(test)]
mod tests {
    use super::Quantiles;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let found = Quantiles::of(&values).unwrap();
        assert_eq!((found.p50, found.p95, found.p99), (50.0, 95.0, 99.0));
        assert_eq!((found.max, found.mean), (100.0, 50.5));
        assert_eq!(Quantiles::of(&[]), None);
        assert_eq!(Quantiles::of(&[3.0]).unwrap().p50, 3.0);
    }
}
