//! `quire serve` as clients of other people's writing meet it: each file of
//! `tests/clients` speaks through one official Python package.

#![allow(clippy::unwrap_used)] // A test may.

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
    let server = Server::start(&mut quire.serve(&[]));
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
