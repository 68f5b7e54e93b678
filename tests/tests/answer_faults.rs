//! What a client of `/v1/answer` sees when the answer model does what real ones
//! do at their worst.

#![allow(clippy::unwrap_used)] // A test may.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_tests::Quire;
use quire_tests::http::Server;
use serde_json::{Value, json};

const QUESTION: &str = "Which of the Tarrabee twins was born first?";
const OPTIONS: [&str; 3] = ["Wick", "Wack", "neither"];

/// A server that asks `url`, trying twice and waiting no longer than 3 s.
fn asking(quire: &Quire, url: &str) -> Server {
    let args = [
        "--answer-url",
        url,
        "--answer-model",
        "some-model",
        "--answer-tries",
        "2",
        "--answer-timeout",
        "3",
    ];
    Server::start(&mut quire.serve(&args))
}

struct Failed {
    code: String,
    status: u16,
    retry_after: Option<String>,
    /// What the trace of the query holds.
    outcome: Value,
    /// The end of the same question's stream.
    streamed: String,
}

/// Asks for a whole answer and for a stream, and looks for the trace.
fn failed(quire: &Quire, url: &str, question: Value) -> Failed {
    let server = asking(quire, url);
    let reply = server.post("/v1/answer", &question);
    let mut streamed = question;
    streamed["stream"] = json!(true);
    let stream = server.post("/v1/answer", &streamed).text();
    assert_eq!(stream.matches("event: evidence").count(), 1, "{stream}");
    let (_, problem) = stream
        .split_once("event: problem\ndata: ")
        .expect("a problem");
    let problem: Value = serde_json::from_str(problem.lines().next().unwrap()).unwrap();
    // The server goes on.
    assert_eq!(server.search(QUESTION).status, 200);
    let extractive = json!({ "question": QUESTION, "model": "extractive" });
    assert_eq!(server.post("/v1/answer", &extractive).status, 200);
    server.signal("TERM");
    server.wait();
    Failed {
        code: reply.problem(),
        status: reply.status,
        retry_after: reply.header("retry-after").map(str::to_owned),
        outcome: first_outcome(quire),
        streamed: problem["code"].as_str().unwrap().to_owned(),
    }
}

/// The outcome that the first trace of the log holds.
fn first_outcome(quire: &Quire) -> Value {
    let mut files: Vec<_> = std::fs::read_dir(quire.data().join("traces"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    files.sort();
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let record: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let outcome = record["answer"]["outcome"].clone();
    assert!(
        outcome["failure"].is_string() && outcome["text"].is_null(),
        "{outcome}"
    );
    outcome
}

fn free() -> Value {
    json!({ "question": QUESTION })
}

fn choice() -> Value {
    json!({ "question": QUESTION, "options": OPTIONS })
}

#[test]
fn an_answer_model_that_is_down() {
    let quire = Quire::indexed();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let failed = failed(&quire, &format!("http://{closed}"), free());
    assert_eq!(
        (failed.status, failed.code.as_str()),
        (502, "answer_model_unreachable")
    );
    assert_eq!(failed.streamed, failed.code);
}

#[test]
fn an_answer_model_that_is_slow() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    fake.always(Reply::stream(&["Wi", "ck"]).stalls_after(2));
    let started = Instant::now();
    let failed = failed(&quire, &fake.base_url(), free());
    assert_eq!(
        (failed.status, failed.code.as_str()),
        (504, "answer_model_timeout")
    );
    assert_eq!(failed.streamed, failed.code);
    assert_eq!(failed.outcome["raw"], "Wi");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_question_whose_own_time_is_up_first() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    fake.always(Reply::stream(&["Wick"]).after(Duration::from_secs(15)));
    let url = fake.base_url();
    let model = ["--answer-url", &url, "--answer-model", "some-model"];
    let patient = ["--answer-timeout", "60"];
    let server = Server::start(&mut quire.serve(&[&model[..], &patient].concat()));
    // Enough to find the evidence on a busy machine, and then to ask the model.
    let asked = json!({ "question": QUESTION, "timeout_ms": 6000 });
    let started = Instant::now();
    let reply = server.post("/v1/answer", &asked);
    assert_eq!((reply.status, reply.problem().as_str()), (504, "timeout"));
    assert!(started.elapsed() < Duration::from_secs(20));
    let hung_up = Instant::now();
    while fake.hung_up() == 0 {
        assert!(hung_up.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_answer_model_that_answers_garbage() {
    let quire = Quire::indexed();
    for garbage in [
        "<html>Please log in</html>",
        "{\"choices\": 7}",
        "\u{0}\u{1}",
    ] {
        let fake = FakeOpenAi::new();
        fake.always(Reply::raw(200, "text/html", garbage));
        let server = asking(&quire, &fake.base_url());
        let reply = server.post("/v1/answer", &free());
        let code = reply.problem();
        assert_eq!(
            (reply.status, code.as_str()),
            (502, "answer_model_failed"),
            "{garbage}"
        );
    }
}

#[test]
fn an_answer_model_that_is_cut_mid_stream() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    fake.always(Reply::stream(&["The elder ", "twin ", "is Wick"]).breaks_after(3));
    let failed = failed(&quire, &fake.base_url(), free());
    assert_eq!(
        (failed.status, failed.code.as_str()),
        (502, "answer_model_unreachable")
    );
    assert_eq!(failed.streamed, failed.code);
    // What came is kept, and never given as the answer.
    assert_eq!(failed.outcome["raw"], "The elder twin ");
    // It was handed on, so it was not asked again: once for each request.
    assert_eq!(fake.seen().len(), 2);
}

#[test]
fn a_storm_of_429() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    let busy = json!({"error": {"message": "slow down", "type": "rate_limit"}});
    fake.always(Reply::json(429, &busy).with("Retry-After", "1"));
    let failed = failed(&quire, &fake.base_url(), free());
    assert_eq!(
        (failed.status, failed.code.as_str()),
        (503, "answer_model_busy")
    );
    assert_eq!(failed.retry_after.as_deref(), Some("1"));
    let seen = fake.seen();
    // Two tries for each of two requests, and between them as long as was asked.
    assert_eq!(seen.len(), 4);
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(900));
}

#[test]
fn a_busy_answer_model_that_then_answers() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    fake.reply(Reply::raw(503, "text/plain", "loading the model"));
    fake.reply(Reply::stream(&["Wick"]));
    let server = asking(&quire, &fake.base_url());
    let answer = server.post("/v1/answer", &free()).json();
    assert_eq!(answer["answer"]["text"], "Wick");
    let id = answer["run"]["trace_id"].as_str().unwrap();
    let record = server.get(&format!("/v1/traces/{id}")).json();
    assert_eq!(record["answer"]["outcome"]["attempts"], 2);
}

#[test]
fn an_empty_choice() {
    let quire = Quire::indexed();
    for (question, text) in [
        (free(), ""),
        (choice(), "   "),
        (free(), "<think>hm</think>"),
    ] {
        let fake = FakeOpenAi::new();
        fake.always(Reply::stream(&[text]));
        let failed = failed(&quire, &fake.base_url(), question);
        assert_eq!(
            (failed.status, failed.code.as_str()),
            (502, "answer_not_usable"),
            "{text}"
        );
        assert_eq!(failed.streamed, failed.code);
    }
}

#[test]
fn a_letter_in_the_wrong_case_and_dressed_up() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    let server = asking(&quire, &fake.base_url());
    for text in ["b", "(b)", "**B**", "Answer: b.", "B. Wack", "答案：b"] {
        fake.reply(Reply::stream(&[text]));
        let answer = server.post("/v1/answer", &choice()).json();
        assert_eq!(answer["answer"]["text"], "B", "{text}");
        assert_eq!(answer["answer"]["option"], "Wack");
    }
}

#[test]
fn prose_and_letters_that_are_no_option() {
    for text in ["It may be A, or else B.", "E", "I would rather not say"] {
        let quire = Quire::indexed();
        let fake = FakeOpenAi::new();
        fake.always(Reply::stream(&[text]));
        let failed = failed(&quire, &fake.base_url(), choice());
        assert_eq!(
            (failed.status, failed.code.as_str()),
            (502, "answer_not_usable"),
            "{text}"
        );
        assert_eq!(failed.outcome["raw"], text);
    }
}

#[test]
fn a_refusal() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    let refusal = json!({"id": "x", "object": "chat.completion", "model": "m", "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": null, "refusal": "I cannot help with that."},
    }]});
    fake.always(Reply::json(200, &refusal));
    let failed = failed(&quire, &fake.base_url(), free());
    assert_eq!(
        (failed.status, failed.code.as_str()),
        (502, "answer_model_refused")
    );
    assert_eq!(failed.streamed, failed.code);
}

#[test]
fn a_key_that_is_refused_and_a_model_that_is_not_there() {
    let quire = Quire::indexed();
    for status in [401, 404] {
        let fake = FakeOpenAi::new();
        fake.always(Reply::json(
            status,
            &json!({"error": {"message": "no model some-model"}}),
        ));
        let failed = failed(&quire, &fake.base_url(), free());
        let code = (failed.status, failed.code.as_str());
        assert_eq!(code, (500, "answer_model_misconfigured"), "{status}");
    }
}

#[test]
fn a_client_that_goes_while_its_answer_streams() {
    let quire = Quire::indexed();
    let fake = FakeOpenAi::new();
    let many: Vec<&str> = std::iter::repeat_n("lamp ", 400).collect();
    fake.always(Reply::stream(&many).paced(Duration::from_millis(50)));
    let args = [
        "--answer-url",
        &fake.base_url(),
        "--answer-model",
        "some-model",
    ];
    let server = Server::start(&mut quire.serve(&args));
    for stream in [true, false] {
        let body = json!({ "question": QUESTION, "stream": stream }).to_string();
        let head = format!(
            "POST /v1/answer HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let before = fake.seen().len();
        let mut client = server.connect();
        client.write_all(head.as_bytes()).unwrap();
        if stream {
            // Until the answer has begun.
            let mut read = Vec::new();
            let mut bytes = [0; 4096];
            while !String::from_utf8_lossy(&read).contains("event: delta") {
                let count = client.read(&mut bytes).unwrap();
                assert!(count > 0, "{}", String::from_utf8_lossy(&read));
                read.extend(&bytes[..count]);
            }
        } else {
            let started = Instant::now();
            while fake.seen().len() == before {
                assert!(started.elapsed() < Duration::from_secs(30));
                thread::sleep(Duration::from_millis(20));
            }
        }
        let hung_up = fake.hung_up();
        drop(client);
        let gone = Instant::now();
        while fake.hung_up() == hung_up {
            assert!(
                gone.elapsed() < Duration::from_secs(5),
                "the upstream call goes on"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}
