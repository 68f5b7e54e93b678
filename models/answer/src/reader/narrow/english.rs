//! Persons, times, numbers and places in English sentences.

use std::ops::Range;

use super::Wanted;
use crate::model::EvidenceText;
use crate::reader::words::is_function_word;

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const TIMES: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "morning",
    "afternoon",
    "evening",
    "night",
    "midnight",
    "noon",
    "dawn",
    "dusk",
    "spring",
    "summer",
    "autumn",
    "winter",
    "o'clock",
    "o’clock",
    "yesterday",
    "today",
    "tomorrow",
];
const NUMBERS: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
    "hundred",
    "thousand",
    "million",
    "dozen",
    "score",
    "half",
];
const PLACES: &[&str] = &[
    "in", "at", "on", "under", "behind", "inside", "beneath", "near", "beside", "into", "through",
    "below", "above",
];
const TITLES: &[&str] = &[
    "mr", "mrs", "miss", "dr", "st", "captain", "lady", "lord", "sir",
];

/// A word, hyphens and apostrophes within it included.
struct Word<'a> {
    text: &'a str,
    lower: String,
    start: usize,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_number(&self) -> bool {
        let digits = self.text.starts_with(|c: char| c.is_ascii_digit());
        let parts = self.lower.split('-').all(|part| NUMBERS.contains(&part));
        digits || parts
    }

    fn is_year(&self) -> bool {
        self.text.len() == 4 && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn is_time(&self) -> bool {
        let month =
            MONTHS.contains(&self.lower.as_str()) && self.text.starts_with(char::is_uppercase);
        month || TIMES.contains(&self.lower.as_str()) || self.is_year()
    }

    fn is_capital(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }
}

pub(super) fn narrow(
    question: &str,
    sentence: &str,
    evidence: &[EvidenceText],
) -> Option<Range<usize>> {
    let asked = words(question);
    let said = words(sentence);
    match wanted(&asked)? {
        Wanted::Person => person(&asked, &said, sentence, evidence),
        Wanted::Time => time(&said, sentence),
        Wanted::Number => number(&asked, &said),
        Wanted::Place => place(&asked, &said, sentence),
    }
}

fn wanted(question: &[Word<'_>]) -> Option<Wanted> {
    const WH: &[&str] = &[
        "who", "whom", "whose", "when", "where", "how", "what", "which", "why",
    ];
    let at = question
        .iter()
        .position(|word| WH.contains(&word.lower.as_str()))?;
    let next = question.get(at + 1).map_or("", |word| word.lower.as_str());
    match question[at].lower.as_str() {
        "who" | "whom" => Some(Wanted::Person),
        "when" => Some(Wanted::Time),
        "where" => Some(Wanted::Place),
        "how"
            if [
                "many", "much", "long", "old", "far", "tall", "deep", "wide", "heavy",
            ]
            .contains(&next) =>
        {
            Some(Wanted::Number)
        }
        "what" | "which" if ["year", "month", "day", "date", "time", "hour"].contains(&next) => {
            Some(Wanted::Time)
        }
        "what" | "which"
            if ["place", "town", "village", "city", "room", "spot", "street"].contains(&next) =>
        {
            Some(Wanted::Place)
        }
        _ => None,
    }
}

/// The first name that the question does not give itself.
fn person(
    question: &[Word<'_>],
    words: &[Word<'_>],
    sentence: &str,
    evidence: &[EvidenceText],
) -> Option<Range<usize>> {
    let is_name = |at: usize| {
        let word = &words[at];
        word.is_capital()
            && !is_function_word(&word.lower)
            && !word.is_time()
            && !question
                .iter()
                .any(|asked| asked.lower == bare(&word.lower))
            && (!begins_speech(sentence, word.start) || is_name_elsewhere(word.text, evidence))
    };
    let first = (0..words.len()).find(|&at| is_name(at))?;
    let mut last = first;
    while last + 1 < words.len() {
        let between = &sentence[words[last].end()..words[last + 1].start];
        let title = TITLES.contains(&words[last].lower.as_str());
        let joined = between == " " || between == "\n" || (title && between.trim_end() == ".");
        if !joined || !words[last + 1].is_capital() {
            break;
        }
        last += 1;
    }
    let possessive = words[last].text.len() - bare(words[last].text).len();
    Some(words[first].start..words[last].end() - possessive)
}

/// The longest run of words that tell a time.
fn time(words: &[Word<'_>], sentence: &str) -> Option<Range<usize>> {
    let joins = |word: &Word<'_>| {
        ["of", "the", "in", "at", "on"].contains(&word.lower.as_str())
            || word.is_number()
            || is_ordinal(&word.lower)
    };
    let mut best: Option<Range<usize>> = None;
    for at in (0..words.len()).filter(|&at| words[at].is_time()) {
        let close = |left: usize, right: usize| {
            let between = sentence[words[left].end()..words[right].start].trim();
            between.is_empty() || between == ","
        };
        let (mut first, mut last) = (at, at);
        while first > 0
            && close(first - 1, first)
            && (joins(&words[first - 1]) || words[first - 1].is_time())
        {
            first -= 1;
        }
        while last + 1 < words.len()
            && close(last, last + 1)
            && (joins(&words[last + 1]) || words[last + 1].is_time())
        {
            last += 1;
        }
        let dull = |word: &Word<'_>| is_function_word(&word.lower) && !word.is_number();
        while dull(&words[first]) {
            first += 1;
        }
        while dull(&words[last]) {
            last -= 1;
        }
        let span = words[first].start..words[last].end();
        if best.as_ref().is_none_or(|best| span.len() > best.len()) {
            best = Some(span);
        }
    }
    best
}

/// A number and what it counts; one that counts what the question asks for
/// comes first.
fn number(question: &[Word<'_>], words: &[Word<'_>]) -> Option<Range<usize>> {
    let asks = |word: &Word<'_>| {
        let stem = word.lower.trim_end_matches('s');
        question
            .iter()
            .any(|asked| asked.lower.trim_end_matches('s') == stem)
    };
    let mut best: Option<(bool, Range<usize>)> = None;
    let mut at = 0;
    while at < words.len() {
        let first = at;
        while at < words.len() && words[at].is_number() {
            at += 1;
        }
        if at == first {
            at += 1;
            continue;
        }
        let counts = words.get(at).filter(|word| !is_function_word(&word.lower));
        let alone = at == first + 1 && words[first].lower == "one";
        if alone && (counts.is_none() || is_pronoun(words, first)) {
            continue;
        }
        let given = words[first..at].iter().all(asks);
        let fits = counts.is_some_and(asks);
        let end = counts.map_or(words[at - 1].end(), Word::end);
        let better = best
            .as_ref()
            .is_none_or(|(best_fits, _)| fits && !best_fits);
        if !given && better {
            best = Some((fits, words[first].start..end));
        }
    }
    best.map(|(_, span)| span)
}

/// What follows the first preposition of place, up to the end of its clause,
/// that says more than the question.
fn place(question: &[Word<'_>], words: &[Word<'_>], sentence: &str) -> Option<Range<usize>> {
    const LONGEST: usize = 7;
    for at in 0..words.len() {
        if !PLACES.contains(&words[at].lower.as_str()) {
            continue;
        }
        let mut last = at;
        let mut says_more = false;
        while last + 1 < words.len() && last - at < LONGEST {
            let between = sentence[words[last].end()..words[last + 1].start].trim();
            let next = &words[last + 1];
            let clause = [
                "and", "but", "that", "which", "who", "when", "was", "were", "had", "with",
            ];
            if !between.is_empty() || clause.contains(&next.lower.as_str()) {
                break;
            }
            last += 1;
            let asked = question.iter().any(|word| word.lower == next.lower);
            says_more |= !asked && !is_function_word(&next.lower) && !next.is_time();
        }
        if says_more {
            return Some(words[at + 1].start..words[last].end());
        }
    }
    None
}

/// Whether "one" stands for a person or a thing: "no one", "the one".
fn is_pronoun(words: &[Word<'_>], one: usize) -> bool {
    const BEFORE: &[&str] = &[
        "no", "any", "some", "every", "each", "the", "this", "that", "which",
    ];
    let before = one.checked_sub(1).map(|at| words[at].lower.as_str());
    before.is_some_and(|word| BEFORE.contains(&word))
}

fn words(text: &str) -> Vec<Word<'_>> {
    let inner = |c: char| matches!(c, '-' | '\'' | '’');
    let mut words = Vec::new();
    let pieces = text.split(|c: char| !c.is_alphanumeric() && !inner(c));
    for piece in pieces {
        let trimmed = piece.trim_matches(inner);
        if trimmed.is_empty() {
            continue;
        }
        let start = trimmed.as_ptr() as usize - text.as_ptr() as usize;
        words.push(Word {
            text: trimmed,
            lower: trimmed.to_lowercase(),
            start,
        });
    }
    words
}

/// The word without a possessive ending.
fn bare(word: &str) -> &str {
    let stripped = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s"));
    stripped.unwrap_or(word)
}

fn is_ordinal(word: &str) -> bool {
    let ends = ["st", "nd", "rd", "th"]
        .iter()
        .any(|end| word.ends_with(end));
    let numeric = ends && word.starts_with(|c: char| c.is_ascii_digit());
    let named = [
        "first", "second", "third", "fifth", "eighth", "ninth", "twelfth",
    ]
    .contains(&word);
    let regular = word
        .strip_suffix("th")
        .is_some_and(|stem| NUMBERS.contains(&stem));
    numeric || named || regular
}

/// Whether a word's capital may be due to its place alone.
fn begins_speech(sentence: &str, at: usize) -> bool {
    let before = sentence[..at].trim_end();
    before.is_empty() || before.ends_with(['"', '“', '\'', '‘', '.', '!', '?', ':'])
}

/// Whether the evidence writes the word with its capital where no sentence
/// begins.
fn is_name_elsewhere(word: &str, evidence: &[EvidenceText]) -> bool {
    evidence.iter().any(|piece| {
        let text = piece.text.as_str();
        text.match_indices(word).any(|(at, _)| {
            let end = at + word.len();
            let whole = !text[..at].ends_with(char::is_alphanumeric)
                && !text[end..].starts_with(char::is_alphanumeric);
            whole && !begins_speech(text, at)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer<'a>(question: &str, sentence: &'a str) -> Option<&'a str> {
        let evidence = [EvidenceText {
            label: "1".into(),
            text: format!("{sentence} Then everyone went home with the light."),
        }];
        narrow(question, sentence, &evidence).map(|span| &sentence[span])
    }

    #[test]
    fn a_question_gets_the_kind_of_thing_it_asks_for() {
        for (question, sentence, expected) in [
            (
                "Who lit the lamp?",
                "In the evening Ann Moss lit the lamp.",
                "Ann Moss",
            ),
            (
                "Who lit the lamp?",
                "Then Mr. Strome's boy lit it.",
                "Mr. Strome",
            ),
            ("Who saw Ann?", "Ann was seen by Bob.", "Bob"),
            (
                "When did he die?",
                "He died on the second of May, 1786, in fog.",
                "second of May, 1786",
            ),
            (
                "What time was it?",
                "She came at six in the morning.",
                "six in the morning",
            ),
            (
                "How many crates came?",
                "Two men brought thirty-one crates.",
                "thirty-one crates",
            ),
            ("How much did it cost?", "The fare was 3 bits.", "3 bits"),
            (
                "Where was he found?",
                "He was found in Pan Nine, by a girl.",
                "Pan Nine",
            ),
            (
                "Where is the key?",
                "The key lay under the old stone press.",
                "the old stone press",
            ),
        ] {
            assert_eq!(answer(question, sentence), Some(expected), "{question}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        for (question, sentence) in [
            ("Who lit the lamp?", "The lamp was lit by a girl."),
            ("Who lit the lamp?", "Light fell on it."),
            ("Who lit the lamp?", "Every evening a girl lit it."),
            ("When did he die?", "He died in fog."),
            ("How many crates came?", "No one came."),
            ("Where was he found?", "He was found."),
            ("What did he say?", "Ann came in May with two bits."),
        ] {
            assert_eq!(answer(question, sentence), None, "{question} {sentence}");
        }
    }
}
