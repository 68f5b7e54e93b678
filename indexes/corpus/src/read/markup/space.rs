//! White space in HTML.

/// The white space that HTML collapses.
pub(super) fn is_html_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0C')
}

/// On one line, without white space around and runs of it made one space.
pub(super) fn one_line(text: &str) -> String {
    let is_break =
        |c: char| is_html_space(c) || matches!(c, '\x0B' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let words: Vec<&str> = text
        .split(is_break)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The segment break rule of CSS Text 3: a line end between two wide
/// characters, Hangul aside, is no space. Quotation marks and dashes, wide in
/// Chinese only, follow their neighbour.
pub(super) fn joins_without_space(before: char, after: char) -> bool {
    (is_wide(before) && (is_wide(after) || is_either(after)))
        || (is_either(before) && is_wide(after))
}

fn is_wide(character: char) -> bool {
    matches!(character,
        '\u{2E80}'..='\u{312F}' | '\u{3190}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF01}'..='\u{FF60}'
        | '\u{20000}'..='\u{3FFFF}')
}

fn is_either(character: char) -> bool {
    matches!(character, '‘' | '’' | '“' | '”' | '…' | '—' | '·')
}
