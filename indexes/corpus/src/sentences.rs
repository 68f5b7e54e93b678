//! Where sentences end, in English, Chinese and their neighbours.

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use crate::structure::LineStyle;

/// Where a sentence ends and whether its paragraph ends there too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentenceEnd {
    /// Byte offset, after the white space that follows the sentence.
    pub at: usize,
    pub paragraph: bool,
}

/// The sentences of a text, one after another without a gap.
///
/// White space after a sentence belongs to it, white space before the first
/// one to the first. Each holds more than white space; a text of nothing else
/// has no sentences. Takes time linear in the text.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut spans = Vec::new();
    for end in sentence_ends(text, LineStyle::of(text)) {
        spans.push(start..end.at);
        start = end.at;
    }
    spans
}

/// The ends of the sentences of a text whose line style is known.
pub(crate) fn sentence_ends(text: &str, style: LineStyle) -> Vec<SentenceEnd> {
    let mut scan = Scan {
        text,
        style,
        ink: None,
        ends: Vec::new(),
    };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at = if c.is_whitespace() {
            scan.white_space(at)
        } else if is_terminator(c) {
            scan.terminator(at, c)
        } else {
            scan.ink.get_or_insert(at);
            at + c.len_utf8()
        };
    }
    scan.finish()
}

struct Scan<'t> {
    text: &'t str,
    style: LineStyle,
    /// Where the first character of the sentence that is being read is, the
    /// white space before it left out.
    ink: Option<usize>,
    ends: Vec<SentenceEnd>,
}

impl Scan<'_> {
    /// Passes a run of white space, which may end a paragraph.
    fn white_space(&mut self, at: usize) -> usize {
        let gap = Gap::at(self.text, at);
        if gap.ends_paragraph(self.style) {
            self.end(gap.end, true);
        }
        gap.end
    }

    /// Passes a terminator with the marks and brackets after it, which may end
    /// a sentence.
    fn terminator(&mut self, at: usize, first: char) -> usize {
        self.ink.get_or_insert(at);
        let run = Run::at(self.text, at, first);
        let gap = Gap::at(self.text, run.end);
        let paragraph = gap.ends_paragraph(self.style) || gap.end == self.text.len();
        if paragraph || self.ends_sentence(at, &run, &gap) {
            self.end(gap.end, paragraph);
        }
        gap.end
    }

    fn ends_sentence(&self, at: usize, run: &Run, gap: &Gap) -> bool {
        let rest = &self.text[gap.end..];
        let Some(next) = rest.chars().next() else {
            return true;
        };
        // Something that goes on: `“好！”，他说`, `. . .`, `"No!"--he`.
        if "，、：；,;:—–-)]）】".contains(next) || is_terminator(next) {
            return false;
        }
        let spaced = gap.end > run.end;
        if run.full_width {
            // `３．１４`
            return spaced || !next.is_numeric();
        }
        let opened = rest
            .trim_start_matches(OPENERS)
            .chars()
            .next()
            .unwrap_or(next);
        if !spaced {
            // ASCII marks in Chinese text have no space after them, and dots
            // of hesitation stand inside a sentence: `我……我不知道`.
            let before = self.text[..at].chars().next_back();
            let in_chinese =
                is_ideographic(opened) && before.is_some_and(|c| is_ideographic(c) || is_closer(c));
            return in_chinese && (run.closed || !run.hesitates);
        }
        if opened.is_lowercase() {
            return false;
        }
        !run.lone_period || self.period_ends_sentence(at, rest)
    }

    /// Whether a single period is more than the mark of an abbreviation, an
    /// initial or a number in a list.
    fn period_ends_sentence(&self, at: usize, rest: &str) -> bool {
        let so_far = &self.text[self.ink.unwrap_or(at)..at];
        let word = last_word(so_far);
        let only_a_number = so_far.len() <= 8
            && (so_far.bytes().all(|b| b.is_ascii_digit())
                || so_far.bytes().all(|b| b"IVXLCDM".contains(&b)));
        if only_a_number {
            return false;
        }
        let mut letters = word.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            // "I" is a word far more often than an initial.
            if letter.is_uppercase() && letter != 'I' {
                return false;
            }
        }
        let dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() <= 1);
        if dotted {
            return matches!(word.to_ascii_lowercase().as_str(), "a.m" | "p.m");
        }
        let lower = word.to_lowercase();
        if NEVER_LAST.contains(&lower.as_str()) {
            return false;
        }
        let numbered =
            rest.starts_with(|c: char| c.is_numeric()) || crate::structure::starts_with_roman(rest);
        !(numbered && BEFORE_NUMBERS.contains(&lower.as_str()))
    }

    fn end(&mut self, at: usize, paragraph: bool) {
        if self.ink.is_none() || joins(self.text, at) {
            return;
        }
        self.ends.push(SentenceEnd { at, paragraph });
        self.ink = None;
    }

    fn finish(mut self) -> Vec<SentenceEnd> {
        let length = self.text.len();
        if self.ink.is_some() {
            self.ends.push(SentenceEnd {
                at: length,
                paragraph: true,
            });
        } else if let Some(last) = self.ends.last_mut() {
            last.at = length;
            last.paragraph = true;
        }
        self.ends
    }
}

/// A run of white space.
struct Gap {
    end: usize,
    line_breaks: usize,
}

impl Gap {
    fn at(text: &str, start: usize) -> Self {
        let rest = &text[start..];
        let length = rest
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(rest.len());
        Self {
            end: start + length,
            line_breaks: rest[..length].bytes().filter(|&b| b == b'\n').count(),
        }
    }

    fn ends_paragraph(&self, style: LineStyle) -> bool {
        match style {
            LineStyle::Wrapped => self.line_breaks > 1,
            LineStyle::Paragraphs => self.line_breaks > 0,
        }
    }
}

/// Terminators in a row with the quotes and brackets that close after them.
struct Run {
    end: usize,
    /// Written in full width, so that no space follows.
    full_width: bool,
    /// Nothing but dots, and more than one.
    hesitates: bool,
    /// Closes a quote or a bracket.
    closed: bool,
    /// One ASCII period and no more marks.
    lone_period: bool,
}

impl Run {
    fn at(text: &str, start: usize, first: char) -> Self {
        let mut run = Self {
            end: start,
            full_width: false,
            hesitates: true,
            closed: false,
            lone_period: first == '.',
        };
        for (index, c) in text[start..].chars().enumerate() {
            if is_terminator(c) && !run.closed {
                run.full_width |= "。！？；｡．".contains(c);
                run.hesitates &= matches!(c, '.' | '…' | '⋯');
                run.lone_period &= index == 0;
            } else if is_closer(c) {
                run.closed = true;
            } else {
                break;
            }
            run.end += c.len_utf8();
        }
        run.hesitates &= !run.lone_period;
        run
    }
}

const OPENERS: &[char] = &[
    '"', '\'', '“', '‘', '«', '‹', '「', '『', '（', '(', '[', '{', '《', '〈', '【', '_', '*',
];

/// Words with a period that what they introduce always follows.
const NEVER_LAST: &[&str] = &[
    "mr", "mrs", "ms", "messrs", "mme", "mlle", "mm", "dr", "st", "ste", "mt", "rev", "hon", "gen",
    "col", "capt", "lieut", "lt", "sgt", "maj", "cpl", "prof", "gov", "pres", "sen", "rep", "mgr",
    "supt", "viz", "cf", "vs", "ed", "eds", "trans",
];

/// Words with a period that are abbreviations before a number.
const BEFORE_NUMBERS: &[&str] = &[
    "no", "nos", "vol", "vols", "p", "pp", "ch", "chap", "chaps", "fig", "figs", "art", "sec",
    "sect", "bk", "pt", "l", "ll", "v", "vv", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
    "sep", "sept", "oct", "nov", "dec",
];

fn is_terminator(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '⋯'
            | '。'
            | '！'
            | '？'
            | '；'
            | '｡'
            | '．'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '؟'
            | '۔'
            | '।'
            | '॥'
    )
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '”'
            | '’'
            | ')'
            | ']'
            | '}'
            | '»'
            | '›'
            | '」'
            | '』'
            | '）'
            | '》'
            | '】'
            | '〉'
            | '〕'
            | '｣'
            | '＂'
            | '_'
            | '*'
    )
}

/// Whether a character is of a script that puts no spaces between words.
fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The word at the end of a text, with the periods inside it.
fn last_word(text: &str) -> &str {
    // No abbreviation is longer, and a bound keeps endless words cheap.
    const LONGEST: usize = 24;
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST))..];
    let start = tail
        .char_indices()
        .rev()
        .find(|&(_, c)| !c.is_alphanumeric() && c != '.')
        .map_or(0, |(at, c)| at + c.len_utf8());
    &tail[start..]
}

/// Whether the characters around a place make one that is read as a whole.
pub(crate) fn joins(text: &str, at: usize) -> bool {
    let after = text[at..].chars().next();
    let before = text[..at].chars().next_back();
    if after.is_none_or(|c| c.is_ascii()) && before.is_none_or(|c| c.is_ascii()) {
        return false;
    }
    // It looks back as far as it must: of three letters of flags the first two
    // are one.
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    matches!(cursor.is_boundary(text, 0), Ok(false))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text)
            .into_iter()
            .map(|span| text[span].trim())
            .collect()
    }

    #[test]
    fn english_sentences_end_at_their_marks() {
        assert_eq!(
            split("He came. She left! Why? (Nobody knew.) \"I do.\" The end"),
            [
                "He came.",
                "She left!",
                "Why?",
                "(Nobody knew.)",
                "\"I do.\"",
                "The end"
            ]
        );
    }

    #[test]
    fn abbreviations_initials_and_numbers_end_nothing() {
        for one in [
            "Mr. and Mrs. Hurst met Dr. Grant at St. Ives with J. R. Smith.",
            "See No. 12, e.g. Vol. IV or p. 9, i.e. Fig. 3 of it.",
            "The U.S. Navy paid 3.14 dollars at www.example.org for it.",
            "M. de Tréville saw Capt. Wragge.",
            "1. First he came, and that was all.",
            "I. A Scandal, and what came of it",
        ] {
            assert_eq!(split(one), [one]);
        }
        assert_eq!(split("It was I. He knew."), ["It was I.", "He knew."]);
        assert_eq!(
            split("At 9 p.m. The bell rang."),
            ["At 9 p.m.", "The bell rang."]
        );
    }

    #[test]
    fn dialogue_goes_on_after_its_quote() {
        for one in [
            "\"What?\" he said.",
            "“Oh!” cried she.",
            "\"No!\"--and he was gone.",
            "He waited ... and waited.",
            "He waited. . . and waited.",
        ] {
            assert_eq!(split(one), [one]);
        }
        assert_eq!(split("“Go!” She went."), ["“Go!”", "She went."]);
        assert_eq!(
            split("He waited... Then he left."),
            ["He waited...", "Then he left."]
        );
    }

    #[test]
    fn a_line_break_is_a_space_and_a_blank_line_ends_a_sentence() {
        assert_eq!(
            split("He came over\nthe water. It\nwas late\n\nNo mark here\n\n\nThe end"),
            [
                "He came over\nthe water.",
                "It\nwas late",
                "No mark here",
                "The end"
            ]
        );
    }

    #[test]
    fn chinese_and_japanese_sentences_end_at_their_marks() {
        assert_eq!(
            split("他来了。她走了！为什么？“我知道。”他说：“好！”，便走了；天黑了……"),
            [
                "他来了。",
                "她走了！",
                "为什么？",
                "“我知道。”",
                "他说：“好！”，便走了；",
                "天黑了……"
            ]
        );
        assert_eq!(split("「誰だ。」彼は来た。"), ["「誰だ。」", "彼は来た。"]);
        assert_eq!(
            split("我……我不知道。“唉……”他走了。"),
            ["我……我不知道。", "“唉……”", "他走了。"]
        );
        assert_eq!(
            split("他走了.她哭了!天黑了"),
            ["他走了.", "她哭了!", "天黑了"]
        );
    }

    #[test]
    fn a_text_without_ink_has_no_sentences() {
        assert_eq!(split(""), Vec::<&str>::new());
        assert_eq!(split(" \n\n\t\u{3000}"), Vec::<&str>::new());
    }

    #[test]
    fn a_line_of_its_own_is_a_paragraph_where_lines_are_long() {
        let long = "He went on and on, ".repeat(40);
        let text = format!("A verse\n{long}\nAnother\n{long}\n");
        assert_eq!(split(&text).len(), 4);
    }

    proptest! {
        #[test]
        fn sentences_cover_any_text_and_split_no_character(
            text in "([a-zA-Z .!?\"'”\n]|[他走了。！？…」”\n]|\\PC|\u{301}|\u{200d}){0,80}"
        ) {
            let spans = sentences(&text);
            prop_assert_eq!(spans.is_empty(), text.trim().is_empty());
            let mut at = 0;
            for span in &spans {
                prop_assert_eq!(span.start, at);
                prop_assert!(!text[span.clone()].trim().is_empty());
                at = span.end;
            }
            prop_assert!(spans.is_empty() || at == text.len());
            let edges: std::collections::HashSet<usize> = text
                .grapheme_indices(true)
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            for span in &spans {
                prop_assert!(edges.contains(&span.end));
            }
        }
    }
}
