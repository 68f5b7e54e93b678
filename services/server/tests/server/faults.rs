//! Clients that are slow, half there, or too many.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::search;
use crate::support::{Server, quick};

const HEAD: &str = "POST /v1/search HTTP/1.1\r\nhost: localhost\r\n\
    content-type: application/json\r\ncontent-length: 30\r\n\r\n";

#[test]
fn a_header_or_a_body_that_drips_is_given_up_and_holds_no_thread() {
    let mut config = quick();
    config.workers = 1;
    config.times.header = Duration::from_millis(300);
    config.times.body_idle = Duration::from_millis(300);
    let server = Server::start(config);
    let started = Instant::now();
    let mut headers: Vec<_> = (0..10).map(|_| server.connect()).collect();
    let mut bodies: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for slow in &mut headers {
        slow.send("POST /v1/search HT");
    }
    for slow in &mut bodies {
        slow.send(HEAD);
        slow.send("{\"q");
    }
    let answer = server.search(&json!({"question": "which lamp"}));
    assert_eq!(answer.status, 200);
    for mut slow in headers {
        assert!(slow.is_closed());
    }
    for mut slow in bodies {
        let answer = slow.answer();
        assert_eq!((answer.status, &*answer.code()), (408, "body_timeout"));
        assert!(slow.is_closed());
    }
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_body_that_drips_steadily_is_given_up_in_the_end() {
    let mut config = quick();
    config.times.body_idle = Duration::from_millis(400);
    config.times.json_body = Duration::from_millis(600);
    let server = Server::start(config);
    let mut slow = server.connect();
    slow.send(HEAD);
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(80));
        // The service may have hung up by then.
        let _ = std::io::Write::write_all(slow.0.get_mut(), b" ");
    }
    assert_eq!(slow.answer().status, 408);
}

#[test]
fn connections_over_the_limit_are_told_so_and_those_within_go_on() {
    let mut config = quick();
    config.limits.connections = 3;
    config.times.header = Duration::from_millis(500);
    let server = Server::start(config);
    // The connection that asked for readiness may not be closed yet.
    std::thread::sleep(Duration::from_millis(100));
    let mut within = server.connect();
    within.send(search(json!({"question": "which lamp"})));
    assert_eq!(within.answer().status, 200);
    let _half_open = [server.connect(), server.connect()];
    std::thread::sleep(Duration::from_millis(50));
    let mut over = server.connect();
    let answer = over.answer();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["code"], "too_many_connections");
    assert!(answer.header("retry-after").is_some());
    assert!(over.is_closed());
    // The half-open ones are closed in time, and there is room again.
    crate::support::wait(
        || {
            let mut again = server.connect();
            again.send(search(json!({"question": "which lamp"})));
            again.answer().status == 200
        },
        "room for a connection",
    );
}

#[test]
fn one_connection_carries_many_requests() {
    let server = Server::start(quick());
    let mut connection = server.connect();
    for _ in 0..3 {
        connection.send(search(json!({"question": "which lamp"})));
        assert_eq!(connection.answer().status, 200);
    }
}
