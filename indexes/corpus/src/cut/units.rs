//! What passages are made of: sentences, or smaller pieces where a sentence
//! is too long.

use std::ops::Range;

use super::split;
use crate::sentences::sentence_ends;
use crate::structure::LineStyle;

/// Text of more bytes than this is never handed to the splitter in one piece
/// to see whether it fits: it is taken as too long for any budget.
pub(super) const LONGEST_PIECE: usize = 16 * 1024;

/// How good a place to break the end of a unit is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    Character,
    Word,
    Clause,
    Sentence,
    Paragraph,
}

/// A piece of text that is not broken unless it exceeds the budget alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    /// Where it ends, after the white space that follows it.
    pub end: usize,
    pub ends: Break,
    /// How it can be made smaller.
    pub grain: Grain,
    /// Estimated tokens, before calibration.
    pub weight: f64,
}

/// What a unit is, and so what it is broken into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grain {
    Sentence,
    Clause,
    Word,
    Character,
}

/// Units that are filled into passages on their own, apart from all others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretch {
    pub start: usize,
    pub units: Vec<Unit>,
}

/// Cuts a section into stretches of bounded length, so that a book without
/// chapters is cut in parallel too. Each unit holds more than white space.
pub(super) fn stretches(text: &str, section: Range<usize>, style: LineStyle) -> Vec<Stretch> {
    const LONGEST: usize = 64 * 1024;
    let mut units = Vec::new();
    let mut at = section.start;
    for end in sentence_ends(&text[section.clone()], style) {
        let end_at = section.start + end.at;
        let ends = if end.paragraph && !leads_on(&text[at..end_at]) {
            Break::Paragraph
        } else {
            Break::Sentence
        };
        let sentence = unit(text, at..end_at, ends, Grain::Sentence);
        if end_at - at > LONGEST_PIECE {
            units.extend(split::bounded(text, at, sentence));
        } else {
            units.push(sentence);
        }
        at = end_at;
    }

    let mut stretches = Vec::new();
    let mut start = section.start;
    let mut rest = units.as_slice();
    while let Some(last) = rest.last() {
        let length = last.end - start;
        // Even shares, so that no stretch is a scrap.
        let share = length.div_ceil(length.div_ceil(LONGEST));
        let fits = rest
            .iter()
            .take_while(|unit| unit.end - start <= share)
            .count();
        let count = if share == length {
            rest.len()
        } else {
            best_end(&rest[..fits.max(1)])
        };
        let (stretch, after) = rest.split_at(count);
        stretches.push(Stretch {
            start,
            units: stretch.to_vec(),
        });
        start = stretch[count - 1].end;
        rest = after;
    }
    stretches
}

/// Whether a paragraph announces the next: `He read what follows:`, `Dear Sir,`.
fn leads_on(paragraph: &str) -> bool {
    paragraph.trim_end().ends_with([':', '：', ',', '，'])
}

/// How many units to keep together: up to the last of the best breaks in the
/// second half.
fn best_end(units: &[Unit]) -> usize {
    let best = (units.len() / 2..units.len()).max_by_key(|&at| (units[at].ends, at));
    best.map_or(units.len(), |at| at + 1)
}

/// A unit and its estimated weight.
pub(super) fn unit(text: &str, span: Range<usize>, ends: Break, grain: Grain) -> Unit {
    Unit {
        end: span.end,
        ends,
        grain,
        weight: weight(&text[span]),
    }
}

/// About how many tokens a multilingual subword vocabulary makes of a text.
/// Only proportions matter: the sum is calibrated against true counts.
fn weight(text: &str) -> f64 {
    let mut weight = 0.0;
    for c in text.chars() {
        weight += match c {
            c if c.is_whitespace() => 0.0,
            'a'..='z' | '0'..='9' => 0.26,
            'A'..='Z' => 0.35,
            '\u{21}'..='\u{7f}' => 0.8,
            '\u{80}'..='\u{2e7f}' => 0.35,
            _ => 0.65,
        };
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_cover_a_section_in_even_bounded_shares() {
        let text = "He came over the water in the night. ".repeat(6000);
        let stretches = stretches(&text, 0..text.len(), LineStyle::Paragraphs);
        assert_eq!(stretches.len(), 4);
        let mut start = 0;
        for stretch in &stretches {
            assert_eq!(stretch.start, start);
            let end = stretch.units[stretch.units.len() - 1].end;
            assert!(
                (20_000..=64 * 1024).contains(&(end - start)),
                "{start}..{end}"
            );
            start = end;
        }
        assert_eq!(start, text.len());
    }

    #[test]
    fn a_paragraph_that_announces_the_next_is_no_better_a_break_than_a_sentence() {
        let text = "He came. He read:\n\nDear Sir,\n\nI am here.\n";
        let stretches = stretches(text, 0..text.len(), LineStyle::Wrapped);
        let ends: Vec<Break> = stretches[0].units.iter().map(|unit| unit.ends).collect();
        let (sentence, paragraph) = (Break::Sentence, Break::Paragraph);
        assert_eq!(ends, [sentence, sentence, sentence, paragraph]);
    }

    #[test]
    fn an_endless_line_is_cut_into_bounded_units() {
        let text = "夜".repeat(100_000);
        for stretch in stretches(&text, 0..text.len(), LineStyle::Paragraphs) {
            let mut start = stretch.start;
            for unit in &stretch.units {
                assert!(unit.end - start <= LONGEST_PIECE);
                start = unit.end;
            }
        }
    }
}
