//! A run's report: what was measured, and all that is needed to measure it
//! again.

mod answers;
mod files;
mod level;
mod questions;
mod retrieval;
mod routing;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use answers::{AnswerRow, Quantiles, Tokens};
pub use files::{RunOutput, files};
pub use level::{Estimate, Level};
pub use questions::{Look, QuestionRow, StageView, Told};
pub use retrieval::{RetrievalRow, StepRow};
pub use routing::RoutingRow;

use quire_engine::Ranked;

use crate::run::{Answered, Found, RunFile};
use crate::set::EvalSet;
use level::Run;

/// A run's report. All that is in it but times is decided by the run's
/// identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was run, how, and on what. The names of given passages are left
    /// out.
    pub run: RunFile,
    /// When the last question was done, by RFC 3339 in UTC.
    pub finished: String,
    /// Quality by stage.
    pub retrieval: Vec<RetrievalRow>,
    /// What each stage is worth, question by question.
    pub steps: Vec<StepRow>,
    /// Whether the right book is found, where several are searched.
    pub routing: Vec<RoutingRow>,
    /// Quality of answers, their tokens, cost and time.
    pub answers: Vec<AnswerRow>,
    /// Wall milliseconds of a search, by level and stage.
    pub latency: Vec<LatencyRow>,
    /// What indexing took, once, by cut.
    pub indexing: Vec<IndexingRow>,
    /// Each question.
    pub questions: Vec<QuestionRow>,
    /// The beginnings of the passages that questions show, by name.
    pub passages: BTreeMap<String, String>,
}

/// Wall milliseconds of one stage of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyRow {
    /// Of which questions.
    #[serde(flatten)]
    pub level: Level,
    /// The stage: `bm25`, `embed`, `dense`, `fuse`, `rerank`, `total`.
    pub stage: String,
    /// How long it took.
    pub wall_ms: Quantiles,
}

/// What indexing the books took, whenever that was: artifacts are built once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IndexingRow {
    /// The cut's name.
    pub passages: String,
    /// Books.
    pub books: usize,
    /// Passages of all books.
    pub count: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Bytes of all artifacts.
    pub bytes: u64,
    /// Seconds of all builds.
    pub seconds: f64,
}

/// A stage's name in reports and files.
pub fn stage_name(stage: Ranked) -> &'static str {
    match stage {
        Ranked::Lexical => "bm25",
        Ranked::Dense => "dense",
        Ranked::Fused => "fused",
        Ranked::Reranked => "reranked",
    }
}

/// The stages, in the order of a query.
pub const STAGES: [Ranked; 4] = [
    Ranked::Lexical,
    Ranked::Dense,
    Ranked::Fused,
    Ranked::Reranked,
];

impl Report {
    /// The report of a run. `text` gives the text of a passage, of a book by
    /// its place in the run, under a cut.
    ///
    /// # Errors
    /// Those of `text`.
    pub fn new<E>(
        run: &RunFile,
        sets: &[EvalSet],
        found: &[Found],
        answered: &[Answered],
        finished: String,
        text: impl FnMut(usize, usize, u32) -> Result<String, E>,
    ) -> Result<Self, E> {
        let data = Run {
            run,
            sets,
            found,
            answered,
        };
        let (questions, passages) = questions::rows(&data, text)?;
        let mut bare = run.clone();
        for book in &mut bare.books {
            book.passages = None;
        }
        Ok(Self {
            run: bare,
            finished,
            retrieval: retrieval::rows(&data),
            steps: retrieval::steps(&data),
            routing: routing::rows(&data),
            answers: answers::rows(&data),
            latency: latency(&data),
            indexing: indexing(run),
            questions,
            passages,
        })
    }
}

fn latency(data: &Run<'_>) -> Vec<LatencyRow> {
    let mut rows = Vec::new();
    for (level, found) in data.by_level() {
        for stage in ["bm25", "embed", "dense", "fuse", "rerank", "total"] {
            let times = found.iter();
            let times: Vec<f64> = times
                .filter_map(|found| found.wall_ms.get(stage).copied())
                .collect();
            if let Some(wall_ms) = Quantiles::of(&times) {
                rows.push(LatencyRow {
                    level: level.clone(),
                    stage: stage.to_owned(),
                    wall_ms,
                });
            }
        }
    }
    rows
}

fn indexing(run: &RunFile) -> Vec<IndexingRow> {
    let mut rows: Vec<IndexingRow> = Vec::new();
    for entry in &run.indexing {
        let at = rows.iter().position(|row| row.passages == entry.cut);
        let at = at.unwrap_or_else(|| {
            rows.push(IndexingRow {
                passages: entry.cut.clone(),
                ..IndexingRow::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.books += 1;
        row.count += entry.passages;
        row.tokens += entry.tokens;
        row.bytes += entry.bytes;
        row.seconds += entry.seconds.values().sum::<f64>();
    }
    rows
}
