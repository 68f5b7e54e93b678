//! What goes over the wire, version 1: the shapes of `/v1`. Public, since the
//! command line prints the same and a client may read them with these types.
//!
//! All that differs between two equal requests lies in the last member of a
//! search's answer, `run`.

use std::ops::Range;

use quire_corpus::{BookId, ChunkId};
use quire_engine::{
    AnswerTrace, Budgets, Fingerprint, Highlighter, Search, SearchHit, Trace, View,
};
use quire_model::RerankMethod;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

mod answer;
mod books;
mod jobs;
mod libraries;
mod shares;

pub use answer::{
    Answer, AnswerBasis, AnswerEvidence, AnswerModelName, AnswerRequest, AnswerResponse, Citation,
    Cost, Delta, Item, ItemPassage, Language, PassageLeftOut, Prompt, Usage,
};
pub use books::{Around, Book, BookList, BookSummary, Chapter, DamagedBook, Deleted, Passage};
pub use jobs::{JobBook, JobFile, JobList, JobProblem, JobProgress, JobView};
pub use libraries::{
    DamagedLibrary, DeletedLibrary, Library, LibraryList, LibraryRequest, LibrarySummary,
};
pub use shares::{BookShares, Share, Shares};

/// A question and how to answer it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "question": "Who keeps the lighthouse?",
    "scope": {"books": ["1f3b"]},
    "budgets": {"rerank": 20, "evidence_passages": 5},
    "timeout_ms": 5000
}))]
pub struct SearchRequest {
    /// What is asked.
    pub question: String,
    /// Which books are searched; all of them where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// How far each stage goes; what is absent is as the service has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<BudgetsRequest>,
    /// Whether the answer lists what each stage found.
    #[serde(default)]
    pub explain: bool,
    /// Milliseconds after which an answer is of no use: it is then an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Milliseconds after which the reranker, which scores the best candidates
    /// first, leaves off. The answer says how deep it got. Without it the depth
    /// is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Which books are searched: `{"books": [...]}` or `{"library": "..."}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Books by their ids, or at least four digits each that only one id
    /// begins with.
    Books(Vec<String>),
    /// The books of the library of that name.
    Library(String),
}

/// How far each stage goes; what is absent is as the service has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetsRequest {
    /// Passages taken from BM25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<usize>,
    /// Passages taken from the dense view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<usize>,
    /// Candidates followed where the dense view has a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense_ef: Option<usize>,
    /// Fused candidates that are reranked; 0 leaves the reranker out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<usize>,
    /// Passages in the answer at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_passages: Option<usize>,
    /// Tokens in the answer at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_tokens: Option<usize>,
}

impl BudgetsRequest {
    /// These budgets, and `otherwise` where one is absent.
    pub fn over(&self, otherwise: &Budgets) -> Budgets {
        Budgets {
            lexical: self.lexical.unwrap_or(otherwise.lexical),
            dense: self.dense.unwrap_or(otherwise.dense),
            dense_ef: self.dense_ef.unwrap_or(otherwise.dense_ef),
            rerank: self.rerank.unwrap_or(otherwise.rerank),
            evidence_passages: self
                .evidence_passages
                .unwrap_or(otherwise.evidence_passages),
            evidence_tokens: self.evidence_tokens.unwrap_or(otherwise.evidence_tokens),
        }
    }
}

/// What a question found. Equal requests to an unchanged service get the same
/// bytes up to `,"run":`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResponse {
    /// What was asked.
    pub question: String,
    /// The books that were searched, ascending.
    #[schema(value_type = Vec<String>)]
    pub books: Vec<BookId>,
    /// The evidence, best first.
    pub hits: Vec<Hit>,
    /// Whether a model could not read the whole question.
    pub question_truncated: bool,
    /// How deep the reranker went; `null` where the budget leaves it out.
    pub rerank: Option<RerankDepth>,
    /// The evidence as a whole.
    pub evidence: Evidence,
    /// How the best passages are shared among the books; absent where one book
    /// was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// What the answer depends on besides the question.
    #[schema(value_type = Object)]
    pub fingerprint: Fingerprint,
    /// What each stage found, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explain>,
    /// Books of the scope "all" that could not be searched; absent if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What differs each time.
    pub run: Run,
}

/// A passage that was found, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// The passage's id, `BOOK:NUMBER`.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// The book's title.
    pub title: String,
    /// The chapter's heading.
    pub chapter: Option<String>,
    /// Its bytes in the book's canonical text.
    pub span: Span,
    /// Its length, by the embedder's tokenizer.
    pub tokens: u32,
    /// Its place in each stage.
    pub stages: Stages,
    /// Where a model read only its beginning.
    pub truncated: Truncated,
    /// Its text.
    pub text: String,
    /// Where the question's terms stand in `text`, in bytes.
    pub highlights: Vec<Span>,
}

/// A byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl From<Range<usize>> for Span {
    fn from(Range { start, end }: Range<usize>) -> Self {
        Self { start, end }
    }
}

/// A passage's place in each stage, `null` where it made no list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stages {
    /// BM25.
    pub lexical: Option<Place>,
    /// The dense view.
    pub dense: Option<Place>,
    /// Reciprocal rank fusion.
    pub fused: Option<Place>,
    /// The reranker.
    pub reranked: Option<Place>,
}

/// Rank and score in one stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Place {
    /// From 1.
    pub rank: usize,
    /// On the stage's own scale.
    pub score: f64,
}

impl From<quire_engine::Place> for Place {
    fn from(quire_engine::Place { rank, score }: quire_engine::Place) -> Self {
        Self { rank, score }
    }
}

/// Where a model read only a passage's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Truncated {
    /// The embedder.
    pub embedding: bool,
    /// The reranker.
    pub rerank: bool,
}

/// How deep the reranker went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RerankDepth {
    /// By which method it scores: `cross_encoder`, `late_interaction` or
    /// `ensemble`.
    #[schema(value_type = String)]
    pub method: RerankMethod,
    /// Candidates there were to score.
    pub wanted: usize,
    /// Candidates it scored; fewer only where `deadline_ms` ended it.
    pub depth: usize,
}

impl RerankDepth {
    fn of(trace: &Trace) -> Option<Self> {
        trace.reranked.as_ref().map(|stage| Self {
            method: stage.method,
            wanted: stage.wanted,
            depth: stage.hits.len(),
        })
    }
}

/// The evidence as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// Tokens of all hits.
    pub tokens: u64,
    /// Passages that ranked among them but did not fit the token budget.
    #[schema(value_type = Vec<String>)]
    pub too_long: Vec<ChunkId>,
}

/// What each stage found, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explain {
    /// BM25.
    pub lexical: Vec<Scored>,
    /// The dense view, by cosine.
    pub dense: Vec<Scored>,
    /// Reciprocal rank fusion.
    pub fused: Vec<Scored>,
    /// The reranked candidates in their final order, with the score that
    /// ordered them; `null` where the budget leaves the reranker out.
    pub reranked: Option<Vec<Reranked>>,
}

/// A passage and its score in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scored {
    /// The passage.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// On the stage's own scale.
    pub score: f64,
}

/// A reranked candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reranked {
    /// The passage.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// What ordered it.
    pub score: f64,
    /// The reranker's own score.
    pub own: f64,
}

/// A book that was not searched though it was in the scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOut {
    /// The book.
    #[schema(value_type = String)]
    pub book: BookId,
    /// Why.
    pub reason: String,
}

/// What differs between equal requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// The trace that was logged, if one was.
    pub trace_id: Option<String>,
    /// Whether a trace was logged.
    pub trace_logged: bool,
    /// The request.
    pub request_id: String,
    /// What each stage took.
    pub timings_ms: Timings,
}

/// What each stage took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct Timings {
    /// Waiting for a thread.
    pub queue: f64,
    /// BM25.
    pub lexical: f64,
    /// Embedding the question, the wait for the model included.
    pub embed: f64,
    /// The dense view.
    pub dense: f64,
    /// Fusion.
    pub fuse: f64,
    /// Reranking, the wait for the model included.
    pub rerank: f64,
    /// Putting the evidence together; absent where none was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assemble: Option<f64>,
    /// The answer model; absent where none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<f64>,
    /// From the request's arrival until the answer was ready.
    pub total: f64,
}

impl Timings {
    /// What a trace says, with what lies around the engine, in milliseconds.
    pub fn of(trace: &Trace, queue: f64, total: f64) -> Self {
        Self {
            queue,
            lexical: trace.lexical.wall_ms,
            embed: trace.embed.wall_ms,
            dense: trace.dense.wall_ms,
            fuse: trace.fused.wall_ms,
            rerank: trace.reranked.as_ref().map_or(0.0, |stage| stage.wall_ms),
            assemble: None,
            answer: None,
            total,
        }
    }

    /// The same with what came after the search.
    #[must_use]
    pub fn with_answer(self, trace: &AnswerTrace) -> Self {
        Self {
            assemble: Some(trace.assemble.wall_ms),
            answer: Some(trace.answer.wall_ms),
            ..self
        }
    }

    /// Every stage that was run by name, in the order of a query.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let stages = [
            ("queue", Some(self.queue)),
            ("lexical", Some(self.lexical)),
            ("embed", Some(self.embed)),
            ("dense", Some(self.dense)),
            ("fuse", Some(self.fuse)),
            ("rerank", Some(self.rerank)),
            ("assemble", self.assemble),
            ("answer", self.answer),
            ("total", Some(self.total)),
        ];
        let stages = stages.into_iter();
        stages.filter_map(|(name, ms)| Some((name, ms?)))
    }

    /// The value of a `Server-Timing` header.
    pub fn server_timing(&self) -> String {
        let entries = self.named().map(|(name, ms)| format!("{name};dur={ms:.3}"));
        entries.collect::<Vec<_>>().join(", ")
    }
}

impl SearchResponse {
    /// The answer that a search makes. `run` is the caller's.
    ///
    /// # Errors
    /// When a passage's file changed since the view was opened.
    pub fn of(
        view: &View,
        found: &Search,
        explain: bool,
        left_out: Vec<LeftOut>,
        run: Run,
    ) -> Result<Self, quire_engine::EngineError> {
        let trace = &found.trace;
        let highlighter = Highlighter::new(&trace.question);
        let hits = (1..).zip(&found.hits);
        let hits = hits.map(|(rank, hit)| Hit::of(view, &highlighter, rank, hit));
        Ok(Self {
            question: trace.question.clone(),
            books: view.books().map(|(book, _)| book).collect(),
            hits: hits.collect::<Result<_, _>>()?,
            question_truncated: trace.question_truncated,
            rerank: RerankDepth::of(trace),
            evidence: Evidence {
                tokens: trace.evidence.tokens,
                too_long: trace.evidence.too_long.clone(),
            },
            shares: Shares::of(view, trace),
            fingerprint: trace.fingerprint.clone(),
            explain: explain.then(|| Explain::of(trace)),
            left_out,
            run,
        })
    }
}

impl Hit {
    /// What a search found at `rank`, with its text.
    ///
    /// # Errors
    /// When the passage's file changed since it was opened.
    pub fn of(
        view: &View,
        highlighter: &Highlighter,
        rank: usize,
        hit: &SearchHit,
    ) -> Result<Self, quire_engine::EngineError> {
        let passage = view.passage(hit.chunk)?;
        let highlights = highlighter.find(&passage.text);
        Ok(Self {
            rank,
            chunk: hit.chunk,
            title: view.title(hit.chunk.book).unwrap_or_default().to_owned(),
            chapter: passage.chapter,
            span: passage.span.into(),
            tokens: passage.tokens,
            stages: Stages {
                lexical: hit.lexical.map(Place::from),
                dense: hit.dense.map(Place::from),
                fused: hit.fused.map(Place::from),
                reranked: hit.reranked.map(Place::from),
            },
            truncated: Truncated {
                embedding: hit.embedding_truncated,
                rerank: hit.rerank_truncated,
            },
            text: passage.text,
            highlights: highlights.into_iter().map(Span::from).collect(),
        })
    }
}

impl Explain {
    fn of(trace: &Trace) -> Self {
        let list = |hits: &[quire_engine::Scored]| {
            let hits = hits.iter();
            hits.map(|&quire_engine::Scored { chunk, score }| Scored { chunk, score })
                .collect()
        };
        Self {
            lexical: list(&trace.lexical.hits),
            dense: list(&trace.dense.hits),
            fused: list(&trace.fused.hits),
            reranked: trace.reranked.as_ref().map(|stage| {
                let hits = stage.hits.iter().zip(&stage.scores);
                hits.map(|(hit, &own)| Reranked {
                    chunk: hit.chunk,
                    score: hit.score,
                    own,
                })
                .collect()
            }),
        }
    }
}

/// An error (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemDocument {
    /// `/problems/` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// What went wrong, by a name that stays.
    pub code: String,
    /// What helps.
    pub remedy: String,
    /// The request, for whoever runs the service.
    pub request_id: String,
}

/// Whether the service is ready, and what makes it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether every check holds.
    pub ready: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

/// One thing that readiness depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// What is checked: `models`, `books`, `disk`, `traces` or `serving`.
    pub name: String,
    /// Whether it holds.
    pub ok: bool,
    /// What there is to say about it.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_field_is_named() {
        let error = serde_json::from_str::<SearchRequest>(r#"{"question":"a","budget":{}}"#);
        assert!(error.unwrap_err().to_string().contains("`budget`"));
        let error =
            serde_json::from_str::<SearchRequest>(r#"{"question":"a","budgets":{"rerunk":1}}"#);
        assert!(error.unwrap_err().to_string().contains("`rerunk`"));
    }

    #[test]
    fn budgets_that_are_absent_stay_as_they_are() {
        let asked: BudgetsRequest = serde_json::from_str(r#"{"rerank":0}"#).unwrap();
        let budgets = asked.over(&Budgets::default());
        assert_eq!(budgets.rerank, 0);
        assert_eq!(
            Budgets {
                rerank: 20,
                ..budgets
            },
            Budgets::default()
        );
    }

    #[test]
    fn server_timing_names_every_stage_in_milliseconds() {
        let timings = Timings {
            queue: 0.12,
            total: 12.0,
            ..Timings::default()
        };
        let header = timings.server_timing();
        assert!(
            header.starts_with("queue;dur=0.120, lexical;dur=0.000"),
            "{header}"
        );
        assert!(header.ends_with("total;dur=12.000"), "{header}");
    }
}
