//! Answers compared, as they come, with those of the idle server.

use bytes::Bytes;

/// What begins the part of an answer that differs between equal requests.
const VARYING: &[u8] = b",\"run\":";

/// Bytes shown on either side of a difference.
const SHOWN: usize = 40;

/// The part of an answer that must be the same whenever the question is asked:
/// up to its last `,"run":`, that included. `None` if it has none.
pub(crate) fn constant_part(body: &Bytes) -> Option<Bytes> {
    let at = body
        .windows(VARYING.len())
        .rposition(|window| window == VARYING)?;
    Some(body.slice(..at + VARYING.len()))
}

/// Where an answer differs from what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) at: usize,
    pub(crate) expected: String,
    pub(crate) got: String,
}

/// Compares an answer piece by piece, without keeping it.
#[derive(Debug)]
pub(crate) struct Comparing<'a> {
    expected: &'a [u8],
    at: usize,
    difference: Option<Difference>,
}

impl<'a> Comparing<'a> {
    pub(crate) fn with(expected: &'a [u8]) -> Self {
        Self {
            expected,
            at: 0,
            difference: None,
        }
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) {
        if self.difference.is_some() {
            return;
        }
        let left = &self.expected[self.at..];
        let length = left.len().min(piece.len());
        if left[..length] == piece[..length] {
            self.at += length;
            return;
        }
        let same = left.iter().zip(piece).take_while(|(a, b)| a == b).count();
        self.differs(self.at + same, &piece[same.saturating_sub(SHOWN)..]);
    }

    /// The first difference of the whole answer, if there is one.
    pub(crate) fn finish(mut self) -> Option<Difference> {
        if self.difference.is_none() && self.at < self.expected.len() {
            self.differs(self.at, b"");
        }
        self.difference
    }

    fn differs(&mut self, at: usize, got: &[u8]) {
        let excerpt = |bytes: &[u8]| {
            let end = bytes.len().min(2 * SHOWN);
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        self.difference = Some(Difference {
            at,
            expected: excerpt(&self.expected[at.saturating_sub(SHOWN)..]),
            got: excerpt(got),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(expected: &str, pieces: &[&str]) -> Option<usize> {
        let mut comparing = Comparing::with(expected.as_bytes());
        for piece in pieces {
            comparing.feed(piece.as_bytes());
        }
        comparing.finish().map(|difference| difference.at)
    }

    #[test]
    fn the_constant_part_ends_with_the_last_run_member() {
        let body = Bytes::from_static(b"{\"text\":\"say \\\"run\\\":\",\"run\":{\"a\":1}}");
        let part = constant_part(&body).unwrap();
        assert_eq!(&part[..], b"{\"text\":\"say \\\"run\\\":\",\"run\":");
        assert_eq!(constant_part(&Bytes::from_static(b"{}")), None);
    }

    #[test]
    fn an_answer_is_the_same_however_it_is_cut_and_whatever_follows() {
        assert_eq!(differing("abc", &["abc and more"]), None);
        assert_eq!(differing("abc", &["a", "", "bcd", "xyz"]), None);
    }

    #[test]
    fn the_first_byte_that_differs_or_is_missing_is_found() {
        assert_eq!(differing("abcd", &["ab", "xd"]), Some(2));
        assert_eq!(differing("abcd", &["ab"]), Some(2));
        assert_eq!(differing("abcd", &["xbcd", "x"]), Some(0));
    }

    #[test]
    fn a_difference_is_shown_with_what_is_before_it() {
        let mut comparing = Comparing::with(b"the fare was one bit");
        comparing.feed(b"the fare was two bits");
        let difference = comparing.finish().unwrap();
        assert_eq!(difference.at, 13);
        assert_eq!(difference.got, "the fare was two bits");
        assert_eq!(difference.expected, "the fare was one bit");
    }
}
