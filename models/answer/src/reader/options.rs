//! Which option the evidence supports best.

use std::collections::HashMap;

use super::evidence::{Evidence, Weighed};

/// What a sentence that holds an option's words is worth even when it shares
/// nothing with the question.
const WITHOUT_QUESTION: f64 = 0.3;
/// How much an option's likeness in meaning counts beside its words.
const LIKENESS: f64 = 0.6;
/// A difference in likeness that is nothing: keeps noise from counting as a
/// whole.
const NOISE: f64 = 0.02;

/// Each option's terms as far as they tell it from the others and from the
/// question.
pub(super) fn tell_apart(
    evidence: &Evidence<'_>,
    question: &Weighed,
    options: &[String],
) -> Vec<Weighed> {
    let mut weighed: Vec<Weighed> = options.iter().map(|o| evidence.weighed(o)).collect();
    let mut shared: HashMap<String, usize> = HashMap::new();
    for (term, _) in weighed.iter().flatten() {
        *shared.entry(term.clone()).or_insert(0) += 1;
    }
    for option in &mut weighed {
        for (term, weight) in option.iter_mut() {
            *weight /= shared[term] as f64;
            if shared[term] == options.len() || question.iter().any(|(asked, _)| asked == term) {
                *weight *= 0.1;
            }
        }
    }
    weighed
}

/// The best supported option and the sentence that supports it. `likeness` is
/// the question's, `of_options` each option's, for each of the candidate
/// sentences.
pub(super) fn best(
    evidence: &Evidence<'_>,
    question: &Weighed,
    options: &[Weighed],
    candidates: &[usize],
    likeness: &[f64],
    of_options: &[Vec<f64>],
) -> Option<(usize, usize)> {
    let highest: Vec<f64> = of_options
        .iter()
        .map(|row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        .collect();
    let least = highest.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = highest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut best: Option<(usize, usize, f64)> = None;
    for (option, terms) in options.iter().enumerate() {
        let by_meaning = (highest[option] - least) / (greatest - least + NOISE);
        for (place, &sentence) in candidates.iter().enumerate() {
            let asked = evidence.coverage(sentence, question) + likeness[place] / 2.0;
            let by_words = evidence.coverage(sentence, terms) * (WITHOUT_QUESTION + asked);
            let score = by_words + LIKENESS * by_meaning;
            // Of equals the first option and sentence stay.
            if best.is_none_or(|(_, _, highest)| score.total_cmp(&highest).is_gt()) {
                best = Some((option, sentence, score));
            }
        }
    }
    best.map(|(option, sentence, _)| (option, sentence))
}
