//! EPUB archives made for the purpose.

use std::io::{Cursor, Write};

use super::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub(super) const CONTAINER: &str = "<?xml version='1.0'?><container><rootfiles><rootfile \
    full-path='OEBPS/content.opf' media-type='application/oebps-package+xml'/></rootfiles></container>";

/// An archive of these files, in order.
pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let method = if *name == "mimetype" {
            CompressionMethod::Stored
        } else {
            CompressionMethod::Deflated
        };
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A package of these chapters: href, attributes of the item and of its place.
fn package(chapters: &[(&str, &str, &str)]) -> String {
    let mut manifest = String::new();
    let mut spine = String::new();
    for (number, (href, item, place)) in chapters.iter().enumerate() {
        manifest += &format!("<item id='i{number}' href='{href}' {item}/>");
        spine += &format!("<itemref idref='i{number}' {place}/>");
    }
    format!(
        "<package xmlns:dc='d'><metadata><dc:title>T</dc:title><dc:creator>A</dc:creator>\
         <dc:language>en</dc:language></metadata><manifest>{manifest}</manifest>\
         <spine>{spine}</spine></package>"
    )
}

const XHTML: &str = "media-type='application/xhtml+xml'";

fn chapter(title: &str, text: &str) -> String {
    format!(
        "<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'>\
         <head><title>x</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    )
}

/// An EPUB with two good chapters and whatever else is given.
pub(super) fn epub(extra: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let [one, two] =
        [("One", "first"), ("Two", "second")].map(|(title, text)| chapter(title, text));
    let mut chapters = vec![("ch1.xhtml", XHTML, ""), ("ch%202.xhtml", XHTML, "")];
    let mut files: Vec<(String, &[u8])> = vec![
        ("OEBPS/ch1.xhtml".to_owned(), one.as_bytes()),
        ("OEBPS/ch 2.xhtml".to_owned(), two.as_bytes()),
    ];
    for (href, item, place, content) in extra {
        if !href.starts_with("META-INF") {
            chapters.push((href, item, place));
        }
        if !content.is_empty() {
            let path = if href.starts_with("META-INF") {
                (*href).to_owned()
            } else {
                format!("OEBPS/{href}")
            };
            files.push((path, content));
        }
    }
    let package = package(&chapters);
    let mut all: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        ("OEBPS/content.opf", package.as_bytes()),
    ];
    all.extend(
        files
            .iter()
            .map(|(path, content)| (path.as_str(), *content)),
    );
    archive(&all)
}

const GOOD: &str = "# One\n\nfirst\n\n# Two\n\nsecond";

/// The EPUB is read but for one bad part, which is named; strict reading
/// refuses it by the same name.
fn assert_one_problem(bytes: &[u8], part: &str, what: &str) {
    let book = read_one("b.epub", bytes);
    assert!(book.text.starts_with(GOOD), "{}", book.text);
    let [problem] = &book.report.problems[..] else {
        panic!("{:?}", book.report.problems);
    };
    assert_eq!(problem.part, part);
    assert!(problem.what.contains(what), "{}", problem.what);
    let error = error_of("b.epub", bytes, &strict());
    assert!(error.contains(part), "{error}");
}

#[test]
fn chapters_come_in_spine_order_with_metadata() {
    let book = read_one("b.epub", &epub(&[]));
    assert_eq!(book.text, format!("{GOOD}\n"));
    assert_eq!(book.title.as_deref(), Some("T"));
    assert_eq!(book.author.as_deref(), Some("A"));
    assert_eq!(book.language.as_deref(), Some("en"));
    assert_eq!(book.report.problems, []);
    assert_eq!(book.report.encoding.name, "UTF-8");
    assert!(read_books("b.epub", &epub(&[]), &strict()).is_ok());
    assert_eq!(read_one("-", &epub(&[])).id, book.id);
}

#[test]
fn auxiliary_chapters_come_last_and_contents_and_images_are_left_out() {
    let nav = chapter("Contents", "<nav><ol><li>One</li></ol></nav>");
    let notes = chapter("Notes", "note");
    let last = chapter("Last", "end");
    let bytes = epub(&[
        (
            "nav.xhtml",
            "media-type='application/xhtml+xml' properties='nav'",
            "",
            nav.as_bytes(),
        ),
        ("notes.xhtml", XHTML, "linear='no'", notes.as_bytes()),
        ("cover.svg", "media-type='image/svg+xml'", "", b"<svg/>"),
        ("Last.XHTML", XHTML, "", last.as_bytes()),
    ]);
    let book = read_one("b.epub", &bytes);
    assert_eq!(
        book.text,
        format!("{GOOD}\n\n# Last\n\nend\n\n# Notes\n\nnote\n")
    );
    assert_eq!(book.report.problems, []);
}

#[test]
fn a_missing_chapter_is_named() {
    let bytes = epub(&[("gone.xhtml", XHTML, "", b"")]);
    assert_one_problem(&bytes, "OEBPS/gone.xhtml", "missing from the archive");
    let bytes = epub(&[("http://example.org/x.xhtml", XHTML, "", b"")]);
    assert_one_problem(
        &bytes,
        "http://example.org/x.xhtml",
        "not a file in the archive",
    );
}

#[test]
fn a_reference_in_another_case_is_followed() {
    let bytes = archive(&[
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        (
            "OEBPS/content.opf",
            package(&[("../Text/CH1.xhtml", XHTML, "")]).as_bytes(),
        ),
        ("text/ch1.XHTML", chapter("One", "first").as_bytes()),
    ]);
    assert_eq!(read_one("b.epub", &bytes).text, "# One\n\nfirst\n");
}

#[test]
fn a_malformed_chapter_is_read_and_named() {
    let bytes = epub(&[("bad.xhtml", XHTML, "", b"<html><p>a<p>b & c</html>")]);
    assert_one_problem(&bytes, "OEBPS/bad.xhtml", "not well-formed");
    assert!(read_one("b.epub", &bytes).text.ends_with("a\n\nb & c\n"));
}

#[test]
fn a_damaged_entry_is_named() {
    let marker = b"zzyzx".repeat(40);
    let page = [b"<html><p>", &marker[..], b"</p></html>"].concat();
    let mut bytes = epub(&[("bad.xhtml", XHTML, "", &page)]);
    // In the compressed data of the last entry, just after its name.
    let name = b"OEBPS/bad.xhtml";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    bytes[at + name.len() + 8] ^= 0x55;
    assert_one_problem(&bytes, "OEBPS/bad.xhtml", "damaged");
}

#[test]
fn an_encrypted_chapter_is_named_and_a_mangled_font_is_not() {
    let encryption = "<encryption><EncryptedData><EncryptionMethod Algorithm='aes'/>\
        <CipherReference URI='OEBPS/ch3.xhtml'/></EncryptedData><EncryptedData>\
        <EncryptionMethod Algorithm='http://www.idpf.org/2008/embedding'/>\
        <CipherReference URI='OEBPS/ch1.xhtml'/></EncryptedData></encryption>";
    let bytes = epub(&[
        ("META-INF/encryption.xml", "", "", encryption.as_bytes()),
        ("ch3.xhtml", XHTML, "", b"\x01\x02\x03\x04"),
    ]);
    assert_one_problem(&bytes, "OEBPS/ch3.xhtml", "encrypted");
}

#[test]
fn a_protected_book_is_refused_by_the_name_of_its_protection() {
    let encryption = "<encryption><EncryptedData><CipherReference URI='OEBPS/ch1.xhtml'/>\
        </EncryptedData><EncryptedData><CipherReference URI='OEBPS/ch%202.xhtml'/>\
        </EncryptedData></encryption>";
    let bytes = epub(&[
        ("META-INF/encryption.xml", "", "", encryption.as_bytes()),
        ("META-INF/license.lcpl", "", "", b"{}"),
    ]);
    let error = error_of("b.epub", &bytes, &ReadOptions::default());
    assert!(error.contains("encrypted (Readium LCP)"), "{error}");
}

#[test]
fn a_chapter_that_is_no_text_is_named() {
    let bytes = epub(&[("bad.xhtml", XHTML, "", b"\x89PNG\r\n\x1a\n\0\0")]);
    assert_one_problem(&bytes, "OEBPS/bad.xhtml", "a PNG image");
    let bytes = epub(&[("x.pdf", "media-type='application/pdf'", "", b"%PDF")]);
    assert_one_problem(&bytes, "OEBPS/x.pdf", "application/pdf");
}

#[test]
fn broken_bytes_in_a_chapter_are_located_in_it() {
    let bytes = epub(&[(
        "bad.xhtml",
        XHTML,
        "",
        "<html><p>été\u{301}</p></html>".as_bytes(),
    )]);
    assert_eq!(read_one("b.epub", &bytes).report.malformed.count, 0);
    let page = ["<html><p>une forêt, un été ".as_bytes(), b"\xFF</p></html>"].concat();
    let book = read_one("b.epub", &epub(&[("bad.xhtml", XHTML, "", &page)]));
    let span = &book.report.malformed.first[0];
    assert_eq!(span.part.as_deref(), Some("OEBPS/bad.xhtml"));
    assert_eq!(page[span.offset as usize], 0xFF);
}

#[test]
fn a_book_whose_every_chapter_fails_is_an_error() {
    let bytes = archive(&[
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        (
            "OEBPS/content.opf",
            package(&[("a.xhtml", XHTML, ""), ("b.xhtml", XHTML, "")]).as_bytes(),
        ),
    ]);
    let error = error_of("b.epub", &bytes, &ReadOptions::default());
    assert!(error.contains("none of its 2 chapters"), "{error}");
    assert!(error.contains("OEBPS/a.xhtml"), "{error}");
}

#[test]
fn a_book_of_images_has_no_text() {
    let bytes = archive(&[
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        (
            "OEBPS/content.opf",
            package(&[("a.xhtml", XHTML, "")]).as_bytes(),
        ),
        (
            "OEBPS/a.xhtml",
            b"<html><body><img src='1.png' alt='page'/></body></html>",
        ),
    ]);
    assert!(error_of("b.epub", &bytes, &ReadOptions::default()).contains("no text"));
}

#[test]
fn an_archive_without_a_container_is_read_by_its_only_package() {
    let package = package(&[("a.xhtml", XHTML, "")]);
    let page = chapter("One", "first");
    let files: [(&str, &[u8]); 2] = [
        ("x/book.OPF", package.as_bytes()),
        ("x/a.xhtml", page.as_bytes()),
    ];
    let book = read_one("b.epub", &archive(&files));
    assert_eq!(book.text, "# One\n\nfirst\n");
    assert_eq!(book.report.problems[0].part, "META-INF/container.xml");
    let error = error_of("b.epub", &archive(&[("a", b"b")]), &ReadOptions::default());
    assert!(error.contains("META-INF/container.xml: missing"), "{error}");
    assert!(
        error_of("b.epub", b"PK\x03\x04", &ReadOptions::default()).contains("not a readable EPUB")
    );
}
