//! InfiniteBench: JSON lines whose `context` is a book.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::canonical::canonical;
use super::decode::{Declared, decode};
use super::report::Problems;
use super::{Format, ReadError, ReadOptions, ReadReport, SourceBook};
use crate::BookId;

#[derive(Deserialize)]
struct Record {
    context: Context,
}

/// A JSON string in which a surrogate without its partner became U+FFFD.
struct Context {
    text: String,
    replaced: usize,
}

impl<'de> Deserialize<'de> for Context {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, because as a string such an escape is an error.
        deserializer.deserialize_bytes(ContextVisitor)
    }
}

struct ContextVisitor;

impl Visitor<'_> for ContextVisitor {
    type Value = Context;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Context, E> {
        let mut bytes = bytes.to_vec();
        let replaced = replace_surrogates(&mut bytes);
        let text = String::from_utf8(bytes).map_err(E::custom)?;
        Ok(Context { text, replaced })
    }
}

/// A lone surrogate arrives as the three bytes ED A0..BF xx, which UTF-8 does
/// not allow; U+FFFD is three bytes too.
fn replace_surrogates(bytes: &mut [u8]) -> usize {
    let mut replaced = 0;
    let mut at = 0;
    while let Some(window) = bytes.get_mut(at..at + 3) {
        if window[0] == 0xED && window[1] >= 0xA0 {
            window.copy_from_slice("\u{FFFD}".as_bytes());
            replaced += 1;
        }
        at += 1;
    }
    replaced
}

/// Whether a line is a JSON object with a string `context`.
pub(super) fn is_record(line: &str) -> bool {
    serde_json::from_str::<Record>(line).is_ok()
}

/// Reads each distinct context, in the order of its first line. The report of
/// every book has the malformed bytes and problems of the whole file.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Vec<SourceBook>, ReadError> {
    let decoded = decode(name, bytes, options.encoding, Declared::Nothing)?;
    let mut problems = Problems::new(name, options.strictness);
    decoded.refuse_malformed_if_strict(name, options.strictness)?;
    let text = decoded.text.trim_start_matches('\u{FEFF}');
    let mut seen: HashSet<BookId> = HashSet::new();
    let mut contexts: Vec<(BookId, String)> = Vec::new();
    for (line, record) in (1..).zip(text.split('\n')) {
        let record = record.trim();
        if record.is_empty() {
            continue;
        }
        let Record { context } =
            serde_json::from_str(record).map_err(|source| ReadError::Record {
                name: name.to_owned(),
                line,
                source,
            })?;
        if context.replaced > 0 {
            let what = format!("{} unpaired surrogates replaced", context.replaced);
            problems.add(&format!("line {line}"), what)?;
        }
        let text = canonical(context.text);
        if text.trim().is_empty() {
            return Err(ReadError::BlankContext {
                name: name.to_owned(),
                line,
            });
        }
        let id = BookId::of_text(&text);
        if seen.insert(id) {
            contexts.push((id, text));
        }
    }
    if contexts.is_empty() {
        return Err(ReadError::Empty {
            name: name.to_owned(),
        });
    }
    let report = ReadReport {
        format: Format::InfiniteBench,
        encoding: decoded.encoding,
        malformed: decoded.malformed,
        problems: problems.into_list(),
    };
    Ok((1..)
        .zip(contexts)
        .map(|(number, (id, text))| {
            let source = format!("{name}#{number}");
            SourceBook {
                id,
                text,
                title: Some(source.clone()),
                author: None,
                language: None,
                source,
                report: report.clone(),
            }
        })
        .collect())
}
