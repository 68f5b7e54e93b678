//! `quire serve` as clients meet it.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::time::{Duration, Instant};

use quire_tests::http::Server;
use quire_tests::{Quire, Ran, rendered, sample, sample_questions};
use serde_json::{Value, json};
use tempfile::TempDir;

const QUESTION: &str = "Which of the Tarrabee twins was born first?";

#[test]
fn the_service_and_the_command_find_the_same_to_the_last_bit() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    for (_, questions) in sample_questions() {
        for question in &questions[..5] {
            let first = server.search(&question.question);
            assert_eq!(first.status, 200, "{}", first.text());
            let again = server.search(&question.question);
            assert_eq!(first.unvarying(), again.unvarying());
            let command = quire.json(["search", &question.question]);
            let served = first.json();
            assert_eq!(served["hits"], command["hits"]);
            assert_eq!(served["fingerprint"], command["trace"]["fingerprint"]);
        }
    }
    let reply = server.search(QUESTION);
    let timing = reply.header("server-timing").unwrap();
    for stage in [
        "queue", "lexical", "embed", "dense", "fuse", "rerank", "total",
    ] {
        assert!(timing.contains(&format!("{stage};dur=")), "{timing}");
    }
}

#[test]
fn a_scope_is_one_book_several_or_all() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let books = server.get("/v1/books").json();
    let ids: Vec<&str> = books["books"]
        .as_array()
        .unwrap()
        .iter()
        .map(|book| book["book"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2);
    let ask = |scope: Value| {
        let body = json!({"question": QUESTION, "scope": {"books": scope}});
        server.post("/v1/search", &body)
    };
    for &id in &ids {
        let found = ask(json!([&id[..8]])).json();
        assert_eq!(found["books"], json!([id]));
        for hit in found["hits"].as_array().unwrap() {
            assert!(hit["chunk"].to_string().contains(id), "{hit}");
        }
    }
    let both = ask(json!(ids));
    assert_eq!(both.unvarying(), server.search(QUESTION).unvarying());
    assert_eq!(ask(json!(["0123456789"])).problem(), "unknown_book");
    assert_eq!(ask(json!([])).status, 422);
    assert_eq!(ask(json!(["../.."])).problem(), "bad_id");
}

#[test]
fn a_query_can_be_looked_up_and_run_again() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let found = server.search(QUESTION).json();
    let id = found["run"]["trace_id"].as_str().unwrap();
    assert_eq!(found["run"]["trace_logged"], true);
    let trace = server.get(&format!("/v1/traces/{id}")).json();
    assert_eq!(trace["trace"]["question"], QUESTION);
    assert_eq!(trace["trace"]["fingerprint"], found["fingerprint"]);

    let shown = quire.run(["trace", "show", id]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains(QUESTION), "{}", shown.stdout);
    let first = found["hits"][0]["chunk"].as_str().unwrap();
    let (book, ordinal) = first.split_once(':').unwrap();
    let short = format!("{}:{ordinal}", &book[..12]);
    assert!(shown.stdout.contains(&short), "{}", shown.stdout);

    let replayed = quire.run(["trace", "replay", id]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    assert!(replayed.stdout.contains("identical"), "{}", replayed.stdout);
    // Killed, it forgets nothing it has answered.
    server.signal("KILL");
    drop(server);
    let server = Server::start(&mut quire.serve(&[]));
    assert_eq!(server.get(&format!("/v1/traces/{id}")).json(), trace);
    let unknown = server.get("/v1/traces/000001-00ffffff-0bad");
    assert_eq!(unknown.problem(), "unknown_trace");
    assert_eq!(server.get("/v1/traces/..%2f..%2fetc").status, 404);
}

#[test]
fn without_traces_the_answer_says_so() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&["--traces=false"]));
    let run = &server.search(QUESTION).json()["run"];
    assert_eq!(
        (&run["trace_id"], &run["trace_logged"]),
        (&Value::Null, &json!(false))
    );
    assert!(!quire.data().join("traces").exists());
}

#[test]
fn an_uploaded_book_is_indexed_found_and_removed() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let story = "The harbour clock of Ivell stopped at nine. Only Miss Quarrington had the key.\n";
    let accepted = server.upload("ivell.txt", story.as_bytes());
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let job = accepted.json();
    let id = job["id"].as_str().unwrap();
    assert_eq!(
        accepted.header("location"),
        Some(format!("/v1/jobs/{id}").as_str())
    );
    let job = server.wait_job(id);
    assert_eq!(job["state"], "done", "{job}");
    let book = job["books"][0]["book"].as_str().unwrap().to_owned();
    let events = server.get(&format!("/v1/jobs/{id}/events"));
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert!(events.text().contains("\"done\""), "{}", events.text());

    let found = server.search("Who had the key of the clock?").json();
    let hits = found["hits"].as_array().unwrap();
    assert!(
        hits.iter().any(|hit| hit["title"] == "ivell"),
        "{:?}",
        hits[0]
    );
    let chunk = server.get(&format!("/v1/chunks/{book}:0?around=1")).json();
    assert_eq!(chunk["passages"][0]["text"], story);

    let removed = server.send("DELETE", &format!("/v1/books/{book}"), &[], b"");
    assert_eq!(removed.status, 200, "{}", removed.text());
    let gone = server.get(&format!("/v1/books/{book}"));
    assert_eq!(gone.problem(), "unknown_book");
    assert_eq!(
        server.get("/v1/books").json()["books"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn several_books_arrive_in_one_upload_and_a_bad_one_is_named() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let body = "--sep\r\ncontent-disposition: form-data; name=\"book\"; filename=\"../../one.txt\"\r\n\r\n\
                The first of two short books, with one sentence.\r\n\
                --sep\r\ncontent-disposition: form-data; name=\"book\"; filename=\"two.epub\"\r\n\r\n\
                this is no archive\r\n--sep--\r\n";
    let headers = [("content-type", "multipart/form-data; boundary=sep")];
    let accepted = server.send("POST", "/v1/books", &headers, body.as_bytes());
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let job = server.wait_job(accepted.json()["id"].as_str().unwrap());
    assert_eq!(job["state"], "partly", "{job}");
    assert_eq!(job["books"][0]["source"], "one.txt", "{job}");
    let error = job["books"][1]["problem"]["error"].as_str().unwrap();
    assert!(error.contains("two.epub"), "{error}");
    let data = quire.data().display().to_string();
    assert!(!job.to_string().contains(&data), "{job}");
}

#[test]
fn books_indexed_by_another_process_appear_without_a_restart() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let empty = server.search(QUESTION);
    assert_eq!(empty.problem(), "no_books");
    let ran = quire.run(["index".as_ref(), sample().as_os_str()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let started = Instant::now();
    while server.get("/v1/books").json()["books"]
        .as_array()
        .unwrap()
        .len()
        < 2
    {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "{}",
            server.log()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(server.search(QUESTION).status, 200);
}

#[test]
fn keys_open_what_their_role_allows_and_are_never_shown() {
    let quire = Quire::indexed();
    let keys = quire.data().join("keys");
    let secret = "correct-horse-battery-staple";
    fs::write(
        &keys,
        format!("# who may what\nread reader only-reads-9d1c55\nadmin boss {secret}\n"),
    )
    .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let keys = keys.display().to_string();
    let server = Server::start(&mut quire.serve(&[
        "--keys",
        &keys,
        "--log",
        "debug",
        "--log-format",
        "json",
    ]));
    let with = |key: &str, method: &str, path: &str, body: &[u8]| {
        let bearer = format!("Bearer {key}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        server.send(method, path, &headers, body)
    };
    let question = json!({ "question": QUESTION }).to_string();
    let question = question.as_bytes();
    let unnamed = server.send("POST", "/v1/search", &[], question);
    assert_eq!(
        (unnamed.status, unnamed.problem().as_str()),
        (401, "unauthorized")
    );
    assert!(unnamed.header("www-authenticate").is_some());
    assert_eq!(with("guess", "POST", "/v1/search", question).status, 401);
    assert_eq!(
        with("only-reads-9d1c55", "POST", "/v1/search", question).status,
        200
    );
    let book = server.get("/healthz");
    assert_eq!(book.status, 200);
    let books = with("only-reads-9d1c55", "GET", "/v1/books", b"").json();
    let path = format!("/v1/books/{}", books["books"][0]["book"].as_str().unwrap());
    let forbidden = with("only-reads-9d1c55", "DELETE", &path, b"");
    assert_eq!(
        (forbidden.status, forbidden.problem().as_str()),
        (403, "forbidden")
    );
    assert_eq!(with(secret, "DELETE", &path, b"").status, 200);
    server.signal("TERM");
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    assert!(
        log.contains("\"boss\""),
        "the log names the key's owner: {log}"
    );
    for shown in [secret, "only-reads", "guess", "Tarrabee"] {
        assert!(!log.contains(shown), "{log}");
    }
}

#[test]
fn an_open_address_needs_keys() {
    let quire = Quire::new();
    let ran = Ran::of(&mut quire.command(["serve", "--address", "0.0.0.0:0"]));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--keys"), "{}", ran.stderr);
}

#[test]
fn pages_of_other_sites_get_nothing_from_a_local_server() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let rebound = server.send("GET", "/v1/books", &[("host", "evil.example:80")], b"");
    assert!(
        rebound.status == 403 || rebound.status == 400,
        "{}",
        rebound.text()
    );
    let origin = [("origin", "http://evil.example")];
    let crossed = server.send("POST", "/v1/books?name=x.txt", &origin, b"a book");
    assert_eq!(crossed.status, 403, "{}", crossed.text());
}

#[test]
fn the_document_of_the_interface_names_every_route() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let document = server.get("/openapi.json").json();
    for path in [
        "/v1/search",
        "/v1/books",
        "/v1/books/{id}",
        "/v1/chunks/{id}",
        "/v1/jobs/{id}",
        "/v1/traces/{id}",
        "/healthz",
        "/readyz",
        "/metrics",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
}

#[test]
fn the_document_of_the_interface_can_be_read_in_a_browser() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let url = format!("http://{}/docs", server.address);
    let test = "the_document_of_the_interface_can_be_read_in_a_browser";
    let Some(page) = rendered(test, &url) else {
        return;
    };
    for shown in ["/v1/search", "/v1/books", "deadline_ms"] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
}

#[test]
fn the_load_generator_measures_a_real_server_and_compares_every_answer() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let folder = TempDir::new().unwrap();
    let [json_file, html_file] =
        ["report.json", "report.html"].map(|name| folder.path().join(name));
    let url = format!("http://{}", server.address);
    let questions = sample().join("the-wet-ledger.questions.jsonl");
    assert!(questions.exists(), "{}", questions.display());
    let ran = Ran::of(
        quire
            .command([
                "bench",
                "--url",
                &url,
                "--concurrency",
                "1,8",
                "--requests",
                "60",
                "--check",
            ])
            .arg("--questions")
            .arg(&questions)
            .arg("--json")
            .arg(&json_file)
            .arg("--html")
            .arg(&html_file),
    );
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let report: Value = serde_json::from_slice(&fs::read(&json_file).unwrap()).unwrap();
    assert!(report.to_string().contains("p99"), "{report}");
    let page = fs::read_to_string(&html_file).unwrap();
    assert!(page.matches("<svg").count() >= 3);
    let url = format!("file://{}", html_file.display());
    let test = "the_load_generator_measures_a_real_server_and_compares_every_answer";
    if let Some(shown) = rendered(test, &url) {
        assert!(shown.matches("<svg").count() >= 3 && shown.contains("p99"));
    }
    let answered = "quire_requests_total{route=\"/v1/search\",status=\"2xx\"}";
    assert!(server.metric(answered) >= Some(120.0));
}
