//! Headings that only announce others: tables of contents.

use std::collections::HashMap;

use super::chapters::Opening;
use super::contents;
use super::heading::Kind;

/// Drops tables of contents: three or more headings in a row with nothing to
/// read between them.
pub(super) fn without_tables(text: &str, end: usize, openings: Vec<Opening>) -> Vec<Opening> {
    const SHORT: usize = 200;
    const LONG_ENTRY: usize = 1500;
    let own_text: Vec<usize> = openings
        .iter()
        .enumerate()
        .map(|(at, opening)| {
            let next = openings.get(at + 1).map_or(end, |next| next.span.start);
            text[opening.span.end..next].trim().len()
        })
        .collect();
    let key = |at: usize| {
        let heading = &openings[at].heading;
        match heading.number {
            Some(number) => (heading.kind, number, String::new()),
            None => (heading.kind, 0, contents::key(&openings[at].title)),
        }
    };
    // The text below the next heading of the same name, if there is one.
    let mut later = vec![None; openings.len()];
    let mut seen = HashMap::new();
    for at in (0..openings.len()).rev() {
        later[at] = seen.insert(key(at), own_text[at]);
    }
    let is_entry = |at: usize| {
        let comes_again = later[at].is_some_and(|later| {
            own_text[at] <= SHORT || own_text[at] <= LONG_ENTRY && later >= 5 * own_text[at]
        });
        own_text[at] == 0 || comes_again
    };

    let mut keep = vec![true; openings.len()];
    let mut at = 0;
    while at < openings.len() {
        let run = (at..openings.len()).take_while(|&at| is_entry(at)).count();
        // PART I, BOOK I, CHAPTER I in a row are three depths, not a table.
        let kinds = (at..at + run).map(|at| openings[at].heading.kind);
        let depths: Vec<Kind> = kinds.fold(Vec::new(), |mut kinds, kind| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            kinds
        });
        if run >= 3 && depths.len() < run {
            // The last entry has everything up to the first chapter below it.
            let last = usize::from(later.get(at + run).is_some_and(Option::is_some));
            // A part's heading right above its first chapter is no entry.
            let opens_the_book = if last == 0 && at + run < openings.len() {
                heads_above(&openings, at + run).min(run)
            } else {
                0
            };
            keep[at..at + run + last - opens_the_book].fill(false);
            at += last;
        }
        at += run.max(1);
    }
    let mut kept = keep.into_iter();
    openings
        .into_iter()
        .filter(|_| kept.next().unwrap_or(true))
        .collect()
}

/// How many headings directly above that one enclose it: each of a kind that
/// stands higher.
fn heads_above(openings: &[Opening], at: usize) -> usize {
    let mut kind = openings[at].heading.kind;
    openings[..at]
        .iter()
        .rev()
        .take_while(|above| {
            let higher = above.heading.kind.encloses() && above.heading.kind != kind;
            kind = above.heading.kind;
            higher
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::chapters::chapters;

    fn titles(text: &str) -> Vec<String> {
        chapters(text, 0..text.len())
            .into_iter()
            .map(|placed| placed.chapter.title)
            .collect()
    }

    #[test]
    fn entries_with_a_summary_are_a_table_when_their_chapters_follow() {
        let summary =
            "The ferry; the bridge; what he saw there; and what came of it.\n\n".repeat(4);
        let story = format!("{}\n\n", "He came over the water. ".repeat(90));
        let table: String = ["I", "II", "III"]
            .map(|number| format!("CHAPTER {number}\n\n{summary}"))
            .concat();
        let book: String = ["I", "II", "III"]
            .map(|number| format!("CHAPTER {number}\n\n{story}"))
            .concat();
        assert_eq!(titles(&format!("{table}{book}")).len(), 3);
        assert_eq!(titles(&book).len(), 3);
    }

    #[test]
    fn depths_in_a_row_are_no_table() {
        let text = "VOLUME I\n\nBOOK I\n\nPART I\n\nCHAPTER I\n\nHe came.\n";
        assert_eq!(titles(text).len(), 4);
    }
}
