//! Walking a document by the rules of HTML, which accept anything.

use html5gum::{StartTag, State, Token, Tokenizer};

use super::{Flow, Markup};

/// Hands every element and text of a document to `consume`, until it breaks
/// off. Every start tag is an element's beginning; which end tags are implied
/// is the consumer's to know. A self-closed tag is an element without
/// content, as the author of a broken XHTML document meant it.
pub(super) fn walk_html(document: &str, mut consume: impl FnMut(Markup<'_>) -> Flow) {
    let mut tokenizer = Tokenizer::new(document);
    while let Some(Ok(token)) = tokenizer.next() {
        let flow = match token {
            Token::StartTag(tag) => {
                if let Some(state) = raw_content(&tag) {
                    tokenizer.set_state(state);
                }
                start(&tag, &mut consume)
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                consume(Markup::End { name: &name })
            }
            Token::String(text) => consume(Markup::Text(&String::from_utf8_lossy(&text))),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => continue,
        };
        if flow.is_break() {
            return;
        }
    }
}

/// How the content of elements that hold no markup is tokenized.
fn raw_content(tag: &StartTag<()>) -> Option<State> {
    if tag.self_closing {
        return None;
    }
    match tag.name.as_slice() {
        b"title" | b"textarea" => Some(State::RcData),
        b"script" => Some(State::ScriptData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        _ => None,
    }
}

fn start(tag: &StartTag<()>, consume: &mut impl FnMut(Markup<'_>) -> Flow) -> Flow {
    let name = String::from_utf8_lossy(&tag.name);
    let attributes: Vec<(String, String)> = tag
        .attributes
        .iter()
        .map(|(key, value)| {
            let [key, value] = [key.as_slice(), value.as_slice()].map(String::from_utf8_lossy);
            (key.into_owned(), value.into_owned())
        })
        .collect();
    let flow = consume(Markup::Start {
        name: &name,
        attributes: &attributes,
    });
    if tag.self_closing && flow.is_continue() {
        return consume(Markup::End { name: &name });
    }
    flow
}
