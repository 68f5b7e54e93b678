//! The service from outside.

use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use quire_server::TelemetryConfig;
use serde_json::{Value, json};

use crate::client::{request, search};
use crate::support::{Server, quick, wait};

#[test]
fn every_series_is_there_before_anything_is_asked_and_counts_afterwards() {
    let server = Server::start(quick());
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let names = lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, _)| name);
        names.map(str::to_owned).collect()
    };
    let before = server.get("/metrics");
    assert!(
        before
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert_eq!(
        server.search(&json!({"question": "which lamp"})).status,
        200
    );
    server.search(&json!({"question": ""}));
    server.get("/nothing");
    let after = server.get("/metrics");
    assert_eq!(names(before.text()), names(after.text()));
    let ok = "quire_requests_total{route=\"/v1/search\",status=\"2xx\"} ";
    assert_eq!(server.metric(ok), 1.0);
    assert_eq!(
        server.metric("quire_errors_total{code=\"empty_question\"} "),
        1.0
    );
    assert_eq!(
        server.metric("quire_stage_seconds_count{stage=\"rerank\"} "),
        1.0
    );
    assert_eq!(server.metric("quire_traces_appended_total "), 1.0);
    assert_eq!(server.metric("quire_books_open "), 2.0);
    // This very request.
    assert_eq!(server.metric("quire_requests_in_flight "), 1.0);
}

#[test]
fn a_clients_id_comes_back_in_answers_of_every_kind() {
    let server = Server::start(quick());
    for path in ["/healthz", "/nothing", "/v1/books"] {
        let answer = server.ask(request("GET", path, &[("x-request-id", "mine-7")], b""));
        assert_eq!(answer.header("x-request-id"), Some("mine-7"), "{path}");
    }
    let [one, two] = [server.get("/healthz"), server.get("/healthz")];
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
}

#[test]
fn readiness_tells_each_check_and_a_model_that_broke() {
    let mut config = quick();
    config.times.proof = Duration::from_millis(50);
    let server = Server::start(config);
    let names: Vec<Value> = server.get("/readyz").json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].clone())
        .collect();
    assert_eq!(names, ["models", "disk", "books", "traces", "serving"]);
    server.controls.broken.store(true, Ordering::SeqCst);
    wait(|| server.get("/readyz").status == 503, "the broken model");
    let answer = server.get("/readyz");
    assert!(!answer.text().contains("secret"), "{}", answer.text());
    assert_eq!(answer.json()["checks"][0]["ok"], false);
    assert_eq!(server.get("/healthz").status, 200);
    server.controls.broken.store(false, Ordering::SeqCst);
    server.wait_ready();
}

#[test]
fn the_document_and_its_page_are_served_whole() {
    let server = Server::start(quick());
    let document = server.get("/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let search = &document["paths"]["/v1/search"]["post"];
    assert!(search["responses"]["429"].is_object());
    let example = &document["components"]["schemas"]["SearchRequest"]["example"];
    // The example is a request that is understood; its book is not here.
    assert_eq!(server.search(example).code(), "unknown_book");
    let page = server.get("/docs");
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    assert!(page.text().contains("/v1/search"));
    assert_eq!(server.get("/problems/queue_full").json()["status"], 429);
}

#[test]
fn spans_of_a_query_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in collector.incoming() {
            let mut connection =
                crate::client::Connection(std::io::BufReader::new(stream.unwrap()));
            // A request reads as an answer does, but for its first line.
            let head = connection.head_of_request();
            let length = head.header("content-length").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            connection.0.read_exact(&mut body).unwrap();
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
            tell.send((head, body)).unwrap();
        }
    });
    let mut server = Server::start(quire_server::ServiceConfig {
        telemetry: Some(TelemetryConfig {
            endpoint,
            service_name: "quire-test".to_owned(),
            headers: vec![("x-collector-key".to_owned(), "k".to_owned())],
        }),
        ..quick()
    });
    assert_eq!(
        server.ask(search(json!({"question": "which lamp"}))).status,
        200
    );
    server.stopped();
    let messages: Vec<_> = told.try_iter().collect();
    assert!(
        messages
            .iter()
            .all(|(head, _)| head.header("x-collector-key") == Some("k"))
    );
    let spans: Vec<Value> = messages
        .iter()
        .flat_map(|(_, body)| {
            assert!(!String::from_utf8_lossy(body).contains("which lamp"));
            let message: Value = serde_json::from_slice(body).unwrap();
            let spans = &message["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().unwrap().clone()
        })
        .collect();
    let search = spans
        .iter()
        .find(|span| span["name"] == "POST /v1/search")
        .unwrap();
    let stages = spans
        .iter()
        .filter(|span| span["parentSpanId"] == search["spanId"]);
    assert_eq!(stages.count(), 6);
}
