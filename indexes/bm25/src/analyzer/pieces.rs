//! Folded text taken apart into words and runs of characters.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

/// A stretch of folded text that yields terms. Offsets are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Letters and digits of a script that separates its words.
    Word(Range<usize>),
    /// Digits grouped by thousands: `1,200`.
    Number(Range<usize>),
    /// Characters of a script that does not separate its words.
    Run(Range<usize>, Script),
}

/// The scripts that do not separate words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Chinese characters, whichever language uses them.
    Han,
    /// Kana, Thai, Lao, Burmese, Khmer.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Unspaced(Script),
    Between,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            Class::Letter
        } else {
            Class::Between
        };
    }
    match c as u32 {
        0x3005
        | 0x3007
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x20000..=0x323af => Class::Unspaced(Script::Han),
        0x3041..=0x3096
        | 0x3099..=0x309a
        | 0x309d..=0x309f
        | 0x30a1..=0x30fa
        | 0x30fc..=0x30ff
        | 0x31f0..=0x31ff
        | 0xe01..=0xe3a
        | 0xe40..=0xe4e
        | 0xe81..=0xedf
        | 0x1000..=0x109f
        | 0x1780..=0x17d3 => Class::Unspaced(Script::Other),
        _ if c.is_alphanumeric() || is_combining_mark(c) => Class::Letter,
        _ => Class::Between,
    }
}

/// The pieces of a folded text, in order.
pub(crate) fn pieces(folded: &str) -> impl Iterator<Item = Piece> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &folded[at..];
        let (skipped, first) = rest
            .char_indices()
            .map(|(offset, c)| (offset, class(c)))
            .find(|&(_, class)| class != Class::Between)?;
        let start = at + skipped;
        let len = folded[start..]
            .char_indices()
            .find(|&(_, c)| class(c) != first)
            .map_or(folded.len() - start, |(offset, _)| offset);
        let mut end = start + len;
        let piece = match first {
            Class::Unspaced(script) => Piece::Run(start..end, script),
            _ => match grouped_digits(&folded[start..]) {
                Some(len) => {
                    end = start + len;
                    Piece::Number(start..end)
                }
                None => Piece::Word(start..end),
            },
        };
        at = end;
        Some(piece)
    })
}

/// The length of a number with its thousands grouped by commas at the start
/// of `text`: one to three digits, then groups of exactly three.
fn grouped_digits(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut len = digits(0);
    if !(1..=3).contains(&len) || bytes.get(len) != Some(&b',') {
        return None;
    }
    while bytes.get(len) == Some(&b',') {
        match digits(len + 1) {
            3 => len += 4,
            0 => break,
            _ => return None,
        }
    }
    let glued = text[len..]
        .chars()
        .next()
        .is_some_and(|next| class(next) == Class::Letter);
    (len > 3 && !glued).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, char)> {
        pieces(text)
            .map(|piece| match piece {
                Piece::Word(range) => (&text[range], 'w'),
                Piece::Number(range) => (&text[range], 'n'),
                Piece::Run(range, Script::Han) => (&text[range], 'h'),
                Piece::Run(range, Script::Other) => (&text[range], 'o'),
            })
            .collect()
    }

    #[test]
    fn scripts_and_punctuation_part_pieces() {
        assert_eq!(
            kinds("d'artagnan_jean-baptiste 贾宝玉abc3说ありがとう。"),
            [
                ("d", 'w'),
                ("artagnan", 'w'),
                ("jean", 'w'),
                ("baptiste", 'w'),
                ("贾宝玉", 'h'),
                ("abc3", 'w'),
                ("说", 'h'),
                ("ありがとう", 'o'),
            ]
        );
        assert_eq!(kinds(" —\n"), []);
    }

    #[test]
    fn thousands_are_grouped_only_where_the_groups_are() {
        assert_eq!(kinds("1,200"), [("1,200", 'n')]);
        assert_eq!(kinds("1,234,567, 8"), [("1,234,567", 'n'), ("8", 'w')]);
        assert_eq!(kinds("1,200人"), [("1,200", 'n'), ("人", 'h')]);
        for apart in [
            "1,2", "1999,200", "1,2000", "1,200th", "1,200,30", "12，345",
        ] {
            assert!(kinds(apart).len() > 1, "{apart}");
        }
    }
}
