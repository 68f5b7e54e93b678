//! Which option the evidence supports best.

use std::collections::HashMap;

use super::evidence::{Evidence, Weighed};
use super::meaning::Likeness;
use super::words::overlap;
use crate::model::Language;

/// What a sentence that holds an option's words is worth even when it shares
/// nothing with the question.
const WITHOUT_QUESTION: f64 = 0.3;

// What each sign of support counts, in standard deviations over the options
// but for the last, which is a share already. Fitted to the choosing halves of
// the development sets.

/// One sentence holds the option's words, and the question's.
const BY_WORDS: f64 = 0.6;
/// One sentence means what question and option mean together.
const BY_MEANING: f64 = 0.8;
/// The option's words stand all over where the question points.
const BY_PLACE: f64 = 0.45;
/// What would be answered without options is like the option.
const BY_ANSWER: f64 = 3.2;

/// Differences that are nothing: keep noise from counting as a whole.
const NOISE_IN_WORDS: f64 = 1e-3;
const NOISE_IN_MEANING: f64 = 4e-3;

/// How sharply the question points to sentences: by meaning, and by words.
const POINTS_BY_MEANING: f64 = 9.0;
const POINTS_BY_WORDS: f64 = 4.0;

/// A question, its options and the sentences that may support one.
pub(super) struct Choice<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) question: &'a Weighed,
    pub(super) options: &'a [String],
    /// Each option's words as far as they tell it from the others.
    pub(super) told: &'a [Weighed],
    /// The sentences.
    pub(super) candidates: &'a [usize],
    /// Of the question and then of each option with it, to each candidate.
    pub(super) likeness: &'a Likeness,
    /// Answers without options, and how likely each is the best of them.
    pub(super) answers: &'a [(String, f64)],
}

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

/// Whether a question wants the option that is not so.
pub(super) fn asks_for_the_exception(question: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| question.contains(word));
    match Language::of(question) {
        Language::En => {
            let lower = question.to_lowercase();
            let of_the_following = lower.contains("which of") || lower.contains("following");
            let negated = lower.contains(" not ") || lower.contains("n't ");
            lower.contains(" except") || has(&[" NOT "]) || of_the_following && negated
        }
        Language::Zh => {
            let among = has(&["下列", "以下", "哪项", "哪一项", "哪个选项"]);
            among && has(&["不是", "不属于", "不包括", "不正确", "没有", "错误", "不符"])
        }
    }
}

impl Choice<'_> {
    /// The best supported option, or the least where the question asks for
    /// the exception, and the candidate that says the most about it.
    pub(super) fn best(&self, exception: bool) -> Option<(usize, usize)> {
        let supports = self.supports();
        let mut best: Option<usize> = None;
        for (option, support) in supports.iter().enumerate() {
            // Of equals the first stays.
            let better = best.is_none_or(|best| match exception {
                true => support.total_cmp(&supports[best]).is_lt(),
                false => support.total_cmp(&supports[best]).is_gt(),
            });
            if better {
                best = Some(option);
            }
        }
        let option = best?;
        let mut cited: Option<(usize, f64)> = None;
        for place in 0..self.candidates.len() {
            // Similarities lie close together, so that words come first.
            let score = self.by_words(place, option) + self.likeness.row(option + 1)[place];
            if cited.is_none_or(|(_, best)| score.total_cmp(&best).is_gt()) {
                cited = Some((place, score));
            }
        }
        Some((option, self.candidates[cited?.0]))
    }

    fn supports(&self) -> Vec<f64> {
        let places = 0..self.candidates.len();
        let options = 0..self.options.len();
        let points = self.points();
        let most = |score: &dyn Fn(usize) -> f64| {
            places.clone().map(score).fold(f64::NEG_INFINITY, f64::max)
        };
        let by_words: Vec<f64> = options
            .clone()
            .map(|option| most(&|place| self.by_words(place, option)))
            .collect();
        let by_meaning: Vec<f64> = options
            .clone()
            .map(|option| most(&|place| self.likeness.row(option + 1)[place]))
            .collect();
        let by_place: Vec<f64> = options
            .clone()
            .map(|option| {
                let held = places
                    .clone()
                    .map(|place| points[place] * self.holds(place, option));
                held.sum()
            })
            .collect();
        let by_words = standard(&by_words, NOISE_IN_WORDS);
        let by_meaning = standard(&by_meaning, NOISE_IN_MEANING);
        let by_place = standard(&by_place, NOISE_IN_WORDS);
        options
            .map(|option| {
                BY_WORDS * by_words[option]
                    + BY_MEANING * by_meaning[option]
                    + BY_PLACE * by_place[option]
                    + BY_ANSWER * self.by_answer(option)
            })
            .collect()
    }

    /// How far a candidate holds an option's own words.
    fn holds(&self, place: usize, option: usize) -> f64 {
        self.evidence
            .coverage(self.candidates[place], &self.told[option])
    }

    fn by_words(&self, place: usize, option: usize) -> f64 {
        let shared = self
            .evidence
            .coverage(self.candidates[place], self.question);
        // Half, since likeness is high even where nothing is said.
        let asked = shared + self.likeness.spread_of_question(place) / 2.0;
        self.holds(place, option) * (WITHOUT_QUESTION + asked)
    }

    /// How like an option the answers without options are, by how likely each
    /// is.
    fn by_answer(&self, option: usize) -> f64 {
        let answers = self.answers.iter();
        answers
            .map(|(answer, likely)| likely * overlap(answer, &self.options[option]))
            .sum()
    }

    /// How much of the question's pointing goes to each candidate; 1 together.
    fn points(&self) -> Vec<f64> {
        let strengths: Vec<f64> = self
            .candidates
            .iter()
            .enumerate()
            .map(|(place, &sentence)| {
                let shared = self.evidence.coverage(sentence, self.question);
                let alike = self.likeness.above_nothing(0, place);
                POINTS_BY_MEANING * alike + POINTS_BY_WORDS * shared
            })
            .collect();
        likelihoods(&strengths)
    }
}

/// Shares of 1 that grow with the exponential of the numbers.
pub(super) fn likelihoods(numbers: &[f64]) -> Vec<f64> {
    let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let grown: Vec<f64> = numbers.iter().map(|n| (n - greatest).exp()).collect();
    let all: f64 = grown.iter().sum();
    grown.into_iter().map(|n| n / all).collect()
}

/// The numbers in standard deviations from their mean, `noise` added to the
/// deviation.
fn standard(numbers: &[f64], noise: f64) -> Vec<f64> {
    let all = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / all;
    let squares: f64 = numbers.iter().map(|n| (n - mean) * (n - mean)).sum();
    let deviation = (squares / all).sqrt() + noise;
    numbers.iter().map(|n| (n - mean) / deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_the_exception_are_told_from_plain_denials() {
        for (question, expected) in [
            ("Which of these did the king not own?", true),
            ("What is NOT kept in the hut?", true),
            ("All of the following came, except whom?", true),
            ("Why did the king not come?", false),
            ("下列哪一项不是他的东西？", true),
            ("他为什么没有来？", false),
        ] {
            assert_eq!(asks_for_the_exception(question), expected, "{question}");
        }
    }

    #[test]
    fn likelihoods_are_shares() {
        assert_eq!(likelihoods(&[2.0, 2.0]), [0.5, 0.5]);
        assert_eq!(likelihoods(&[0.0, -5000.0]), [1.0, 0.0]);
        assert!(likelihoods(&[]).is_empty());
    }

    #[test]
    fn equal_numbers_do_not_stand_out() {
        assert_eq!(standard(&[0.3, 0.3], 1e-3), [0.0, 0.0]);
        let found = standard(&[1.0, 3.0], 0.0);
        assert_eq!(found, [-1.0, 1.0]);
    }
}
