//! The end of the service.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{request, search};
use crate::support::{Server, quick, wait};

#[test]
fn what_is_in_flight_is_answered_and_all_else_refused() {
    let mut server = Server::start(quick());
    let mut kept = server.connect();
    kept.send(request("GET", "/healthz", &[], b""));
    assert_eq!(kept.answer().status, 200);
    server.controls.shut();
    let running = server.asking(search(json!({"question": "which lamp"})));
    server.controls.wait_inside(1);
    let address = server.address;
    server.begin_stop();
    // No new connection is taken.
    let refused = || std::net::TcpStream::connect(address).is_err();
    wait(refused, "the listener's end");
    kept.send(search(json!({"question": "which lamp"})));
    let answer = kept.answer();
    assert_eq!((answer.status, &*answer.code()), (503, "draining"));
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(kept.is_closed());
    server.controls.open();
    let answer = running.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["run"]["trace_logged"], true);
    server.stopped();
}

#[test]
fn readiness_ends_first() {
    let mut server = Server::start(quick());
    let mut kept = server.connect();
    kept.send(request("GET", "/readyz", &[], b""));
    assert_eq!(kept.answer().status, 200);
    server.controls.shut();
    let running = server.asking(search(json!({"question": "which lamp"})));
    server.controls.wait_inside(1);
    let address = server.address;
    server.begin_stop();
    wait(
        || std::net::TcpStream::connect(address).is_err(),
        "the listener's end",
    );
    kept.send(request("GET", "/readyz", &[], b""));
    let answer = kept.answer();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["checks"][4]["detail"], "stopping");
    server.controls.open();
    running.join().unwrap();
}

#[test]
fn a_query_that_does_not_end_is_cut_off_when_the_time_is_up() {
    let mut config = quick();
    config.times.drain = Duration::from_millis(200);
    let mut server = Server::start(config);
    let mut asking = server.connect();
    let asked = json!({"question": "which lamp", "budgets": {"rerank": 50}});
    // Forty seconds in all.
    server
        .controls
        .slow_ms
        .store(800, std::sync::atomic::Ordering::SeqCst);
    asking.send(search(asked));
    wait(
        || {
            server
                .controls
                .reranked
                .load(std::sync::atomic::Ordering::SeqCst)
                == 1
        },
        "the reranker",
    );
    let started = Instant::now();
    server.stopped();
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert!(asking.is_closed());
}

#[test]
fn idle_connections_do_not_hold_up_the_end() {
    let mut server = Server::start(quick());
    let mut idle = server.connect();
    idle.send(request("GET", "/healthz", &[], b""));
    idle.answer();
    let started = Instant::now();
    server.stopped();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    assert!(idle.is_closed());
}
