//! What an English question asks for.

use super::super::Kind;
use super::lexicon::is_auxiliary;
use super::words;

const MEASURES: &[&str] = &[
    "many", "much", "long", "old", "far", "tall", "deep", "wide", "heavy", "large", "big", "high",
    "often",
];
const TIMES: &[&str] = &[
    "year", "month", "day", "date", "time", "hour", "century", "season", "period", "era", "decade",
];
const PLACES: &[&str] = &[
    "place", "town", "village", "city", "country", "state", "county", "area", "region", "location",
    "building", "part",
];
const NUMBERS: &[&str] = &["percentage", "percent", "number", "amount"];
const DOING: &[&str] = &["did", "does", "do", "had", "has", "will", "would"];
const DEEDS: &[&str] = &["do", "doing", "happen", "say"];

/// The kind of thing a question wants; `None` for yes or no.
pub(super) fn kind(question: &str) -> Option<Kind> {
    let words: Vec<String> = words(question)
        .into_iter()
        .map(|word| question[word].to_lowercase())
        .collect();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", String::as_str);
        match word.as_str() {
            "who" | "whom" | "whose" => return Some(Kind::Person),
            "when" => return Some(Kind::Time),
            "where" => return Some(Kind::Place),
            "why" => return Some(Kind::Reason),
            "how" if MEASURES.contains(&next) => return Some(Kind::Number),
            "how" => return Some(Kind::Manner),
            "what" | "which" => {
                let last = words.last().map_or("", String::as_str);
                return Some(thing(next, last));
            }
            _ => {}
        }
    }
    let yes_or_no = words.first().is_some_and(|first| is_auxiliary(first));
    (!yes_or_no).then_some(Kind::Thing)
}

/// The kind of what "what" or "which" asks for, by the question's next and
/// last word.
fn thing(next: &str, last: &str) -> Kind {
    if TIMES.contains(&next) {
        Kind::Time
    } else if PLACES.contains(&next) {
        Kind::Place
    } else if NUMBERS.contains(&next) {
        Kind::Number
    } else if DOING.contains(&next) && DEEDS.contains(&last) || next.starts_with("happen") {
        Kind::Deed
    } else if ["caused", "made"].contains(&next) {
        Kind::Reason
    } else {
        Kind::Thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_questions_own_words_say_what_it_wants() {
        for (question, expected) in [
            ("By whom was it lit?", Some(Kind::Person)),
            ("In which year did he die?", Some(Kind::Time)),
            ("What time was it?", Some(Kind::Time)),
            ("Where is it?", Some(Kind::Place)),
            ("In which town did she live?", Some(Kind::Place)),
            ("How many men came?", Some(Kind::Number)),
            ("Why did they come?", Some(Kind::Reason)),
            ("How did they come?", Some(Kind::Manner)),
            ("What did the king do?", Some(Kind::Deed)),
            ("What happened then?", Some(Kind::Deed)),
            ("What did he carry?", Some(Kind::Thing)),
            ("Name the ship.", Some(Kind::Thing)),
            ("Did he come?", None),
            ("", Some(Kind::Thing)),
        ] {
            assert_eq!(kind(question), expected, "{question}");
        }
    }
}
