//! Text to terms: the analyzer [`NAME`], one for English and Chinese together.
//!
//! Passages and questions go the same way: folded (NFKC, lower case, no
//! accents on Latin and Greek letters, traditional Chinese characters as
//! simplified ones), parted into words and runs of characters, and then
//!
//! - a word of ASCII letters becomes its English Snowball stem, any other word
//!   stays; `1,200` is `1200`;
//! - a run of a script that does not separate words, such as Chinese, becomes
//!   its characters and its pairs of neighbours.
//!
//! No term is dropped, so no name, number or quoted phrase is lost. What a
//! question would repeat or does not mean is weighed down instead: see
//! [`question_terms`]. `docs/notes-analyzer.md` has the
//! measurements behind each choice.

mod fold;
mod function_words;
pub(crate) mod highlight;
mod pieces;
mod question;
mod simplified;

use std::borrow::Cow;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

pub(crate) use fold::{Folded, Origin};
pub use question::{WeightedTerm, question_terms};

use pieces::{Piece, pieces};

/// The analyzer and its version, as recipes record it. Any change of what
/// [`passage_terms`] gives for some text needs a new version.
pub const NAME: &str = "mixed/1";

/// Longer words are compared by their first bytes, about this many.
const MAX_WORD_BYTES: usize = 255;

/// The terms of a passage in reading order, repeated as often as they occur.
pub fn passage_terms(text: &str) -> Vec<String> {
    let folded = Folded::new(text, Origin::Forgotten);
    let mut terms = Vec::with_capacity(text.len() / 4);
    each_term(folded.text(), |term, _| terms.push(term.into_owned()));
    terms
}

/// Gives every term of a folded text and where it stands.
fn each_term<'a>(folded: &'a str, found: impl FnMut(Cow<'a, str>, Range<usize>)) {
    each_term_beginning(folded, &[true; 256], found);
}

/// Gives at least the terms that begin with one of these bytes. A stem begins
/// as its word does.
fn each_term_beginning<'a>(
    folded: &'a str,
    begins: &[bool; 256],
    mut found: impl FnMut(Cow<'a, str>, Range<usize>),
) {
    let stemmer = Stemmer::create(Algorithm::English);
    let wanted = |range: &Range<usize>| begins[usize::from(folded.as_bytes()[range.start])];
    for piece in pieces(folded) {
        match piece {
            Piece::Word(range) if !wanted(&range) => {}
            Piece::Word(range) => found(word_term(&stemmer, &folded[range.clone()]), range),
            Piece::Number(range) => found(number_term(&folded[range.clone()]).into(), range),
            Piece::Run(range, _) => {
                for part in characters_and_pairs(&folded[range.clone()]) {
                    let part = range.start + part.start..range.start + part.end;
                    found(folded[part.clone()].into(), part);
                }
            }
        }
    }
}

fn word_term<'a>(stemmer: &Stemmer, word: &'a str) -> Cow<'a, str> {
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) && word.len() <= MAX_WORD_BYTES {
        return stemmer.stem(word);
    }
    word[..word.floor_char_boundary(MAX_WORD_BYTES)].into()
}

fn number_term(number: &str) -> String {
    let mut digits = number.replace(',', "");
    digits.truncate(MAX_WORD_BYTES);
    digits
}

/// Each character of a run and each pair of neighbours, as byte ranges.
fn characters_and_pairs(run: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    run.char_indices().flat_map(move |(start, c)| {
        let end = start + c.len_utf8();
        let next = run[end..].chars().next();
        let pair = next.map(|next| start..end + next.len_utf8());
        std::iter::once(start..end).chain(pair)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_stemmed_and_chinese_is_characters_and_pairs() {
        assert_eq!(
            passage_terms("The Ponies' running cost 1,200 francs: 林黛玉進賈府！"),
            [
                "the", "poni", "run", "cost", "1200", "franc", "林", "林黛", "黛", "黛玉", "玉",
                "玉进", "进", "进贾", "贾", "贾府", "府"
            ]
        );
    }

    #[test]
    fn names_in_either_spelling_share_terms() {
        assert_eq!(passage_terms("D’ARTAGNAN"), passage_terms("d'Artagnan"));
        assert_eq!(passage_terms("Jean-Baptiste"), ["jean", "baptist"]);
        assert_eq!(passage_terms("Brontë"), passage_terms("BRONTE"));
    }

    #[test]
    fn an_endless_word_is_cut_on_a_character() {
        let terms = passage_terms(&"é1".repeat(4000));
        assert_eq!(terms.len(), 1);
        assert_eq!(terms[0].len(), 255);
        let terms = passage_terms(&"ж".repeat(4000));
        assert_eq!(terms, ["ж".repeat(127)]);
        let terms = passage_terms(&format!("1{}", ",000".repeat(4000)));
        assert_eq!(terms[0].len(), 255);
    }

    proptest! {
        #[test]
        fn a_stem_begins_as_its_word_does(word in "[a-z]{1,12}") {
            let stemmer = Stemmer::create(Algorithm::English);
            prop_assert_eq!(word_term(&stemmer, &word).bytes().next(), word.bytes().next());
        }

        #[test]
        fn any_text_has_terms_that_are_short_and_not_empty(text in any::<String>()) {
            for term in passage_terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= MAX_WORD_BYTES);
            }
        }

        #[test]
        fn a_part_between_spaces_has_the_terms_it_has_alone(left in any::<String>(), right in any::<String>()) {
            let mut apart = passage_terms(&left);
            apart.extend(passage_terms(&right));
            prop_assert_eq!(passage_terms(&format!("{left} {right}")), apart);
        }
    }
}
