//! `quire serve` as clients of other people's writing meet it: each file of
//! `tests/clients` speaks through one official Python package.

#![allow(clippy::unwrap_used)] // A test may.

use std::thread;
use std::time::{Duration, Instant};

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_tests::http::Server;
use quire_tests::{Quire, binary, clients_python, root, run_client};

/// Runs one file of `tests/clients` against a server of the sample corpus.
fn speak(test: &str, file: &str) {
    if clients_python(test).is_none() {
        return;
    }
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    run_client(test, file, &server.url(), &[]);
}

#[test]
fn the_official_clients_are_installed_and_find_the_server() {
    speak(
        "the_official_clients_are_installed_and_find_the_server",
        "installed.py",
    );
}

#[test]
fn the_openai_client_embeds_lists_models_and_gets_answers() {
    speak(
        "the_openai_client_embeds_lists_models_and_gets_answers",
        "openai_client.py",
    );
}

#[test]
fn the_openai_client_hears_a_language_model_and_its_failures() {
    const TEST: &str = "the_openai_client_hears_a_language_model_and_its_failures";
    if clients_python(TEST).is_none() {
        return;
    }
    let fake = FakeOpenAi::new();
    // In the order in which the file asks.
    let words = ["The elder ", "twin ", "is Wick"];
    fake.reply(Reply::stream(&words));
    fake.reply(Reply::stream(&["Answer: ", "A"]));
    fake.reply(Reply::stream(&["Wick"]));
    fake.reply(Reply::stream(&words).breaks_after(3));
    fake.reply(Reply::stream(&words).paced(Duration::from_secs(1)));
    fake.always(Reply::json(429, &serde_json::json!({})).with("Retry-After", "1"));
    let quire = Quire::indexed();
    let url = fake.base_url();
    let model = ["--answer-url", &url, "--answer-model", "some-model"];
    let patience = ["--answer-tries", "2", "--answer-timeout", "20"];
    let server = Server::start(&mut quire.serve(&[model, patience].concat()));
    run_client(TEST, "openai_streaming.py", &server.url(), &[]);
    // The client left one stream before its end, and the model was told.
    let left = Instant::now();
    while fake.hung_up() == 0 {
        assert!(left.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fake.seen().len(), 7);
}

#[test]
fn the_cohere_client_reranks() {
    speak("the_cohere_client_reranks", "cohere_client.py");
}

#[test]
fn the_hub_client_embeds_as_from_text_embeddings_inference() {
    speak(
        "the_hub_client_embeds_as_from_text_embeddings_inference",
        "tei_client.py",
    );
}

#[test]
fn the_example_retrievers_find_what_the_service_finds() {
    speak(
        "the_example_retrievers_find_what_the_service_finds",
        "retrievers.py",
    );
}

#[test]
fn the_official_agent_client_calls_the_tools_over_http_and_stdio() {
    let test = "the_official_agent_client_calls_the_tools_over_http_and_stdio";
    if clients_python(test).is_none() {
        return;
    }
    let quire = Quire::indexed();
    // Many calls at once may take a while on a busy machine.
    let server = Server::start(&mut quire.serve(&["--timeout", "120000"]));
    let binary = binary();
    let home = root().join(".quire");
    let env = [
        ("QUIRE_BIN", binary.as_os_str()),
        ("QUIRE_HOME", home.as_os_str()),
        ("QUIRE_DATA", quire.data().as_os_str()),
        ("QUIRE_DEVICE", "cpu".as_ref()),
    ];
    run_client(test, "mcp_client.py", &server.url(), &env);
}

#[test]
fn the_openai_client_gets_the_same_answers_to_the_whole_sample() {
    speak(
        "the_openai_client_gets_the_same_answers_to_the_whole_sample",
        "sample_answers.py",
    );
}
