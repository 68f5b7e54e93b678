//! One query, from the question to the evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use quire_corpus::ChunkId;
use quire_index::{Ranking, fuse};
use quire_model::{Call, Role};

use crate::blend::{Candidate, blend};
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
    search_within(view, models, question, budgets, &Call::new(), None)
}

/// [`search`] for somebody who does not wait for ever. `call` ends the query
/// between two stages or in the models' queue; at `rerank_until` the reranker,
/// which scores the best candidates first, leaves the rest as fusion had them.
/// How deep it got is in the trace.
///
/// # Errors
/// Those of [`search`], and [`EngineError::Stopped`] when `call` ends.
pub fn search_within(
    view: &View,
    models: &Models,
    question: &str,
    budgets: &Budgets,
    call: &Call,
    rerank_until: Option<Instant>,
) -> Result<Search, EngineError> {
    let started = Instant::now();
    budgets.check()?;
    if question.trim().is_empty() {
        return Err(EngineError::EmptyQuestion);
    }

    let (lexical, embedded) = thread::scope(|threads| {
        let lexical = threads.spawn(|| timed(|| view.lexical(question, budgets.lexical)));
        let embedded = timed(|| embed(models, question, call));
        let lexical = lexical
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (lexical, embedded)
    });
    let (lexical, lexical_time) = stage(StageName::Lexical, lexical)?;
    let (question_vector, embed_time) = stage(StageName::Embed, embedded)?;
    wanted(call, StageName::Dense)?;
    let (dense, dense_time) = stage(
        StageName::Dense,
        timed(|| view.dense(&question_vector.vector, budgets)),
    )?;
    let fuse_started = Instant::now();
    let weights = &models.weights.fusion;
    let fused = fuse(
        &[(&lexical, weights.lexical), (&dense, weights.dense)],
        weights.k,
    );
    let fuse_time = fuse_started.elapsed();

    let candidates: Vec<ChunkId> = fused.chunks().take(budgets.rerank).collect();
    let reranked = if candidates.is_empty() {
        None
    } else {
        wanted(call, StageName::Rerank)?;
        let first_stage = FirstStage {
            question,
            vector: &question_vector.vector,
            lexical: &lexical,
            lexical_is_whole: lexical.len() < budgets.lexical,
            dense: &dense,
        };
        let outcome = timed(|| rerank(view, models, &first_stage, &candidates, call, rerank_until));
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
            .chain(fused.chunks().skip(ranking.len()))
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
        Err(source) => Err(EngineError::stage(name, source)),
    }
}

/// Whether anybody still waits, before the next stage.
fn wanted(call: &Call, stage: StageName) -> Result<(), EngineError> {
    match call.stop() {
        Some(stop) => Err(EngineError::Stopped { stage, stop }),
        None => Ok(()),
    }
}

fn embed(
    models: &Models,
    question: &str,
    call: &Call,
) -> Result<quire_model::Embedding, StageError> {
    let mut embedded = models.embedder.embed(&[question], Role::Question, call)?;
    match (embedded.pop(), embedded.is_empty()) {
        (Some(embedding), true) => Ok(embedding),
        _ => Err("the embedder did not give one vector for one question".into()),
    }
}

/// What the first stage knows about the candidates.
struct FirstStage<'a> {
    question: &'a str,
    vector: &'a [f32],
    lexical: &'a Ranking,
    /// Whether BM25's list was not cut off: what is not in it scores 0.
    lexical_is_whole: bool,
    dense: &'a Ranking,
}

impl FirstStage<'_> {
    fn lexical_scores(&self, view: &View, chunks: &[ChunkId]) -> Result<Vec<f64>, StageError> {
        completed(self.lexical, chunks, |missing| {
            if self.lexical_is_whole {
                return Ok(vec![0.0; missing.len()]);
            }
            view.lexical_scores(self.question, missing)
        })
    }

    fn dense_scores(&self, view: &View, chunks: &[ChunkId]) -> Result<Vec<f64>, StageError> {
        completed(self.dense, chunks, |missing| {
            view.dense_scores(self.vector, missing)
        })
    }
}

/// The score of each of `chunks`: that of the ranking, or else from `score`.
fn completed(
    ranking: &Ranking,
    chunks: &[ChunkId],
    score: impl FnOnce(&[ChunkId]) -> Result<Vec<f64>, StageError>,
) -> Result<Vec<f64>, StageError> {
    let ranked: BTreeMap<ChunkId, f64> = ranking
        .hits()
        .iter()
        .map(|hit| (hit.chunk, hit.score))
        .collect();
    let is_missing = |chunk: &ChunkId| !ranked.contains_key(chunk);
    let missing: Vec<ChunkId> = chunks.iter().copied().filter(is_missing).collect();
    let scored: BTreeMap<ChunkId, f64> = if missing.is_empty() {
        BTreeMap::new()
    } else {
        let scores = score(&missing)?;
        missing.iter().copied().zip(scores).collect()
    };
    let of = |chunk| ranked.get(chunk).or_else(|| scored.get(chunk)).copied();
    chunks
        .iter()
        .map(|chunk| of(chunk).ok_or_else(|| format!("passage {chunk} has no score").into()))
        .collect()
}

/// Scores the candidates by the reranker, the best first, and blends in the
/// first stage's own scores, which are computed for candidates that only one
/// retriever listed.
fn rerank(
    view: &View,
    models: &Models,
    first_stage: &FirstStage<'_>,
    candidates: &[ChunkId],
    call: &Call,
    until: Option<Instant>,
) -> Result<(RerankStage, Ranking), StageError> {
    let mut texts = Vec::with_capacity(candidates.len());
    for &chunk in candidates {
        texts.push(view.passage(chunk)?.text);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (reranker, question) = (&models.reranker, first_stage.question);
    let scores = match until {
        Some(until) => reranker.rerank_until(question, &texts, call, until)?,
        None => reranker.rerank(question, &texts, call)?,
    };
    let too_few = until.is_none() && scores.len() < candidates.len();
    if too_few || scores.len() > candidates.len() {
        return Err("the reranker did not give one score a passage".into());
    }
    let wanted = candidates.len();
    let candidates = &candidates[..scores.len()];
    let method = reranker.info().method;
    let dense = first_stage.dense_scores(view, candidates)?;
    let lexical = first_stage.lexical_scores(view, candidates)?;
    let scored_candidates: Vec<Candidate> = (0..candidates.len())
        .map(|i| Candidate {
            chunk: candidates[i],
            rerank: scores[i].score,
            dense: dense[i],
            lexical: lexical[i],
        })
        .collect();
    let ranking = blend(&scored_candidates, method, &models.weights.blend)?;
    let own_score = |chunk: ChunkId| {
        let place = candidates.iter().position(|&candidate| candidate == chunk);
        place.map_or(f64::NAN, |place| {
            method.told(scored_candidates[place].rerank)
        })
    };
    let truncated: BTreeSet<ChunkId> = (0..candidates.len())
        .filter(|&i| scores[i].truncated)
        .map(|i| candidates[i])
        .collect();
    let stage = RerankStage {
        wall_ms: 0.0,
        method,
        wanted,
        tokens: scores.iter().map(|score| u64::from(score.tokens)).sum(),
        hits: scored(&ranking),
        scores: ranking.chunks().map(own_score).collect(),
        truncated: truncated.into_iter().collect(),
    };
    Ok((stage, ranking))
}
