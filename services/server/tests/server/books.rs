//! Books: shown, uploaded, removed.

use std::sync::Arc;

use quire_corpus::BookId;
use serde_json::{Value, json};

use crate::client::request;
use crate::support::{Server, quick, rooms, wait};

fn green() -> BookId {
    BookId::of_text(&rooms("green", 30))
}

fn upload(server: &Server, name: &str, text: &str) -> Value {
    let path = format!("/v1/books?name={name}");
    let answer = server.ask(request("POST", &path, &[], text.as_bytes()));
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = answer.json();
    let place = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(place.as_str()));
    job
}

/// Waits for the end of a job, which is returned.
fn finished(server: &Server, job: &Value) -> Value {
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    wait(
        || !server.get(&path).json()["finished"].is_null(),
        "the job",
    );
    server.get(&path).json()
}

#[test]
fn books_are_listed_and_one_is_told_of_without_paths() {
    let server = Server::start(quick());
    let listed = server.get("/v1/books").json();
    let titles: Vec<&str> = listed["books"]
        .as_array()
        .unwrap()
        .iter()
        .map(|book| book["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles.len(), 2);
    assert!(titles.contains(&"green") && titles.contains(&"red"));
    let book = server.get(&format!("/v1/books/{}", &green().to_string()[..6]));
    assert!(!book.text().contains(server.data.path().to_str().unwrap()));
    let book = book.json();
    assert_eq!(
        (&book["passages"], &book["title"]),
        (&json!(30), &json!("green"))
    );
    assert_eq!(book["recipe"]["embedder"]["name"], "word-counts");
    assert!(book["build"]["started"].is_string() && book["chapter_list"].is_array());
}

#[test]
fn a_passage_is_shown_with_its_neighbours() {
    let server = Server::start(quick());
    let get = |path: &str| server.get(&format!("/v1/chunks/{}:{path}", green())).json();
    let alone = get("5");
    assert_eq!(alone["passages"].as_array().unwrap().len(), 1);
    assert!(
        alone["passages"][0]["text"]
            .as_str()
            .unwrap()
            .contains("room5 ")
    );
    assert_eq!(alone["next"], format!("{}:6", green()));
    let edge = get("1?around=3");
    assert_eq!(edge["passages"].as_array().unwrap().len(), 5);
    assert_eq!(edge["previous"], Value::Null);
    assert_eq!(edge["next"], format!("{}:5", green()));
    assert_eq!(get("29?around=10")["next"], Value::Null);
}

#[test]
fn an_uploaded_book_is_searchable_once_its_job_says_so() {
    let server = Server::start(quick());
    let job = upload(&server, "blue.txt", &rooms("blue", 12));
    let job = finished(&server, &job);
    assert_eq!(job["state"], "done", "{job}");
    let blue = BookId::of_text(&rooms("blue", 12));
    assert_eq!(job["books"][0]["book"], json!(blue));
    let asked = json!({"question": "the blue lamp in room3", "scope": {"books": [blue]}});
    let found = server.search(&asked);
    assert_eq!(found.status, 200, "{}", found.text());
    assert!(
        found.json()["hits"][0]["text"]
            .as_str()
            .unwrap()
            .contains("room3 ")
    );
    assert_eq!(server.get("/v1/jobs").json()["jobs"][0]["id"], job["id"]);
    assert_eq!(server.metric("quire_jobs{state=\"done\"} "), 1.0);
}

#[test]
fn a_form_takes_several_files_and_their_names_touch_no_disk() {
    let server = Server::start(quick());
    let mut form = Vec::new();
    for (name, colour) in [("../../../blue.txt", "blue"), ("grey.txt", "grey")] {
        let head = format!(
            "--edge\r\ncontent-disposition: form-data; name=\"f\"; filename=\"{name}\"\r\n\r\n"
        );
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(rooms(colour, 8).as_bytes());
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(b"--edge--\r\n");
    let kind = [("content-type", "multipart/form-data; boundary=edge")];
    let answer = server.ask(request("POST", "/v1/books", &kind, &form));
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = finished(&server, &answer.json());
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(job["files"][0]["name"], "blue.txt");
    assert_eq!(job["books"].as_array().unwrap().len(), 2);
}

#[test]
fn an_upload_that_is_none_is_refused_and_leaves_nothing() {
    let mut config = quick();
    config.limits.upload_bytes = 1000;
    let server = Server::start(config);
    let ask = |path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let answer = server.ask(request("POST", path, headers, body));
        (answer.status, answer.code())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    let form = [("content-type", "multipart/form-data; boundary=edge")];
    assert_eq!(ask("/v1/books", &[], b"text"), is(400, "bad_request"));
    assert_eq!(ask("/v1/books?nam=x", &[], b"text"), is(400, "bad_request"));
    assert_eq!(ask("/v1/books", &form, b"no form"), is(400, "bad_request"));
    assert_eq!(
        ask("/v1/books", &form, b"--edge--\r\n"),
        is(400, "bad_request")
    );
    assert_eq!(
        ask("/v1/books?name=a.txt", &[], &[b'a'; 1001]),
        is(413, "too_large")
    );
    let broken = [("content-type", "multipart/form-data")];
    assert_eq!(ask("/v1/books", &broken, b"x"), is(400, "bad_request"));
    // A client that goes half-way.
    let mut gone = server.connect();
    gone.send(
        "POST /v1/books?name=a.txt HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900\r\n\r\nabc",
    );
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(gone);
    let jobs = server.data.path().join("jobs");
    let left = || std::fs::read_dir(&jobs).unwrap().count();
    // The lock alone.
    wait(|| left() == 1, "nothing left of the uploads");
    assert_eq!(server.get("/v1/jobs").json()["jobs"], json!([]));
}

#[test]
fn events_tell_a_job_until_it_ends() {
    let server = Server::start(quick());
    let job = upload(&server, "blue.txt", &rooms("blue", 12));
    let path = format!("/v1/jobs/{}/events", job["id"].as_str().unwrap());
    let answer = server.get(&path);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events: Vec<&str> = answer
        .text()
        .split("\n\n")
        .filter(|e| !e.is_empty())
        .collect();
    let last = events.last().unwrap();
    assert!(last.contains("event: finished"), "{last}");
    let data = last.lines().find_map(|line| line.strip_prefix("data: "));
    let data: Value = serde_json::from_str(data.unwrap()).unwrap();
    assert_eq!((&data["id"], &data["state"]), (&job["id"], &json!("done")));
}

#[test]
fn a_book_deleted_under_a_query_does_not_break_it() {
    let server = Server::start(quick());
    server.controls.shut();
    let asked = json!({"question": "the green lamp in room3", "scope": {"books": [green()]}});
    let running = server.asking(crate::client::search(&asked));
    server.controls.wait_inside(1);
    let path = format!("/v1/books/{}", green());
    let deleted = server.ask(request("DELETE", &path, &[], b""));
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(deleted.json(), json!({"book": green(), "indexes": 1}));
    assert_eq!(server.search(&asked).code(), "unknown_book");
    server.controls.open();
    let answer = running.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.json()["hits"][0]["text"]
            .as_str()
            .unwrap()
            .contains("room3 ")
    );
    assert_eq!(server.ask(request("DELETE", &path, &[], b"")).status, 404);
    let rest = server.search(&json!({"question": "which lamp"})).json();
    assert_eq!(rest["books"].as_array().unwrap().len(), 1);
}

#[test]
fn jobs_are_remembered_by_the_next_service() {
    let mut server = Server::start(quick());
    let job = upload(&server, "blue.txt", &rooms("blue", 12));
    finished(&server, &job);
    server.stopped();
    let next = Server::in_folder(quick(), Arc::clone(&server.data));
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    assert_eq!(next.get(&path).json()["state"], "done");
}
