//! One query, from the question to the evidence.

use std::collections::BTreeSet;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use quire_corpus::ChunkId;
use quire_index::{RRF_K, Ranking, fuse};
use quire_model::Role;

use crate::blend::{Blend, Candidate, blend};
use crate::trace::{Place, RerankStage, Stage, Timing, scored};
use crate::{Budgets, EngineError, Models, StageName, Trace, View, evidence};

/// What a query found, best first, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The evidence, best first.
    pub hits: Vec<SearchHit>,
    /// Every stage.
    pub trace: Trace,
}

/// A passage that was found, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The passage.
    pub chunk: ChunkId,
    /// Its place in BM25, if it made that list.
    pub lexical: Option<Place>,
    /// Its place in the dense view, if it made that list.
    pub dense: Option<Place>,
    /// Its place after fusion.
    pub fused: Option<Place>,
    /// Its place after reranking, if it was a candidate.
    pub reranked: Option<Place>,
    /// Whether the embedder read only the passage's beginning.
    pub embedding_truncated: bool,
    /// Whether the reranker read only the passage's beginning.
    pub rerank_truncated: bool,
}

/// Searches a view: BM25 while the question is embedded, dense, fusion,
/// rerank, evidence. A stage that fails fails the query, by name.
///
/// # Errors
/// When the question is empty, a budget is out of range, or a stage fails.
pub fn search(
    view: &View,
    models: &Models,
    question: &str,
    budgets: &Budgets,
) -> Result<Search, EngineError> {
    let started = Instant::now();
    budgets.check()?;
    if question.trim().is_empty() {
        return Err(EngineError::EmptyQuestion);
    }

    let (lexical, embedded) = thread::scope(|threads| {
        let lexical = threads.spawn(|| timed(|| view.lexical(question, budgets.lexical)));
        let embedded = timed(|| embed(models, question));
        let lexical = lexical
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (lexical, embedded)
    });
    let (lexical, lexical_time) = stage(StageName::Lexical, lexical)?;
    let (question_vector, embed_time) = stage(StageName::Embed, embedded)?;
    let (dense, dense_time) = stage(
        StageName::Dense,
        timed(|| view.dense(&question_vector.vector, budgets)),
    )?;
    let fuse_started = Instant::now();
    let fused = fuse(&[(&lexical, 1.0), (&dense, 1.0)], RRF_K);
    let fuse_time = fuse_started.elapsed();

    let candidates: Vec<ChunkId> = fused.chunks().take(budgets.rerank).collect();
    let reranked = if candidates.is_empty() {
        None
    } else {
        let outcome =
            timed(|| rerank(view, models, question, &question_vector.vector, &candidates));
        let ((stage, ranking), wall) = self::stage(StageName::Rerank, outcome)?;
        Some((
            RerankStage {
                wall_ms: Timing::from(wall).wall_ms,
                ..stage
            },
            ranking,
        ))
    };

    let best_first = match &reranked {
        Some((_, ranking)) => ranking
            .chunks()
            .chain(fused.chunks().skip(candidates.len()))
            .collect(),
        None => fused.chunks().collect::<Vec<_>>(),
    };
    let evidence = evidence::select(best_first, |chunk| view.tokens(chunk), budgets);

    let trace = Trace {
        question: question.to_owned(),
        fingerprint: view.fingerprint(models, budgets),
        question_truncated: question_vector.truncated,
        lexical: Stage::new(&lexical, lexical_time),
        embed: embed_time.into(),
        dense: Stage::new(&dense, dense_time),
        fused: Stage::new(&fused, fuse_time),
        reranked: reranked.map(|(stage, _)| stage),
        evidence,
        total: started.elapsed().into(),
    };
    let hits = trace.evidence.chunks.iter().map(|&chunk| SearchHit {
        chunk,
        lexical: trace.lexical.place(chunk),
        dense: trace.dense.place(chunk),
        fused: trace.fused.place(chunk),
        reranked: trace.reranked.as_ref().and_then(|stage| stage.place(chunk)),
        embedding_truncated: view.embedding_truncated(models, chunk),
        rerank_truncated: trace
            .reranked
            .as_ref()
            .is_some_and(|stage| stage.truncated.contains(&chunk)),
    });
    Ok(Search {
        hits: hits.collect(),
        trace,
    })
}

type StageError = Box<dyn Error + Send + Sync>;

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let outcome = run();
    (outcome, started.elapsed())
}

fn stage<T>(
    name: StageName,
    (outcome, wall): (Result<T, StageError>, Duration),
) -> Result<(T, Duration), EngineError> {
    match outcome {
        Ok(done) => Ok((done, wall)),
        Err(source) => Err(EngineError::Stage {
            stage: name,
            source,
        }),
    }
}

fn embed(models: &Models, question: &str) -> Result<quire_model::Embedding, StageError> {
    let mut embedded = models.embedder.embed(&[question], Role::Question)?;
    match (embedded.pop(), embedded.is_empty()) {
        (Some(embedding), true) => Ok(embedding),
        _ => Err("the embedder did not give one vector for one question".into()),
    }
}

/// Scores the candidates by the reranker and blends in the first stage's own
/// scores, which are computed for candidates that only one retriever listed.
fn rerank(
    view: &View,
    models: &Models,
    question: &str,
    question_vector: &[f32],
    candidates: &[ChunkId],
) -> Result<(RerankStage, Ranking), StageError> {
    let mut texts = Vec::with_capacity(candidates.len());
    for &chunk in candidates {
        texts.push(view.passage(chunk)?.text);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = models.reranker.rerank(question, &texts)?;
    if scores.len() != candidates.len() {
        return Err("the reranker did not give one score a passage".into());
    }
    let method = models.reranker.info().method;
    let dense = view.dense_scores(question_vector, candidates)?;
    let lexical = view.lexical_scores(question, candidates)?;
    let scored_candidates: Vec<Candidate> = (0..candidates.len())
        .map(|i| Candidate {
            chunk: candidates[i],
            rerank: f64::from(scores[i].score),
            dense: dense[i],
            lexical: lexical[i],
        })
        .collect();
    let ranking = blend(&scored_candidates, &Blend::of(method))?;
    let own_score = |chunk: ChunkId| {
        let place = candidates.iter().position(|&candidate| candidate == chunk);
        place.map_or(f64::NAN, |place| scored_candidates[place].rerank)
    };
    let truncated: BTreeSet<ChunkId> = (0..candidates.len())
        .filter(|&i| scores[i].truncated)
        .map(|i| candidates[i])
        .collect();
    let stage = RerankStage {
        wall_ms: 0.0,
        method,
        tokens: scores.iter().map(|score| u64::from(score.tokens)).sum(),
        hits: scored(&ranking),
        scores: ranking.chunks().map(own_score).collect(),
        truncated: truncated.into_iter().collect(),
    };
    Ok((stage, ranking))
}
