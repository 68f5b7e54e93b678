//! Files made to do harm, and files that chance made.

use super::epubs::{CONTAINER, archive, epub};
use super::*;
use proptest::prelude::*;

const FORMATS: [Format; 5] = [
    Format::Text,
    Format::Markdown,
    Format::Html,
    Format::Epub,
    Format::InfiniteBench,
];

const XHTML: &str = "media-type='application/xhtml+xml'";

#[test]
fn a_chapter_that_grows_too_much_is_left_out_by_name() {
    let bomb = vec![b' '; 8 << 20];
    let bytes = epub(&[("bomb.xhtml", XHTML, "", &bomb)]);
    let problem = &read_one("b.epub", &bytes).report.problems[0];
    assert_eq!(problem.part, "OEBPS/bomb.xhtml");
    assert!(
        problem.what.contains("200 times its compressed size"),
        "{}",
        problem.what
    );

    let mut options = ReadOptions::default();
    options.limits.max_entry_bytes = 500;
    let problem = &read_books(
        "b.epub",
        &epub(&[("big.xhtml", XHTML, "", &[b'a'; 600])]),
        &options,
    )
    .map(|books| books[0].report.problems.clone())
    .unwrap()[0];
    assert!(
        problem.what.contains("larger than 500 bytes"),
        "{}",
        problem.what
    );
}

#[test]
fn an_archive_that_asks_for_too_much_is_refused() {
    let mut options = ReadOptions::default();
    options.limits.max_total_bytes = 1000;
    let bytes = epub(&[("big.xhtml", XHTML, "", &[b'a'; 900])]);
    assert!(error_of("b.epub", &bytes, &options).contains("decompressed bytes"));

    let mut options = ReadOptions::default();
    options.limits.max_entries = 4;
    assert!(error_of("b.epub", &epub(&[]), &options).contains("5 archive entries"));
}

#[test]
fn a_chapter_listed_a_thousand_times_is_read_once() {
    let package = format!(
        "<package><manifest><item id='a' href='a.xhtml'/></manifest><spine>{}</spine></package>",
        "<itemref idref='a'/>".repeat(1000)
    );
    let bytes = archive(&[
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        ("OEBPS/content.opf", package.as_bytes()),
        ("OEBPS/a.xhtml", b"<p>once</p>"),
    ]);
    assert_eq!(read_one("b.epub", &bytes).text, "once\n");
}

#[test]
fn entities_that_multiply_are_not_expanded() {
    let page = b"<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><p>&b;</p>";
    let book = read_one("b.epub", &epub(&[("laugh.xhtml", XHTML, "", page)]));
    assert!(book.text.ends_with("&b;\n"));
    assert!(book.report.problems[0].what.contains("undefined entities"));
}

#[test]
fn a_chapter_that_nests_too_deep_is_left_out_by_name() {
    let deep = ["<p>", &"<div>".repeat(5000), &"</div>".repeat(5000), "</p>"].concat();
    let book = read_one(
        "b.epub",
        &epub(&[("deep.xhtml", XHTML, "", deep.as_bytes())]),
    );
    assert_eq!(book.report.problems[0].part, "OEBPS/deep.xhtml");
    assert!(book.report.problems[0].what.contains("deeper than 512"));
}

/// Whatever was read keeps the laws of canonical text.
fn assert_lawful(books: &[SourceBook], limits: &Limits) {
    for book in books {
        assert!(!book.text.contains('\r'));
        assert!(!book.text.starts_with('\u{FEFF}'));
        assert!(!book.text.trim().is_empty());
        assert_eq!(book.id, BookId::of_text(&book.text));
        assert!((0. ..=1.).contains(&book.report.encoding.confidence));
        // An entity of five bytes stands for at most six.
        assert!((book.text.len() as u64) < 2 * limits.max_total_bytes);
    }
}

fn markup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<p>",
        "</p>",
        "<h2>",
        "</h2>",
        "<hgroup>",
        "</hgroup>",
        "<pre>",
        "</pre>",
        "<br>",
        "<ruby>",
        "<rt>",
        "</rt>",
        "</ruby>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
        "<li>",
        "<title>",
        "</title>",
        "<script>",
        "</script>",
        "<nav>",
        "</nav>",
        "<div hidden>",
        "<div>",
        "</div>",
        "<span hidden>",
        "</span>",
        "<span>",
        "text ",
        "\n",
        "字",
        "&amp;",
        "&#13;",
        "&#xFEFF;",
        "&#0;",
        "<",
        "&",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?xml?>",
        "{\"context\":\"",
        "\"}",
        "\\ud800",
        "\u{FEFF}",
        "\r",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_in_any_format_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in FORMATS {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            if let Ok(books) = read_books("x", &bytes, &options) {
                assert_lawful(&books, &options.limits);
            }
        }
    }

    #[test]
    fn any_markup_in_any_format_is_read_or_refused(text in markup()) {
        for format in FORMATS {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            if let Ok(books) = read_books("x.xhtml", text.as_bytes(), &options) {
                assert_lawful(&books, &options.limits);
            }
        }
    }

    #[test]
    fn a_damaged_epub_is_read_or_refused_within_the_limits(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = epub(&[("ch3.xhtml", XHTML, "linear='no'", b"<p>third &eacute;</p>")]);
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut options = ReadOptions::default();
        options.limits.max_total_bytes = 4096;
        if let Ok(books) = read_books("b.epub", &bytes, &options) {
            assert_lawful(&books, &options.limits);
        }
    }
}
