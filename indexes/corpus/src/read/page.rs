//! A single HTML or XHTML page.

use super::canonical::canonical;
use super::decode::{Declared, decode};
use super::markup::{Extracted, TooDeep, extract_html, extract_xhtml, extract_xml};
use super::report::Problems;
use super::{Format, ReadError, ReadOptions, ReadReport, SourceBook};
use crate::BookId;

/// Reads a page; its title is the `title` element's.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<SourceBook, ReadError> {
    let decoded = decode(name, bytes, options.encoding, Declared::InMarkup)?;
    let mut problems = Problems::new(name, options.strictness);
    decoded.refuse_malformed_if_strict(name, options.strictness)?;
    decoded.note_wrong_declaration(name, &mut problems)?;
    let document = canonical(decoded.text);
    let extracted = extract(name, &document, options.limits.max_depth, &mut problems)?;
    let text = canonical(extracted.text);
    if text.trim().is_empty() {
        return Err(ReadError::Empty {
            name: name.to_owned(),
        });
    }
    let text = text + "\n";
    Ok(SourceBook {
        id: BookId::of_text(&text),
        text,
        title: extracted.title,
        author: None,
        language: extracted.language,
        source: name.to_owned(),
        report: ReadReport {
            format: Format::Html,
            encoding: decoded.encoding,
            malformed: decoded.malformed,
            problems: problems.into_list(),
        },
    })
}

/// XHTML by its name must be well-formed; HTML that only looks like XML is
/// read as XML when that works and as HTML, without complaint, otherwise.
fn extract(
    name: &str,
    document: &str,
    max_depth: usize,
    problems: &mut Problems<'_>,
) -> Result<Extracted, ReadError> {
    let too_deep = |TooDeep| ReadError::TooDeep {
        name: name.to_owned(),
        limit: max_depth,
    };
    if name.to_ascii_lowercase().ends_with(".xhtml") {
        let (extracted, problem) = extract_xhtml(document, max_depth).map_err(too_deep)?;
        if let Some(problem) = problem {
            problems.add(name, problem)?;
        }
        return Ok(extracted);
    }
    if document.starts_with("<?xml")
        && let Ok((extracted, unknown)) = extract_xml(document, max_depth)
        && unknown.is_empty()
    {
        return Ok(extracted);
    }
    extract_html(document, max_depth).map_err(too_deep)
}
