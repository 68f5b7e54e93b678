//! What each stage of one query produced.

use std::time::Duration;

use quire_corpus::ChunkId;
use quire_index::Ranking;
use quire_model::{Blend, Fusion, RerankMethod};
use serde::{Deserialize, Serialize};

use crate::Budgets;

/// Everything needed to say what a query did and to do it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The question as asked.
    pub question: String,
    /// What the answer depends on besides the question.
    pub fingerprint: Fingerprint,
    /// Whether the embedder or the reranker could not read the whole question.
    pub question_truncated: bool,
    /// The BM25 stage.
    pub lexical: Stage,
    /// Embedding the question; no list, the time alone.
    pub embed: Timing,
    /// The dense stage.
    pub dense: Stage,
    /// The fused list.
    pub fused: Stage,
    /// The reranked candidates, or `None` where the budget leaves it out.
    pub reranked: Option<RerankStage>,
    /// What is handed on.
    pub evidence: EvidenceStage,
    /// From the question to the evidence.
    pub total: Timing,
}

impl Trace {
    /// All that was found, best first, by the judgement of one stage. The
    /// reranker's is what it scored, then the rest as fusion has it.
    pub fn best_first(&self, by: Ranked) -> Vec<ChunkId> {
        let hits = |hits: &[Scored]| hits.iter().map(|hit| hit.chunk).collect();
        match by {
            Ranked::Lexical => hits(&self.lexical.hits),
            Ranked::Dense => hits(&self.dense.hits),
            Ranked::Fused => hits(&self.fused.hits),
            Ranked::Reranked => {
                let reranked = self.reranked.as_ref().map_or(&[][..], |stage| &stage.hits);
                let rest = self.fused.hits.iter().skip(reranked.len());
                reranked.iter().chain(rest).map(|hit| hit.chunk).collect()
            }
        }
    }
}

/// A stage by whose ranking evidence may be chosen: the last one, or an
/// earlier one to see what the later ones are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranked {
    /// BM25.
    Lexical,
    /// The dense view.
    Dense,
    /// Reciprocal rank fusion.
    Fused,
    /// The reranker, or fusion where the budget leaves it out.
    #[default]
    Reranked,
}

/// What an answer depends on besides the question: equal fingerprints and
/// questions give equal ids and scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The tool's version.
    pub version: String,
    /// The artifact that was searched, as `indexes/BOOK` or `libraries/KEY`.
    pub artifact: String,
    /// The recipe's key.
    pub recipe: String,
    /// The embedder, as `name@revision precision digest`.
    pub embedder: String,
    /// The reranker likewise.
    pub reranker: String,
    /// By which method it scores.
    pub method: RerankMethod,
    /// How the two retrievers' ranks are weighed. Traces from before it could
    /// be chosen do not hold it: theirs is the published one.
    #[serde(default)]
    pub fusion: Fusion,
    /// How rerank and first-stage scores are weighed.
    pub blend: Blend,
    /// The budgets.
    pub budgets: Budgets,
    /// Where the models ran, and on which instruction set: another may round
    /// differently.
    pub device: String,
}

/// One stage's wall time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Wall time in milliseconds.
    pub wall_ms: f64,
}

impl From<Duration> for Timing {
    fn from(wall: Duration) -> Self {
        Self {
            wall_ms: wall.as_secs_f64() * 1e3,
        }
    }
}

/// A passage and its score in a stage, best first in a list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The passage.
    pub chunk: ChunkId,
    /// On the stage's own scale.
    pub score: f64,
}

/// A stage that ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Wall time in milliseconds.
    pub wall_ms: f64,
    /// The ranked passages, best first.
    pub hits: Vec<Scored>,
}

impl Stage {
    /// A ranking and what it took.
    pub fn new(ranking: &Ranking, wall: Duration) -> Self {
        Self {
            wall_ms: Timing::from(wall).wall_ms,
            hits: scored(ranking),
        }
    }

    /// Rank (from 1) and score of a passage in this stage.
    pub fn place(&self, chunk: ChunkId) -> Option<Place> {
        place(&self.hits, chunk)
    }
}

/// A passage's rank, from 1, and score in one stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// From 1.
    pub rank: usize,
    /// On the stage's own scale.
    pub score: f64,
}

/// The rerank stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RerankStage {
    /// Wall time in milliseconds.
    pub wall_ms: f64,
    /// By which method; late interaction is never called a cross-encoder.
    pub method: RerankMethod,
    /// How many candidates there were to score. Fewer are in `hits` only where
    /// the query had a budget of time, and it ended.
    pub wanted: usize,
    /// Tokens the model read.
    pub tokens: u64,
    /// The candidates in their final order, with the score that ordered them.
    pub hits: Vec<Scored>,
    /// The reranker's own score of each candidate, in the order of `hits`.
    pub scores: Vec<f64>,
    /// Candidates of which the reranker read only the beginning.
    pub truncated: Vec<ChunkId>,
}

impl RerankStage {
    /// Rank (from 1) and final score of a passage in this stage.
    pub fn place(&self, chunk: ChunkId) -> Option<Place> {
        place(&self.hits, chunk)
    }
}

/// What is handed on, and what was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceStage {
    /// The passages handed on, best first.
    pub chunks: Vec<ChunkId>,
    /// Their tokens together.
    pub tokens: u64,
    /// Passages that ranked among them but did not fit the token budget.
    pub too_long: Vec<ChunkId>,
}

pub(crate) fn scored(ranking: &Ranking) -> Vec<Scored> {
    let hits = ranking.hits().iter();
    hits.map(|hit| Scored {
        chunk: hit.chunk,
        score: hit.score,
    })
    .collect()
}

fn place(hits: &[Scored], chunk: ChunkId) -> Option<Place> {
    let at = hits.iter().position(|hit| hit.chunk == chunk)?;
    Some(Place {
        rank: at + 1,
        score: hits[at].score,
    })
}
