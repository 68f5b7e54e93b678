//! One model, many callers at once: who else asks changes no bit, and what
//! nobody waits for is not run.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use quire_model::{Call, CancelFlag, Embedder as _, RerankScore, Reranker, Role, Stop};
use quire_onnx::{
    CrossEncoder, LateInteraction, OnnxEmbedder, OnnxModel, Precision, SessionOptions,
};
use support::{RandomModel, TINY, plain, small};

const QUESTIONS: [&str; 4] = [
    "Who was the harbour master?",
    "点灯的人什么时候走过码头？",
    "Why did the captain leave at night?",
    "How long did it rain?",
];

fn passages() -> Vec<String> {
    let english = "The lamplighter crossed the harbour before dawn and counted the boats. ";
    let chinese = "天还没有亮，点灯的人走过码头，一只一只地数着船。";
    (0..8)
        .flat_map(|n| {
            [
                format!("{n} {}", english.repeat(n % 3)),
                format!("第{n}回 {}", chinese.repeat(n % 4)),
            ]
        })
        .collect()
}

fn two_workers() -> SessionOptions {
    SessionOptions {
        workers: 2,
        ..plain()
    }
}

fn texts_run(model: &OnnxModel, act: impl FnOnce()) -> u64 {
    let before = model.stats().texts;
    act();
    model.stats().texts - before
}

#[test]
fn concurrent_callers_get_the_bits_they_would_get_alone() {
    let passages = passages();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let alone = OnnxEmbedder::new(small(Precision::Int8, &plain())).unwrap();
    let alone_reranker = LateInteraction::new(Arc::clone(alone.model())).unwrap();
    let call = Call::new();
    let expected: Vec<_> = QUESTIONS
        .iter()
        .map(|question| {
            // Reranked first: nothing is handed from the embedder.
            let scores = alone_reranker.rerank(question, &passages, &call).unwrap();
            (
                scores,
                alone.embed(&[question], Role::Question, &call).unwrap(),
            )
        })
        .collect();
    let vectors = alone.embed(&passages, Role::Passage, &call).unwrap();

    let embedder = OnnxEmbedder::new(small(Precision::Int8, &two_workers())).unwrap();
    let reranker = LateInteraction::new(Arc::clone(embedder.model())).unwrap();
    std::thread::scope(|scope| {
        for (question, (scores, vector)) in QUESTIONS.iter().zip(&expected) {
            let (embedder, reranker, passages) = (&embedder, &reranker, &passages);
            scope.spawn(move || {
                for _ in 0..2 {
                    let call = Call::new();
                    let found = embedder.embed(&[question], Role::Question, &call).unwrap();
                    assert_eq!(found, *vector);
                    let found = reranker.rerank(question, passages, &call).unwrap();
                    assert_eq!(found, *scores);
                }
            });
        }
        let (embedder, passages, vectors) = (&embedder, &passages, &vectors);
        scope.spawn(move || {
            for _ in 0..2 {
                let found = embedder
                    .embed(passages, Role::Passage, &Call::bulk())
                    .unwrap();
                assert_eq!(found, *vectors);
            }
        });
    });
}

#[test]
fn a_question_is_run_once_for_embedding_and_late_interaction() {
    let embedder = OnnxEmbedder::new(small(Precision::Int8, &plain())).unwrap();
    let model = Arc::clone(embedder.model());
    let (call, question) = (Call::new(), QUESTIONS[0]);
    let embed = || drop(embedder.embed(&[question], Role::Question, &call).unwrap());
    // Nobody takes it yet, so nothing is left.
    embed();
    let reranker = LateInteraction::new(Arc::clone(&model)).unwrap();
    let passages = ["The harbour master's name was Ilse Brandt.", "It rained."];
    let rerank = || reranker.rerank(question, &passages, &call).unwrap();

    let mut scores = Vec::new();
    assert_eq!(texts_run(&model, || scores.push(rerank())), 3);
    embed();
    assert_eq!(texts_run(&model, || scores.push(rerank())), 2);
    // It was taken: asking again costs a run again.
    assert_eq!(texts_run(&model, || scores.push(rerank())), 3);
    assert_eq!(scores[0], scores[1]);
    assert_eq!(scores[0], scores[2]);
}

/// Whatever the budget, the scores are the first of the full ones.
fn budgets_give_prefixes(reranker: &dyn Reranker, passages: &[&str]) {
    let (call, question) = (Call::new(), QUESTIONS[0]);
    let within = |milliseconds| -> Vec<RerankScore> {
        let budget = Instant::now() + Duration::from_millis(milliseconds);
        reranker
            .rerank_until(question, passages, &call, budget)
            .unwrap()
    };
    let full = reranker.rerank(question, passages, &call).unwrap();
    assert_eq!(within(600_000), full);
    assert_eq!(within(0), []);
    for milliseconds in [1, 5, 20, 80] {
        let some = within(milliseconds);
        assert_eq!(some, full[..some.len()]);
    }
    let over = Call::new().until(Instant::now());
    let budget = Instant::now() + Duration::from_secs(600);
    let error = reranker.rerank_until(question, passages, &over, budget);
    assert_eq!(error.unwrap_err().stop(), Some(Stop::DeadlinePassed));
}

#[test]
fn until_the_budget_ends_passages_are_scored_in_their_order() {
    let passages = passages();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let model = small(Precision::Int8, &two_workers());
    budgets_give_prefixes(&LateInteraction::new(model).unwrap(), &passages);
    let cross = RandomModel::cross_encoder(&TINY).load(&two_workers());
    budgets_give_prefixes(&CrossEncoder::new(cross).unwrap(), &passages);
}

#[test]
fn what_is_remembered_is_scored_within_any_budget() {
    let model = small(Precision::Int8, &plain());
    let reranker = LateInteraction::new(Arc::clone(&model))
        .unwrap()
        .remembering(64 << 20);
    let passages = passages();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let (call, question) = (Call::new(), QUESTIONS[0]);
    let full = reranker.rerank(question, &passages, &call).unwrap();
    let budget = Instant::now() + Duration::from_secs(600);
    let run = texts_run(&model, || {
        let found = reranker.rerank_until(question, &passages, &call, budget);
        assert_eq!(found.unwrap(), full);
    });
    assert_eq!(run, 1);
}

#[test]
fn a_call_nobody_waits_for_is_not_run() {
    let embedder = OnnxEmbedder::new(RandomModel::embedder(&TINY).load(&plain())).unwrap();
    let flag = CancelFlag::default();
    flag.cancel();
    let gone = Call::new().cancelled_by(&flag);
    let late = Call::bulk().until(Instant::now());
    for (call, stop) in [(gone, Stop::Cancelled), (late, Stop::DeadlinePassed)] {
        let error = embedder.embed(&["king"], Role::Passage, &call).unwrap_err();
        assert_eq!(error.stop(), Some(stop));
        assert_eq!(error.to_string(), "the model random was not asked");
    }
    assert_eq!(embedder.model().stats().batches, 0);
}
