//! Breaking what exceeds the budget alone: a sentence into clauses, a clause
//! into words, a word into characters.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::units::{Break, Grain, LONGEST_PIECE, Unit, unit};
use crate::sentences::joins;

/// Breaks a unit that starts at `start` into the next smaller pieces, or
/// smaller ones still where there is only one of those. A unit of one
/// character stays whole.
///
/// `token_ends` are the ends of its tokens, relative to its start: words of a
/// script without spaces, and characters, are parted only between tokens where
/// there is such a place.
pub(super) fn smaller(text: &str, start: usize, whole: Unit, token_ends: &[usize]) -> Vec<Unit> {
    let piece = &text[start..whole.end];
    let mut grain = whole.grain;
    loop {
        let (finer, ends, breaks) = match grain {
            Grain::Sentence => (Grain::Clause, Break::Clause, clause_ends(piece)),
            Grain::Clause => (Grain::Word, Break::Word, word_ends(piece, token_ends)),
            Grain::Word => {
                let mut breaks = character_ends(piece);
                let at_tokens: HashSet<usize> = token_ends.iter().copied().collect();
                if breaks
                    .iter()
                    .any(|at| at_tokens.contains(at) && *at < piece.trim_end().len())
                {
                    breaks.retain(|at| at_tokens.contains(at));
                    // What a token holds together may still be parted later.
                    (Grain::Word, Break::Character, breaks)
                } else {
                    (Grain::Character, Break::Character, breaks)
                }
            }
            Grain::Character => return vec![whole],
        };
        let units = assemble(text, start, whole, &breaks, ends, finer);
        if units.len() > 1 {
            return units;
        }
        grain = match grain {
            Grain::Sentence => Grain::Clause,
            Grain::Clause => Grain::Word,
            Grain::Word | Grain::Character => Grain::Character,
        };
    }
}

/// Breaks a sentence too long for the splitter into pieces that are not:
/// clauses, and where a clause is too long, runs of words or characters.
pub(super) fn bounded(text: &str, start: usize, whole: Unit) -> Vec<Unit> {
    let piece = &text[start..whole.end];
    let clauses = assemble(
        text,
        start,
        whole,
        &clause_ends(piece),
        Break::Clause,
        Grain::Clause,
    );
    let mut units = Vec::new();
    let mut at = start;
    for clause in clauses {
        if clause.end - at <= LONGEST_PIECE {
            units.push(clause);
        } else {
            let piece = &text[at..clause.end];
            let breaks = runs(piece);
            units.extend(assemble(
                text,
                at,
                clause,
                &breaks,
                Break::Word,
                Grain::Clause,
            ));
        }
        at = clause.end;
    }
    units
}

/// Breaks a text into runs of at most the longest piece: after a word where
/// one ends in the second half, or else after a character.
fn runs(piece: &str) -> Vec<usize> {
    let mut breaks = Vec::new();
    let mut start = 0;
    let mut last_word = 0;
    let mut last_character = 0;
    for (at, cluster) in piece.grapheme_indices(true) {
        let end = at + cluster.len();
        if end - start > LONGEST_PIECE && last_character > start {
            let word_is_near = last_word > start + LONGEST_PIECE / 2;
            start = if word_is_near {
                last_word
            } else {
                last_character
            };
            breaks.push(start);
        }
        last_character = end;
        if cluster.chars().all(|c| !c.is_alphanumeric()) {
            last_word = end;
        }
    }
    breaks
}

/// After each clause mark that does not stand inside a number or a word.
fn clause_ends(piece: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = piece.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let full_width = "，、：；—…｜．。！？".contains(c);
        let half_width = ",;:!?".contains(c);
        if !full_width && !half_width {
            continue;
        }
        let mut end = at + c.len_utf8();
        // Marks in a row and what they close stay together.
        while let Some((_, next)) = chars.next_if(|&(_, c)| "，、：；—…,;:\"'”’」』）)".contains(c))
        {
            end += next.len_utf8();
        }
        let spaced = chars.peek().is_none_or(|&(_, next)| next.is_whitespace());
        if full_width || spaced {
            ends.push(end);
        }
    }
    ends
}

/// After each word by UAX 29. Where two words touch without a space or a mark
/// between them, as in Chinese, only where a token ends as well.
fn word_ends(piece: &str, token_ends: &[usize]) -> Vec<usize> {
    let at_tokens: HashSet<usize> = token_ends.iter().copied().collect();
    let characters: HashSet<usize> = character_ends(piece).into_iter().collect();
    let mut ends = Vec::new();
    let mut words = piece.split_word_bound_indices().peekable();
    while let Some((at, word)) = words.next() {
        let end = at + word.len();
        let is_open = |text: &str, last: bool| {
            let edge = if last {
                text.chars().next_back()
            } else {
                text.chars().next()
            };
            edge.is_some_and(char::is_alphanumeric)
        };
        let touching =
            is_open(word, true) && words.peek().is_some_and(|(_, next)| is_open(next, false));
        // A mark belongs to the word before it.
        let mark_follows = words.peek().is_some_and(|(_, next)| {
            next.chars()
                .all(|c| !c.is_alphanumeric() && !c.is_whitespace())
        });
        if characters.contains(&end) && !mark_follows && (!touching || at_tokens.contains(&end)) {
            ends.push(end);
        }
    }
    ends
}

/// After each character as readers see it (extended grapheme cluster).
fn character_ends(piece: &str) -> Vec<usize> {
    piece
        .grapheme_indices(true)
        .map(|(at, cluster)| at + cluster.len())
        .collect()
}

/// Units from the places to break at. White space goes to the unit before it,
/// or to the first; no unit is white space alone, and the last one ends as the
/// whole did.
fn assemble(
    text: &str,
    start: usize,
    whole: Unit,
    breaks: &[usize],
    ends: Break,
    grain: Grain,
) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut at = start;
    for &break_at in breaks {
        let rest = &text[start + break_at..whole.end];
        let mut end = whole.end - rest.trim_start().len();
        if joins(text, end) {
            // The last white space has an accent on it: a character of its own.
            let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
            end -= last.min(end - start - break_at);
        }
        let blank = end <= at || text[at..end].trim().is_empty();
        if blank || end == whole.end || joins(text, end) {
            continue;
        }
        units.push(unit(text, at..end, ends, grain));
        at = end;
    }
    units.push(Unit {
        ends: whole.ends,
        ..unit(text, at..whole.end, ends, grain)
    });
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'t>(text: &'t str, grain: Grain, token_ends: &[usize]) -> Vec<&'t str> {
        let whole = unit(text, 0..text.len(), Break::Sentence, grain);
        let mut at = 0;
        smaller(text, 0, whole, token_ends)
            .into_iter()
            .map(|unit| {
                let part = &text[at..unit.end];
                at = unit.end;
                part
            })
            .collect()
    }

    #[test]
    fn a_sentence_breaks_into_clauses() {
        assert_eq!(
            parts("He came, at 3,000 feet; she left.", Grain::Sentence, &[]),
            ["He came, ", "at 3,000 feet; ", "she left."]
        );
        assert_eq!(
            parts("他来了，“好，”她说：走、跑", Grain::Sentence, &[]),
            ["他来了，", "“好，”", "她说：", "走、", "跑"]
        );
    }

    #[test]
    fn a_clause_breaks_into_words_and_chinese_between_tokens() {
        assert_eq!(
            parts("over the water.", Grain::Clause, &[]),
            ["over ", "the ", "water."]
        );
        assert_eq!(
            parts("梁山好汉来了", Grain::Clause, &[6, 12, 18]),
            ["梁山", "好汉", "来了"]
        );
    }

    #[test]
    fn a_word_breaks_between_tokens_then_characters() {
        assert_eq!(
            parts("endlessness", Grain::Word, &[3, 7, 11]),
            ["end", "less", "ness"]
        );
        assert_eq!(parts("abc", Grain::Word, &[3]), ["a", "b", "c"]);
        assert_eq!(parts("e\u{301}x", Grain::Word, &[1, 4]), ["e\u{301}", "x"]);
        assert_eq!(parts("x", Grain::Sentence, &[1]), ["x"]);
    }
}
