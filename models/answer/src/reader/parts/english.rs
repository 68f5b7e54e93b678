//! Parts of English sentences.

mod lexicon;
mod question;

use std::ops::Range;

use super::{Kind, Lengths, Part};
use crate::reader::evidence::Weighed;
use crate::reader::words::{is_function_word, stem};
use lexicon::{
    is_article, is_auxiliary, is_conjunction, is_number, is_preposition, is_time, leads_to_place,
};

/// Words of a sentence that are read.
const MOST_WORDS: usize = 300;
/// Words of a part; more only from one end of a clause to another.
const LONG: usize = 12;
const LONGEST: usize = 25;

// What a part's features are worth, whatever is asked.

/// Its end is where a phrase may end.
const ENDS_A_PHRASE: f64 = 0.53;
/// Its end is where the sentence pauses.
const ENDS_AT_A_PAUSE: f64 = 2.0;
/// It repeats the question: who asks knows that already.
const REPEATS: f64 = -2.94;
/// It stands beside the question's words.
const NEAR: f64 = 4.94;
/// It breaks off after "of" or "the".
const BREAKS_OFF: f64 = -1.42;
/// It begins with what joins it to the words before.
const BEGINS_WITH_A_JOIN: f64 = -1.21;
/// The sentence pauses within it.
const PAUSES: f64 = -0.66;
/// It cuts a name in two.
const CUTS_A_NAME: f64 = -1.14;
/// A preposition or an article stands before it.
const IS_LED_TO: f64 = 1.09;

/// What features are worth that mean one thing to one kind of question and
/// another to the next.
struct Worth {
    /// It is of the kind that is asked for.
    fits: f64,
    lengths: Lengths,
    /// It is made of names.
    names: f64,
    /// The question's words stand before it.
    after: f64,
}

const fn worth(kind: Kind) -> Worth {
    let (fits, log, squared, names, after) = match kind {
        Kind::Person => (4.76, 0.31, -0.21, 2.19, 0.91),
        Kind::Time => (5.22, -1.45, -1.01, 1.10, 2.07),
        Kind::Place => (4.04, -0.55, -0.01, 2.58, 2.70),
        Kind::Number => (5.31, -1.84, -1.12, 1.03, 1.87),
        Kind::Reason => (3.37, 0.20, 1.59, 1.55, 3.42),
        Kind::Manner => (3.91, -0.15, 1.35, 1.44, 2.53),
        Kind::Deed => (3.55, -0.07, 1.48, 1.59, 3.19),
        Kind::Thing => (0.0, -0.04, 0.91, 2.56, 5.27),
    };
    Worth {
        fits,
        lengths: Lengths { log, squared },
        names,
        after,
    }
}

/// A word and what is seen of it.
#[derive(Debug)]
struct Word {
    bytes: Range<usize>,
    lower: String,
    joins: bool,
    /// Its capital is not due to its place alone.
    is_name: bool,
    /// Its weight in the question; 0 when it is not the question's.
    asked: f64,
    /// The sentence pauses before it.
    pause: bool,
}

/// A sentence, read for one question.
struct Sentence {
    words: Vec<Word>,
    /// The weight of the question's words in it, and of those before each
    /// word.
    asked: f64,
    asked_before: Vec<f64>,
}

pub(super) fn parts(question: &str, asked: &Weighed, sentence: &str) -> Vec<Part> {
    let Some(kind) = question::kind(question) else {
        return Vec::new();
    };
    let sentence = Sentence::read(sentence, asked);
    let mut parts = Vec::new();
    for first in 0..sentence.words.len() {
        let ends = first + 1..=sentence.words.len().min(first + LONGEST);
        for end in ends {
            parts.extend(sentence.part(kind, first..end));
        }
    }
    parts
}

impl Sentence {
    fn read(text: &str, asked: &Weighed) -> Self {
        let spans = words(text);
        let mut words = Vec::with_capacity(spans.len());
        let mut last = 0;
        for bytes in spans {
            let between = &text[last..bytes.start];
            let word = &text[bytes.clone()];
            let lower = word.to_lowercase();
            let joins = is_function_word(&lower);
            let begins = last == 0 || between.contains(['"', '“', '.', '!', '?', ':']);
            let stem = stem(&lower);
            let weight = asked.iter().find(|(term, _)| term == stem);
            words.push(Word {
                joins,
                is_name: word.starts_with(char::is_uppercase) && !(begins && joins),
                asked: weight.map_or(0.0, |(_, weight)| if joins { 0.0 } else { *weight }),
                pause: last == 0 || is_pause(between),
                lower,
                bytes: bytes.clone(),
            });
            last = bytes.end;
        }
        let mut asked_before = vec![0.0];
        for word in &words {
            asked_before.push(asked_before[asked_before.len() - 1] + word.asked);
        }
        Self {
            asked: asked_before[words.len()],
            words,
            asked_before,
        }
    }

    /// The part of those words, if it can be one.
    fn part(&self, kind: Kind, at: Range<usize>) -> Option<Part> {
        let words = &self.words[at.clone()];
        let long = words.len() > LONG;
        if long && !(self.clause_begins(at.start) && self.clause_begins(at.end)) {
            return None;
        }
        let content: Vec<&Word> = words.iter().filter(|word| !word.joins).collect();
        if content.is_empty() || self.cuts_a_date(at.start) || self.cuts_a_date(at.end) {
            return None;
        }
        if self.trails_off(at.clone()) {
            return None;
        }
        let share = |is: &dyn Fn(&Word) -> bool| {
            content.iter().filter(|word| is(word)).count() as f64 / content.len() as f64
        };
        let when = |is: bool, worth: f64| if is { worth } else { 0.0 };
        let before = at.start.checked_sub(1).map(|before| &self.words[before]);
        let next = self.words.get(at.end);
        let (first, last) = (&words[0], &words[words.len() - 1]);
        let pauses_after = next.is_none_or(|next| next.pause);
        let ends_a_phrase = pauses_after
            || next.is_some_and(|next| {
                is_preposition(&next.lower)
                    || is_conjunction(&next.lower)
                    || is_auxiliary(&next.lower)
            });
        let begins_with_a_join =
            is_conjunction(&first.lower) || first.lower == "of" || is_auxiliary(&first.lower);
        let cut_before = before.is_some_and(|b| b.is_name && first.is_name && !first.pause);
        let cut_after = next.is_some_and(|n| n.is_name && last.is_name && !n.pause);
        let led_to = before.is_some_and(|b| is_preposition(&b.lower) || is_article(&b.lower));
        let worth = worth(kind);
        let score = worth.fits * self.fits(kind, at.clone(), &content)
            + worth.lengths.worth(words.len())
            + worth.names * share(&|word| word.is_name)
            + worth.after * self.share_of_asked(self.asked_before[at.start])
            + when(ends_a_phrase, ENDS_A_PHRASE)
            + when(pauses_after, ENDS_AT_A_PAUSE)
            + REPEATS * share(&|word| word.asked > 0.0)
            + NEAR * self.nearness(at)
            + when(last.joins || is_preposition(&last.lower), BREAKS_OFF)
            + when(begins_with_a_join, BEGINS_WITH_A_JOIN)
            + when(words[1..].iter().any(|word| word.pause), PAUSES)
            + when(cut_before || cut_after, CUTS_A_NAME)
            + when(led_to, IS_LED_TO);
        Some(Part {
            bytes: first.bytes.start..last.bytes.end,
            score,
        })
    }

    /// How far a part is of the kind that is asked for, from 0 to 1.
    fn fits(&self, kind: Kind, at: Range<usize>, content: &[&Word]) -> f64 {
        let words = &self.words[at.clone()];
        let first = words[0].lower.as_str();
        let before = at.start.checked_sub(1);
        let before = before.map_or("", |before| self.words[before].lower.as_str());
        let either = |is: &dyn Fn(&str) -> bool| f64::from(u8::from(is(before) || is(first)));
        match kind {
            Kind::Person => {
                let named = content
                    .iter()
                    .filter(|word| word.is_name && word.asked == 0.0);
                named.count() as f64 / content.len() as f64
            }
            Kind::Time => {
                let time = content.iter().any(|word| is_time(&word.lower));
                let number = content.iter().any(|word| is_number(&word.lower));
                (f64::from(u8::from(time)) + f64::from(u8::from(number))) / 2.0
            }
            Kind::Number => f64::from(u8::from(words.iter().any(|word| is_number(&word.lower)))),
            Kind::Place => either(&leads_to_place),
            Kind::Reason => {
                let given = ["for", "since"].contains(&before);
                f64::from(u8::from(given)).max(either(&|word| ["because", "to"].contains(&word)))
            }
            Kind::Manner => either(&|word| ["by", "with", "through"].contains(&word)),
            Kind::Deed => {
                let told = self.asked_before[at.start] >= self.asked && at.start > 0;
                f64::from(u8::from(told && !words[0].joins && words[0].asked == 0.0))
            }
            Kind::Thing => 0.0,
        }
    }

    /// How close the question's words stand: 1 when all of them are the next.
    fn nearness(&self, at: Range<usize>) -> f64 {
        let mut near = 0.0;
        for (place, word) in self.words.iter().enumerate() {
            if word.asked > 0.0 && !at.contains(&place) {
                let away = place.abs_diff(at.start).min(place.abs_diff(at.end - 1));
                near += word.asked / (1.0 + away as f64 / 3.0);
            }
        }
        self.share_of_asked(near)
    }

    fn share_of_asked(&self, weight: f64) -> f64 {
        if self.asked > 0.0 {
            weight / self.asked
        } else {
            0.0
        }
    }

    /// Whether a part ends in a preposition and the question's own words, as
    /// in "a pencil on the table" of who asks what is on the table.
    fn trails_off(&self, at: Range<usize>) -> bool {
        let words = &self.words[at];
        let leads = words
            .iter()
            .rposition(|word| is_preposition(&word.lower) && word.asked == 0.0);
        leads.filter(|&leads| leads > 0).is_some_and(|leads| {
            let mut told = words[leads + 1..].iter().filter(|word| !word.joins);
            told.clone().count() > 0 && told.all(|word| word.asked > 0.0)
        })
    }

    /// Whether a place parts the words of one date or number, as in "May 1786".
    fn cuts_a_date(&self, at: usize) -> bool {
        let counts = |word: &Word| is_time(&word.lower) || is_number(&word.lower);
        let before = at.checked_sub(1).map(|before| &self.words[before]);
        before.is_some_and(counts)
            && self
                .words
                .get(at)
                .is_some_and(|next| counts(next) && !next.pause)
    }

    fn clause_begins(&self, at: usize) -> bool {
        let word = self.words.get(at);
        word.is_none_or(|word| word.pause || is_conjunction(&word.lower))
    }
}

/// Whether what stands between two words is a pause.
fn is_pause(between: &str) -> bool {
    between.contains([
        ',', ';', ':', '.', '!', '?', '"', '“', '”', '(', ')', '—', '–', '-',
    ])
}

/// The first words of a text; hyphens, apostrophes, points and commas within
/// one are part of it.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        let joined = words
            .last()
            .is_some_and(|word| open || matches!(&text[word.end..at], "-" | "'" | "’" | "." | ","));
        let start = match words.last() {
            Some(word) if joined => word.start,
            _ if words.len() == MOST_WORDS => break,
            _ => at,
        };
        if joined {
            words.pop();
        }
        words.push(start..at + c.len_utf8());
        open = true;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::words::terms;

    fn answer<'a>(question: &str, sentence: &'a str) -> Option<&'a str> {
        let asked: Weighed = terms(question)
            .into_iter()
            .map(|term| (term.text, term.content))
            .collect();
        let parts = super::super::parts(question, &asked, sentence, sentence);
        parts.first().map(|part| &sentence[part.bytes.clone()])
    }

    #[test]
    fn a_question_gets_the_kind_of_thing_it_asks_for() {
        for (question, sentence, expected) in [
            (
                "Who lit the lamp?",
                "In the evening the lamp was lit by Ann Moss.",
                "Ann Moss",
            ),
            (
                "When did the old captain die?",
                "The old captain died in May 1786, in fog.",
                "May 1786",
            ),
            (
                "How many crates did the men bring?",
                "The two men brought thirty-one crates.",
                "thirty-one",
            ),
            (
                "Why was the king sad?",
                "The king was sad because he had no children.",
                "because he had no children",
            ),
            (
                "What did the girl put on the table?",
                "The girl put a silver pencil on the table.",
                "silver pencil",
            ),
        ] {
            assert_eq!(answer(question, sentence), Some(expected), "{question}");
        }
    }

    #[test]
    fn yes_or_no_is_left_to_the_whole_sentence() {
        assert_eq!(answer("Did Ann light the lamp?", "Ann lit the lamp."), None);
    }

    #[test]
    fn words_keep_what_stands_within_them() {
        let text = "At 11.40 o'clock, thirty-one men paid 4,000 bits.";
        let found: Vec<&str> = words(text).into_iter().map(|word| &text[word]).collect();
        let expected = [
            "At",
            "11.40",
            "o'clock",
            "thirty-one",
            "men",
            "paid",
            "4,000",
            "bits",
        ];
        assert_eq!(found, expected);
    }
}
