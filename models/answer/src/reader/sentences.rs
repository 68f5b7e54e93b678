//! Where sentences end, in English and Chinese.

use std::ops::Range;

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "st", "capt", "col", "gen", "lt", "sgt", "prof", "rev", "messrs",
    "no", "vol", "etc", "vs", "e.g", "i.e",
];

/// The sentences of a text as byte spans without the white space around them,
/// in order. A blank line ends a sentence, a single line feed does not.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < chars.len() {
        let (byte, c) = chars[at];
        at += 1;
        let ends = match c {
            '。' | '！' | '？' | '!' | '?' | '…' => true,
            '.' => stops(&text[start..byte]),
            '\n' => chars.get(at).is_some_and(|(_, next)| *next == '\n'),
            _ => false,
        };
        if !ends {
            continue;
        }
        while at < chars.len() && is_closing(chars[at].1) {
            at += 1;
        }
        let end = chars.get(at).map_or(text.len(), |(byte, _)| *byte);
        // "3.5" and "what?" said he: no space, or a small letter, goes on.
        let latin = matches!(c, '.' | '!' | '?');
        if latin && goes_on(&text[end..]) {
            continue;
        }
        found.extend(trimmed(text, start..end));
        start = end;
    }
    found.extend(trimmed(text, start..text.len()));
    found
}

/// Whether a full stop after this text ends a sentence.
fn stops(before: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '“'))
        .next()
        .unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    !initial && !ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

fn is_closing(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '。'
            | '！'
            | '？'
            | '…'
            | '"'
            | '\''
            | '”'
            | '’'
            | '」'
            | '』'
            | ')'
            | '）'
            | ']'
    )
}

fn goes_on(rest: &str) -> bool {
    let next = rest.chars().next();
    let then = rest.trim_start().chars().next();
    next.is_some_and(|c| !c.is_whitespace() && c.is_alphanumeric())
        || then.is_some_and(char::is_lowercase)
}

fn trimmed(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let slice = &text[span.clone()];
    let start = span.start + (slice.len() - slice.trim_start().len());
    let end = start + slice.trim().len();
    let says_something = text[start..end].chars().any(char::is_alphanumeric);
    says_something.then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        let spans = sentences(text);
        spans.into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_stops() {
        for (text, expected) in [
            ("One. Two! Three?", vec!["One.", "Two!", "Three?"]),
            (
                "\"One,\" he said. \"Two.\" Three",
                vec!["\"One,\" he said.", "\"Two.\"", "Three"],
            ),
            ("\"What?\" said Ann.", vec!["\"What?\" said Ann."]),
            (
                "Mr. Strome paid 3.5 bits to J. Smith.",
                vec!["Mr. Strome paid 3.5 bits to J. Smith."],
            ),
            ("It was I. He left.", vec!["It was I.", "He left."]),
            ("No stop\n\nNew part", vec!["No stop", "New part"]),
            ("Over\nlines. Yes.", vec!["Over\nlines.", "Yes."]),
            (
                "天黑了。他说：「灯没亮。」她走了！",
                vec!["天黑了。", "他说：「灯没亮。」", "她走了！"],
            ),
            ("……\n\n好。", vec!["好。"]),
            ("", vec![]),
            ("* * *", vec![]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn sentences_lie_in_order_and_hold_every_letter(text in "[a-cA-B灯。！.!? \n\"」1]{0,40}") {
            let spans = sentences(&text);
            let mut kept = String::new();
            let mut end = 0;
            for span in &spans {
                prop_assert!(span.start >= end && span.end > span.start);
                end = span.end;
                kept.push_str(&text[span.clone()]);
            }
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&kept), letters(&text));
        }
    }
}
