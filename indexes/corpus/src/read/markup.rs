//! HTML and XHTML to text.

mod element;
mod extract;
mod html;
mod space;
mod xml;

pub(super) use xml::{XmlError, walk_xml};

use std::ops::ControlFlow;

use extract::Extraction;
use html::walk_html;

/// What both parsers see in a document, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Markup<'a> {
    /// An element begins. Names are local and in lower case.
    Start {
        name: &'a str,
        attributes: &'a [(String, String)],
    },
    /// An element ends.
    End { name: &'a str },
    /// Character data, entities resolved.
    Text(&'a str),
}

/// The text of a document.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Extracted {
    /// Blocks separated by blank lines, without a line end at either end;
    /// empty for a document without text.
    pub(super) text: String,
    /// What the `title` element says.
    pub(super) title: Option<String>,
    /// What the root element says.
    pub(super) language: Option<String>,
}

/// Elements nest deeper than the limit.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("elements nest too deep")]
pub(super) struct TooDeep;

/// Extracts a document by the rules of HTML, which accept anything.
pub(super) fn extract_html(document: &str, max_depth: usize) -> Result<Extracted, TooDeep> {
    let mut extraction = Extraction::of_html(max_depth);
    walk_html(document, |markup| extraction.take(markup));
    extraction.finish()
}

/// Extracts a document by the rules of XML. The second value is the entities
/// that it uses and nothing defines; they stay as written.
pub(super) fn extract_xml(
    document: &str,
    max_depth: usize,
) -> Result<(Extracted, Vec<String>), XmlError> {
    let mut extraction = Extraction::of_xml(max_depth);
    let unknown = walk_xml(document, max_depth, |markup| extraction.take(markup))?;
    match extraction.finish() {
        Ok(extracted) => Ok((extracted, unknown)),
        Err(TooDeep) => Err(XmlError::TooDeep),
    }
}

/// A document meant to be XHTML, and what is wrong with it. One that is not
/// well-formed is read by the rules of HTML.
pub(super) fn extract_xhtml(
    document: &str,
    max_depth: usize,
) -> Result<(Extracted, Option<String>), TooDeep> {
    match extract_xml(document, max_depth) {
        Ok((extracted, unknown)) => {
            let problem = (!unknown.is_empty())
                .then(|| format!("undefined entities kept as written: {}", unknown.join(" ")));
            Ok((extracted, problem))
        }
        Err(XmlError::TooDeep) => Err(TooDeep),
        Err(error) => {
            let extracted = extract_html(document, max_depth)?;
            Ok((extracted, Some(format!("{error}; read as HTML instead"))))
        }
    }
}

/// A parser stops when its consumer breaks off.
type Flow = ControlFlow<()>;
