//! The engine with models made of arithmetic: no ONNX Runtime, and every
//! failure at will.

#![allow(clippy::unwrap_used)] // A test may.

mod fakes;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fakes::*;
use quire_engine::{
    Budgets, BuildEvent, CutSettings, EngineError, How, Models, Progress, StageName, View, build,
    recipe, search, search_within, verify,
};
use quire_index::StoreError;
use quire_model::{Call, CancelFlag, Stop};

fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_of(&path));
        } else if path.file_name() != Some("manifest.json".as_ref()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((name, fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn every_stage_of_a_search_is_in_its_trace() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 40));
    assert_eq!(fixture.build(&book, &good()).unwrap(), How::Fresh);
    assert_eq!(
        fixture.build(&book, &models(Fault::None, 0)).unwrap(),
        How::Found
    );

    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    let budgets = Budgets {
        lexical: 9,
        dense: 8,
        rerank: 4,
        evidence_passages: 6,
        ..Budgets::default()
    };
    let found = search(&view, &good(), "which lamp stood in room17", &budgets).unwrap();
    let first = view.passage(found.hits[0].chunk).unwrap();
    assert!(first.text.contains("room17"), "{}", first.text);
    assert_eq!(first.text, book.text[first.span]);

    let trace = &found.trace;
    let reranked = trace.reranked.as_ref().unwrap();
    assert_eq!(trace.lexical.hits.len(), 9);
    assert_eq!(trace.dense.hits.len(), 8);
    assert_eq!(
        (reranked.hits.len(), reranked.scores.len(), reranked.tokens),
        (4, 4, 20)
    );
    assert_eq!(found.hits.len(), 6);
    for (rank, hit) in (1..).zip(&found.hits[..4]) {
        assert_eq!(hit.reranked.unwrap().rank, rank);
        // A cross-encoder decides alone, on its own scale.
        assert_eq!(hit.reranked.unwrap().score, reranked.scores[rank - 1]);
    }
    assert!(found.hits[4].reranked.is_none() && found.hits[4].fused.is_some());
    assert_eq!(trace.fingerprint.budgets, budgets);
    assert!(
        verify(&fixture.store, &fixture.store.artifacts().unwrap()[0])
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_stage_that_fails_fails_the_query_by_name() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 12));
    fixture.build(&book, &good()).unwrap();
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    let said = |models: &Models| {
        search(&view, models, "which lamp", &Budgets::default())
            .unwrap_err()
            .to_string()
    };
    for fault in [Fault::Error, Fault::NotANumber, Fault::OneTooFew] {
        assert_eq!(said(&models(fault, usize::MAX)), "the rerank stage failed");
    }
    assert_eq!(said(&models(Fault::None, 0)), "the embed stage failed");
    let empty = search(&view, &good(), " \n", &Budgets::default()).unwrap_err();
    assert!(matches!(empty, EngineError::EmptyQuestion));
}

#[test]
fn an_interrupted_build_embeds_only_what_is_missing() {
    let [broken, whole] = [Fixture::new(), Fixture::new()];
    let book = book("green.txt", &rooms("green", 40));
    let error = broken.build(&book, &models(Fault::None, 18)).unwrap_err();
    assert_eq!(error.to_string(), "the passage embedding stage failed");
    assert!(broken.store.artifacts().unwrap().is_empty());

    // Four batches of four were finished: 24 of 40 passages are left.
    let enough = models(Fault::None, 24);
    assert_eq!(broken.build(&book, &enough).unwrap(), How::Resumed);
    whole.build(&book, &good()).unwrap();
    let artifact = |fixture: &Fixture| {
        fixture
            .store
            .find(book.id, a_recipe().key())
            .unwrap()
            .unwrap()
    };
    assert_eq!(
        files_of(artifact(&broken).path()),
        files_of(artifact(&whole).path())
    );
}

#[test]
fn a_library_is_the_same_in_any_order_and_says_which_book_a_hit_is_from() {
    let [forth, back] = [Fixture::new(), Fixture::new()];
    let books = [
        book("green.txt", &rooms("green", 30)),
        book("red.txt", &rooms("red", 20)),
        book("blue.txt", &rooms("blue", 25)),
    ];
    let ids: Vec<_> = books.iter().map(|book| book.id).collect();
    let reversed: Vec<_> = ids.iter().rev().copied().collect();
    for book in &books {
        forth.build(book, &good()).unwrap();
    }
    for book in books.iter().rev() {
        back.build(book, &good()).unwrap();
    }
    let view = View::open_library(&forth.store, &ids, &a_recipe()).unwrap();
    View::open_library(&back.store, &reversed, &a_recipe()).unwrap();
    let libraries = |fixture: &Fixture| files_of(&fixture.store.root().join("libraries"));
    assert!(!libraries(&forth).is_empty());
    assert_eq!(libraries(&forth), libraries(&back));

    let found = search(&view, &good(), "the red lamp in room7", &Budgets::default()).unwrap();
    assert_eq!(found.hits[0].chunk.book, ids[1]);
    assert_eq!(view.title(ids[1]), Some("red"));

    // Opened together, the books give every score the library gives.
    let together = View::open(&back.store, &reversed, &a_recipe()).unwrap();
    let of_books = search(
        &together,
        &good(),
        "the red lamp in room7",
        &Budgets::default(),
    );
    let of_books = of_books.unwrap();
    assert_eq!(of_books.hits, found.hits);
    assert_eq!(of_books.trace.lexical.hits, found.trace.lexical.hits);
    assert_eq!(of_books.trace.dense.hits, found.trace.dense.hits);

    // A removed book takes the libraries that hold it along.
    forth.store.remove(ids[0]).unwrap();
    assert!(libraries(&forth).is_empty());
    assert!(matches!(
        View::open(&forth.store, &ids, &a_recipe()),
        Err(EngineError::NotIndexed { .. })
    ));
}

#[test]
fn passages_too_long_for_the_embedder_are_refused_before_anything_is_built() {
    let cut = CutSettings {
        max_tokens: 63,
        keep_boilerplate: false,
    };
    let error = recipe(&cut, good().embedder.info(), "tokenizer").unwrap_err();
    assert!(error.to_string().contains("ask for 62"), "{error}");
}

#[test]
fn an_artifact_that_changes_under_a_view_fails_the_query() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 40));
    fixture.build(&book, &good()).unwrap();
    let artifact = fixture
        .store
        .find(book.id, a_recipe().key())
        .unwrap()
        .unwrap();
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    let vectors = artifact.path().join("dense/vectors.bin");
    fs::OpenOptions::new()
        .write(true)
        .open(vectors)
        .unwrap()
        .set_len(100)
        .unwrap();
    let error = search(&view, &good(), "which lamp", &Budgets::default()).unwrap_err();
    assert!(matches!(error, EngineError::Stage { .. }), "{error}");
    let reopened = View::open(&fixture.store, &[book.id], &a_recipe());
    assert!(matches!(
        reopened,
        Err(EngineError::Artifact(_) | EngineError::Store(StoreError::Artifact(_)))
    ));
}

#[test]
fn a_budget_of_time_ends_the_reranking_and_says_how_deep_it_got() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 40));
    fixture.build(&book, &good()).unwrap();
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    let ask = |until: Option<Instant>| {
        let budgets = Budgets::default();
        search_within(
            &view,
            &good(),
            "the lamp of room9",
            &budgets,
            &Call::new(),
            until,
        )
        .unwrap()
    };
    let without = ask(None);
    let enough = ask(Some(Instant::now() + Duration::from_secs(3600)));
    assert_eq!(enough.hits, without.hits);

    let none = ask(Some(Instant::now()));
    let reranked = none.trace.reranked.as_ref().unwrap();
    assert_eq!((reranked.wanted, reranked.hits.len()), (20, 0));
    let fused = none.trace.fused.hits.iter().map(|hit| hit.chunk);
    assert!(none.hits.iter().map(|hit| hit.chunk).eq(fused.take(10)));
}

#[test]
fn a_query_nobody_waits_for_any_more_is_not_reranked() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 40));
    fixture.build(&book, &good()).unwrap();
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    let gone = CancelFlag::default();
    gone.cancel();
    for (call, expected) in [
        (Call::new().cancelled_by(&gone), Stop::Cancelled),
        (Call::new().until(Instant::now()), Stop::DeadlinePassed),
    ] {
        // A reranker that was asked would fail the query by another error.
        let models = models(Fault::Error, usize::MAX);
        let budgets = Budgets::default();
        let error = search_within(&view, &models, "the lamp", &budgets, &call, None).unwrap_err();
        let EngineError::Stopped { stop, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(stop, expected);
    }
}

/// Stops a build after so many events.
struct StopAfter(AtomicUsize);

impl Progress for StopAfter {
    fn event(&self, event: BuildEvent) {
        if matches!(event, BuildEvent::Embedded { .. }) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

#[test]
fn a_build_stops_when_it_is_told_to_and_goes_on_from_there() {
    let fixture = Fixture::new();
    let book = book("green.txt", &rooms("green", 40));
    let stop = StopAfter(AtomicUsize::new(2));
    let models = good();
    let error = build(&fixture.store, &book, &a_recipe(), &models, &stop).unwrap_err();
    assert!(matches!(
        error,
        EngineError::Stopped {
            stage: StageName::EmbedPassages,
            stop: Stop::Cancelled
        }
    ));
    assert_eq!(fixture.build(&book, &models).unwrap(), How::Resumed);
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    assert!(search(&view, &models, "room3", &Budgets::default()).is_ok());
}
