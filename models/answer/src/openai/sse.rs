//! Server-sent events out of bytes, however they are cut (the HTML standard,
//! section 9.2.6, as far as this protocol uses it).

/// The longest event that is kept.
const MOST_BYTES: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its `event:` field; empty when it has none.
    pub(super) kind: String,
    /// Its `data:` lines, joined by line feeds.
    pub(super) data: String,
}

/// An event that is too long to be one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Collects bytes until they are events. Works on bytes, so that a character
/// cut in two is whole again before it is read.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    line: Vec<u8>,
    after_return: bool,
    kind: String,
    data: Option<String>,
}

impl Decoder {
    /// The events that are complete once `bytes` have arrived.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let second_half = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            if second_half {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                events.extend(self.end_line());
                continue;
            }
            self.line.push(byte);
            let data = self.data.as_ref().map_or(0, String::len);
            if self.line.len() + data > MOST_BYTES {
                return Err(TooLong);
            }
        }
        Ok(events)
    }

    /// The event that the end of the stream completes: servers leave out the
    /// last empty line at times.
    pub(super) fn finish(&mut self) -> Option<Event> {
        let last = self.end_line();
        last.or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.kind),
            // llama.cpp once sent errors in a field of their own.
            "error" => {
                "error".clone_into(&mut self.kind);
                self.data = Some(value.to_owned());
            }
            // A comment, an id, or a field that nobody knows.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let kind = std::mem::take(&mut self.kind);
        let data = self.data.take()?;
        Some(Event { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.push(piece).unwrap());
        }
        events.extend(decoder.finish());
        events
    }

    fn data(stream: &str) -> Vec<String> {
        let events = decode(&[stream.as_bytes()]);
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn an_event_is_read_in_every_form_of_the_standard() {
        for (stream, expected) in [
            ("data: a\n\ndata:b\n\n", vec!["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            (": keep-alive\n\ndata: a\n\n: x\n\n", vec!["a"]),
            ("data: {\ndata: }\n\n", vec!["{\n}"]),
            ("id: 1\nretry: 5\nevent: x\ndata: a\n\n", vec!["a"]),
            ("data: a\n\ndata: b", vec!["a", "b"]),
            ("data:  a\n\n", vec![" a"]),
            ("data\n\n", vec![""]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(data(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn an_events_kind_lasts_for_one_event() {
        let events = decode(&[b"event: error\ndata: a\n\ndata: b\n\nerror: {}\n\n"]);
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["error", "", "error"]);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut decoder = Decoder::default();
        let piece = vec![b'x'; 1 << 20];
        let fault = (0..8).find_map(|_| decoder.push(&piece).err());
        assert_eq!(fault, Some(TooLong));
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_changes_nothing(
            texts in prop::collection::vec("[a答é: {}]{0,6}", 1..6),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            cuts in prop::collection::vec(1_usize..4, 0..80),
        ) {
            let stream: String = texts.iter().map(|text| format!("data: {text}{end}{end}")).collect();
            let mut pieces = Vec::new();
            let mut rest = stream.as_bytes();
            for cut in cuts {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = later;
            }
            pieces.push(rest);
            let read: Vec<String> = decode(&pieces).into_iter().map(|e| e.data).collect();
            prop_assert_eq!(read, texts);
        }
    }
}
