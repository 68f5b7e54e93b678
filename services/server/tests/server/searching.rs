//! Questions that are answered.

use quire_corpus::BookId;
use serde_json::{Value, json};

use crate::support::{Server, index, quick, rooms, wait};

fn green() -> BookId {
    BookId::of_text(&rooms("green", 30))
}

#[test]
fn a_search_answers_with_evidence_and_says_how_it_ran() {
    let server = Server::start(quick());
    let asked = json!({
        "question": "Which green lamp stood in room17?",
        "budgets": {"rerank": 4, "evidence_passages": 6},
        "explain": true,
    });
    let answer = server.search(&asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    let first = &found["hits"][0];
    assert!(
        first["text"].as_str().unwrap().contains("room17"),
        "{first}"
    );
    assert_eq!(first["chunk"], format!("{}:17", green()));
    assert_eq!(
        (&first["rank"], &first["title"]),
        (&json!(1), &json!("green"))
    );
    assert_eq!(first["stages"]["reranked"]["rank"], 1);
    assert_eq!(found["books"].as_array().unwrap().len(), 2);
    assert_eq!(
        found["rerank"],
        json!({"method": "cross_encoder", "wanted": 4, "depth": 4})
    );
    assert_eq!(found["hits"].as_array().unwrap().len(), 6);
    assert_eq!(found["explain"]["reranked"].as_array().unwrap().len(), 4);
    assert_eq!(found["run"]["trace_logged"], true);
    assert_eq!(
        found["run"]["request_id"],
        answer.header("x-request-id").unwrap()
    );
    let timing = answer.header("server-timing").unwrap();
    for stage in [
        "queue", "lexical", "embed", "dense", "fuse", "rerank", "total",
    ] {
        assert!(timing.contains(&format!("{stage};dur=")), "{timing}");
        assert!(found["run"]["timings_ms"][stage].as_f64().unwrap() >= 0.0);
    }
}

#[test]
fn equal_questions_get_equal_bytes_up_to_the_last_member() {
    let server = Server::start(quick());
    let asked = json!({"question": "the red lamp in room7", "explain": true});
    let idle = server.search(&asked);
    let before_run = |text: &str| {
        let at = text.find(",\"run\":").unwrap();
        assert!(serde_json::from_str::<Value>(&format!("{}}}", &text[..at])).is_ok());
        text[..at].to_owned()
    };
    let busy: Vec<_> = (0..8)
        .map(|_| server.asking(crate::client::search(&asked)))
        .collect();
    for answer in busy {
        let answer = answer.join().unwrap();
        assert_eq!(before_run(answer.text()), before_run(idle.text()));
    }
}

#[test]
fn a_scope_is_one_book_or_several_by_the_beginning_of_their_ids() {
    let server = Server::start(quick());
    let prefix = &green().to_string()[..8].to_uppercase();
    let asked = json!({"question": "which lamp", "scope": {"books": [prefix, green()]}});
    let found = server.search(&asked).json();
    assert_eq!(found["books"], json!([green()]));
}

#[test]
fn a_book_that_another_process_indexes_is_found_without_a_restart() {
    let server = Server::start(quick());
    let blue = index(&server.store, "blue.txt", &rooms("blue", 10));
    let asked = json!({"question": "the blue lamp", "scope": {"books": [blue]}});
    wait(|| server.search(&asked).status == 200, "the blue book");
    server.store.remove(blue).unwrap();
    wait(
        || server.search(&asked).status == 404,
        "the blue book's end",
    );
}

#[test]
fn a_damaged_book_is_listed_left_out_and_never_searched() {
    let server = Server::start(quick());
    let artifact = server.store.find(green(), crate::support::a_recipe().key());
    let vectors = artifact.unwrap().unwrap().path().join("dense/vectors.bin");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(vectors)
        .unwrap();
    file.set_len(100).unwrap();

    let all = json!({"question": "which lamp"});
    // The first query may meet the damage, which is then known.
    wait(
        || server.search(&all).status == 200,
        "a search without the damaged book",
    );
    let found = server.search(&all);
    let at = found.text().find("\"left_out\"").unwrap();
    assert!(at < found.text().find(",\"run\":").unwrap());
    assert_eq!(found.json()["left_out"][0]["book"], json!(green()));
    let named = server.search(&json!({"question": "which lamp", "scope": {"books": [green()]}}));
    assert_eq!((named.status, &*named.code()), (409, "damaged_book"));
    let listed = server.get("/v1/books").json();
    assert_eq!(listed["damaged"][0]["book"], json!(green()));
    assert_eq!(listed["books"].as_array().unwrap().len(), 1);
    assert_eq!(server.metric("quire_books_damaged "), 1.0);
}

#[test]
fn a_deadline_ends_the_reranking_and_the_answer_says_how_deep_it_got() {
    let server = Server::start(quick());
    server
        .controls
        .slow_ms
        .store(30, std::sync::atomic::Ordering::SeqCst);
    let asked = json!({"question": "which lamp", "budgets": {"rerank": 20}, "deadline_ms": 200});
    let answer = server.search(&asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let rerank = &answer.json()["rerank"];
    let depth = rerank["depth"].as_u64().unwrap();
    assert_eq!(rerank["wanted"], 20);
    assert!((1..20).contains(&depth), "{rerank}");
}

#[test]
fn a_trace_can_be_read_again() {
    let server = Server::start(quick());
    let found = server.search(&json!({"question": "the red lamp"})).json();
    let id = found["run"]["trace_id"].as_str().unwrap();
    let trace = server.get(&format!("/v1/traces/{id}"));
    assert_eq!(trace.status, 200, "{}", trace.text());
    let trace = trace.json();
    assert_eq!(trace["trace"]["question"], "the red lamp");
    assert_eq!(trace["request_id"], found["run"]["request_id"]);
    assert_eq!(
        trace["trace"]["evidence"]["chunks"][0],
        found["hits"][0]["chunk"]
    );
    for unknown in ["000099-0000002a-9c1f", "..%2f..%2fetc", "x"] {
        let answer = server.get(&format!("/v1/traces/{unknown}"));
        assert_eq!((answer.status, &*answer.code()), (404, "unknown_trace"));
    }
}

#[test]
fn without_a_trace_log_queries_are_answered_and_say_so() {
    let server = Server::start(quire_server::ServiceConfig {
        traces: false,
        ..quick()
    });
    let found = server.search(&json!({"question": "the red lamp"})).json();
    assert_eq!(found["run"]["trace_id"], Value::Null);
    assert_eq!(found["run"]["trace_logged"], false);
    let answer = server.get("/v1/traces/000001-0000002a-9c1f");
    assert_eq!((answer.status, &*answer.code()), (404, "switched_off"));
}
