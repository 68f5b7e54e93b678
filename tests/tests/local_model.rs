//! Answers from a real local language model server: llama.cpp's.

#![allow(clippy::unwrap_used)] // A test may.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quire_tests::http::Server;
use quire_tests::{Quire, clients_python, root, skip};
use serde_json::{Value, json};

const QUESTION: &str = "Which of the Tarrabee twins was born first?";

/// llama.cpp's server. It ends when dropped.
struct Llama {
    process: Child,
    url: String,
}

impl Llama {
    /// Serves a model, or a made-up one of noise; `None`, after reporting the
    /// test as skipped, where there is no llama.cpp.
    fn start(test: &str, context: usize, model: Option<&Path>) -> Option<Self> {
        let python = clients_python(test)?;
        let there = Command::new(&python)
            .args(["-c", "import xllamacpp"])
            .status();
        if !there.unwrap().success() {
            skip(test, "llama.cpp has no wheel for this machine");
            return None;
        }
        let mut process = Command::new(python)
            .arg(root().join("tests/clients/llama_server.py"))
            .arg(context.to_string())
            .args(model)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "llama.cpp did not start: {url}");
        let url = url.trim().to_owned();
        Some(Self { process, url })
    }

    fn serve(&self, quire: &Quire, more: &[&str]) -> Server {
        let args = [&["--answer-url", &self.url, "--answer-model", "any"], more];
        Server::start(&mut quire.serve(&args.concat()))
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The data of the events of that name.
fn events(stream: &str, name: &str) -> Vec<Value> {
    let events = stream.split("\n\n").filter_map(|event| {
        let data = event.strip_prefix("event: ")?.strip_prefix(name)?;
        Some(serde_json::from_str(data.strip_prefix("\ndata: ")?).unwrap())
    });
    events.collect()
}

#[test]
fn llama_cpp_gives_one_letter_whole_and_streamed() {
    let test = "llama_cpp_gives_one_letter_whole_and_streamed";
    let Some(llama) = Llama::start(test, 32768, None) else {
        return;
    };
    let quire = Quire::indexed();
    // Noise keeps to a grammar too.
    let server = llama.serve(
        &quire,
        &["--answer-extra", r#"{"grammar": "root ::= [A-C]"}"#],
    );
    let asked = json!({ "question": QUESTION, "options": ["Wick", "Wack", "neither"] });
    let whole = server.post("/v1/answer", &asked);
    assert_eq!(whole.status, 200, "{}", whole.text());
    let answer = &whole.json()["answer"];
    let letter = answer["letter"].as_str().unwrap();
    assert!(["A", "B", "C"].contains(&letter), "{answer}");
    assert_eq!(
        (&answer["extractive"], answer["prompt"]["name"].as_str()),
        (&json!(false), Some("choice.en"))
    );
    // A token a byte: more than the embedder counts.
    let tokens = answer["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(
        tokens > answer["prompt"]["tokens"].as_u64().unwrap(),
        "{answer}"
    );

    let streamed =
        json!({ "question": QUESTION, "options": ["Wick", "Wack", "neither"], "stream": true });
    let stream = server.post("/v1/answer", &streamed).text();
    let pieces: String = events(&stream, "delta")
        .iter()
        .filter_map(|delta| delta["text"].as_str())
        .collect();
    // Temperature 0 and one seed: the same letter.
    assert_eq!(pieces, letter);
    assert_eq!(events(&stream, "answer")[0]["answer"]["letter"], letter);
}

#[test]
fn llama_cpp_ends_for_length_and_refuses_what_is_too_long() {
    let test = "llama_cpp_ends_for_length_and_refuses_what_is_too_long";
    let Some(llama) = Llama::start(test, 4096, None) else {
        return;
    };
    let quire = Quire::indexed();
    let grammar = r#"{"grammar": "root ::= [a-z]+"}"#;
    let more = ["--answer-max-tokens", "12", "--answer-extra", grammar];
    let server = llama.serve(&quire, &more);
    let short = json!({ "question": QUESTION, "budgets": {"evidence_passages": 1} });
    let answer = server.post("/v1/answer", &short);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = &answer.json()["answer"];
    assert_eq!(answer["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 12);
    let long = server.post("/v1/answer", &json!({ "question": QUESTION }));
    assert_eq!(
        (long.status, long.problem().as_str()),
        (422, "prompt_too_long")
    );
}

#[test]
fn llama_cpp_is_let_go_when_the_time_is_up() {
    let test = "llama_cpp_is_let_go_when_the_time_is_up";
    let Some(llama) = Llama::start(test, 32768, None) else {
        return;
    };
    let quire = Quire::indexed();
    let grammar = r#"{"grammar": "root ::= [a-z]+"}"#;
    let more = ["--answer-max-tokens", "20000", "--answer-extra", grammar];
    let server = llama.serve(&quire, &more);
    let asked = json!({ "question": QUESTION, "timeout_ms": 4000 });
    let reply = server.post("/v1/answer", &asked);
    assert_eq!((reply.status, reply.problem().as_str()), (504, "timeout"));
    // Its only slot is free: else the next answer would wait for 20,000 tokens.
    let other = Quire::indexed();
    let more = ["--answer-max-tokens", "5", "--answer-extra", grammar];
    let brief = llama.serve(&other, &more);
    let asked = json!({ "question": QUESTION, "timeout_ms": 60_000 });
    let started = Instant::now();
    assert_eq!(brief.post("/v1/answer", &asked).status, 200);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_real_local_model_answers_a_question_of_the_sample() {
    let test = "a_real_local_model_answers_a_question_of_the_sample";
    let Some(model) = env::var_os("QUIRE_TEST_GGUF").filter(|path| !path.is_empty()) else {
        skip(test, "QUIRE_TEST_GGUF names no model");
        return;
    };
    let Some(llama) = Llama::start(test, 8192, Some(Path::new(&model))) else {
        return;
    };
    let quire = Quire::indexed();
    let server = llama.serve(&quire, &["--answer-timeout", "600"]);
    let asked = json!({ "question": QUESTION, "timeout_ms": 300_000, "abstain": false });
    let reply = server.post("/v1/answer", &asked);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer = &reply.json()["answer"];
    assert!(
        !answer["text"].as_str().unwrap().trim().is_empty(),
        "{answer}"
    );
    assert!(
        answer["usage"]["completion_tokens"].as_u64().unwrap() > 0,
        "{answer}"
    );
}
