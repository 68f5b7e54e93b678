//! More than the service can do.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use quire_server::ServiceConfig;
use serde_json::json;

use crate::client::search;
use crate::support::{Server, quick, wait};

const QUEUE_DEPTH: &str = "quire_queue_depth ";

fn small() -> ServiceConfig {
    ServiceConfig {
        workers: 1,
        queue: 1,
        ..quick()
    }
}

fn which_lamp() -> Vec<u8> {
    search(json!({"question": "which lamp"}))
}

#[test]
fn past_the_queue_a_query_is_refused_at_once_and_none_is_lost() {
    let server = Server::start(small());
    server.controls.shut();
    let running = server.asking(which_lamp());
    server.controls.wait_inside(1);
    let waiting = server.asking(which_lamp());
    server.wait_metric(QUEUE_DEPTH, 1.0);
    for _ in 0..20 {
        let started = Instant::now();
        let refused = server.ask(which_lamp());
        let took = started.elapsed();
        assert_eq!((refused.status, &*refused.code()), (429, "queue_full"));
        let retry: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&retry));
        assert!(took < Duration::from_millis(50), "{took:?}");
    }
    assert_eq!(
        server.metric("quire_rejections_total{reason=\"queue_full\"} "),
        20.0
    );
    server.controls.open();
    assert_eq!(running.join().unwrap().status, 200);
    assert_eq!(waiting.join().unwrap().status, 200);
    assert_eq!(server.metric(QUEUE_DEPTH), 0.0);
}

#[test]
fn a_full_queue_of_a_model_is_refused_the_same_way() {
    let server = Server::start(quick());
    server.controls.full.store(true, Ordering::SeqCst);
    let refused = server.ask(which_lamp());
    assert_eq!((refused.status, &*refused.code()), (429, "queue_full"));
    assert!(refused.header("retry-after").is_some());
}

#[test]
fn a_timeout_is_kept_while_a_query_waits_and_while_a_model_works() {
    let server = Server::start(small());
    server.controls.shut();
    let timed = |ms: u64| search(json!({"question": "which lamp", "timeout_ms": ms}));
    let in_model = server.asking(timed(400));
    server.controls.wait_inside(1);
    let started = Instant::now();
    let in_queue = server.ask(timed(100));
    assert_eq!((in_queue.status, &*in_queue.code()), (504, "timeout"));
    // The thread is still in the model, yet the answer comes in time.
    let in_model = in_model.join().unwrap();
    assert_eq!((in_model.status, &*in_model.code()), (504, "timeout"));
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    server.controls.open();
    // What had waited too long was never run.
    wait(
        || server.ask(which_lamp()).status == 200,
        "a thread that is free again",
    );
    let ran = server.controls.embedded.load(Ordering::SeqCst);
    // One in the model, one at the end, one to prove readiness.
    assert_eq!(ran, 3);
}

#[test]
fn a_client_that_goes_leaves_the_queue_and_its_query_is_not_run() {
    let server = Server::start(small());
    server.controls.shut();
    let running = server.asking(which_lamp());
    server.controls.wait_inside(1);
    let mut gone = server.connect();
    gone.send(which_lamp());
    server.wait_metric(QUEUE_DEPTH, 1.0);
    drop(gone);
    let counted = "quire_errors_total{code=\"client_gone\"} ";
    server.wait_metric(counted, 1.0);
    // Its place is free at once.
    let next = server.asking(which_lamp());
    wait(
        || server.metric(QUEUE_DEPTH) == 1.0,
        "the next query in its place",
    );
    server.controls.open();
    assert_eq!(running.join().unwrap().status, 200);
    assert_eq!(next.join().unwrap().status, 200);
    assert_eq!(server.controls.reranked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_client_that_goes_while_its_query_runs_stops_it_at_the_next_stage() {
    let server = Server::start(small());
    server.controls.slow_ms.store(100, Ordering::SeqCst);
    let mut gone = server.connect();
    gone.send(search(
        json!({"question": "which lamp", "budgets": {"rerank": 50}}),
    ));
    wait(
        || server.controls.reranked.load(Ordering::SeqCst) == 1,
        "the reranker",
    );
    drop(gone);
    let started = Instant::now();
    server.wait_metric("quire_queries_running ", 0.0);
    // All fifty passages would take five seconds.
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}
