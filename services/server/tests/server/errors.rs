//! Every mistake of a client has its code, and nothing of the machine in it.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::client::{Answer, request, search};
use crate::support::{Server, index, quick, rooms};

fn is(answer: &Answer, status: u16, code: &str) -> String {
    assert_eq!(
        (answer.status, &*answer.code()),
        (status, code),
        "{}",
        answer.text()
    );
    answer.json()["detail"].as_str().unwrap().to_owned()
}

#[test]
fn a_body_that_cannot_be_used_is_refused_by_name() {
    let server = Server::start(quick());
    let post = |kind: &str, body: &[u8]| {
        let headers = [("content-type", kind)];
        server.ask(request("POST", "/v1/search", &headers, body))
    };
    let json = "application/json; charset=utf-8";
    let said = is(&post(json, b"{\"question\":\n \"a\",}"), 400, "bad_json");
    assert!(said.contains("line 2 column 6"), "{said}");
    let said = is(
        &post(json, br#"{"question":"a","topk":1}"#),
        400,
        "bad_json",
    );
    assert!(said.contains("`topk`"), "{said}");
    let said = is(&post(json, br#"{"question":7}"#), 400, "bad_json");
    assert!(said.contains("line 1"), "{said}");
    is(&post(json, b""), 400, "bad_json");
    // A list of the members in their order is no object.
    is(&post(json, br#"["a"]"#), 400, "bad_json");
    is(
        &post("application/json; charset=utf-16", br#"{"question":"a"}"#),
        415,
        "unsupported_media_type",
    );
    let said = is(&post(json, b"{\"question\":\"\xff\"}"), 400, "not_utf8");
    assert!(said.contains("byte 13"), "{said}");
    let said = is(&post("text/plain", b"{}"), 415, "unsupported_media_type");
    assert!(said.contains("application/json"), "{said}");
    is(
        &server.ask(request("POST", "/v1/search", &[], b"{}")),
        415,
        "unsupported_media_type",
    );
}

#[test]
fn a_value_out_of_its_range_is_refused_by_name() {
    let server = Server::start(quick());
    let detail = |asked: Value, code| is(&server.search(&asked), 422, code);
    detail(json!({"question": " \n"}), "empty_question");
    detail(
        json!({"question": "a".repeat(16 * 1024 + 1)}),
        "question_too_long",
    );
    for (budget, value) in [
        ("lexical", 0),
        ("dense", 1001),
        ("dense_ef", 0),
        ("rerank", 201),
        ("evidence_passages", 101),
        ("evidence_tokens", 100_001),
    ] {
        let said = detail(
            json!({"question": "a", "budgets": {budget: value}}),
            "out_of_range",
        );
        assert!(said.contains(budget), "{said}");
    }
    for time in ["timeout_ms", "deadline_ms"] {
        for value in [0, 300_001] {
            let said = detail(json!({"question": "a", time: value}), "out_of_range");
            assert!(said.contains(time), "{said}");
        }
    }
    detail(
        json!({"question": "a", "scope": {"books": []}}),
        "out_of_range",
    );
}

#[test]
fn an_id_of_nothing_is_not_found() {
    let server = Server::start(quick());
    let green = quire_corpus::BookId::of_text(&rooms("green", 30));
    let none = "0".repeat(64);
    for (path, status, code) in [
        ("/nothing", 404, "no_route"),
        ("/v1/books/0000", 404, "unknown_book"),
        (&format!("/v1/books/{none}"), 404, "unknown_book"),
        ("/v1/books/xyz", 400, "bad_id"),
        ("/v1/books/%ff", 400, "bad_request"),
        ("/v1/books/..%2f..%2fetc%2fpasswd", 400, "bad_id"),
        ("/v1/chunks/7", 400, "bad_id"),
        (&format!("/v1/chunks/{none}:0"), 404, "unknown_book"),
        (&format!("/v1/chunks/{green}:30"), 404, "unknown_chunk"),
        (&format!("/v1/chunks/{green}:-1"), 400, "bad_id"),
        (
            &format!("/v1/chunks/{green}:1?around=11"),
            422,
            "out_of_range",
        ),
        (
            &format!("/v1/chunks/{green}:1?around=x"),
            400,
            "bad_request",
        ),
        (&format!("/v1/chunks/{green}:1?about=1"), 400, "bad_request"),
        ("/v1/jobs/7", 404, "unknown_job"),
        ("/v1/jobs/7/events", 404, "unknown_job"),
        ("/problems/none", 404, "no_route"),
    ] {
        is(&server.get(path), status, code);
    }
    let named = |book: &str| server.search(&json!({"question": "a", "scope": {"books": [book]}}));
    is(&named("ffff"), 404, "unknown_book");
    is(&named("../.."), 400, "bad_id");
}

#[test]
fn the_beginning_of_two_ids_names_both() {
    let server = Server::start(quick());
    // Among this many books two share their first four digits all but surely:
    // found by trying texts, without indexing them.
    let id = |n: usize| quire_corpus::BookId::of_text(&rooms(&format!("c{n}"), 2));
    let mut seen = std::collections::HashMap::new();
    let (one, two) = (0..)
        .find_map(|n| {
            seen.insert(id(n).to_string()[..4].to_owned(), n)
                .map(|m| (m, n))
        })
        .unwrap();
    for n in [one, two] {
        index(&server.store, "c.txt", &rooms(&format!("c{n}"), 2));
    }
    let prefix = id(one).to_string()[..4].to_owned();
    let path = format!("/v1/books/{prefix}");
    crate::support::wait(|| server.get(&path).status == 409, "both books");
    let said = is(&server.get(&path), 409, "ambiguous_book");
    assert!(said.contains(&id(one).to_string()) && said.contains(&id(two).to_string()));
}

#[test]
fn a_method_that_is_not_for_a_route_names_those_that_are() {
    let server = Server::start(quick());
    let answer = server.ask(request("PUT", "/v1/books", &[], b""));
    is(&answer, 405, "method_not_allowed");
    let allow = answer.header("allow").unwrap();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
}

#[test]
fn a_body_too_large_is_refused_before_it_is_read() {
    let server = Server::start(quick());
    let mut connection = server.connect();
    connection.send(
        "POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: 99999999\r\n\r\n",
    );
    is(&connection.answer(), 413, "too_large");
    // And one that does not say how large it is.
    let mut connection = server.connect();
    connection.send(
        "POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n",
    );
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    connection.send(chunk.repeat(5));
    is(&connection.answer(), 413, "too_large");
}

#[test]
fn a_failure_inside_tells_the_client_the_stage_and_no_more() {
    let server = Server::start(quick());
    server.controls.broken.store(true, Ordering::SeqCst);
    let answer = server.search(&json!({"question": "which lamp"}));
    is(&answer, 500, "stage_failed");
    assert!(answer.text().contains("embed") && !answer.text().contains("secret"));
    server.controls.broken.store(false, Ordering::SeqCst);
    server.controls.panics.store(true, Ordering::SeqCst);
    for _ in 0..8 {
        // More often than there are threads.
        is(
            &server.ask(search(json!({"question": "which lamp"}))),
            500,
            "internal",
        );
    }
    server.controls.panics.store(false, Ordering::SeqCst);
    assert_eq!(
        server.search(&json!({"question": "which lamp"})).status,
        200
    );
}

#[test]
fn without_any_book_a_search_says_so() {
    let server = Server::in_folder(quick(), std::sync::Arc::new(tempfile::tempdir().unwrap()));
    server.wait_ready();
    is(&server.search(&json!({"question": "a"})), 422, "no_books");
}
