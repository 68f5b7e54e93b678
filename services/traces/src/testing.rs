//! A trace to log.

use quire_corpus::{BookId, ChunkId};
use quire_engine::Trace;
use quire_index::{Hit, Ranking};
use serde_json::json;

use crate::{RequestTimings, TraceEntry};

/// A trace with that many hits in each stage.
pub(crate) fn trace(hits: u32) -> Trace {
    let book = BookId::of_text("a book");
    let chunk = |ordinal| ChunkId { book, ordinal };
    let list = |scale: f64| -> Vec<_> {
        let hits = (0..hits).map(|ordinal| Hit {
            chunk: chunk(ordinal),
            score: scale / f64::from(ordinal + 3),
        });
        let ranking = Ranking::by_score(hits.collect()).unwrap();
        let hits = ranking.hits().iter();
        hits.map(|hit| json!({ "chunk": hit.chunk, "score": hit.score }))
            .collect()
    };
    let stage = |scale| json!({ "wall_ms": 0.1 * scale, "hits": list(scale) });
    // By way of JSON, so that a field more in the engine is a line here.
    serde_json::from_value(json!({
        "question": "who stole the \"lamp\"\nand why",
        "fingerprint": {
            "version": "quire 0",
            "artifact": "indexes/1",
            "recipe": "r",
            "embedder": "e@1",
            "reranker": "x@1",
            "method": "cross_encoder",
            "blend": { "rerank": 1.0, "dense": 0.0, "lexical": 0.0 },
            "fusion": { "k": 60.0, "lexical": 1.0, "dense": 1.0 },
            "budgets": {},
            "device": "cpu",
        },
        "question_truncated": false,
        "lexical": stage(7.3),
        "embed": { "wall_ms": 4.2 },
        "dense": stage(0.9),
        "fused": stage(0.03),
        "reranked": {
            "wall_ms": 30.0,
            "method": "cross_encoder",
            "wanted": hits,
            "tokens": 77,
            "hits": list(0.99),
            "scores": (0..hits).map(|at| 0.99 / f64::from(at + 3)).collect::<Vec<_>>(),
            "truncated": [],
        },
        "evidence": {
            "chunks": (0..hits).map(chunk).collect::<Vec<_>>(),
            "tokens": 50,
            "too_long": [],
        },
        "total": { "wall_ms": 36.5 },
    }))
    .unwrap()
}

/// An entry of a trace.
pub(crate) fn entry(trace: &Trace) -> TraceEntry<'_> {
    const BOOKS: &[BookId] = &[];
    TraceEntry {
        request_id: Some("request-1"),
        books: BOOKS,
        timings: RequestTimings {
            queue_ms: 0.3,
            total_ms: 37.0,
        },
        trace,
        answer: None,
    }
}
