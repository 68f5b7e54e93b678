//! What differs between a recorded trace and a later one of the same question.

use quire_corpus::ChunkId;
use quire_engine::{RerankStage, Scored, Trace};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What differs between two traces; times are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the answer depends on and is not the same: the reason why stages
    /// differ, if they do.
    pub fingerprint: Vec<FieldDifference>,
    /// Each stage, in the order of a query.
    pub stages: Vec<StageComparison>,
}

/// A field of the fingerprint that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDifference {
    /// Which one, such as `embedder` or `budgets.rerank`.
    pub field: String,
    /// What was recorded, as JSON; `None` if there was no such field.
    pub recorded: Option<String>,
    /// What it is now.
    pub again: Option<String>,
}

/// One stage of both traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageComparison {
    /// `question`, `lexical`, `dense`, `fused`, `reranked` or `evidence`.
    pub stage: String,
    /// Passages the recorded stage lists.
    pub passages: usize,
    /// The first thing that differs; `None` if ids, scores and all else are
    /// identical.
    pub difference: Option<Difference>,
}

/// The first thing that differs in a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs, such as `passage` or `tokens`.
    pub what: String,
    /// The rank it is at, from 1, if it is in a list.
    pub rank: Option<usize>,
    /// What was recorded; `None` if the list ended before.
    pub recorded: Option<String>,
    /// What it is now.
    pub again: Option<String>,
}

impl Comparison {
    /// Whether every id and every score is identical, and the fingerprint too.
    pub fn is_identical(&self) -> bool {
        self.fingerprint.is_empty() && self.stages.iter().all(|stage| stage.difference.is_none())
    }
}

/// Compares what was recorded with what the same question gave again. Scores
/// are equal when their bits are.
pub fn compare(recorded: &Trace, again: &Trace) -> Comparison {
    Comparison {
        fingerprint: fingerprint(recorded, again),
        stages: vec![
            question(recorded, again),
            ranked("lexical", &recorded.lexical.hits, &again.lexical.hits),
            ranked("dense", &recorded.dense.hits, &again.dense.hits),
            ranked("fused", &recorded.fused.hits, &again.fused.hits),
            reranked(recorded.reranked.as_ref(), again.reranked.as_ref()),
            evidence(recorded, again),
        ],
    }
}

/// A stage whose passages have scores.
fn ranked(stage: &str, recorded: &[Scored], again: &[Scored]) -> StageComparison {
    StageComparison {
        stage: stage.to_owned(),
        passages: recorded.len(),
        difference: hits(recorded, again),
    }
}

fn question(recorded: &Trace, again: &Trace) -> StageComparison {
    let text = value("text", &recorded.question, &again.question);
    let truncated = || {
        value(
            "truncated",
            &recorded.question_truncated,
            &again.question_truncated,
        )
    };
    StageComparison {
        stage: "question".to_owned(),
        passages: 0,
        difference: text.or_else(truncated),
    }
}

fn reranked(recorded: Option<&RerankStage>, again: Option<&RerankStage>) -> StageComparison {
    let difference = match (recorded, again) {
        (None, None) => None,
        (Some(recorded), Some(again)) => rerank_difference(recorded, again),
        _ => value("stage", &done(recorded), &done(again)),
    };
    StageComparison {
        stage: "reranked".to_owned(),
        passages: recorded.map_or(0, |stage| stage.hits.len()),
        difference,
    }
}

fn done(stage: Option<&RerankStage>) -> &'static str {
    if stage.is_some() { "done" } else { "left out" }
}

fn rerank_difference(recorded: &RerankStage, again: &RerankStage) -> Option<Difference> {
    let method = |stage: &RerankStage| json(&stage.method);
    value("method", &method(recorded), &method(again))
        .or_else(|| value("wanted", &recorded.wanted, &again.wanted))
        .or_else(|| hits(&recorded.hits, &again.hits))
        .or_else(|| {
            list("own score", &recorded.scores, &again.scores, |a, b| {
                a.to_bits() == b.to_bits()
            })
        })
        .or_else(|| passages("truncated", &recorded.truncated, &again.truncated))
        .or_else(|| value("tokens", &recorded.tokens, &again.tokens))
}

fn evidence(recorded: &Trace, again: &Trace) -> StageComparison {
    let (recorded, again) = (&recorded.evidence, &again.evidence);
    let difference = passages("passage", &recorded.chunks, &again.chunks)
        .or_else(|| passages("too long", &recorded.too_long, &again.too_long))
        .or_else(|| value("tokens", &recorded.tokens, &again.tokens));
    StageComparison {
        stage: "evidence".to_owned(),
        passages: recorded.chunks.len(),
        difference,
    }
}

fn hits(recorded: &[Scored], again: &[Scored]) -> Option<Difference> {
    let ids = |hits: &[Scored]| hits.iter().map(|hit| hit.chunk).collect::<Vec<_>>();
    let scores = |hits: &[Scored]| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    let by_id = passages("passage", &ids(recorded), &ids(again));
    let by_score = list("score", &scores(recorded), &scores(again), |a, b| {
        a.to_bits() == b.to_bits()
    });
    // Whichever comes first; of one rank, the passage.
    match (by_id, by_score) {
        (Some(id), Some(score)) if score.rank < id.rank => Some(score),
        (Some(id), _) => Some(id),
        (None, score) => score,
    }
}

fn passages(what: &str, recorded: &[ChunkId], again: &[ChunkId]) -> Option<Difference> {
    list(what, recorded, again, |a, b| a == b)
}

/// The first place at which two lists differ.
fn list<T: Copy + ToString>(
    what: &str,
    recorded: &[T],
    again: &[T],
    equal: impl Fn(T, T) -> bool,
) -> Option<Difference> {
    let differs = |at: &usize| match (recorded.get(*at), again.get(*at)) {
        (Some(&recorded), Some(&again)) => !equal(recorded, again),
        _ => true,
    };
    let at = (0..recorded.len().max(again.len())).find(differs)?;
    Some(Difference {
        what: what.to_owned(),
        rank: Some(at + 1),
        recorded: recorded.get(at).map(T::to_string),
        again: again.get(at).map(T::to_string),
    })
}

fn value<T: PartialEq + ToString + ?Sized>(
    what: &str,
    recorded: &T,
    again: &T,
) -> Option<Difference> {
    (recorded != again).then(|| Difference {
        what: what.to_owned(),
        rank: None,
        recorded: Some(recorded.to_string()),
        again: Some(again.to_string()),
    })
}

/// Every field of the fingerprints that differs, so that one that is added to
/// them is compared as well.
fn fingerprint(recorded: &Trace, again: &Trace) -> Vec<FieldDifference> {
    let mut differences = Vec::new();
    let [recorded, again] = [recorded, again].map(|trace| json(&trace.fingerprint));
    fields("", Some(&recorded), Some(&again), &mut differences);
    differences
}

fn fields(
    name: &str,
    recorded: Option<&Value>,
    again: Option<&Value>,
    differences: &mut Vec<FieldDifference>,
) {
    if let (Some(Value::Object(recorded)), Some(Value::Object(again))) = (recorded, again) {
        let new = again.keys().filter(|key| !recorded.contains_key(*key));
        for key in recorded.keys().chain(new) {
            let name = if name.is_empty() {
                key.clone()
            } else {
                format!("{name}.{key}")
            };
            fields(&name, recorded.get(key), again.get(key), differences);
        }
        return;
    }
    // As text, in which a number differs if its bits do.
    let [recorded, again] = [recorded, again].map(|value| value.map(Value::to_string));
    if recorded != again {
        differences.push(FieldDifference {
            field: name.to_owned(),
            recorded,
            again,
        });
    }
}

/// As JSON; what cannot be written as such is said in its place, and is then
/// a difference to all that can.
fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    /// The names of stages that differ, after a change.
    fn differing(change: impl FnOnce(&mut Trace)) -> (Comparison, Vec<String>) {
        let recorded = trace(4);
        let mut again = recorded.clone();
        change(&mut again);
        let comparison = compare(&recorded, &again);
        let stages = comparison.stages.iter();
        let differing = stages
            .filter(|stage| stage.difference.is_some())
            .map(|stage| stage.stage.clone())
            .collect();
        (comparison, differing)
    }

    #[test]
    fn equal_traces_are_identical_however_long_they_took() {
        let (comparison, stages) = differing(|again| {
            again.lexical.wall_ms = 99.0;
            again.embed.wall_ms = 99.0;
            again.total.wall_ms = 99.0;
            again.reranked.as_mut().unwrap().wall_ms = 99.0;
        });
        assert!(comparison.is_identical() && stages.is_empty());
        let counted: Vec<_> = comparison.stages.iter().map(|s| s.passages).collect();
        assert_eq!(counted, [0, 4, 4, 4, 4, 4]);
    }

    #[test]
    fn one_bit_of_a_score_is_a_difference_and_its_rank_is_said() {
        let (comparison, stages) = differing(|again| {
            let score = &mut again.dense.hits[2].score;
            *score = f64::from_bits(score.to_bits() ^ 1);
        });
        assert!(!comparison.is_identical());
        assert_eq!(stages, ["dense"]);
        let difference = comparison.stages[2].difference.clone().unwrap();
        assert_eq!(
            (difference.what.as_str(), difference.rank),
            ("score", Some(3))
        );
        assert_ne!(difference.recorded, difference.again);
        let (_, stages) = differing(|again| again.reranked.as_mut().unwrap().scores[0] = 0.5);
        assert_eq!(stages, ["reranked"]);
    }

    #[test]
    fn zero_and_minus_zero_are_different_scores() {
        let mut recorded = trace(1);
        recorded.fused.hits[0].score = 0.0;
        let mut again = recorded.clone();
        again.fused.hits[0].score = -0.0;
        assert!(!compare(&recorded, &again).is_identical());
    }

    #[test]
    fn another_passage_or_a_shorter_list_is_named_where_it_begins() {
        let (comparison, stages) = differing(|again| {
            again.lexical.hits.swap(1, 2);
            again.fused.hits.pop();
            again.evidence.chunks.remove(0);
        });
        assert_eq!(stages, ["lexical", "fused", "evidence"]);
        let at = |stage: usize| comparison.stages[stage].difference.clone().unwrap();
        assert_eq!((at(1).what.as_str(), at(1).rank), ("passage", Some(2)));
        assert_eq!((at(3).rank, at(3).again), (Some(4), None));
        assert_eq!(at(5).rank, Some(1));
    }

    #[test]
    fn a_stage_left_out_or_done_with_other_counts_differs() {
        for change in [
            (|t| t.reranked = None) as fn(&mut Trace),
            |t| t.reranked.as_mut().unwrap().tokens += 1,
            |t| t.reranked.as_mut().unwrap().wanted += 1,
            |t| t.reranked.as_mut().unwrap().truncated = vec![t.fused.hits[0].chunk],
        ] {
            assert_eq!(differing(change).1, ["reranked"]);
        }
        let changed = differing(|t| t.evidence.tokens += 1);
        assert_eq!(changed.1, ["evidence"]);
        let changed = differing(|t| t.question_truncated = true);
        assert_eq!(changed.1, ["question"]);
    }

    #[test]
    fn every_field_of_the_fingerprint_that_differs_is_named() {
        let (comparison, stages) = differing(|again| {
            again.fingerprint.embedder = "e@2".to_owned();
            again.fingerprint.budgets.rerank += 1;
        });
        assert!(!comparison.is_identical() && stages.is_empty());
        let mut fields: Vec<_> = comparison.fingerprint.iter().map(|f| &f.field).collect();
        fields.sort();
        assert_eq!(fields, ["budgets.rerank", "embedder"]);
        let embedder = &comparison.fingerprint;
        let embedder = embedder.iter().find(|f| f.field == "embedder").unwrap();
        assert_eq!(embedder.recorded.as_deref(), Some("\"e@1\""));
        assert_eq!(embedder.again.as_deref(), Some("\"e@2\""));
    }
}
