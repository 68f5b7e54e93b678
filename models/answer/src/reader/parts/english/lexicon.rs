//! Closed classes of English words, in lower case.

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
    "billion",
    "half",
    "dozen",
    "twice",
    "once",
];
const TIMES: &[&str] = &[
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
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hour",
    "hours",
    "century",
    "time",
    "moment",
    "sunset",
    "sunrise",
];
const PREPOSITIONS: &[&str] = &[
    "in", "on", "at", "by", "for", "from", "with", "of", "to", "into", "over", "under", "about",
    "after", "before", "near", "through", "behind", "beside", "between", "among", "across",
    "around", "upon", "during", "against", "without", "within", "along", "toward", "towards",
    "until", "since", "as", "than",
];
const LEADING_TO_PLACES: &[&str] = &[
    "in", "on", "at", "to", "into", "under", "over", "near", "behind", "beside", "upon", "from",
    "inside", "outside", "through", "above", "below", "across", "between", "by",
];
const ARTICLES: &[&str] = &[
    "a", "an", "the", "his", "her", "its", "their", "my", "your", "our", "this", "that", "these",
    "those", "some", "any", "every", "each", "no",
];
const CONJUNCTIONS: &[&str] = &[
    "and", "but", "or", "nor", "yet", "so", "because", "when", "while", "if", "that", "which",
    "who", "whom", "whose", "where", "though", "although", "as", "than", "then", "for",
];
const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "have", "has",
    "had", "will", "would", "can", "could", "shall", "should", "may", "might", "must",
];

/// Whether a word is a number, in digits or spelt.
pub(super) fn is_number(word: &str) -> bool {
    let digits = word.starts_with(|c: char| c.is_ascii_digit());
    digits || word.split('-').all(|part| NUMBERS.contains(&part))
}

/// Whether a word names a time, a year included.
pub(super) fn is_time(word: &str) -> bool {
    let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    TIMES.contains(&word) || digits && (word.starts_with('1') || word.starts_with("20"))
}

/// Whether a word is a preposition.
pub(super) fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.contains(&word)
}

/// Whether a word is a preposition that a place may follow.
pub(super) fn leads_to_place(word: &str) -> bool {
    LEADING_TO_PLACES.contains(&word)
}

/// Whether a word is an article or stands in the place of one.
pub(super) fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word)
}

/// Whether a word joins clauses.
pub(super) fn is_conjunction(word: &str) -> bool {
    CONJUNCTIONS.contains(&word)
}

/// Whether a word is an auxiliary verb.
pub(super) fn is_auxiliary(word: &str) -> bool {
    AUXILIARIES.contains(&word)
}
