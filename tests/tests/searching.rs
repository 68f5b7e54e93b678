//! Searching: one book and several, explanations, budgets, repeatability.

#![allow(clippy::unwrap_used)] // A test may.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;

use quire_tests::{Quire, Ran, sample};
use serde_json::Value;

/// Both books of the sample corpus, indexed.
fn indexed() -> Quire {
    let quire = Quire::new();
    let ran = quire.run(["index", sample().to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    quire
}

/// Ids and scores of every stage: what must be equal when a query is repeated.
fn essence(found: &Value) -> Value {
    let trace = &found["trace"];
    let stage = |name: &str| trace[name]["hits"].clone();
    serde_json::json!([
        stage("lexical"),
        stage("dense"),
        stage("fused"),
        stage("reranked"),
        trace["reranked"]["scores"],
        trace["evidence"],
        trace["fingerprint"]["artifact"],
    ])
}

#[test]
fn a_search_over_both_books_explains_every_hit_and_repeats_exactly() {
    let quire = indexed();
    let question = "Which of the twins is the elder?";
    let found = quire.json(["search", "--rerank", "5", question]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(found["books"].as_array().unwrap().len(), 2);
    assert_eq!(hits.len(), 10);

    // Spans are exact, ranks consecutive, passages distinct.
    let text = fs::read_to_string(sample().join("the-wet-ledger.txt")).unwrap();
    let mut seen = BTreeSet::new();
    for (rank, hit) in (1u64..).zip(hits) {
        assert_eq!(hit["rank"], rank);
        assert!(seen.insert(hit["chunk"].as_str().unwrap().to_owned()));
        let span = |end: &str| hit["span"][end].as_u64().unwrap() as usize;
        if hit["title"] == "the-wet-ledger" {
            assert_eq!(hit["text"], text[span("start")..span("end")]);
        }
    }
    let reranked = found["trace"]["reranked"]["hits"].as_array().unwrap();
    assert_eq!(reranked.len(), 5);
    assert_eq!(found["trace"]["reranked"]["method"], "late_interaction");
    for place in 0..5 {
        assert_eq!(hits[place]["chunk"], reranked[place]["chunk"]);
        assert_eq!(hits[place]["stages"]["reranked"]["rank"], place as u64 + 1);
    }

    // The same with one thread, and with others running beside it.
    let expected = essence(&found);
    let alone = quire.json(["search", "--threads", "1", "--rerank", "5", question]);
    assert_eq!(essence(&alone), expected);
    thread::scope(|scope| {
        let beside: Vec<_> = ["聋桨手是谁？", question, "What is the fare?"]
            .into_iter()
            .map(|other| {
                let quire = &quire;
                scope.spawn(move || (other, quire.json(["search", "--rerank", "5", other])))
            })
            .collect();
        for run in beside {
            let (asked, found) = run.join().unwrap();
            if asked == question {
                assert_eq!(essence(&found), expected);
            }
        }
    });

    let shown = quire.run([
        "search",
        "--explain",
        "--rerank",
        "5",
        "--color",
        "always",
        question,
    ]);
    assert!(shown.stdout.contains("reranked #1"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("late interaction"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains("cross-encoder"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("\u{1b}[1;33m"),
        "no term stands out: {}",
        shown.stdout
    );

    // One book alone, named by the beginning of its id; the question from
    // standard input; budgets as asked.
    let id = hits[0]["chunk"].as_str().unwrap()[..8].to_owned();
    let mut child = quire
        .command([
            "search",
            "--book",
            &id,
            "--lexical",
            "7",
            "--dense",
            "6",
            "--rerank",
            "0",
            "--evidence-passages",
            "3",
            "--json",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(question.as_bytes())
        .unwrap();
    let one = Ran::from(child.wait_with_output().unwrap()).json();
    assert_eq!(one["question"], question);
    assert_eq!(one["books"].as_array().unwrap().len(), 1);
    assert_eq!(one["trace"]["lexical"]["hits"].as_array().unwrap().len(), 7);
    assert_eq!(one["trace"]["dense"]["hits"].as_array().unwrap().len(), 6);
    assert_eq!(one["trace"]["reranked"], Value::Null);
    assert_eq!(one["hits"].as_array().unwrap().len(), 3);
    assert_eq!(one["trace"]["fingerprint"]["budgets"]["dense"], 6);

    // A hit is read on in its book.
    let chunk = hits[0]["chunk"].as_str().unwrap();
    let shown = quire.json(["show", chunk, "--around", "2"]);
    let passages = shown["passages"].as_array().unwrap();
    let asked: Vec<&Value> = passages.iter().filter(|p| p["asked"] == true).collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["text"], hits[0]["text"]);
    for pair in passages.windows(2) {
        assert_eq!(pair[0]["span"]["end"], pair[1]["span"]["start"]);
    }
}

#[test]
fn a_book_is_found_by_its_own_quotation_in_either_language() {
    let quire = indexed();
    for (question, title, part) in [
        (
            "he, Wick, was the elder by eleven minutes",
            "the-wet-ledger",
            "elder by eleven",
        ),
        ("官定的一庹是五尺整", "一庹水", "官定的一庹是五尺整"),
    ] {
        let found = quire.json(["search", question]);
        let first = &found["hits"][0];
        assert_eq!(first["title"], title);
        let text = first["text"].as_str().unwrap().replace('\n', " ");
        assert!(text.contains(part), "{text}");
        assert!(first["chapter"].is_string());
    }
}

#[test]
fn the_cross_encoder_of_quires_own_reads_as_deep_as_its_profile_says() {
    let quire = indexed();
    let question = "Which of the twins is the elder?";
    let found = quire.json(["search", "--profile", "small-cross", question]);
    let trace = &found["trace"];
    let reranked = trace["reranked"]["hits"].as_array().unwrap();
    assert_eq!(trace["reranked"]["method"], "cross_encoder");
    assert_eq!(trace["fingerprint"]["budgets"]["rerank"], reranked.len());
    assert_eq!(reranked.len(), 16);
    // Its own scores are told as sigmoids; what orders is the blend.
    let told = trace["reranked"]["scores"].as_array().unwrap();
    let told: Vec<f64> = told.iter().map(|score| score.as_f64().unwrap()).collect();
    assert!(told.iter().all(|score| (0.0..=1.0).contains(score)));
    assert!(told.windows(2).any(|pair| pair[0] < pair[1]));

    // By the reranker alone, the order is its own; three are read if so asked.
    let alone = ["--blend", "1,0,0", "--rerank", "3", "--threads", "1"];
    let asked = ["search", "--profile", "small-cross", question];
    let pure = quire.json([&asked[..], &alone[..]].concat());
    let hits = pure["trace"]["reranked"]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 3);
    let scores = pure["trace"]["reranked"]["scores"].as_array().unwrap();
    for (hit, score) in hits.iter().zip(scores) {
        assert_eq!(hit["score"], *score);
        let at = reranked.iter().position(|one| one["chunk"] == hit["chunk"]);
        assert_eq!(told[at.unwrap()], score.as_f64().unwrap());
    }
    assert!(scores.is_sorted_by(|a, b| a.as_f64() >= b.as_f64()));
}
