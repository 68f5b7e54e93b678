//! Real books with real trouble, where they are at hand.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::*;

/// The folder of test data, or a note that the test was skipped.
fn data(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("QUIRE_TEST_DATA") {
        return Some(folder.into());
    }
    let line = format!("SKIPPED quire-corpus::{test}: QUIRE_TEST_DATA is not set");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("QUIRE_SKIP_LOG") {
        let mut log = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .unwrap();
        writeln!(log, "{line}").unwrap();
    }
    None
}

fn read_file(path: &std::path::Path) -> SourceBook {
    read_one(&path.display().to_string(), &fs::read(path).unwrap())
}

#[test]
fn every_book_is_read_with_confidence() {
    let Some(data) = data("every_book_is_read_with_confidence") else {
        return;
    };
    let mut read = 0;
    for folder in ["messy", "books"] {
        let mut paths: Vec<PathBuf> = fs::read_dir(data.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| Format::of_path(path).is_some())
            .collect();
        paths.sort();
        for path in paths {
            let book = read_file(&path);
            let ReadReport {
                encoding,
                malformed,
                problems,
                ..
            } = &book.report;
            eprintln!(
                "{} {} chars, {} {:?} {:.4} {:?}, {} malformed, {problems:?}",
                path.display(),
                book.text.chars().count(),
                encoding.name,
                encoding.how,
                encoding.confidence,
                encoding.runner_up,
                malformed.count,
            );
            assert!(
                encoding.confidence > 0.99,
                "{}: {encoding:?}",
                path.display()
            );
            assert_eq!(malformed.count, 0, "{}", path.display());
            assert_eq!(problems, &[], "{}", path.display());
            read += 1;
        }
    }
    assert!(read >= 20, "only {read} books found");
}

#[test]
fn one_novel_in_two_encodings_is_one_book() {
    let Some(data) = data("one_novel_in_two_encodings_is_one_book") else {
        return;
    };
    let big5 = read_file(&data.join("messy/紅樓夢_Big5.txt"));
    let gbk = read_file(&data.join("messy/紅樓夢_GBK.txt"));
    assert_eq!(big5.report.encoding.name, "Big5");
    assert_eq!(gbk.report.encoding.name, "gb18030");
    assert_eq!(big5.id, gbk.id);
}

#[test]
fn a_latin1_novel_keeps_its_accents_and_loses_its_carriage_returns() {
    let Some(data) = data("a_latin1_novel_keeps_its_accents_and_loses_its_carriage_returns") else {
        return;
    };
    let book = read_file(&data.join("messy/latin1_crlf_13951-8.txt"));
    assert_eq!(book.report.encoding.name, "windows-1252");
    assert!(book.text.contains("Les trois mousquetaires") || book.text.contains("d'Artagnan"));
    assert!(book.text.contains('é') && !book.text.contains('\r'));
}

#[test]
fn an_epub_novel_has_every_chapter_once() {
    let Some(data) = data("an_epub_novel_has_every_chapter_once") else {
        return;
    };
    let book = read_file(&data.join("messy/mary-shelley_frankenstein.epub"));
    assert_eq!(book.title.as_deref(), Some("Frankenstein"));
    assert_eq!(book.author.as_deref(), Some("Mary Shelley"));
    let headings = book
        .text
        .lines()
        .filter(|line| line.starts_with("## Chapter "));
    assert_eq!(headings.count(), 24);
    assert!(book.text.contains("I am by birth a Genevese;"));
}

#[test]
fn a_japanese_epub_loses_the_readings_over_its_characters() {
    let Some(data) = data("a_japanese_epub_loses_the_readings_over_its_characters") else {
        return;
    };
    let book = read_file(&data.join("messy/kusamakura-japanese-vertical-writing.epub"));
    assert_eq!(book.title.as_deref(), Some("草枕"));
    assert!(book.text.contains("山路を登りながら、こう考えた。"));
}
