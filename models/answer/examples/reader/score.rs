//! How right an answer is.

use std::collections::BTreeSet;

use quire_answer::Language;

/// The best of the correct answers' [`f1`].
pub(crate) fn best_f1(said: &str, answers: &[String], language: Language) -> f64 {
    let scores = answers.iter().map(|answer| f1(said, answer, language));
    scores.fold(0.0, f64::max)
}

/// The harmonic mean of precision and recall over tokens (Rajpurkar and
/// others 2016): words, Chinese characters.
pub(crate) fn f1(said: &str, wanted: &str, language: Language) -> f64 {
    let (said, wanted) = (tokens(said, language), tokens(wanted, language));
    let mut left = wanted.clone();
    let mut common = 0.0;
    for token in &said {
        if let Some(at) = left.iter().position(|other| other == token) {
            left.swap_remove(at);
            common += 1.0;
        }
    }
    if common == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (common / said.len() as f64, common / wanted.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

/// What two texts can share: words, pairs of Chinese characters.
pub(crate) fn grams(text: &str, language: Language) -> BTreeSet<String> {
    let length = match language {
        Language::En => 1,
        Language::Zh => 2,
    };
    let tokens = tokens(text, language);
    tokens.windows(length).map(<[String]>::concat).collect()
}

fn tokens(text: &str, language: Language) -> Vec<String> {
    let text = text.to_lowercase();
    match language {
        Language::En => text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !["a", "an", "the"].contains(word))
            .map(str::to_owned)
            .collect(),
        Language::Zh => text
            .chars()
            .filter(|c| c.is_alphanumeric())
            .map(String::from)
            .collect(),
    }
}
