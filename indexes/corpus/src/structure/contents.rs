//! The book's own table of contents: the titles it lists.

use std::collections::HashSet;

use super::heading;
use super::lines::Line;

/// The titles of a table of contents, and the line after it.
#[derive(Debug, Default)]
pub(super) struct Contents {
    titles: HashSet<String>,
    /// Index of the table's first line.
    start: usize,
    /// Index of the first line that is no longer the table.
    pub end: usize,
}

impl Contents {
    /// Finds the table in the first part of a book. It runs from its heading
    /// to the first line that repeats a title, or reads like prose.
    pub(super) fn find(lines: &[Line<'_>]) -> Self {
        const MOST_ENTRIES: usize = 400;
        let lead = &lines[..lines.len().min(lines.len() / 5 + 60)];
        let Some(at) = lead.iter().position(|line| opens_contents(line.text)) else {
            return Self::default();
        };
        let mut contents = Self {
            start: at + 1,
            ..Self::default()
        };
        let table = &lines[at + 1..lines.len().min(at + 1 + MOST_ENTRIES)];
        for (index, line) in table.iter().enumerate() {
            let repeated = contents.matches(table, index).is_some();
            if repeated || !line.is_within(100) || is_prose(table, index) {
                contents.end = at + 1 + index;
                return contents;
            }
            // "PART I" comes again under every story that has parts.
            if heading::read(line.text).is_some_and(|h| h.number.is_some() && !h.titled) {
                continue;
            }
            let title = key(entry(line.text));
            if title.chars().count() > 3 && title != "page" {
                contents.titles.insert(title);
            }
        }
        contents.end = at + 1 + table.len();
        contents
    }

    /// How many lines from that one on are a title of the table, set apart by
    /// blank lines: one, or two for a title with a subtitle.
    pub(super) fn matches(&self, lines: &[Line<'_>], index: usize) -> Option<usize> {
        let line = &lines[index];
        let speaks = line.text.starts_with(['-', '—', '–']);
        if self.titles.is_empty() || !line.after_blank || !line.is_within(100) || speaks {
            return None;
        }
        if line.before_blank && self.titles.contains(&key(line.text)) {
            return Some(1);
        }
        let next = lines
            .get(index + 1)
            .filter(|next| next.before_blank && next.is_within(100))?;
        let both = format!("{} {}", line.text, next.text);
        self.titles.contains(&key(&both)).then_some(2)
    }

    /// Whether a line is part of the table.
    pub(super) fn covers(&self, index: usize) -> bool {
        (self.start..self.end).contains(&index)
    }

    /// How many titles the table lists.
    pub(super) fn len(&self) -> usize {
        self.titles.len()
    }
}

/// Whether a line is the heading of a table of contents.
pub(super) fn opens_contents(line: &str) -> bool {
    let words = line
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
        .replace(char::is_whitespace, " ");
    matches!(
        words.as_str(),
        "contents"
            | "table of contents"
            | "the contents"
            | "table des matières"
            | "目录"
            | "目錄"
            | "目次"
    )
}

/// An entry without its number and its page.
fn entry(line: &str) -> &str {
    let unpaged = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let gap = unpaged.len() - unpaged.trim_end().len();
    let led = gap > 1 || unpaged.ends_with('\t') || unpaged.trim_end().ends_with("..");
    let line = if led && unpaged.len() < line.len() {
        unpaged.trim_end_matches([' ', '.', '\t'])
    } else {
        line
    };
    match line.split_once(". ") {
        Some((number, title)) if heading::read(number).is_some_and(|h| h.number.is_some()) => title,
        _ => line,
    }
}

/// Three long lines in a row are a paragraph.
fn is_prose(table: &[Line<'_>], index: usize) -> bool {
    let long = |line: &Line<'_>| line.text.len() > 60;
    table.len() >= index + 3
        && table[index..index + 3].iter().all(long)
        && !table[index].before_blank
        && !table[index + 1].before_blank
}

/// What two spellings of one title share.
pub(super) fn key(title: &str) -> String {
    title
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines::lines_in;
    use super::*;

    #[test]
    fn a_table_ends_where_its_first_title_comes_again() {
        let text = "CONTENTS\n\nTHE FERRY: A Tale      1\n\nII. The Bridge......... 40\n\n\nTHE FERRY\n\nA Tale\n\nIt was late.\n\nThe Bridge\n\nIt fell.\n";
        let lines = lines_in(text, 0..text.len());
        let contents = Contents::find(&lines);
        assert_eq!(contents.len(), 2);
        assert_eq!(lines[contents.end].text, "THE FERRY");
        assert_eq!(contents.matches(&lines, contents.end), Some(2));
        let bridge = lines.iter().position(|line| line.text == "The Bridge");
        assert_eq!(contents.matches(&lines, bridge.expect("the line")), Some(1));
    }

    #[test]
    fn a_book_without_a_table_lists_nothing() {
        let text = "The contents of the box were gone.\n\nHe wept.";
        let lines = lines_in(text, 0..text.len());
        let contents = Contents::find(&lines);
        assert_eq!((contents.len(), contents.end), (0, 0));
        assert_eq!(contents.matches(&lines, 0), None);
    }
}
