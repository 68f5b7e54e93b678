//! Indexing: determinism, resuming, races, keys, damage.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use quire_tests::{Quire, Ran, digests, sample};

/// A book of some thirty passages, of its own for each `name`.
fn small_book(folder: &Path, name: &str) -> PathBuf {
    let text = fs::read_to_string(sample().join("the-wet-ledger.txt")).unwrap();
    let mut end = 24_000;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let path = folder.join(name);
    fs::write(&path, format!("{name}\n\n{}", &text[..end])).unwrap();
    path
}

fn without_manifest(artifact: &Path) -> std::collections::BTreeMap<PathBuf, String> {
    let mut files = digests(artifact);
    files
        .remove(Path::new("manifest.json"))
        .expect("an artifact has a manifest");
    assert!(files.len() >= 5, "{files:?}");
    files
}

#[test]
fn the_same_book_gives_the_same_bytes_with_one_thread_and_with_two() {
    let [one, two] = [Quire::new(), Quire::new()];
    let book = small_book(one.data(), "book.txt");
    let index = |quire: &Quire, threads: &str, rayon: &str| {
        let mut command = quire.command(["index", "--threads", threads]);
        let ran = Ran::of(command.arg(&book).env("RAYON_NUM_THREADS", rayon));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    };
    index(&one, "1", "1");
    index(&two, "2", "4");
    assert_eq!(
        without_manifest(&one.only_artifact()),
        without_manifest(&two.only_artifact())
    );
}

#[test]
fn a_second_run_of_the_same_text_loads_no_model() {
    let quire = Quire::new();
    let book = small_book(quire.data(), "book.txt");
    let first = quire.json(["index", book.to_str().unwrap()]);
    assert_eq!(first["sources"][0]["books"][0]["status"], "indexed");
    // The same text in another file, and no runtime library to load a model.
    let copy = quire.data().join("copy with other line ends.txt");
    fs::write(
        &copy,
        fs::read_to_string(&book).unwrap().replace('\n', "\r\n"),
    )
    .unwrap();
    let mut command = quire.command(["index", "--json"]);
    let ran = Ran::of(
        command
            .arg(&copy)
            .env("ORT_DYLIB_PATH", "/nowhere/libonnxruntime.so"),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let second = ran.json();
    assert_eq!(
        second["sources"][0]["books"][0]["status"],
        "already_indexed"
    );
    assert_eq!(
        second["sources"][0]["books"][0]["book"],
        first["sources"][0]["books"][0]["book"]
    );
}

#[test]
fn another_cut_is_another_artifact_beside_the_old() {
    let quire = Quire::new();
    let book = small_book(quire.data(), "book.txt");
    let book = book.to_str().unwrap();
    quire.json(["index", book]);
    quire.json(["index", "--max-tokens", "128", book]);
    let listed = quire.json(["books"]);
    let books = listed["books"].as_array().unwrap();
    assert_eq!(books.len(), 2);
    assert_eq!(books[0]["book"], books[1]["book"]);
    assert_ne!(books[0]["recipe"], books[1]["recipe"]);
    let passages: Vec<u64> = books
        .iter()
        .map(|book| book["counts"]["passages"].as_u64().unwrap())
        .collect();
    assert_ne!(passages[0], passages[1]);
    for tokens in ["256", "128"] {
        let found = quire.json(["search", "--max-tokens", tokens, "Who keeps the ferry?"]);
        assert!(!found["hits"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_killed_run_is_resumed_and_ends_with_the_same_bytes() {
    let [killed, clean] = [Quire::new(), Quire::new()];
    let book = small_book(killed.data(), "book.txt");
    let book = book.to_str().unwrap();
    clean.json(["index", book]);
    let embedding = || {
        fs::read_dir(killed.data().join("staging")).is_ok_and(|entries| {
            entries.filter_map(Result::ok).any(|entry| {
                let log = entry.path().join("scratch/embeddings.log");
                fs::metadata(log).is_ok_and(|log| log.len() > 1_000)
            })
        })
    };
    // At any time, and last of all in the middle of embedding.
    for milliseconds in [Some(150), Some(700), Some(1_300), Some(2_000), None] {
        let mut child = killed.start(["index", book]);
        match milliseconds {
            Some(milliseconds) => thread::sleep(Duration::from_millis(milliseconds)),
            None => {
                while !embedding() && child.try_wait().unwrap().is_none() {
                    thread::sleep(Duration::from_millis(5));
                }
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Nothing half-written is ever listed or searched.
        let listed = killed.json(["books"]);
        for entry in listed["books"].as_array().unwrap() {
            assert!(entry["counts"]["passages"].as_u64().unwrap() > 0);
        }
        assert!(listed["damaged"].as_array().unwrap().is_empty());
    }
    let resumed = embedding();
    let last = killed.json(["index", book]);
    let status = last["sources"][0]["books"][0]["status"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        ["indexed", "resumed", "already_indexed"].contains(&status.as_str()),
        "{status}"
    );
    assert!(
        resumed || status == "already_indexed",
        "no kill came while embedding"
    );
    assert_eq!(
        without_manifest(&killed.only_artifact()),
        without_manifest(&clean.only_artifact())
    );
    assert_eq!(killed.run(["verify"]).code, 0);
}

#[test]
fn two_processes_at_once_end_with_one_good_artifact() {
    let quire = Quire::new();
    let book = small_book(quire.data(), "book.txt");
    let children: Vec<_> = (0..3)
        .map(|_| quire.start(["index", book.to_str().unwrap()]))
        .collect();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    quire.only_artifact();
    let verified = quire.run(["verify"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
}

#[test]
fn damage_to_any_file_is_found_named_and_never_searched() {
    let quire = Quire::new();
    let book = small_book(quire.data(), "book.txt");
    quire.json(["index", book.to_str().unwrap()]);
    let artifact = quire.only_artifact();
    for name in digests(&artifact).into_keys() {
        let path = artifact.join(&name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x10;
        let shorter = whole[..whole.len() / 2].to_vec();
        let foreign = b"something else".to_vec();
        for damaged in [flipped, shorter, foreign] {
            if damaged == whole {
                continue;
            }
            fs::write(&path, &damaged).unwrap();
            let searched = quire.run(["search", "Who keeps the ferry?"]);
            let said = format!("{} {}", name.display(), searched.stderr);
            assert_eq!(searched.code, 1, "{said}");
            assert!(!searched.stderr.contains("panicked"), "{said}");
            assert_eq!(searched.stderr.lines().count(), 1, "{said}");
            let again = quire.run(["index", book.to_str().unwrap()]);
            assert_eq!(again.code, 1, "{} {again:?}", name.display());
            let verified = quire.run(["verify"]);
            assert_eq!(verified.code, 3, "{} {}", name.display(), verified.stdout);
            assert!(verified.stdout.contains("damaged"), "{}", verified.stdout);
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(quire.run(["verify"]).code, 0);
    assert_eq!(quire.run(["search", "Who keeps the ferry?"]).code, 0);
}

#[test]
fn a_removed_book_is_gone_and_can_be_indexed_again() {
    let quire = Quire::new();
    let book = small_book(quire.data(), "book.txt");
    let indexed = quire.json(["index", book.to_str().unwrap()]);
    let id = indexed["sources"][0]["books"][0]["book"].as_str().unwrap();
    let removed = quire.json(["rm", &id[..6]]);
    assert_eq!(removed["removed"][0], id);
    assert!(
        quire.json(["books"])["books"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let again = quire.json(["index", book.to_str().unwrap()]);
    assert_eq!(again["sources"][0]["books"][0]["status"], "indexed");
}
