//! What is written down of each question.

use std::collections::BTreeMap;

use quire_corpus::{BookId, ChunkId};
use quire_engine::{Ranked, Scored, Search};
use serde::{Deserialize, Serialize};

use crate::measures::Judgements;
use crate::support::{Criterion, Supporting};

/// A passage and its score: the book's place in the run, the passage's ordinal,
/// and the score on the stage's own scale.
pub type Hit = (usize, u32, f64);

/// Which question, and over what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The scope's place in the run.
    pub scope: usize,
    /// The set's.
    pub set: usize,
    /// The question's in the set.
    pub question: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Which question.
    #[serde(flatten)]
    pub key: Key,
    /// BM25's passages, best first.
    pub bm25: Vec<Hit>,
    /// The dense view's.
    pub dense: Vec<Hit>,
    /// The fused list.
    pub fused: Vec<Hit>,
    /// The reranked candidates; the rest goes on as fused.
    pub reranked: Vec<Hit>,
    /// The passages that support the answer, by criterion: their places and
    /// grades. By each criterion that applies to the question.
    pub support: BTreeMap<Criterion, Vec<(usize, u32, u32)>>,
    /// Whether a model read only the beginning of the question.
    pub question_truncated: bool,
    /// Candidates of which the reranker read only the beginning.
    pub truncated: usize,
    /// Wall milliseconds of each stage, and of the whole: `bm25`, `embed`,
    /// `dense`, `fuse`, `rerank`, `total`.
    pub wall_ms: BTreeMap<String, f64>,
}

/// What the answer model made of it, in one way of answering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Which question.
    #[serde(flatten)]
    pub key: Key,
    /// The arm's place in the run.
    pub arm: usize,
    /// By which seed.
    pub seed: u64,
    /// The answer; `None` when the model gave none.
    pub answer: Option<String>,
    /// Why there is none.
    pub failure: Option<String>,
    /// Whether that may pass: the model was not reached, and is asked again
    /// when the run goes on.
    #[serde(default)]
    pub passing: bool,
    /// Whether the model holds that the evidence supports the answer.
    pub supported: bool,
    /// By the task's official scoring, 0 to 1; 0 without an answer. `None`
    /// where the set has no answers.
    pub score: Option<f64>,
    /// The passages it was shown, in that order.
    pub evidence: Vec<(usize, u32)>,
    /// What it took.
    pub usage: Usage,
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the evidence with its labels, by the embedder's tokenizer.
    pub evidence_tokens: u64,
    /// Tokens of the prompt, as the answer model's server counted; all of
    /// them, were they cached there or not.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the completion, likewise.
    pub completion_tokens: Option<u64>,
    /// What it cost, where the price is known.
    pub cost: Option<f64>,
    /// The currency.
    pub currency: Option<String>,
    /// Wall milliseconds of the answer model.
    pub wall_ms: f64,
}

/// Where a question was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// No passage of its book supports the answer, or nobody knows which.
    Unknown,
    /// Neither BM25 nor the dense view found a supporting passage.
    Retrieval,
    /// One did, but fusion left it below the rerank budget.
    Fusion,
    /// It was a candidate, but is not among the evidence.
    Reranking,
    /// It was among the evidence, but the answer scores below one half.
    Answering,
    /// Nowhere.
    Nowhere,
}

impl Found {
    /// What a search found, in the terms of a run. `place` gives the place of
    /// a book in the run.
    pub fn new(
        key: Key,
        search: &Search,
        support: &Supporting,
        own: usize,
        place: &dyn Fn(BookId) -> usize,
    ) -> Self {
        let trace = &search.trace;
        let hits = |scored: &[Scored]| -> Vec<Hit> {
            let hits = scored.iter();
            hits.map(|hit| (place(hit.chunk.book), hit.chunk.ordinal, hit.score))
                .collect()
        };
        let reranked = trace.reranked.as_ref();
        let mut wall_ms = BTreeMap::from([
            ("bm25".to_owned(), trace.lexical.wall_ms),
            ("embed".to_owned(), trace.embed.wall_ms),
            ("dense".to_owned(), trace.dense.wall_ms),
            ("fuse".to_owned(), trace.fused.wall_ms),
            ("total".to_owned(), trace.total.wall_ms),
        ]);
        wall_ms.extend(reranked.map(|stage| ("rerank".to_owned(), stage.wall_ms)));
        let supporting = support.iter().map(|(&criterion, passages)| {
            let passages = passages.iter();
            let passages = passages.map(|(&ordinal, &grade)| (own, ordinal, grade));
            (criterion, passages.collect())
        });
        Self {
            key,
            bm25: hits(&trace.lexical.hits),
            dense: hits(&trace.dense.hits),
            fused: hits(&trace.fused.hits),
            reranked: reranked.map_or_else(Vec::new, |stage| hits(&stage.hits)),
            support: supporting.collect(),
            question_truncated: trace.question_truncated,
            truncated: reranked.map_or(0, |stage| stage.truncated.len()),
            wall_ms,
        }
    }

    /// A stage's passages, best first. The reranker's go on as fusion has
    /// them.
    pub fn ranked(&self, stage: Ranked) -> Vec<(usize, u32)> {
        let places = |hits: &[Hit]| -> Vec<(usize, u32)> {
            let hits = hits.iter();
            hits.map(|&(book, ordinal, _)| (book, ordinal)).collect()
        };
        match stage {
            Ranked::Lexical => places(&self.bm25),
            Ranked::Dense => places(&self.dense),
            Ranked::Fused => places(&self.fused),
            Ranked::Reranked => {
                let mut ranked = places(&self.reranked);
                let rest = self.fused.get(ranked.len()..).unwrap_or_default();
                ranked.extend(places(rest));
                ranked
            }
        }
    }

    /// The supporting passages by a criterion, with their grades; `None` where
    /// it does not apply, or no passage of the book supports the answer.
    pub fn relevant(&self, criterion: Criterion) -> Option<Judgements<(usize, u32)>> {
        let passages = self.support.get(&criterion)?;
        let judged = passages.iter();
        let judged: Judgements<_> = judged
            .map(|&(book, ordinal, grade)| ((book, ordinal), grade))
            .collect();
        (!judged.is_empty()).then_some(judged)
    }

    /// The criterion that tells most of a question: judgements, else
    /// quotations, else the answer.
    pub fn best_criterion(&self) -> Option<Criterion> {
        let known = self
            .support
            .iter()
            .filter(|(_, passages)| !passages.is_empty());
        known.map(|(&criterion, _)| criterion).next()
    }

    /// Where the question was lost, with `evidence` what was shown of it, and
    /// its answer's score if it was answered.
    pub fn lost(&self, evidence: &[(usize, u32)], score: Option<f64>) -> Lost {
        let relevant = self.best_criterion().and_then(|by| self.relevant(by));
        let Some(relevant) = relevant else {
            return match score {
                Some(0.5..) => Lost::Nowhere,
                _ => Lost::Unknown,
            };
        };
        let any = |passages: &[(usize, u32)]| passages.iter().any(|p| relevant.contains_key(p));
        let candidates: Vec<(usize, u32)> = match self.reranked.is_empty() {
            true => self.ranked(Ranked::Fused),
            false => self
                .reranked
                .iter()
                .map(|&(book, ordinal, _)| (book, ordinal))
                .collect(),
        };
        if score.is_some_and(|score| score >= 0.5) {
            Lost::Nowhere
        } else if any(evidence) {
            match score {
                Some(_) => Lost::Answering,
                None => Lost::Nowhere,
            }
        } else if any(&candidates) {
            Lost::Reranking
        } else if any(&self.ranked(Ranked::Fused)) {
            Lost::Fusion
        } else {
            Lost::Retrieval
        }
    }
}

/// A passage in the terms of a run.
pub(super) fn place_of(chunk: ChunkId, place: &dyn Fn(BookId) -> usize) -> (usize, u32) {
    (place(chunk.book), chunk.ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(relevant: &[(usize, u32, u32)]) -> Found {
        Found {
            key: Key {
                scope: 0,
                set: 0,
                question: 0,
            },
            bm25: vec![(0, 1, 3.0), (0, 2, 2.0)],
            dense: vec![(0, 3, 0.5)],
            fused: vec![(0, 1, 0.3), (0, 3, 0.2), (0, 2, 0.1)],
            reranked: vec![(0, 3, 2.0), (0, 1, 1.0)],
            support: BTreeMap::from([(Criterion::Quoted, relevant.to_vec())]),
            question_truncated: false,
            truncated: 0,
            wall_ms: BTreeMap::new(),
        }
    }

    #[test]
    fn the_reranked_list_goes_on_as_fusion_has_it() {
        let found = found(&[]);
        assert_eq!(found.ranked(Ranked::Reranked), [(0, 3), (0, 1), (0, 2)]);
        assert_eq!(found.ranked(Ranked::Fused), [(0, 1), (0, 3), (0, 2)]);
    }

    #[test]
    fn a_question_is_lost_at_the_first_stage_that_drops_its_passages() {
        let lost = |ordinal, evidence: &[(usize, u32)], score| {
            found(&[(0, ordinal, 1)]).lost(evidence, score)
        };
        assert_eq!(lost(9, &[(0, 3)], Some(0.0)), Lost::Retrieval);
        assert_eq!(lost(2, &[(0, 3)], Some(0.0)), Lost::Fusion);
        assert_eq!(lost(1, &[(0, 3)], Some(0.0)), Lost::Reranking);
        assert_eq!(lost(3, &[(0, 3)], Some(0.4)), Lost::Answering);
        assert_eq!(lost(3, &[(0, 3)], Some(0.5)), Lost::Nowhere);
        assert_eq!(lost(3, &[(0, 3)], None), Lost::Nowhere);
        assert_eq!(lost(9, &[], Some(1.0)), Lost::Nowhere);
        assert_eq!(found(&[]).lost(&[], Some(0.0)), Lost::Unknown);
    }
}
