//! InfiniteBench files.

use super::*;

fn read_all(text: &str) -> Vec<SourceBook> {
    read_books("n.jsonl", text.as_bytes(), &ReadOptions::default()).unwrap()
}

#[test]
fn each_distinct_context_is_a_book_in_the_order_first_seen() {
    let lines = "{\"id\":0,\"context\":\"b\\r\\nc\",\"options\":[\"\\ud800\"]}\r\n\n\
        {\"context\":\"a\"}\n  {\"context\":\"b\\nc\"}\n{\"context\":\"b\"}";
    let books = read_all(lines);
    let seen: Vec<(&str, &str)> = books
        .iter()
        .map(|book| (book.source.as_str(), book.text.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("n.jsonl#1", "b\nc"),
            ("n.jsonl#2", "a"),
            ("n.jsonl#3", "b")
        ]
    );
    assert_eq!(books[0].title.as_deref(), Some("n.jsonl#1"));
    assert_eq!(books[0].id, read_one("a.txt", b"b\nc").id);
}

#[test]
fn an_unpaired_surrogate_is_replaced_and_reported() {
    let line = r#"{"context": "a\ud800b\udc00 \ud83d\ude00 한힣"}"#;
    let book = &read_all(line)[0];
    assert_eq!(book.text, "a\u{FFFD}b\u{FFFD} 😀 한힣");
    assert_eq!(book.report.problems[0].part, "line 1");
    assert!(error_of("n.jsonl", line.as_bytes(), &strict()).contains("2 unpaired surrogates"));
}

#[test]
fn a_bad_line_is_named() {
    for bad in [
        "{",
        "[1]",
        "{\"text\":\"a\"}",
        "{\"context\":7}",
        "{\"context\":\"a\"} x",
        "nonsense",
    ] {
        let lines = format!("{{\"context\":\"a\"}}\n{bad}\n");
        let error = error_of("n.jsonl", lines.as_bytes(), &ReadOptions::default());
        assert!(error.starts_with("n.jsonl, line 2:"), "{error}");
    }
    let blank = b"{\"context\":\" \"}";
    assert!(error_of("n.jsonl", blank, &ReadOptions::default()).contains("line 1"));
}
