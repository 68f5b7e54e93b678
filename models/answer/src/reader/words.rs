//! The words of a text, in English and Chinese.

use std::ops::Range;

use crate::model::is_han;

/// What a word is compared by, and how much it can say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// An English word's stem in lower case, or two neighbouring Chinese
    /// characters (one where it stands alone).
    pub(super) text: String,
    /// From 0 to 1: words that any sentence may hold say little.
    pub(super) content: f64,
}

const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "from", "with", "and", "or",
    "but", "if", "as", "than", "that", "this", "these", "those", "it", "its", "he", "him", "his",
    "she", "her", "they", "them", "their", "we", "us", "our", "you", "your", "i", "me", "my", "is",
    "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "have", "has",
    "had", "will", "would", "can", "could", "shall", "should", "may", "might", "must", "not", "no",
    "so", "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "there", "here",
    "into", "out", "up", "down", "over", "under", "about", "after", "before", "then", "one",
    "said", "all",
];

const FUNCTION_CHARACTERS: &str = "的了是在有和与及或也都就而着过地得之其这那此他她它我你们谁什么哪几多少怎样为何吗呢吧啊把被从到对向于以用个一不没很最还又再才只会能要可所将给让时候里上下中";

/// Whether an English word in lower case joins others rather than naming
/// something.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(&word)
}

/// Whether a Chinese character joins others rather than naming something.
pub(super) fn is_function_character(c: char) -> bool {
    FUNCTION_CHARACTERS.contains(c)
}

/// The terms of a text, in order.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    for span in runs(text) {
        let run = &text[span];
        if run.starts_with(is_han) {
            han_terms(run, &mut terms);
        } else {
            let word = run.to_lowercase();
            let content = if is_function_word(&word) { 0.1 } else { 1.0 };
            let text = stem(&word).to_owned();
            terms.push(Term { text, content });
        }
    }
    terms
}

/// The byte spans of English words and numbers, and of unbroken Chinese.
pub(super) fn runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(usize, bool)> = None;
    for (at, c) in text.char_indices() {
        let han = is_han(c);
        let word = han || c.is_alphanumeric();
        match open {
            Some((_, is_open_han)) if word && han == is_open_han => {}
            Some((start, _)) => {
                runs.push(start..at);
                open = word.then_some((at, han));
            }
            None => open = word.then_some((at, han)),
        }
    }
    runs.extend(open.map(|(start, _)| start..text.len()));
    runs
}

/// How much two texts say the same: the harmonic mean of the shares of either's
/// words (of Chinese, characters) that the other has too.
pub(super) fn overlap(one: &str, other: &str) -> f64 {
    let (one, other) = (units(one), units(other));
    let mut left = other.clone();
    let mut common = 0_usize;
    for unit in &one {
        if let Some(at) = left.iter().position(|found| found == unit) {
            left.swap_remove(at);
            common += 1;
        }
    }
    2.0 * common as f64 / ((one.len() + other.len()).max(1) as f64)
}

/// Stems without articles, and single Chinese characters.
fn units(text: &str) -> Vec<String> {
    let mut units = Vec::new();
    for span in runs(text) {
        let run = &text[span];
        if run.starts_with(is_han) {
            units.extend(run.chars().map(String::from));
        } else {
            let word = run.to_lowercase();
            if !["a", "an", "the"].contains(&word.as_str()) {
                units.push(stem(&word).to_owned());
            }
        }
    }
    units
}

fn han_terms(run: &str, terms: &mut Vec<Term>) {
    let chars: Vec<char> = run.chars().collect();
    let content = |pair: &[char]| {
        let joining = pair.iter().filter(|c| is_function_character(**c)).count();
        match pair.len() - joining {
            0 => 0.1,
            1 if joining == 1 => 0.4,
            _ => 1.0,
        }
    };
    let pairs = chars.windows(chars.len().clamp(1, 2));
    terms.extend(pairs.map(|pair| Term {
        text: pair.iter().collect(),
        content: content(pair),
    }));
}

/// The word without the endings of English: enough to match, not to read.
pub(super) fn stem(word: &str) -> &str {
    for ending in ["ing", "ed", "es", "s", "e"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && !(ending == "s" && stem.ends_with('s'))
        {
            return stem;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn english_words_meet_in_their_stems() {
        assert_eq!(texts("The lamps, lighted!"), ["the", "lamp", "light"]);
        assert_eq!(texts("raked rake rakes raking"), ["rak"; 4]);
        assert_eq!(texts("1786"), ["1786"]);
    }

    #[test]
    fn chinese_is_read_in_pairs_and_joins_say_little() {
        assert_eq!(texts("点灯人，灯"), ["点灯", "灯人", "灯"]);
        let content: Vec<f64> = terms("灯塔的了").iter().map(|t| t.content).collect();
        assert_eq!(content, [1.0, 0.4, 0.1]);
    }

    #[test]
    fn texts_overlap_as_far_as_they_say_the_same() {
        assert_eq!(overlap("the silver pencils", "a silver pencil"), 1.0);
        assert_eq!(overlap("点灯人", "点灯"), 0.8);
        assert_eq!(overlap("one bit", "two laurels"), 0.0);
        assert_eq!(overlap("...", ""), 0.0);
    }

    #[test]
    fn scripts_are_told_apart_within_a_line() {
        assert_eq!(texts("AI模型2号"), ["ai", "模型", "2", "号"]);
    }
}
