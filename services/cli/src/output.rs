//! What the terminal shows.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;

use anyhow::Result;
use serde::Serialize;

use crate::args::ColorWhen;

/// Standard output, coloured or not.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    color: bool,
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    Heading,
    Match,
    Faint,
    Good,
    Bad,
}

impl Output {
    pub fn new(when: ColorWhen) -> Self {
        let color = match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Self { color }
    }

    /// The text in a style, or as it is without colours. Control characters of
    /// the text itself are never passed on to the terminal.
    pub fn paint(self, style: Style, text: &str) -> String {
        let text = printable(text);
        if !self.color {
            return text;
        }
        let code = match style {
            Style::Heading => "1",
            Style::Match => "1;33",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The text with the given byte ranges standing out.
    pub fn highlight(self, text: &str, ranges: &[Range<usize>]) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            shown += &printable(&text[at..range.start]);
            shown += &self.paint(Style::Match, &text[range.clone()]);
            at = range.end;
        }
        shown + &printable(&text[at..])
    }
}

/// Without control characters, which a book could use to rewrite the screen.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// Prints one JSON document and a line end.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    Ok(())
}

/// One line of somebody else's words, such as a title or a file's name: without
/// line ends and other control characters, and without the marks that reverse
/// the direction of text.
pub fn printable_line(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// A table with left-aligned columns, the last as wide as it is.
pub fn print_table(header: &[&str], rows: &[Vec<String>]) -> Result<()> {
    let mut widths: Vec<usize> = header.iter().map(|cell| width(cell)).collect();
    for row in rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            *column = width(cell).max(*column);
        }
    }
    let mut out = io::stdout().lock();
    let mut line = |cells: &[String]| -> Result<()> {
        let mut text = String::new();
        for (at, cell) in cells.iter().enumerate() {
            text += cell;
            if at + 1 < cells.len() {
                text += &" ".repeat(widths[at] - width(cell) + 2);
            }
        }
        writeln!(out, "{}", text.trim_end())?;
        Ok(())
    };
    line(&header.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    rows.iter().try_for_each(|row| line(row))
}

/// Terminal columns, counting East Asian wide characters as two.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{ffe0}'..='\u{ffe6}'
            | '\u{20000}'..='\u{3fffd}' => 2,
            _ => 1,
        })
        .sum()
}

/// A number in groups of three digits, as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_book_do_not_reach_the_terminal() {
        let plain = Output { color: false };
        assert_eq!(
            plain.paint(Style::Match, "a\x1b[2Jb\r"),
            "a\u{fffd}[2Jb\u{fffd}"
        );
        assert_eq!(
            plain.highlight("x\x07y", std::slice::from_ref(&(0..1))),
            "x\u{fffd}y"
        );
    }

    #[test]
    fn matches_stand_out_where_they_are() {
        let coloured = Output { color: true };
        assert_eq!(
            coloured.highlight("the bell rang", std::slice::from_ref(&(4..8))),
            "the \x1b[1;33mbell\x1b[0m rang"
        );
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("庹a"), 3);
    }
}
