//! The letter of a multiple choice, found in what a model wrote.

use super::GoldAnswers;
use super::normal::{python_strip, python_words};

/// After which words the answer is looked for, in this order.
const LEADS: [&str; 4] = ["answer is:", "answer:", "answer is", "option is"];

/// The rules, of which the first that applies decides:
///
/// 1. Nothing written is wrong.
/// 2. An answer that begins with one of A to D, be it the first letter of a
///    word, is that letter.
/// 3. An answer that is exactly a gold answer is right.
/// 4. With breaks and some marks made blanks, the first of [`LEADS`] to
///    occur anywhere, case and all, ends the search: what follows it, one
///    character further on, begins with a gold answer or is wrong.
/// 5. The first word that is a run of letters out of `ABCD` (`B`, but `AB`
///    too) is the answer.
pub(super) fn is_right(prediction: &str, gold: &GoldAnswers) -> bool {
    let written = python_strip(prediction);
    let Some(first) = written.chars().next() else {
        return false;
    };
    if matches!(first, 'A'..='D') {
        return gold.contain(&written[..1]);
    }
    if gold.contain(written) {
        return true;
    }
    let plain = blanked(written);
    let led = LEADS.iter().find_map(|lead| plain.split_once(lead));
    if let Some((_, rest)) = led {
        let mut rest = rest.chars();
        // A lead at the very end is wrong even where a gold answer is empty.
        return rest.next().is_some() && gold.texts().iter().any(|a| rest.as_str().starts_with(a));
    }
    python_words(&plain)
        .find(|word| "ABCD".contains(word))
        .is_some_and(|word| gold.contain(word))
}

/// The text with line feeds and marks made blanks, and runs of blanks one
/// blank. Brackets and colons are not among the marks, nor is other white
/// space.
fn blanked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for mut c in text.chars() {
        if matches!(c, '\n' | '"' | '\'' | '.' | ',' | '?' | '!' | '{' | '}') {
            c = ' ';
        }
        if c != ' ' || !plain.ends_with(' ') {
            plain.push(c);
        }
    }
    plain
}
