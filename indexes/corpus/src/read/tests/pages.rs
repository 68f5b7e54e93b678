//! HTML pages.

use super::*;

#[test]
fn a_page_gives_its_text_title_and_language() {
    let page =
        b"<!DOCTYPE html><html lang=en><title>The  Book</title><h1>One</h1><p>Text.\r\nMore.";
    let book = read_one("a.html", page);
    assert_eq!(book.text, "# One\n\nText. More.\n");
    assert_eq!(book.title.as_deref(), Some("The Book"));
    assert_eq!(book.language.as_deref(), Some("en"));
    assert_eq!(book.id, BookId::of_text(&book.text));
    assert_eq!(book.report.format, Format::Html);
}

#[test]
fn the_same_text_has_the_same_id_whatever_the_metadata() {
    let [a, b] = [
        "<title>A</title><p>x",
        "<html lang=fr><title>B</title><div>x",
    ]
    .map(|page| read_one("a.html", page.as_bytes()));
    assert_ne!(a.title, b.title);
    assert_eq!(a.id, b.id);
    assert_eq!(a.id, read_one("a.txt", b"x\n").id);
}

#[test]
fn malformed_xhtml_is_a_problem_and_malformed_html_is_not() {
    let page = b"<?xml version='1.0'?><html><p>a<p>b & c</html>";
    assert_eq!(read_one("a.html", page).report.problems, []);
    assert!(read_books("a.html", page, &strict()).is_ok());
    let book = read_one("a.xhtml", page);
    assert_eq!(book.text, "a\n\nb & c\n");
    assert!(
        book.report.problems[0]
            .what
            .contains("not well-formed at byte")
    );
    assert!(error_of("a.xhtml", page, &strict()).contains("not well-formed"));
}

#[test]
fn a_page_that_nests_too_deep_is_refused() {
    let page = "<div>".repeat(10_000);
    let error = error_of("a.html", page.as_bytes(), &ReadOptions::default());
    assert!(error.contains("deeper than 512"));
}

#[test]
fn standard_input_is_recognised() {
    assert_eq!(read_one("-", b"<html><p>a").report.format, Format::Html);
    assert_eq!(read_one("-", b"a < b").report.format, Format::Text);
    assert_eq!(read_one("-", b"{\"context\":\"a\"}").source, "-#1");
}

#[test]
fn markdown_stays_as_written() {
    let text = "# One\n\n*Text* &amp; more  \n";
    let book = read_one("a.md", text.as_bytes());
    assert_eq!(
        (book.text.as_str(), book.report.format),
        (text, Format::Markdown)
    );
}
