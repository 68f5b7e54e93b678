//! The kinds of file that hold books.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of file that holds books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown, kept as it is written.
    Markdown,
    /// HTML or XHTML.
    Html,
    /// EPUB 2 or 3.
    Epub,
    /// InfiniteBench JSON lines: each distinct `context` is a book.
    InfiniteBench,
}

/// Not the name of a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a format; say text, markdown, html, epub or infinitebench")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [
            Self::Text,
            Self::Markdown,
            Self::Html,
            Self::Epub,
            Self::InfiniteBench,
        ]
        .into_iter()
        .find(|format| format.to_string() == name)
        .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Epub => "epub",
            Self::InfiniteBench => "infinitebench",
        })
    }
}

/// How much of a file is looked at to tell its format, in bytes.
const SNIFFED: usize = 4096;

impl Format {
    /// The format that a file's extension stands for, in any case.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" | "text" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "epub" => Some(Self::Epub),
            "jsonl" => Some(Self::InfiniteBench),
            _ => None,
        }
    }

    /// The format that the content looks like; text unless it is clear.
    pub fn sniff(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"PK\x03\x04") {
            return Self::Epub;
        }
        // Dropping NULs makes the ASCII of UTF-16 readable.
        let head: String = bytes[..bytes.len().min(SNIFFED)]
            .iter()
            .filter(|&&byte| byte != 0 && byte < 0x80)
            .map(|&byte| char::from(byte).to_ascii_lowercase())
            .collect();
        let head = skip_prolog(&head);
        if head.starts_with("<!doctype html") || head.starts_with("<html") {
            return Self::Html;
        }
        if head.starts_with('{') && first_line_is_a_record(bytes) {
            return Self::InfiniteBench;
        }
        Self::Text
    }
}

/// What follows white space, an XML declaration and comments.
fn skip_prolog(mut head: &str) -> &str {
    loop {
        head = head.trim_start();
        let (open, close) = match head {
            _ if head.starts_with("<?") => ("<?", "?>"),
            _ if head.starts_with("<!--") => ("<!--", "-->"),
            _ => return head,
        };
        match head[open.len()..].find(close) {
            Some(end) => head = &head[open.len() + end + close.len()..],
            None => return head,
        }
    }
}

fn first_line_is_a_record(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty())
        .is_some_and(|line| super::jsonl::is_record(&String::from_utf8_lossy(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format_in_any_case() {
        assert_eq!(Format::of_path("a/Book.TXT"), Some(Format::Text));
        assert_eq!(Format::of_path("a.markdown"), Some(Format::Markdown));
        assert_eq!(Format::of_path("a.b.xhtml"), Some(Format::Html));
        assert_eq!(Format::of_path("书.epub"), Some(Format::Epub));
        assert_eq!(Format::of_path("a.jsonl"), Some(Format::InfiniteBench));
        for other in ["-", "txt", ".txt", "a.pdf", ""] {
            assert_eq!(Format::of_path(other), None, "{other}");
        }
    }

    #[test]
    fn content_without_a_name_is_recognised() {
        let utf16: Vec<u8> = "<html>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, format) in [
            (&b"PK\x03\x04rest"[..], Format::Epub),
            (b"\xEF\xBB\xBF \n<!DOCTYPE html><p>", Format::Html),
            (b"<?xml version='1.0'?><!-- x --><html>", Format::Html),
            (&utf16, Format::Html),
            (
                b"\n{\"context\": \"a\", \"id\": 1}\n",
                Format::InfiniteBench,
            ),
            (b"{\"text\": \"a\"}\n", Format::Text),
            (b"{ he said", Format::Text),
            (b"<?unclosed", Format::Text),
            (b"", Format::Text),
            (b"Chapter 1", Format::Text),
        ] {
            assert_eq!(Format::sniff(bytes), format, "{bytes:?}");
        }
    }
}
