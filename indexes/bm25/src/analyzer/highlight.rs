//! Where a passage says what a question asks.

use std::collections::HashSet;
use std::ops::Range;

use super::{Folded, Origin, each_term_beginning, question_terms};

/// Finds in texts what one question asks.
#[derive(Debug, Clone)]
pub struct Highlighter {
    terms: HashSet<String>,
    /// Whether some term begins with that byte: most words are told by it to
    /// be no match before they are stemmed.
    begins: [bool; 256],
}

impl Highlighter {
    /// For a question. Its function words are passed over, unless it has
    /// nothing else.
    pub fn new(question: &str) -> Self {
        let asked = question_terms(question);
        let any_content = asked.iter().any(|term| term.is_content);
        let terms = asked
            .into_iter()
            .filter(|term| term.is_content == any_content)
            .map(|term| term.term);
        let terms: HashSet<String> = terms.collect();
        let mut begins = [false; 256];
        for first in terms.iter().filter_map(|term| term.bytes().next()) {
            begins[usize::from(first)] = true;
        }
        Self { terms, begins }
    }

    /// The parts of `text` that match the question's terms, as byte ranges
    /// that ascend, lie on character boundaries, and neither overlap nor touch.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let folded = Folded::new(text, Origin::Kept);
        let mut found = Vec::new();
        each_term_beginning(folded.text(), &self.begins, |term, range| {
            if self.terms.contains(term.as_ref()) {
                found.push(folded.origin(range));
            }
        });
        found.sort_unstable_by_key(|range| (range.start, range.end));
        merged(found)
    }
}

fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown<'a>(question: &str, text: &'a str) -> Vec<&'a str> {
        Highlighter::new(question)
            .find(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn matching_words_are_shown_as_the_text_writes_them() {
        assert_eq!(
            shown(
                "Where did the ponies of Bronte run?",
                "The PONY of Charlotte Brontë’s was running."
            ),
            ["PONY", "Brontë", "running"]
        );
        assert_eq!(
            shown("林黛玉的生日是什么时候？", "卻說林黛玉生日那天，黛玉笑了。"),
            ["林黛玉生日", "黛玉"]
        );
        assert_eq!(
            shown("1200 francs", "１，２００ and 1,200 Francs"),
            ["1,200", "Francs"]
        );
    }

    #[test]
    fn function_words_are_shown_only_when_there_is_nothing_else() {
        assert_eq!(shown("to be or not to be", "Not to-day"), ["Not", "to"]);
        assert_eq!(shown("to be a king", "to be queen"), [""; 0]);
    }

    proptest! {
        #[test]
        fn ranges_ascend_apart_on_character_boundaries(
            question in any::<String>(),
            text in any::<String>(),
            shared in "x[a-z你好é]{0,3}",
        ) {
            let text = format!("{text} {shared} {text}{shared}");
            let ranges = Highlighter::new(&format!("{question} {shared}")).find(&text);
            prop_assert!(!ranges.is_empty());
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].end < pair[1].start);
            }
            for range in ranges {
                prop_assert!(range.start < range.end);
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
