//! Folding: one spelling for what is written in many.

/// The text with full-width forms made plain, and without emphasis, code
/// marks, quotation marks and TeX boxes. Lines stay lines.
pub(super) fn folded(text: &str) -> String {
    let text = text
        .replace("\\boxed", "")
        .replace("\\text", "")
        .replace("\\(", "")
        .replace("\\)", "");
    let chars: Vec<char> = text.chars().map(plain).collect();
    let mut kept = String::with_capacity(text.len());
    for (at, &c) in chars.iter().enumerate() {
        match c {
            '*' | '`' | '$' | '{' | '}' | '"' | '#' => {}
            // "can't" keeps its apostrophe, 'B' loses both.
            '\'' => {
                let letter = |at: Option<usize>| {
                    at.and_then(|at| chars.get(at))
                        .is_some_and(|c| c.is_alphabetic())
                };
                if letter(at.checked_sub(1)) && letter(Some(at + 1)) {
                    kept.push(c);
                }
            }
            c => kept.push(c),
        }
    }
    kept
}

fn plain(c: char) -> char {
    match c {
        // The full-width forms stand in the order of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xff01 + 0x21).unwrap_or(c),
        '\u{3000}' | '\u{a0}' => ' ',
        '【' | '〔' => '[',
        '】' | '〕' => ']',
        '“' | '”' | '「' | '」' | '『' | '』' => '"',
        '‘' | '’' => '\'',
        '–' | '—' => '-',
        c => c,
    }
}

/// Whether two texts are the same but for case, white space, full-width
/// forms, quotation marks and punctuation around them.
pub(super) fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (essence(a), essence(b));
    !a.is_empty() && a == b
}

/// Whether one text goes on where the other ends, at the end of a word.
pub(super) fn begins_alike(a: &str, b: &str) -> bool {
    let (a, b) = (essence(a), essence(b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let Some(rest) = long.strip_prefix(short.as_str()) else {
        return false;
    };
    let long_enough = short.chars().count() >= 3;
    let word_ends = rest
        .chars()
        .next()
        .is_none_or(|c| !c.is_ascii_alphanumeric());
    long_enough && word_ends
}

fn essence(text: &str) -> String {
    let text = folded(text).to_lowercase();
    let around = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '.' | '。' | ',' | '、' | ';' | ':' | '!' | '?' | '(' | ')'
            )
    };
    let words: Vec<&str> = text.trim_matches(around).split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_fold_into_one() {
        assert_eq!(folded("**（Ｂ）**"), "(B)");
        assert_eq!(folded("I can’t ‘B’"), "I can't B");
        assert!(same_text("  The “Deaf”  aunt。", "the deaf AUNT"));
        assert!(!same_text("...", ""));
    }

    #[test]
    fn a_text_may_go_on_only_where_a_word_ends() {
        assert!(begins_alike("The Deaf Aunt. She kills.", "the deaf aunt"));
        assert!(begins_alike("the deaf", "the deaf aunt"));
        assert!(!begins_alike("the dea", "the deaf aunt"));
        assert!(!begins_alike("a", "a man"));
    }
}
