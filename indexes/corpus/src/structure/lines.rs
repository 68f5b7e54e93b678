//! The non-blank lines of a text and what surrounds them.

use std::ops::Range;

/// What a single line break means in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineStyle {
    /// Paragraphs are wrapped to a column: a line break is a space, a blank
    /// line ends the paragraph.
    Wrapped,
    /// Every line is a paragraph.
    Paragraphs,
}

impl LineStyle {
    /// Told by the mean length of the line that a byte lies in. Wrapped text
    /// stays near its column (about 75 bytes), paragraphs on one line do not,
    /// however many short lines of dialogue stand between them.
    pub(crate) fn of(text: &str) -> Self {
        let squares: u64 = text
            .split('\n')
            .map(|line| (line.trim_end().len() as u64).pow(2))
            .sum();
        let bytes = text.len() as u64;
        if squares > bytes.saturating_mul(160) {
            Self::Paragraphs
        } else {
            Self::Wrapped
        }
    }
}

/// A line with something on it.
#[derive(Debug, Clone)]
pub(super) struct Line<'t> {
    /// Where the line lies in the text, without its line break.
    pub span: Range<usize>,
    /// The line without the white space around it.
    pub text: &'t str,
    /// Whether nothing, or a blank line, stands before it.
    pub after_blank: bool,
    /// Whether nothing, or a blank line, stands after it.
    pub before_blank: bool,
}

impl Line<'_> {
    /// Whether the line is no longer than that many characters.
    pub fn is_within(&self, chars: usize) -> bool {
        self.text.len() <= 4 * chars && self.text.chars().count() <= chars
    }
}

/// The lines within a range of the text that are not blank.
pub(super) fn lines_in(text: &str, range: Range<usize>) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut start = range.start;
    let mut after_blank = true;
    for raw in text[range].split('\n') {
        let end = start + raw.len();
        let trimmed = raw.trim();
        if trimmed.is_empty() {
            after_blank = true;
            if let Some(last) = lines.last_mut() {
                last.before_blank = true;
            }
        } else {
            lines.push(Line {
                span: start..end,
                text: trimmed,
                after_blank,
                before_blank: false,
            });
            after_blank = false;
        }
        start = end + 1;
    }
    if let Some(last) = lines.last_mut() {
        last.before_blank = true;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_place_and_the_blanks_around_them() {
        let text = "x\n\n  One\ntwo \n \nthree";
        let lines = lines_in(text, 1..text.len());
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line.text, line.after_blank, line.before_blank))
            .collect();
        assert_eq!(
            seen,
            [
                ("One", true, false),
                ("two", false, true),
                ("three", true, true)
            ]
        );
        assert_eq!(&text[lines[0].span.clone()], "  One");
    }

    #[test]
    fn wrapped_text_is_told_from_paragraphs_on_one_line() {
        let wrapped =
            "A line of about seventy letters as a typewriter would have set it.\n".repeat(20);
        assert_eq!(LineStyle::of(&wrapped), LineStyle::Wrapped);
        let long = format!("“Yes.”\n{}\n", "A paragraph that goes on. ".repeat(20)).repeat(9);
        assert_eq!(LineStyle::of(&long), LineStyle::Paragraphs);
        assert_eq!(LineStyle::of(""), LineStyle::Wrapped);
    }
}
