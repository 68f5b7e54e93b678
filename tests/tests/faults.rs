//! `quire serve` when things go wrong around it.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quire_tests::http::{Reply, Server, try_send};
use quire_tests::{Quire, Ran, copy_folder, root, sample_questions, skip};
use serde_json::{Value, json};
use tempfile::TempDir;

const QUESTION: &str = "Which of the Tarrabee twins was born first?";

/// A question as HTTP bytes, for tests that leave half-way.
fn raw_question(question: &str) -> Vec<u8> {
    let body = json!({ "question": question }).to_string();
    format!(
        "POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A text of so many sentences, each its own.
fn long_text(sentences: usize) -> String {
    (0..sentences)
        .map(|n| format!("On day {n} the ferry of Stell carried {n} sheep and one lamp. "))
        .collect()
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    for (_, questions) in sample_questions() {
        for question in &questions[..20] {
            let mut stream = server.connect();
            stream.write_all(&raw_question(&question.question)).unwrap();
        }
    }
    let started = Instant::now();
    assert_eq!(server.search(QUESTION).status, 200);
    while server.metric("quire_queries_running") != Some(0.0) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{}",
            server.get("/metrics").text()
        );
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn slow_and_half_open_connections_hold_nobody_up() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let slow: Vec<_> = (0..100)
        .map(|n| {
            let mut stream = server.connect();
            let head = raw_question(QUESTION);
            // Nothing, half a head, or a head without its body.
            let sent = [0, 20, head.len() - 10][n % 3];
            stream.write_all(&head[..sent]).unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    for _ in 0..5 {
        assert_eq!(server.search(QUESTION).status, 200);
    }
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(slow);
}

#[test]
fn a_bad_body_gets_a_problem_that_says_how_to_mend_it() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let json_type = [("content-type", "application/json")];
    let post = |body: &[u8]| server.send("POST", "/v1/search", &json_type, body);
    let huge = json!({ "question": "a".repeat(10 << 20) }).to_string();
    let cases: [(&str, u16, Vec<u8>); 8] = [
        ("too large", 413, huge.into_bytes()),
        ("not JSON", 400, b"question=who".to_vec()),
        ("not UTF-8", 400, b"{\"question\": \"\xff\xfe\"}".to_vec()),
        ("no question", 400, b"{}".to_vec()),
        (
            "an unknown member",
            400,
            b"{\"question\":\"x\",\"limit\":3}".to_vec(),
        ),
        ("an empty question", 422, b"{\"question\":\"  \"}".to_vec()),
        (
            "a budget out of range",
            422,
            b"{\"question\":\"x\",\"budgets\":{\"rerank\":100000}}".to_vec(),
        ),
        ("nothing", 400, Vec::new()),
    ];
    for (what, status, body) in cases {
        let reply = post(&body);
        assert_eq!(reply.status, status, "{what}: {}", reply.text());
        reply.problem();
    }
    let typed = server.send(
        "POST",
        "/v1/search",
        &[("content-type", "text/plain")],
        b"{\"question\":\"x\"}",
    );
    assert_eq!(typed.status, 415, "{}", typed.text());
    assert_eq!(server.get("/v1/search").status, 405);
    assert_eq!(server.get("/nowhere").problem(), "no_route");
}

#[test]
fn more_than_it_can_do_is_refused_at_once_and_the_rest_is_answered_right() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&["--workers", "1", "--queue", "2"]));
    let expected = server.search(QUESTION).unvarying();
    let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let sent = Instant::now();
                    let reply = server.search(QUESTION);
                    if reply.status == 200 {
                        assert_eq!(reply.unvarying(), expected);
                        answered.fetch_add(1, Ordering::SeqCst);
                        continue;
                    }
                    assert_eq!(reply.status, 429, "{}", reply.text());
                    assert_eq!(reply.problem(), "queue_full");
                    let wait: u32 = reply.header("retry-after").unwrap().parse().unwrap();
                    assert!(wait >= 1);
                    // The machine is busy with 40 clients of its own.
                    assert!(sent.elapsed() < Duration::from_secs(3));
                    refused.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    let (answered, refused) = (answered.into_inner(), refused.into_inner());
    assert!(answered >= 5 && refused >= 5, "{answered} {refused}");
    assert_eq!(answered + refused, 200);
    assert_eq!(server.search(QUESTION).unvarying(), expected);
}

#[test]
fn a_time_limit_is_kept_and_a_budget_of_time_is_not_an_error() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&["--rerank-cache", "0"]));
    let ask = |member: &str, ms: u64| {
        server.post("/v1/search", &json!({"question": QUESTION, member: ms}))
    };
    let late = ask("timeout_ms", 1);
    assert_eq!((late.status, late.problem().as_str()), (504, "timeout"));
    let budgeted = ask("deadline_ms", 1);
    assert_eq!(budgeted.status, 200, "{}", budgeted.text());
    let depth = &budgeted.json()["rerank"];
    assert_eq!(
        (depth["wanted"].as_u64(), depth["depth"].as_u64()),
        (Some(20), Some(0))
    );
    let whole = ask("deadline_ms", 110_000).json();
    assert_eq!(whole["rerank"]["depth"], 20);
    assert_eq!(whole["hits"], server.search(QUESTION).json()["hits"]);
}

#[test]
fn a_book_deleted_under_queries_breaks_none() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let books = server.get("/v1/books").json();
    let titles = books["books"].as_array().unwrap();
    let ledger = titles.iter().find(|book| book["title"] == "the-wet-ledger");
    let id = ledger.unwrap()["book"].as_str().unwrap().to_owned();
    let in_book = json!({"question": QUESTION, "scope": {"books": [id]}});
    let expected = server.post("/v1/search", &in_book).unvarying();
    let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let reply = server.post("/v1/search", &in_book);
                    match reply.status {
                        200 => assert_eq!(reply.unvarying(), expected),
                        _ => assert_eq!(reply.problem(), "unknown_book"),
                    }
                    seen.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while seen.load(Ordering::SeqCst) < 8 {
            thread::sleep(Duration::from_millis(10));
        }
        let removed = server.send("DELETE", &format!("/v1/books/{id}"), &[], b"");
        assert_eq!(removed.status, 200, "{}", removed.text());
        let after = seen.load(Ordering::SeqCst);
        while seen.load(Ordering::SeqCst) < after + 8 {
            thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::SeqCst);
    });
    let gone = server.post("/v1/search", &in_book);
    assert_eq!(gone.problem(), "unknown_book");
    assert_eq!(server.search(QUESTION).status, 200);
}

#[test]
fn sigterm_under_load_finishes_what_is_in_flight() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let expected = server.search(QUESTION).unvarying();
    let address = server.address;
    let answered = AtomicUsize::new(0);
    let body = json!({ "question": QUESTION }).to_string();
    let ask = || {
        let headers = [("content-type", "application/json")];
        try_send(address, "POST", "/v1/search", &headers, body.as_bytes())
    };
    let ended = thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // Until nobody is there any more.
                while let Ok(reply) = ask() {
                    if reply.status == 200 {
                        assert_eq!(reply.unvarying(), expected);
                        answered.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert_eq!(reply.status, 503, "{}", reply.text());
                        assert_eq!(reply.problem(), "draining");
                    }
                }
            });
        }
        while answered.load(Ordering::SeqCst) < 16 {
            thread::sleep(Duration::from_millis(10));
        }
        server.signal("TERM");
        server.wait()
    });
    assert!(ended.0.success(), "{:?} {}", ended.0, ended.1);
}

#[test]
fn an_upload_killed_while_it_is_indexed_goes_on_after_a_restart() {
    let quire = Quire::new();
    let text = long_text(12_000);
    let server = Server::start(&mut quire.serve(&["--threads", "1"]));
    let accepted = server.upload("ferry.txt", text.as_bytes()).json();
    let id = accepted["id"].as_str().unwrap().to_owned();
    let started = Instant::now();
    loop {
        let job = server.get(&format!("/v1/jobs/{id}")).json();
        assert_ne!(job["state"], "done", "too fast to be killed: {job}");
        if job["progress"]["tokens_done"].as_u64() > Some(4_000) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{job}");
        thread::sleep(Duration::from_millis(20));
    }
    server.signal("KILL");
    server.wait();

    let server = Server::start(&mut quire.serve(&[]));
    let job = server.wait_job(&id);
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(job["books"][0]["outcome"], "resumed", "{job}");
    let found = server.search("How many sheep did the ferry carry on day 77?");
    assert_eq!(found.status, 200, "{}", found.text());
    let left: Vec<_> = fs::read_dir(quire.data().join("staging"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_upload_that_breaks_off_is_no_job() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let mut stream = server.connect();
    let head = "POST /v1/books?name=half.txt HTTP/1.1\r\nhost: 127.0.0.1\r\n\
                content-type: application/octet-stream\r\ncontent-length: 100000\r\n\r\nhalf a book";
    stream.write_all(head.as_bytes()).unwrap();
    drop(stream);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get("/v1/jobs").json()["jobs"], json!([]));
    assert_eq!(server.get("/v1/books").json()["books"], json!([]));
}

#[test]
fn a_model_file_that_is_missing_or_damaged_is_named_at_the_start() {
    let quire = Quire::indexed();
    let home = TempDir::new().unwrap();
    copy_folder(
        &root().join(".quire/models/small"),
        &home.path().join("models/small"),
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join(".quire/runtime"), home.path().join("runtime")).unwrap();
    let model = home.path().join("models/small/model_int8.onnx");
    let mut bytes = fs::read(&model).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&model, bytes).unwrap();
    let start = || Ran::of(quire.serve(&[]).env("QUIRE_HOME", home.path()));
    let damaged = start();
    fs::remove_file(&model).unwrap();
    let missing = start();
    for ran in [damaged, missing] {
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("model_int8.onnx"), "{}", ran.stderr);
        assert!(ran.stderr.contains("setup.sh"), "{}", ran.stderr);
    }
}

#[test]
fn a_second_server_on_one_data_folder_is_refused() {
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    let second = Ran::of(&mut quire.serve(&[]));
    assert_eq!(second.code, 1, "{}", second.stdout);
    let data = quire.data().display().to_string();
    assert!(second.stderr.contains(&data), "{}", second.stderr);
    assert_eq!(server.search(QUESTION).status, 200);
    // Killed, the first leaves nothing that keeps another from starting.
    server.signal("KILL");
    server.wait();
    drop(Server::start(&mut quire.serve(&[])));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let quire = Quire::new();
    let server = Server::start(&mut quire.serve(&[]));
    let other = Quire::new();
    let address = server.address.to_string();
    let ran = Ran::of(&mut other.command(["serve", "--address", &address]));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains(&address), "{}", ran.stderr);
}

/// A server whose data folder is a small disk of its own, seen by it alone,
/// with `room` KiB beside the data and a filler. `None` where this user may
/// not make one.
fn on_a_small_disk(quire: &Quire, room: u64, filler: u64) -> Option<Command> {
    let possible = Command::new("unshare")
        .args(["-m", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !possible {
        return None;
    }
    let inner = quire.serve(&[]);
    let mut command = Command::new("unshare");
    let copy = quire.data().with_extension("sample");
    copy_folder(quire.data(), &copy);
    let size = kilobytes(quire.data()) + room + filler;
    let script = format!(
        "mount -t tmpfs -o size={size}k tmpfs \"$QUIRE_DATA\" && \
         cp -r '{}'/. \"$QUIRE_DATA\" && rm -r '{0}' && \
         {{ dd if=/dev/zero of=\"$QUIRE_DATA/filler\" bs=1k count={filler}; }} 2>/dev/null && \
         exec \"$0\" \"$@\"",
        copy.display()
    );
    command.args(["-m", "sh", "-c", &script]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(command)
}

/// What a folder takes on a disk of pages of 4 KiB, its folders included.
fn kilobytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => kilobytes(&path),
        path => path.metadata().unwrap().len().div_ceil(4096) * 4,
    });
    sizes.sum::<u64>() + 4
}

#[test]
fn a_full_disk_costs_the_trace_but_not_the_answer_and_mends_itself() {
    let quire = Quire::indexed();
    // No room for a single trace.
    let Some(mut command) = on_a_small_disk(&quire, 8, 4096) else {
        skip(
            "a_full_disk_costs_the_trace_but_not_the_answer_and_mends_itself",
            "no right to mount",
        );
        return;
    };
    let server = Server::start_unready(&mut command);
    let asked = |expected: bool| -> Reply {
        let started = Instant::now();
        loop {
            let reply = server.search(QUESTION);
            if reply.status == 200 && reply.json()["run"]["trace_logged"] == expected {
                return reply;
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{}\n{}",
                reply.text(),
                server.log()
            );
            thread::sleep(Duration::from_millis(100));
        }
    };
    let unlogged = asked(false);
    assert_eq!(unlogged.json()["run"]["trace_id"], Value::Null);
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/healthz").status, 200);

    // An upload cannot be taken, and is said to.
    let refused = server.upload("ferry.txt", long_text(3_000).as_bytes());
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.problem(), "storage_refused");

    let disk = format!("/proc/{}/root{}", server.pid(), quire.data().display());
    fs::remove_file(format!("{disk}/filler")).unwrap();
    let logged = asked(true);
    assert_eq!(logged.unvarying(), unlogged.unvarying());
    server.wait_ready();
    let id = logged.json()["run"]["trace_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let trace = server.get(&format!("/v1/traces/{id}")).json();
    assert_eq!(trace["trace"]["question"], QUESTION);
}

#[test]
fn a_disk_that_fills_up_while_indexing_fails_the_job_and_nothing_else() {
    let quire = Quire::indexed();
    let Some(mut command) = on_a_small_disk(&quire, 1500, 0) else {
        skip(
            "a_disk_that_fills_up_while_indexing_fails_the_job_and_nothing_else",
            "no right to mount",
        );
        return;
    };
    let server = Server::start(&mut command);
    let expected = server.search(QUESTION).unvarying();
    // Its text fits twice; text, vectors and index together do not.
    let text = long_text(8_000);
    let accepted = server.upload("ferry.txt", text.as_bytes());
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let job = server.wait_job(accepted.json()["id"].as_str().unwrap());
    assert_eq!(job["state"], "failed", "{job}");
    let error = job["books"][0]["problem"]["error"]
        .as_str()
        .unwrap()
        .to_lowercase();
    assert!(error.contains("space"), "{job}");
    assert_eq!(server.search(QUESTION).unvarying(), expected);
    let books = server.get("/v1/books").json();
    assert_eq!(books["books"].as_array().unwrap().len(), 2);
}
