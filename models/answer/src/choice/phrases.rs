//! The phrases in which a letter is said to be the choice.

use super::text::{begins_alike, same_text};
use crate::model::{LETTERS, is_han};

/// What a whole line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// A letter and nothing else, or several joined.
    Letters(Vec<char>),
    /// A letter and its option's text.
    Option(char),
}

/// A label, and whether an `is` or a colon must follow it.
const LABELS: &[(&str, bool)] = &[
    ("answer", false),
    ("choose", false),
    ("chose", false),
    ("pick", false),
    ("select", false),
    ("go with", false),
    ("choice", true),
    ("option", true),
    ("答案", false),
    ("选择", false),
    ("选", false),
    ("选项", true),
];

/// What may stand between a label and its letter; the first group are the
/// words that make a statement of it.
const LINKS: &[&str] = &[
    "is",
    "would be",
    "must be",
    "should be",
    "=",
    ":",
    "-",
    "应该是",
    "应是",
    "应为",
    "是",
    "为",
];
const FILLERS: &[&str] = &[
    "option",
    "choice",
    "letter",
    "clearly",
    "therefore",
    "选项",
    "选择",
    "选",
];

/// What follows a letter that is called the choice.
const VERDICTS: &[&str] = &[
    "is correct",
    "is right",
    "is the correct",
    "is the right",
    "is the best",
    "正确",
    "是正确",
    "是对的",
];

const NEGATIONS: &[&str] = &[
    "not ", "n't ", "cannot", "never", "neither", "unable", "不", "没", "非", "别", "无法",
];

/// The letters, or options by their text, that a line names after a label or
/// before a verdict. Denied ones do not count.
pub(super) fn labelled(line: &str, options: &[String]) -> Vec<char> {
    let lower = line.to_ascii_lowercase();
    let mut named = Vec::new();
    for (label, needs_link) in LABELS {
        for (at, _) in lower.match_indices(label) {
            let end = at + label.len();
            let whole_word = !touches_word(&lower, at, end);
            if whole_word && !denied(&lower[..at]) {
                named.extend(after_label(line, &lower, end, *needs_link, options));
            }
        }
    }
    for verdict in VERDICTS {
        for (at, _) in lower.match_indices(verdict) {
            if denied(&lower[..at]) {
                continue;
            }
            let before = line[..at].trim_end();
            let before = before.strip_suffix("选项").unwrap_or(before);
            let before = before.strip_suffix('项').unwrap_or(before);
            let before = before.trim_end_matches([')', ']', ' ']);
            named.extend(last_letter(before));
        }
    }
    named
}

/// What a line says that is nothing but a choice. A small letter counts only
/// when the line is the whole answer: `alone`.
pub(super) fn whole_line(line: &str, options: &[String], alone: bool) -> Option<Claim> {
    let lower = line.to_ascii_lowercase();
    let mut start = 0;
    for filler in ["option", "choice", "选项"] {
        if lower.starts_with(filler) {
            start = filler.len();
        }
    }
    let (letter, small, end) = letter_at(line, start)?;
    if small && !alone {
        return None;
    }
    let more = more_letters(&line[end..]);
    if !more.is_empty() {
        return Some(Claim::Letters([vec![letter], more].concat()));
    }
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix("选项").unwrap_or(rest);
    let rest = rest.strip_prefix('项').unwrap_or(rest);
    let text = rest.trim_start_matches(['.', ')', ':', '-', '、', '。', ',', ' ']);
    if text.is_empty() {
        return Some(Claim::Letters(vec![letter]));
    }
    let option = option_of(letter, options)?;
    begins_like(text, option).then_some(Claim::Option(letter))
}

/// The letters named from the end of a label on.
fn after_label(
    line: &str,
    lower: &str,
    label_end: usize,
    needs_link: bool,
    options: &[String],
) -> Vec<char> {
    let mut at = label_end;
    let mut linked = false;
    loop {
        at += lower[at..].len() - lower[at..].trim_start().len();
        let rest = &lower[at..];
        let next = |words: &[&str]| {
            let word = words.iter().find(|word| rest.starts_with(**word))?;
            let end = at + word.len();
            (!touches_word(lower, at, end)).then_some(end)
        };
        if let Some(end) = next(LINKS) {
            (at, linked) = (end, true);
        } else if let Some(end) = next(FILLERS) {
            at = end;
        } else {
            break;
        }
    }
    if needs_link && !linked {
        return Vec::new();
    }
    let rest = &line[at..];
    let by_text = LETTERS
        .iter()
        .zip(options)
        .find(|(_, option)| linked && same_text(rest, option));
    let Some((letter, small, end)) = letter_at(line, at) else {
        return by_text
            .map(|(letter, _)| char::from(*letter))
            .into_iter()
            .collect();
    };
    let after = &line[end..];
    let mut letters = vec![letter];
    letters.extend(more_letters(after));
    if letters.len() > 1 {
        return letters;
    }
    let fits = if small {
        after.trim_matches(['.', '。', ' ', ')']).is_empty()
    } else {
        ends_well(after) || option_of(letter, options).is_some_and(|o| begins_like(after, o))
    };
    if fits {
        return letters;
    }
    by_text
        .map(|(letter, _)| char::from(*letter))
        .into_iter()
        .collect()
}

/// A letter at a place, white space and an opening bracket before it allowed:
/// the letter, whether it was a small one, and where it ends with its bracket.
fn letter_at(line: &str, at: usize) -> Option<(char, bool, usize)> {
    let rest = &line[at..];
    let trimmed = rest.trim_start();
    let opened = trimmed.trim_start_matches(['(', '[']);
    let letter = opened.chars().next().filter(char::is_ascii_alphabetic)?;
    let mut end = line.len() - opened.len() + 1;
    let after = line[end..].chars().next();
    if after.is_some_and(|c| c == '\'' || c == '_' || (c.is_alphanumeric() && !is_han(c))) {
        return None;
    }
    if opened.len() < trimmed.len() {
        let rest = line[end..].trim_start();
        end = line.len() - rest.trim_start_matches([')', ']']).len();
    }
    Some((
        letter.to_ascii_uppercase(),
        letter.is_ascii_lowercase(),
        end,
    ))
}

/// Further letters that are joined to a first one: `or B`, `, B and C`, `/B`.
fn more_letters(after: &str) -> Vec<char> {
    const JOINTS: &[&str] = &[
        ",", "/", "、", "&", "+", "和", "或", "与", "及", "and", "or",
    ];
    let mut letters = Vec::new();
    let mut rest = after;
    loop {
        let mut joined = false;
        loop {
            rest = rest.trim_start_matches([' ', ')', ']']);
            let joint = JOINTS.iter().find(|joint| rest.starts_with(**joint));
            let Some(joint) = joint else { break };
            rest = &rest[joint.len()..];
            joined = true;
        }
        let Some((letter, false, end)) = letter_at(rest, 0).filter(|_| joined) else {
            return letters;
        };
        // ", A man" is prose.
        let next = rest[end..].trim_start();
        let prose = next.starts_with(|c: char| c.is_ascii_lowercase())
            && !["and ", "or "].iter().any(|joint| next.starts_with(joint));
        if prose {
            return letters;
        }
        letters.push(letter);
        rest = &rest[end..];
    }
}

/// Whether what follows a capital letter leaves it a letter rather than a
/// word: the end, punctuation, or a reason.
fn ends_well(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some('.') => chars.next().is_none_or(char::is_whitespace),
        Some(c)
            if matches!(c, ',' | ';' | ':' | ')' | '。' | '、' | '!' | '?' | ']') || is_han(c) =>
        {
            true
        }
        Some(c) if c.is_whitespace() => {
            let rest = after.trim_start();
            let reasons = ["because", "since", "as ", "(", "-", "is correct", "is the"];
            rest.is_empty()
                || is_han(rest.chars().next().unwrap_or(' '))
                || reasons.iter().any(|reason| rest.starts_with(reason))
        }
        Some(_) => false,
    }
}

fn begins_like(text: &str, option: &str) -> bool {
    same_text(text, option) || begins_alike(text, option)
}

fn option_of(letter: char, options: &[String]) -> Option<&str> {
    let at = (letter as usize).checked_sub(usize::from(b'A'))?;
    options.get(at).map(String::as_str)
}

/// The capital letter that stands by itself at the end of a text.
fn last_letter(text: &str) -> Option<char> {
    let letter = text.chars().next_back().filter(char::is_ascii_uppercase)?;
    let before = text[..text.len() - 1].chars().next_back();
    let alone = before.is_none_or(|c| !c.is_alphanumeric() || is_han(c));
    // "Plan B is right" is not about an option.
    let words = text[..text.len() - 1]
        .trim_end_matches(['(', '[', ' '])
        .to_ascii_lowercase();
    let named = words.is_empty()
        || words
            .ends_with(|c: char| is_han(c) || c.is_ascii_punctuation() || c == '。' || c == '，')
        || ["option", "choice", "answer", "that", "think", "so"]
            .iter()
            .any(|word| words.ends_with(word));
    (alone && named).then_some(letter)
}

/// Whether the clause that a text ends in denies something.
fn denied(before: &str) -> bool {
    let clause = before
        .rsplit(['.', '!', '?', ';', ',', '。', '；', '，', ':'])
        .next()
        .unwrap_or_default();
    let clause = format!("{clause} ");
    NEGATIONS.iter().any(|no| {
        clause.match_indices(no).any(|(at, _)| {
            // "not " inside "knot " denies nothing.
            let inner = clause[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            !inner || no.starts_with("n't")
        })
    })
}

/// Whether a word of Latin letters goes on before `start` or after `end`.
fn touches_word(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric();
    let first = text[start..].starts_with(word);
    let last = text[..end].ends_with(word);
    (first && text[..start].ends_with(word)) || (last && text[end..].starts_with(word))
}
