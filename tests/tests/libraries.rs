//! Libraries: books kept together under a name.

#![allow(clippy::unwrap_used)] // A test may.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::Duration;

use quire_tests::http::Server;
use quire_tests::{Quire, Ran, digests, sample};
use serde_json::{Value, json};

const QUESTION: &str = "Which of the twins is the elder?";

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// What a command that fails says.
fn refused(quire: &Quire, args: &[&str], code: i32) -> String {
    let ran = quire.run(args);
    assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stderr
}

/// Every file of every library's artifact but the manifests, which tell when
/// they were built.
fn artifacts(quire: &Quire) -> BTreeMap<PathBuf, String> {
    let folder = quire.data().join("libraries");
    if !folder.exists() {
        return BTreeMap::new();
    }
    let mut files = digests(&folder);
    files.retain(|path, _| path.file_name() != Some("manifest.json".as_ref()));
    files
}

/// The ids of the books of the sample corpus and of a third one, by title.
fn three_books(quire: &Quire) -> BTreeMap<String, String> {
    let third = quire.data().join("third.txt");
    fs::write(
        &third,
        "The third book is about a lamp. The twins are not in it.\n",
    )
    .unwrap();
    ok(&quire.run(["index", third.to_str().unwrap()]));
    let listed = quire.json(["books"]);
    let books = listed["books"].as_array().unwrap().iter();
    books
        .map(|book| {
            let text = |member: &str| book[member].as_str().unwrap().to_owned();
            (text("title"), text("book"))
        })
        .collect()
}

fn sample_files() -> Vec<String> {
    let mut files: Vec<String> = fs::read_dir(sample())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some("txt".as_ref()))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

#[test]
fn a_library_has_the_same_bytes_in_any_order_any_folder_and_after_any_edits() {
    let quire = Quire::indexed();
    let files = sample_files();
    let created = quire.json(["library", "create", "a", &files[0], &files[1]]);
    assert_eq!(created["library"]["version"], 1);
    assert_eq!(created["library"]["books"].as_array().unwrap().len(), 2);
    let bytes = artifacts(&quire);
    assert!(bytes.len() >= 5, "{bytes:?}");

    // Named the other way round, in a folder in which nothing is indexed.
    let fresh = Quire::new();
    ok(&fresh.run(["library", "create", "b", &files[1], &files[0]]));
    assert_eq!(artifacts(&fresh), bytes);

    // Grown and shrunk again.
    let books = three_books(&fresh);
    let third = &books["third"][..8];
    let added = fresh.json(["library", "add", "b", third]);
    assert_eq!(
        (&added["library"]["version"], &added["library"]["changed"]),
        (&json!(2), &json!(true))
    );
    let grown = artifacts(&fresh);
    assert!(!grown.is_empty() && grown.keys().all(|path| !bytes.contains_key(path)));
    let again = fresh.json(["library", "add", "b", third]);
    assert_eq!(
        (&again["library"]["version"], &again["library"]["changed"]),
        (&json!(2), &json!(false))
    );
    ok(&fresh.run(["library", "remove", "b", "third"]));
    assert_eq!(artifacts(&fresh), bytes);
    ok(&fresh.run(["verify"]));

    // A name is a pointer: gone, its books stay and its artifact does not.
    ok(&fresh.run(["library", "rm", "b"]));
    assert!(artifacts(&fresh).is_empty());
    assert_eq!(fresh.json(["books"])["books"].as_array().unwrap().len(), 3);
}

#[test]
fn a_search_over_a_library_scores_by_the_librarys_own_statistics() {
    let quire = Quire::indexed();
    let books = three_books(&quire);
    let ids: Vec<&str> = books.values().map(String::as_str).collect();
    ok(&quire.run(["library", "create", "all", ids[2], ids[0], ids[1]]));
    ok(&quire.run(["library", "create", "two", ids[0], ids[1]]));
    let search = |library: &str| quire.json(["search", "--library", library, QUESTION]);
    let together = quire.json(["search", QUESTION]);
    let found = search("all");
    for stage in ["lexical", "dense", "fused", "reranked"] {
        let hits = |found: &Value| found["trace"][stage]["hits"].clone();
        assert_eq!(hits(&found), hits(&together), "{stage}");
    }
    assert_eq!(found["hits"], together["hits"]);
    assert_eq!(found["shares"], together["shares"]);
    // Rarity is counted over the library's passages, not over all there are.
    let best = |found: &Value| {
        found["trace"]["lexical"]["hits"][0]["score"]
            .as_f64()
            .unwrap()
    };
    assert_ne!(best(&search("two")), best(&found));

    let shares = found["shares"]["books"].as_array().unwrap();
    let share = |book: &Value| book["reranked"]["share"].as_f64().unwrap();
    let sum: f64 = shares.iter().map(share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
    let best: Vec<&Value> = shares
        .iter()
        .filter(|book| book["reranked"]["first"] == 1)
        .collect();
    assert_eq!(best.len(), 1, "{shares:?}");
    assert_eq!(best[0]["title"], found["hits"][0]["title"]);
    assert!(
        shares.is_sorted_by(|a, b| share(a) >= share(b)),
        "{shares:?}"
    );
    let said = quire.run(["search", "--library", "all", QUESTION]).stdout;
    assert!(said.contains("of the best 10"), "{said}");
    let one = quire.json(["search", "--book", ids[0], QUESTION]);
    assert_eq!(one["shares"], Value::Null);

    let asked = quire.json(["ask", "--library", "all", QUESTION]);
    assert_eq!(asked["books"].as_array().unwrap().len(), 3);
}

#[test]
fn indexing_puts_books_into_a_library_that_is_created_when_there_is_none() {
    let quire = Quire::new();
    let files = sample_files();
    let indexed = quire.json(["index", "--library", "样本", &files[0]]);
    assert_eq!(indexed["library"]["name"], "样本");
    assert_eq!(indexed["library"]["version"], 1);
    let ran = quire.run(["index", "--library", "样本", &files[1]]);
    ok(&ran);
    assert!(
        ran.stdout.contains("library 样本 has now: 2 books"),
        "{}",
        ran.stdout
    );

    let listed = quire.json(["library", "list"]);
    let library = &listed["libraries"][0];
    assert_eq!(library["books"].as_array().unwrap().len(), 2);
    let passages: u64 = quire.json(["books"])["books"]
        .as_array()
        .unwrap()
        .iter()
        .map(|book| book["counts"]["passages"].as_u64().unwrap())
        .sum();
    assert_eq!(library["artifacts"][0]["counts"]["passages"], passages);
    let shown = quire.json(["library", "show", "样本"]);
    assert!(shown["books"][0]["title"].is_string());
    assert_eq!(shown["library"], *library);
    let said = quire.run(["library", "show", "样本"]).stdout;
    assert!(said.contains("the-wet-ledger"), "{said}");
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let quire = Quire::indexed();
    let files = sample_files();
    let book = three_books(&quire)["third"].clone();
    ok(&quire.run(["library", "create", "a", &book]));
    let before = digests(quire.data());
    for name in ["", ".a", "a/b", "a b", "-a", &"x".repeat(65)] {
        let said = refused(
            &quire,
            &["library", "create", "--json", "--", name, &book],
            2,
        );
        assert!(said.contains("no name for a library"), "{said}");
    }
    for (args, expected) in [
        (vec!["create", "a", &book], "there is a library 'a' already"),
        (
            vec!["create", "b", "no-such-book"],
            "is no file, and no indexed book has such",
        ),
        (
            vec!["create", "b", &files[0], "ffffffff"],
            "is no file, and no indexed book has such",
        ),
        (vec!["add", "b", &book], "there is no library 'b'"),
        (
            vec!["remove", "a", &files[0]],
            "no indexed book has the id or title",
        ),
        (
            vec!["remove", "a", "the-wet-ledger"],
            "is not in library 'a'",
        ),
        (vec!["remove", "a", "third"], "would have no book left"),
        (vec!["show", "b"], "there is no library 'b'"),
        (vec!["rm", "b"], "there is no library 'b'"),
    ] {
        let args: Vec<&str> = std::iter::once("library").chain(args).collect();
        let said = refused(&quire, &args, 1);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    let said = refused(&quire, &["search", "--library", "b", QUESTION], 1);
    assert!(said.contains("there is no library 'b'"), "{said}");
    refused(
        &quire,
        &["search", "--library", "a", "--book", &book, QUESTION],
        2,
    );
    let said = refused(&quire, &["rm", &book], 1);
    assert!(
        said.contains("is in library a; take it out first"),
        "{said}"
    );
    assert_eq!(digests(quire.data()), before);

    let empty = quire.data().join("empty.txt");
    fs::write(&empty, "").unwrap();
    let said = refused(&quire, &["library", "add", "a", empty.to_str().unwrap()], 1);
    assert!(said.contains("library a is as it was"), "{said}");
    fs::write(quire.data().join("names/b.json"), "{").unwrap();
    let said = refused(&quire, &["library", "list"], 3);
    assert!(said.contains("b.json is damaged"), "{said}");
    ok(&quire.run(["library", "rm", "b"]));
}

/// Waits until a library is being put together, or the command has ended.
fn begins(quire: &Quire, child: &mut Child) {
    let staging = quire.data().join("staging");
    while child.try_wait().unwrap().is_none() {
        let entries = fs::read_dir(&staging).into_iter().flatten();
        let mut names = entries.flatten().map(|entry| entry.file_name());
        if names.any(|name| name.to_string_lossy().starts_with("library-")) {
            return;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_library_or_the_new_one() {
    let quire = Quire::indexed();
    let books = three_books(&quire);
    let ids: Vec<&str> = books.values().map(String::as_str).collect();
    ok(&quire.run(["library", "create", "a", ids[0], ids[1]]));
    let mut done = 0;
    let mut round = 0;
    // From when the artifact is begun until after the name is changed.
    while done < 2 {
        let mut child = quire.start(["library", "add", "a", ids[2]]);
        begins(&quire, &mut child);
        thread::sleep(Duration::from_millis(8 * round));
        round += 1;
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = quire.json(["library", "show", "a"]);
        let held = shown["books"].as_array().unwrap().len();
        assert!(held == 2 || held == 3, "{shown}");
        // Loading the model takes longer than all the rest.
        if round % 4 == 1 || held == 3 {
            let found = quire.json(["search", "--library", "a", "--rerank", "0", QUESTION]);
            assert_eq!(found["books"].as_array().unwrap().len(), held);
        }
        if held == 3 {
            done += 1;
            ok(&quire.run(["library", "remove", "a", ids[2]]));
        }
    }
    ok(&quire.run(["library", "add", "a", ids[2]]));
    let bytes = artifacts(&quire);
    let fresh = Quire::indexed();
    three_books(&fresh);
    ok(&fresh.run(["library", "create", "b", ids[0], ids[1], ids[2]]));
    let same = artifacts(&fresh);
    assert!(
        same.iter()
            .all(|(path, digest)| bytes.get(path) == Some(digest))
    );
    ok(&quire.run(["verify"]));
    assert!(round > done, "every one of {round} kills came too late");
}

#[test]
fn a_served_library_is_the_new_one_as_soon_as_it_is_committed() {
    let quire = Quire::indexed();
    let books = three_books(&quire);
    let ids: Vec<&str> = books.values().map(String::as_str).collect();
    let server = Server::start(&mut quire.serve(&[]));
    let ask = || {
        let body = json!({"question": QUESTION, "scope": {"library": "sea"}}).to_string();
        let json_type = [("content-type", "application/json")];
        server.send("POST", "/v1/search", &json_type, body.as_bytes())
    };
    assert_eq!(ask().problem(), "unknown_library");
    ok(&quire.run(["library", "create", "sea", ids[0]]));
    let searched = |count: usize| {
        for _ in 0..600 {
            let reply = ask();
            if reply.status == 200 && reply.json()["books"].as_array().unwrap().len() == count {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{}", ask().text());
    };
    searched(1);
    ok(&quire.run(["library", "add", "sea", ids[1], ids[2]]));
    searched(3);

    // A served query over a library can be run again to the same bits.
    let trace = ask().json()["run"]["trace_id"].as_str().unwrap().to_owned();
    let replayed = quire.json(["trace", "replay", &trace]);
    assert_eq!(replayed["identical"], true, "{replayed}");
}
