//! Walking a well-formed XML document.

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::{BytesStart, Event};

use super::{Flow, Markup};

/// Why a document is not well-formed XML.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(in crate::read) enum XmlError {
    /// A syntax error.
    #[error("not well-formed at byte {offset}: {what}")]
    Syntax {
        /// Bytes from the start of the decoded text.
        offset: u64,
        /// What the parser says.
        what: String,
    },
    /// The document ends inside an element, or has none.
    #[error("not well-formed: {0}")]
    Structure(String),
    /// Elements nest deeper than the limit.
    #[error("elements nest too deep")]
    TooDeep,
}

/// At most so many undefined entities are named.
const NAMED: usize = 5;

/// Hands every element and text of a document to `consume`, until it breaks
/// off. Returns the entities that neither XML nor HTML defines; they are
/// handed on as written. A document type's own entities are not expanded, so
/// that none can grow without bound.
///
/// # Errors
/// When the document is not well-formed or nests deeper than `max_depth`.
pub(in crate::read) fn walk_xml(
    document: &str,
    max_depth: usize,
    mut consume: impl FnMut(Markup<'_>) -> Flow,
) -> Result<Vec<String>, XmlError> {
    let mut reader = Reader::from_str(document);
    let mut depth = 0usize;
    let mut any = false;
    let mut unknown: Vec<String> = Vec::new();
    loop {
        let syntax = |error: &dyn std::fmt::Display, offset: u64| XmlError::Syntax {
            offset,
            what: error.to_string(),
        };
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(syntax(&error, reader.error_position())),
        };
        let offset = reader.buffer_position();
        let flow = match event {
            Event::Start(tag) => {
                any = true;
                depth += 1;
                if depth > max_depth {
                    return Err(XmlError::TooDeep);
                }
                start(&tag, &mut consume).map_err(|error| syntax(&error, offset))?
            }
            Event::Empty(tag) => {
                any = true;
                let flow = start(&tag, &mut consume).map_err(|error| syntax(&error, offset))?;
                if flow.is_continue() {
                    let name = tag.local_name().as_ref().to_ascii_lowercase();
                    consume(Markup::End { name: &name })
                } else {
                    flow
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                let name = tag.local_name().as_ref().to_ascii_lowercase();
                consume(Markup::End { name: &name })
            }
            Event::Text(text) => consume(Markup::Text(&text)),
            Event::CData(text) => consume(Markup::Text(&text)),
            Event::GeneralRef(reference) => {
                let character = reference
                    .resolve_char_ref()
                    .map_err(|error| syntax(&error, offset))?;
                let name: &str = &reference;
                match (character, resolve_html5_entity(name)) {
                    (Some(character), _) => {
                        consume(Markup::Text(character.encode_utf8(&mut [0; 4])))
                    }
                    (None, Some(text)) => consume(Markup::Text(text)),
                    (None, None) => {
                        let written = format!("&{name};");
                        let flow = consume(Markup::Text(&written));
                        if unknown.len() < NAMED && !unknown.contains(&written) {
                            unknown.push(written);
                        }
                        flow
                    }
                }
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
        };
        if flow.is_break() {
            return Ok(unknown);
        }
    }
    if depth > 0 {
        return Err(XmlError::Structure(format!(
            "it ends with {depth} element(s) still open"
        )));
    }
    if !any {
        return Err(XmlError::Structure("it has no element".to_owned()));
    }
    Ok(unknown)
}

fn start(
    tag: &BytesStart<'_>,
    consume: &mut impl FnMut(Markup<'_>) -> Flow,
) -> Result<Flow, quick_xml::Error> {
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute?;
        // A value that cannot be resolved is kept as written: none that
        // matters here has references in it.
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .unwrap_or(attribute.value.clone());
        attributes.push((
            attribute.key.as_ref().to_ascii_lowercase(),
            value.into_owned(),
        ));
    }
    let name = tag.local_name().as_ref().to_ascii_lowercase();
    Ok(consume(Markup::Start {
        name: &name,
        attributes: &attributes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;

    fn seen(document: &str) -> Result<(String, Vec<String>), XmlError> {
        let mut seen = String::new();
        let unknown = walk_xml(document, 8, |markup| {
            match markup {
                Markup::Start { name, attributes } => {
                    seen.push_str(&format!("<{name}"));
                    for (key, value) in attributes {
                        seen.push_str(&format!(" {key}={value}"));
                    }
                    seen.push('>');
                }
                Markup::End { name } => seen.push_str(&format!("</{name}>")),
                Markup::Text(text) => seen.push_str(text),
            }
            ControlFlow::Continue(())
        })?;
        Ok((seen, unknown))
    }

    #[test]
    fn elements_entities_and_cdata_are_resolved() {
        let document = "<?xml version='1.0'?><!DOCTYPE html><h:P x='a&amp;b'>\
            1 &lt; &eacute;&#x4E2D;&#22269;<br/><![CDATA[<&>]]><!-- no --></h:P>";
        let (seen, unknown) = seen(document).unwrap();
        assert_eq!(seen, "<p x=a&b>1 < é中国<br></br><&></p>");
        assert!(unknown.is_empty());
    }

    #[test]
    fn an_undefined_entity_stays_as_written() {
        let (seen, unknown) = seen("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;&b;</a>").unwrap();
        assert_eq!(seen, "<a>&b;&b;</a>");
        assert_eq!(unknown, ["&b;"]);
    }

    #[test]
    fn what_is_not_well_formed_is_an_error() {
        for document in [
            "<a><b></a></b>",
            "<a>",
            "<a>x & y</a>",
            "<a x=1></a>",
            "<a x='1' x='2'/>",
            "<a>&#xD800;</a>",
            "</a>",
            "text",
            "",
            "<a",
        ] {
            assert!(seen(document).is_err(), "{document}");
        }
        let deep = "<a>".repeat(9) + &"</a>".repeat(9);
        assert_eq!(seen(&deep), Err(XmlError::TooDeep));
    }
}
