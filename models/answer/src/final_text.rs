//! The final answer out of a completion.

use crate::model::Language;
use crate::reasoning::without_reasoning;

/// The completion holds no answer text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the completion holds no answer text")]
pub struct EmptyAnswer;

/// What a label says before its colon, in lower case. Longer ones first where
/// one begins another.
const LABELS: &[&str] = &[
    "the final answer is",
    "the answer is",
    "final answer",
    "short answer",
    "answer",
    "最终答案是",
    "最终答案",
    "答案是",
    "答案",
    "回答",
    "答",
];

const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\'', '\''),
    ('“', '”'),
    ('‘', '’'),
    ('「', '」'),
    ('『', '』'),
];

/// The answer text alone: without reasoning, a label such as `Answer:` or
/// `答案：`, and code fences, emphasis and quotation marks around all of it.
/// Nothing inside it is changed.
///
/// # Errors
/// When nothing is left.
pub fn final_text(completion: &str) -> Result<String, EmptyAnswer> {
    let answer = without_reasoning(completion);
    let mut text = answer.trim();
    loop {
        let peeled = peel(text).trim();
        if peeled.len() == text.len() {
            break;
        }
        text = peeled;
    }
    if text.is_empty() {
        return Err(EmptyAnswer);
    }
    Ok(text.to_owned())
}

/// Whether an answer's text says that the evidence holds none, in the words of
/// [`Language::not_found`].
pub fn is_not_found(text: &str) -> bool {
    let text = text
        .trim()
        .trim_end_matches(['.', '。', '!', '！'])
        .to_lowercase();
    [Language::En, Language::Zh]
        .iter()
        .any(|language| text == language.not_found())
}

/// Takes off one layer, if there is one.
fn peel(text: &str) -> &str {
    unfenced(text)
        // Emphasis around label and answer together goes as one.
        .or_else(|| unwrapped(text))
        .or_else(|| unlabelled(text))
        .unwrap_or(text)
}

fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    if inner.contains("```") {
        return None;
    }
    // The first line may name a language.
    match inner.split_once('\n') {
        Some((first, rest)) if first.trim().chars().all(|c| c.is_ascii_alphanumeric()) => {
            Some(rest)
        }
        _ => Some(inner),
    }
}

fn unlabelled(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['*', '_', '#', ' ']);
    for label in LABELS {
        let Some(head) = bare.get(..label.len()) else {
            continue;
        };
        if !head.eq_ignore_ascii_case(label) {
            continue;
        }
        // `**Answer:** x` and `**Answer**: x` both occur.
        let rest = bare[label.len()..].trim_start_matches(['*', '_', ' ']);
        let Some(rest) = rest.strip_prefix([':', '：']) else {
            continue;
        };
        let emphasized = bare.len() < text.len();
        let closed = rest.strip_prefix("**").filter(|_| emphasized);
        return Some(closed.unwrap_or(rest));
    }
    None
}

fn unwrapped(text: &str) -> Option<&str> {
    for mark in ["**", "__", "`"] {
        let inner = text
            .strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark));
        if let Some(inner) = inner
            && !inner.contains(mark)
        {
            return Some(inner);
        }
    }
    for (open, close) in QUOTES {
        let inner = text
            .strip_prefix(*open)
            .and_then(|rest| rest.strip_suffix(*close));
        // `"a" and "b"` is not one quotation.
        if let Some(inner) = inner
            && !inner.contains([*open, *close])
        {
            return Some(inner);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_stands_without_what_is_put_around_it() {
        for (completion, answer) in [
            ("one bit", "one bit"),
            ("  one bit \n", "one bit"),
            ("Answer: one bit", "one bit"),
            ("answer : one bit", "one bit"),
            ("**Answer:** one bit", "one bit"),
            ("**Answer**: one bit", "one bit"),
            ("**Answer: one bit**", "one bit"),
            ("Final answer: \"one bit\"", "one bit"),
            ("The answer is: one bit.", "one bit."),
            ("答案：一文钱", "一文钱"),
            ("最终答案：“一文钱”", "一文钱"),
            ("答：一文钱。", "一文钱。"),
            ("「六十元」", "六十元"),
            ("```\none bit\n```", "one bit"),
            ("```text\nAnswer: one bit\n```", "one bit"),
            ("**one bit**", "one bit"),
            ("`one bit`", "one bit"),
            ("<think>two? no</think>\n\nAnswer: one bit", "one bit"),
            ("\"a\" and \"b\"", "\"a\" and \"b\""),
            ("The answer is one bit", "The answer is one bit"),
            ("Answering: it is", "Answering: it is"),
            ("one\ntwo", "one\ntwo"),
            ("it's", "it's"),
            ("答案", "答案"),
        ] {
            assert_eq!(
                final_text(completion).as_deref(),
                Ok(answer),
                "{completion}"
            );
        }
    }

    #[test]
    fn nothing_left_is_a_failure() {
        for empty in [
            "",
            " \n",
            "Answer:",
            "\"\"",
            "```\n```",
            "<think>hm",
            "**Answer:** ",
            "``",
        ] {
            assert_eq!(final_text(empty), Err(EmptyAnswer), "{empty}");
        }
    }

    #[test]
    fn abstaining_is_known_by_its_exact_words() {
        for (text, abstains) in [
            ("Not found in the evidence.", true),
            ("证据中没有答案。", true),
            ("not found in the evidence room", false),
            ("It was not found in the evidence", false),
        ] {
            assert_eq!(is_not_found(text), abstains, "{text}");
        }
    }
}
