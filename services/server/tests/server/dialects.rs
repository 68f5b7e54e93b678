//! Other services' APIs: what a client of theirs meets, errors of every layer
//! included. Their official clients are tried in the black-box tests.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quire_server::{Key, Keys, Role, ServiceConfig};
use serde_json::{Value, json};

use crate::client::{Answer, request};
use crate::support::{Server, quick};

/// A request that each of the routes answers, and how it is asked for.
fn asked() -> Vec<(&'static str, &'static str, Value)> {
    let rerank = json!({"query": "green lamp", "documents": ["a green lamp", "a red lamp"]});
    let chat = json!({"model": "quire", "messages": [{"role": "user", "content": "Which lamp?"}]});
    vec![
        (
            "POST",
            "/v1/embeddings",
            json!({"model": "word-counts", "input": ["a", "b"]}),
        ),
        ("GET", "/v1/models", Value::Null),
        ("GET", "/v1/models/word-counts", Value::Null),
        ("POST", "/v1/chat/completions", chat),
        ("POST", "/v1/rerank", rerank.clone()),
        ("POST", "/v2/rerank", rerank),
        ("POST", "/embed", json!({"inputs": "a"})),
        ("POST", "/", json!({"inputs": ["a"]})),
        (
            "POST",
            "/rerank",
            json!({"query": "green", "texts": ["red", "green"]}),
        ),
        ("GET", "/info", Value::Null),
    ]
}

fn bytes(method: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Vec<u8> {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(more);
    request(method, path, &headers, body.to_string().as_bytes())
}

/// What an error says, after checking that it has the shape of the route's API
/// and no other.
fn said(path: &str, answer: &Answer) -> String {
    assert!(answer.status >= 400, "{path}: {}", answer.text());
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("application/json"), "{path}");
    let error = answer.json();
    let members: Vec<&str> = error.as_object().unwrap().keys().map(|k| &**k).collect();
    let said = match path {
        "/v1/rerank" | "/v2/rerank" => {
            assert_eq!(members, ["id", "message"], "{path}");
            &error["message"]
        }
        "/embed" | "/rerank" | "/info" | "/" => {
            assert_eq!(members, ["error", "error_type"], "{path}");
            &error["error"]
        }
        _ => {
            assert_eq!(members, ["error"], "{path}");
            let body = error["error"].as_object().unwrap();
            let members: Vec<&str> = body.keys().map(|k| &**k).collect();
            assert_eq!(members, ["code", "message", "param", "type"], "{path}");
            &error["error"]["message"]
        }
    };
    said.as_str().unwrap().to_owned()
}

#[test]
fn every_route_answers_without_a_key_on_this_machine_and_with_one_elsewhere() {
    let open = Server::start(quick());
    let keyed = Server::start(ServiceConfig {
        keys: Keys::new(vec![Key::new("reader", Role::Read, "the-readers-secret")]),
        ..quick()
    });
    for (method, path, body) in asked() {
        let answer = open.ask(bytes(method, path, &body, &[]));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(answer.header("x-request-id").is_some());
        for (name, value) in [
            ("host", "quire.example"),
            ("origin", "http://elsewhere.example"),
        ] {
            let answer = open.ask(bytes(method, path, &body, &[(name, value)]));
            assert_eq!(answer.status, 403, "{path}");
            said(path, &answer);
        }
        let key = ("authorization", "Bearer the-readers-secret");
        let answer = keyed.ask(bytes(method, path, &body, &[key]));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        for wrong in [&[][..], &[("authorization", "Bearer other")]] {
            let answer = keyed.ask(bytes(method, path, &body, wrong));
            assert_eq!(answer.status, 401, "{path}");
            assert!(answer.header("www-authenticate").is_some());
            said(path, &answer);
        }
    }
}

#[test]
fn errors_of_every_layer_have_the_shape_of_the_routes_api() {
    let server = Server::start(quick());
    for (method, path, body) in asked() {
        if method == "GET" {
            continue;
        }
        let delete = server.ask(bytes("DELETE", path, &body, &[]));
        // The page's address is an API to POST alone.
        if path == "/" {
            assert_eq!(delete.code(), "method_not_allowed");
        } else {
            assert_eq!(delete.status, 405, "{path}");
            assert!(delete.header("allow").is_some(), "{path}");
            said(path, &delete);
        }
        let text = request("POST", path, &[("content-type", "text/plain")], b"{}");
        let text = server.ask(text);
        assert_eq!(text.status, 415, "{path}");
        assert!(said(path, &text).contains("application/json"));
        let more = server.ask(bytes("POST", path, &json!({"no_such_member": 1}), &[]));
        assert!(matches!(more.status, 400 | 422), "{path}");
        assert!(said(path, &more).contains("no"), "{path}");
        let long = format!("content-length: {}", 5 << 20);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{long}\r\n\r\n"
        );
        let large = server.ask(head);
        assert_eq!(large.status, 413, "{path}");
        said(path, &large);
    }
    // Texts of more than an ordinary body's 64 KiB are taken.
    let texts = vec!["a lamp ".repeat(8); 2048];
    let body = json!({"model": "word-counts", "input": texts});
    let many = server.ask(bytes("POST", "/v1/embeddings", &body, &[]));
    assert_eq!(many.status, 200);
    assert_eq!(many.json()["data"].as_array().unwrap().len(), 2048);
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let server = Server::start(quick());
    server.controls.full.store(true, Ordering::SeqCst);
    for (_, path, body) in asked() {
        if !path.ends_with("rerank") {
            continue;
        }
        let answer = server.ask(bytes("POST", path, &body, &[]));
        assert_eq!(answer.status, 429, "{path}");
        assert_eq!(answer.header("retry-after"), Some("1"), "{path}");
        said(path, &answer);
    }
    server.wait_metric("quire_rejections_total{reason=\"model_queue_full\"}", 3.0);
}

#[test]
fn a_model_that_fails_is_told_without_its_secrets() {
    let server = Server::start(quick());
    server.controls.broken.store(true, Ordering::SeqCst);
    for (path, status) in [("/v1/embeddings", 500), ("/embed", 424), ("/", 424)] {
        let all = asked();
        let (_, _, body) = all.iter().find(|(_, known, _)| *known == path).unwrap();
        let answer = server.ask(bytes("POST", path, body, &[]));
        assert_eq!(answer.status, status, "{path}");
        assert!(!said(path, &answer).contains("secret"), "{}", answer.text());
    }
}

#[test]
fn work_that_takes_too_long_ends_and_is_an_error() {
    let mut config = quick();
    config.times.query = Duration::from_millis(200);
    let server = Server::start(config);
    server.controls.slow_ms.store(50, Ordering::SeqCst);
    let documents = vec!["a lamp"; 100];
    let body = json!({"query": "lamp", "documents": documents});
    let answer = server.ask(bytes("POST", "/v2/rerank", &body, &[]));
    assert_eq!(answer.status, 504);
    said("/v2/rerank", &answer);
}

#[test]
fn a_client_that_goes_takes_its_work_along() {
    let server = Server::start(ServiceConfig {
        workers: 1,
        ..quick()
    });
    server.controls.shut();
    let documents = vec!["a lamp"; 50];
    let body = json!({"query": "lamp", "documents": documents});
    let mut connection = server.connect();
    connection.send(bytes("POST", "/v1/rerank", &body, &[]));
    server.controls.wait_inside(1);
    drop(connection);
    server.wait_metric("quire_rejections_total{reason=\"client_gone\"}", 1.0);
    server.controls.slow_ms.store(1000, Ordering::SeqCst);
    server.controls.open();
    // The one worker is free again long before fifty documents are scored.
    let (_, path, body) = asked().swap_remove(0);
    let answer = server.ask(bytes("POST", path, &body, &[]));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn names_of_models_pick_the_model_or_the_book_and_no_other() {
    let server = Server::start(quick());
    let models = server.get("/v1/models").json();
    let ids: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids[..3], ["word-counts", "shared-words", "quire"]);
    assert_eq!(ids.len(), 5);
    for id in &ids {
        assert_eq!(server.get(&format!("/v1/models/{id}")).status, 200, "{id}");
        let escaped = id.replace('/', "%2F");
        let model = server.get(&format!("/v1/models/{escaped}")).json();
        assert_eq!(model["id"], *id);
    }
    for (path, body) in [
        (
            "/v1/embeddings",
            json!({"model": "shared-words", "input": "a"}),
        ),
        (
            "/v1/rerank",
            json!({"model": "word-counts", "query": "a", "documents": ["a"]}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": "word-counts", "messages": [{"role": "user", "content": "a"}]}),
        ),
    ] {
        let answer = server.ask(bytes("POST", path, &body, &[]));
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        said(path, &answer);
    }
}

#[test]
fn a_cross_encoders_scores_are_sigmoids_and_their_logits_are_to_be_had() {
    let server = Server::start(quick());
    let body = json!({"query": "green lamp", "texts": ["red lamp", "green", "green lamp", "blue"]});
    let ranks = server.ask(bytes("POST", "/rerank", &body, &[])).json();
    let ranks = ranks.as_array().unwrap();
    // The share of the question's words is this reranker's logit.
    let logits = [(2, 1.0), (0, 0.5), (1, 0.5), (3, 0.0)];
    for (rank, (index, logit)) in ranks.iter().zip(logits) {
        let sigmoid = 1.0 / (1.0 + f64::exp(-logit));
        assert_eq!(rank["index"], index);
        assert!((rank["score"].as_f64().unwrap() - sigmoid).abs() < 1e-9);
    }
    let mut raw = body;
    raw["raw_scores"] = json!(true);
    let ranks = server.ask(bytes("POST", "/rerank", &raw, &[])).json();
    for (rank, (index, logit)) in ranks.as_array().unwrap().iter().zip(logits) {
        assert_eq!(*rank, json!({"index": index, "score": logit}));
    }
}
