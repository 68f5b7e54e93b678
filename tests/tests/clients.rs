//! `quire serve` as clients of other people's writing meet it: each file of
//! `tests/clients` speaks through one official Python package.

#![allow(clippy::unwrap_used)] // A test may.

use quire_tests::http::Server;
use quire_tests::{Quire, clients_python, run_client};

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
