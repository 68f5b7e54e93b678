//! Whatever a user can type or feed gets one clear line and the right exit
//! code: no panic, no backtrace.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use quire_tests::{Quire, Ran, sample};

fn fails(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(
        !ran.stderr.contains("panicked") && !ran.stderr.contains("RUST_BACKTRACE"),
        "{ran:?}"
    );
    for part in parts {
        assert!(
            ran.stderr.contains(part),
            "'{part}' is missing in: {}",
            ran.stderr
        );
    }
    if code == 1 {
        let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
        assert!(last.starts_with("quire: "), "{}", ran.stderr);
    }
}

#[test]
fn mistakes_on_the_command_line_say_what_to_do() {
    let quire = Quire::new();
    let cases: [(&[&str], i32, &[&str]); 14] = [
        (&[], 2, &["Usage"]),
        (&["serach", "x"], 2, &["search"]),
        (&["index"], 2, &["PATH"]),
        (
            &["index", "/nowhere/book.txt"],
            1,
            &["/nowhere/book.txt", "No such file"],
        ),
        (&["search", "   "], 1, &["quire index"]),
        (&["search", "anything"], 1, &["quire index"]),
        (
            &["search", "--book", "zz", "x"],
            1,
            &["'zz'", "hexadecimal"],
        ),
        (
            &["search", "--book", "abcd", "x"],
            1,
            &["abcd", "quire books"],
        ),
        (
            &["search", "--profile", "huge", "x"],
            1,
            &["'huge'", "small", "bge-m3"],
        ),
        (
            &["search", "--precision", "int3", "x"],
            1,
            &["'int3'", "fp32", "int8"],
        ),
        (&["search", "--device", "tpu", "x"], 1, &["'tpu'", "cuda:"]),
        (
            &["search", "--lexical", "0", "x"],
            1,
            &["lexical is 0", "1 to 10000"],
        ),
        (&["show", "abc"], 1, &["BOOK:NUMBER"]),
        (&["rm", "12"], 1, &["'12'"]),
    ];
    for (args, code, parts) in cases {
        let ran = quire.run(args);
        fails(&ran, code, parts);
    }
    let ran = quire.run(["search", "--profile", "bge-m3", "x"]);
    fails(&ran, 1, &["quire models pull bge-m3"]);
    let ran = quire.run(["index", "--max-tokens", "5000", sample().to_str().unwrap()]);
    fails(&ran, 1, &["5000", "multilingual-e5-small"]);
}

#[test]
fn a_cuda_device_that_is_not_there_is_an_error_and_auto_says_what_it_chose() {
    let quire = Quire::new();
    let book = quire.data().join("a.txt");
    fs::write(&book, "A short book about a lamp. The lamp was green.").unwrap();
    let ran = quire.run(["index", "--device", "cuda:0", book.to_str().unwrap()]);
    fails(&ran, 1, &["cuda:0"]);
    let mut command = quire.command(["index", "--device", "auto", "--json"]);
    let ran = Ran::of(command.arg(&book));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let device = ran.json()["sources"][0]["books"][0]["device"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        device.starts_with("cpu (") && device.contains("CUDA"),
        "{device}"
    );
}

#[test]
fn bad_books_are_refused_by_name_and_the_good_ones_indexed() {
    let quire = Quire::new();
    let folder = quire.data().join("books with spaces");
    fs::create_dir(&folder).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("empty.txt", b"");
    write("blank.txt", b" \n\n\t ");
    write("picture.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0");
    write("broken.epub", b"PK\x03\x04 this is no archive");
    write(
        "broken.jsonl",
        b"{\"context\": \"A lamp.\"}\n{\"context\": \n",
    );
    write("good.txt", b"The lamp was green. Nobody had lit it.");
    let ran = quire.run(["index", folder.to_str().unwrap()]);
    fails(
        &ran,
        3,
        &[
            "empty.txt",
            "blank.txt",
            "picture.txt",
            "broken.epub",
            "broken.jsonl",
        ],
    );
    assert!(ran.stdout.contains("good.txt: indexed"), "{}", ran.stdout);
    assert!(ran.stderr.contains("line 2"), "{}", ran.stderr);
    assert_eq!(quire.json(["books"])["books"].as_array().unwrap().len(), 1);
}

#[test]
fn a_given_encoding_that_the_bytes_contradict_is_said_to_be_doubtful() {
    let quire = Quire::new();
    let book = quire.data().join("big5.txt");
    // "The bell of the old harbour rings at night; nobody knows who rings it." in Big5.
    let sentence: &[u8] = &[
        0xa6, 0xd1, 0xb4, 0xe4, 0xaa, 0xba, 0xc4, 0xc1, 0xa6, 0x62, 0xa9, 0x5d, 0xb8, 0xcc, 0xc5,
        0x54, 0xa1, 0x41, 0xa8, 0x53, 0xa6, 0xb3, 0xa4, 0x48, 0xaa, 0xbe, 0xb9, 0x44, 0xac, 0x4f,
        0xbd, 0xd6, 0xba, 0x56, 0xaa, 0xba, 0xa1, 0x43,
    ];
    fs::write(&book, sentence.repeat(12)).unwrap();
    let book = book.to_str().unwrap();
    let detected = quire.json(["index", book]);
    assert_eq!(
        detected["sources"][0]["books"][0]["read"]["encoding"]["name"],
        "Big5"
    );
    let ran = quire.run(["index", "--encoding", "gb18030", book]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("the bytes look like Big5"),
        "{}",
        ran.stdout
    );
}

#[test]
fn one_path_that_is_not_there_does_not_keep_the_others_from_being_indexed() {
    let quire = Quire::new();
    let book = quire.data().join("a\u{1b}[31m.txt");
    fs::write(&book, "The lamp was green.").unwrap();
    let ran = quire.run(["index", "/nowhere/book.txt", book.to_str().unwrap()]);
    fails(&ran, 3, &["/nowhere/book.txt"]);
    assert!(ran.stdout.contains("1 indexed, 1 failed"), "{}", ran.stdout);
    // The control character of the file's name does not reach the terminal.
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn more_sessions_than_the_machine_can_hold_are_refused() {
    let quire = Quire::new();
    let ran = quire.run(["search", "--threads", "100000", "x"]);
    fails(&ran, 1, &["threads is 100000", "cores"]);
}

#[test]
fn undecodable_bytes_are_counted_located_and_refused_when_strict() {
    let quire = Quire::new();
    let book = quire.data().join("damaged.txt");
    let mut bytes = "灯是绿的。它挂在码头上，没有人点过它。"
        .repeat(20)
        .into_bytes();
    bytes.insert(300, 0xfe);
    bytes.insert(90, 0xff);
    fs::write(&book, bytes).unwrap();
    let book = book.to_str().unwrap();
    let strict = quire.run(["index", "--strict", book]);
    fails(&strict, 1, &["damaged.txt"]);
    let report = quire.json(["index", book]);
    let read = &report["sources"][0]["books"][0]["read"];
    assert_eq!(read["malformed"]["count"], 2);
    assert_eq!(read["malformed"]["first"][0]["offset"], 90);
    assert_eq!(read["encoding"]["name"], "UTF-8");
}

#[test]
fn settings_come_from_flags_then_environment_then_file_then_default() {
    let quire = Quire::new();
    let file = quire.data().join("config.toml");
    fs::write(&file, "lexical = 40\ndense = 30\nmax-tokens = 200\n").unwrap();
    let mut command = quire.command(["config", "--json", "--lexical", "7", "--config"]);
    let ran = Ran::of(command.arg(&file).env("QUIRE_DENSE", "8"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let of = |name: &str| {
        let settings = document["settings"].as_array().unwrap();
        let setting = settings.iter().find(|s| s["name"] == name).unwrap();
        (
            setting["value"].as_str().map(str::to_owned),
            setting["source"].as_str().unwrap().to_owned(),
        )
    };
    let expected = |value: &str, source: &str| (Some(value.to_owned()), source.to_owned());
    assert_eq!(of("lexical"), expected("7", "flag"));
    assert_eq!(of("dense"), expected("8", "environment"));
    assert_eq!(of("max-tokens"), expected("200", "file"));
    assert_eq!(of("rerank"), expected("20", "default"));

    fs::write(&file, "lexcal = 40\n").unwrap();
    let ran = Ran::of(quire.command(["config", "--config"]).arg(&file));
    fails(&ran, 1, &["config.toml", "'lexcal'", "lexical"]);
    fs::write(&file, "lexical = \"many\"\n").unwrap();
    let ran = Ran::of(quire.command(["config", "--config"]).arg(&file));
    fails(&ran, 1, &["config.toml", "'lexical'"]);
    fs::write(&file, "lexical = \n").unwrap();
    let ran = Ran::of(quire.command(["config", "--config"]).arg(&file));
    fails(&ran, 1, &["config.toml", "TOML"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let quire = Quire::new();
    let file = quire.data().join("a file");
    fs::write(&file, "x").unwrap();
    let book = quire.data().join("a.txt");
    fs::write(&book, "The lamp was green.").unwrap();
    let ran = quire.run([
        "index",
        "--data",
        file.to_str().unwrap(),
        book.to_str().unwrap(),
    ]);
    fails(&ran, 1, &["a file"]);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing_half_written() {
    // A small file system needs rights this test may not have.
    let quire = Quire::new();
    let mount = quire.data().join("small disk");
    fs::create_dir(&mount).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=200k", "tmpfs"])
        .arg(&mount)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        quire_tests::skip(
            "a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing_half_written",
            "mounting a small file system is not permitted",
        );
        return;
    }
    let unmount = Unmount(&mount);
    let ran = quire.run([
        "index",
        "--data",
        mount.to_str().unwrap(),
        sample().join("the-wet-ledger.txt").to_str().unwrap(),
    ]);
    fails(&ran, 1, &["No space left", "small disk"]);
    let listed = quire.run(["books", "--json", "--data", mount.to_str().unwrap()]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.json()["books"].as_array().unwrap().is_empty());
    drop(unmount);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_reader_that_stops_early_ends_the_command_quietly() {
    let quire = Quire::new();
    let mut child = quire.start(["completions", "bash"]);
    drop(child.stdout.take());
    let started = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
