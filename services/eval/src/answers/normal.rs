//! Answers made comparable, and text as Python sees it.

use std::sync::LazyLock;

use regex::Regex;

/// The words of an English answer: in lower case, ASCII punctuation dropped
/// (`don't` is `dont`), then the words `a`, `an` and `the` dropped, then
/// split at white space.
pub(crate) fn english_words(text: &str) -> Vec<String> {
    let bare: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    python_words(&without_articles(&bare))
        .map(str::to_owned)
        .collect()
}

/// The characters of a Chinese answer: in lower case, without ASCII and
/// Chinese punctuation, without white space.
pub(crate) fn chinese_characters(text: &str) -> Vec<char> {
    text.to_lowercase()
        .chars()
        .filter(|&c| !c.is_ascii_punctuation() && !is_chinese_punctuation(c) && !is_python_space(c))
        .collect()
}

/// What Python's `\w` takes, without the underscore, which is punctuation and
/// gone by then: letters and numbers of any kind. Rust's `is_alphanumeric`
/// and the usual `\w` also take vowel signs and circled letters, or combining
/// marks.
static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}]+").expect("the pattern is a constant"));

/// A blank in place of every article. An article between marks that are not
/// ASCII (`the’s`) is one too.
fn without_articles(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut end = 0;
    for word in WORD.find_iter(text) {
        if matches!(word.as_str(), "a" | "an" | "the") {
            rest.push_str(&text[end..word.start()]);
            rest.push(' ');
            end = word.end();
        }
    }
    rest.push_str(&text[end..]);
    rest
}

/// The punctuation that the script drops from Chinese besides ASCII. `《`, `〈`,
/// `〉`, `．`, `·`, `‚` and `﹑` are not in its list and stay.
fn is_chinese_punctuation(c: char) -> bool {
    matches!(c,
        // General punctuation: dashes, quotation marks, the ellipsis.
        '–' | '—' | '‘' | '’' | '‛'..='‟' | '…' | '‧'
        // Ideographic commas, stops, brackets and dashes.
        | '、'..='〃' | '》'..='】' | '〔'..='〟' | '〰' | '〾' | '〿'
        | '﹏'
        // Full-width forms of ASCII's marks, but for the full stop.
        | '！'..='－' | '／' | '：'..='＠' | '［'..='｀' | '｛'..='､')
}

/// White space to Python's `str.split` and `str.strip`: Unicode's, and four
/// separators among the control characters.
pub(super) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

pub(super) fn python_strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}

pub(super) fn python_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}
