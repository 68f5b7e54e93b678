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
