//! The page of `quire serve` in a real browser.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use quire_tests::http::Server;
use quire_tests::{Quire, binary, clients_python, run_client, skip};

const KEY: &str = "a-key-that-nobody-guesses";

/// Runs one file of `tests/clients` in Chromium, against a server of the
/// sample corpus. Screenshots go to `screenshots` in the build folder.
fn look(test: &str, file: &str) {
    if clients_python(test).is_none() {
        return;
    }
    for program in ["chromium", "chromedriver"] {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return skip(test, &format!("{program} is not installed"));
        }
    }
    let screenshots: PathBuf = binary().ancestors().nth(2).unwrap().join("screenshots");
    fs::create_dir_all(&screenshots).unwrap();
    let quire = Quire::indexed();
    let server = Server::start(&mut quire.serve(&[]));
    // An empty service with keys, beside it.
    let empty = Quire::new();
    let keys = empty.data().join("keys.txt");
    fs::write(&keys, format!("admin boss {KEY}\n")).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let keyed = Server::start(&mut empty.serve(&["--keys", keys.to_str().unwrap()]));
    let keyed_url = keyed.url();
    let env = [
        ("QUIRE_SCREENSHOTS", screenshots.as_os_str()),
        ("QUIRE_KEYED_URL", keyed_url.as_ref()),
        ("QUIRE_KEY", KEY.as_ref()),
    ];
    run_client(test, file, &server.url(), &env);
}

#[test]
fn the_page_asks_and_shows_what_the_interface_gives() {
    look(
        "the_page_asks_and_shows_what_the_interface_gives",
        "page.py",
    );
}

#[test]
fn the_page_takes_and_removes_books() {
    look("the_page_takes_and_removes_books", "page_books.py");
}

#[test]
fn the_page_looks_right_on_every_screen() {
    look("the_page_looks_right_on_every_screen", "page_looks.py");
}
