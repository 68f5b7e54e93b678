//! Bytes to characters, with an account of the encoding and the damage.

use std::ops::ControlFlow;

use encoding_rs::{DecoderResult, UTF_16BE, UTF_16LE};

use super::declared::declared_label;
use super::detect::{Detection, detect, malformed_share};
use super::report::{Malformed, Problems};
use super::{Encoding, EncodingHow, EncodingReport, ReadError, Strictness, binary};

/// Whether the bytes may declare their own encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// They are plain text.
    Nothing,
    /// They are HTML or XML.
    InMarkup,
}

/// Decoded text and how it was decoded.
#[derive(Debug)]
pub(super) struct Decoded {
    /// May start with a byte order mark.
    pub(super) text: String,
    pub(super) encoding: EncodingReport,
    pub(super) malformed: Malformed,
    wrong_declaration: Option<String>,
    is_noise: bool,
}

/// Decodes a whole file with the given encoding, else that of its byte order
/// mark, else the likeliest.
///
/// # Errors
/// When the bytes are no text.
pub(super) fn decode(
    name: &str,
    bytes: &[u8],
    given: Option<Encoding>,
    declared: Declared,
) -> Result<Decoded, ReadError> {
    let binary = |what: &str| ReadError::Binary {
        name: name.to_owned(),
        what: what.to_owned(),
    };
    if let Some(what) = binary::magic(bytes) {
        return Err(binary(what));
    }
    let mark = encoding_rs::Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let decoded = match (given, mark) {
        (Some(Encoding(given)), None) => {
            doubted(decode_as(given, bytes, EncodingHow::Given), bytes)
        }
        (Some(Encoding(given)), mark) => {
            decode_as(order_of_mark(given, mark), bytes, EncodingHow::Given)
        }
        (None, Some(mark)) => decode_as(mark, bytes, EncodingHow::Bom),
        (None, None) => detect_and_decode(bytes, declared),
    };
    if decoded.is_noise || binary::is_mostly_control(&decoded.text) {
        return Err(binary("binary data"));
    }
    Ok(decoded)
}

/// `utf-16` may be written in either order, so its mark decides.
fn order_of_mark(
    given: &'static encoding_rs::Encoding,
    mark: Option<&'static encoding_rs::Encoding>,
) -> &'static encoding_rs::Encoding {
    let utf16 = |encoding| encoding == UTF_16LE || encoding == UTF_16BE;
    match mark {
        Some(mark) if utf16(given) && utf16(mark) => mark,
        _ => given,
    }
}

fn decode_as(encoding: &'static encoding_rs::Encoding, bytes: &[u8], how: EncodingHow) -> Decoded {
    let (text, malformed) =
        decode_with(encoding, bytes, |_| ControlFlow::Continue(())).unwrap_or_default();
    Decoded {
        encoding: EncodingReport {
            name: encoding.name().to_owned(),
            how,
            confidence: (1. - malformed_share(bytes, &malformed)) as f32,
            runner_up: None,
        },
        text,
        malformed,
        wrong_declaration: None,
        is_noise: false,
    }
}

/// A given encoding is used whatever the bytes say, but where they say
/// otherwise the report names what they look like, and trusts the text as
/// little as that leaves.
fn doubted(mut given: Decoded, bytes: &[u8]) -> Decoded {
    let detected = detect(bytes, None);
    if !detected.is_noise && detected.text != given.text {
        given.encoding.runner_up = Some(detected.encoding.name().to_owned());
        given.encoding.confidence *= (1. - detected.confidence) as f32;
    }
    given
}

fn detect_and_decode(bytes: &[u8], declared: Declared) -> Decoded {
    let label = match declared {
        Declared::Nothing => None,
        Declared::InMarkup => declared_label(bytes),
    };
    let known = label
        .as_ref()
        .and_then(|label| label.parse::<Encoding>().ok());
    let Detection {
        encoding,
        text,
        malformed,
        confidence,
        runner_up,
        as_declared,
        is_noise,
    } = detect(bytes, known.map(|Encoding(encoding)| encoding));
    let wrong_declaration = label
        .filter(|_| !as_declared)
        .map(|label| format!("declares the encoding {label}, but is {}", encoding.name()));
    Decoded {
        encoding: EncodingReport {
            name: encoding.name().to_owned(),
            how: if as_declared {
                EncodingHow::Declared
            } else {
                EncodingHow::Detected
            },
            confidence: confidence as f32,
            runner_up: runner_up.map(|encoding| encoding.name().to_owned()),
        },
        text,
        malformed,
        wrong_declaration,
        is_noise,
    }
}

impl Decoded {
    /// In strict reading, an error for malformed bytes.
    pub(super) fn refuse_malformed_if_strict(
        &self,
        name: &str,
        strictness: Strictness,
    ) -> Result<(), ReadError> {
        match self.malformed.first.first() {
            Some(first) if strictness == Strictness::Strict => Err(ReadError::Malformed {
                name: name.to_owned(),
                encoding: self.encoding.name.clone(),
                count: self.malformed.count,
                offset: first.offset,
            }),
            _ => Ok(()),
        }
    }

    /// Reports a declaration that the bytes belie.
    pub(super) fn note_wrong_declaration(
        &self,
        part: &str,
        problems: &mut Problems<'_>,
    ) -> Result<(), ReadError> {
        match &self.wrong_declaration {
            Some(what) => problems.add(part, what),
            None => Ok(()),
        }
    }
}

/// How many bytes are decoded between two looks at the text.
const PIECE: usize = 16 << 10;

/// Decodes bytes without regard to a byte order mark; every malformed
/// sequence becomes one U+FFFD. `watch` sees the text of every [`PIECE`] of
/// the bytes in turn and may break off, which gives `None`.
pub(super) fn decode_with(
    encoding: &'static encoding_rs::Encoding,
    bytes: &[u8],
    mut watch: impl FnMut(&str) -> ControlFlow<()>,
) -> Option<(String, Malformed)> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len());
    let mut malformed = Malformed::default();
    let mut read = 0;
    let mut watched = 0;
    loop {
        let end = bytes.len().min((read / PIECE + 1) * PIECE);
        let last = end == bytes.len();
        let piece = &bytes[read..end];
        let needed = decoder.max_utf8_buffer_length_without_replacement(piece.len());
        text.reserve(needed.unwrap_or(piece.len()));
        let (result, consumed) =
            decoder.decode_to_string_without_replacement(piece, &mut text, last);
        read += consumed;
        match result {
            DecoderResult::Malformed(len, after) => {
                let end = read as u64 - u64::from(after);
                malformed.add(end - u64::from(len), u64::from(len));
                text.push(char::REPLACEMENT_CHARACTER);
            }
            DecoderResult::OutputFull => {}
            DecoderResult::InputEmpty => {
                if watch(&text[watched..]).is_break() {
                    return None;
                }
                watched = text.len();
                if last {
                    return Some((text, malformed));
                }
            }
        }
    }
}
