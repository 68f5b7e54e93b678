//! Texts folded for comparison: compatibility forms, case, accents, and the
//! two scripts of Chinese.

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::simplified::simplified;

/// A text in NFKC, lower case, without accents on Latin and Greek letters and
/// in simplified Chinese, and which characters of the original each part came from.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    text: String,
    /// Where each cluster begins, in the folded text and in the original.
    clusters: Vec<(usize, usize)>,
    original_len: usize,
}

/// Whether the way back to the original is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// For highlighting.
    Kept,
    /// For indexing and questions.
    Forgotten,
}

impl Folded {
    /// Folds cluster by cluster: a cluster is a character and those after it
    /// that normalization may combine with it, so that folding clusters and
    /// folding the whole are the same.
    pub(crate) fn new(original: &str, origin: Origin) -> Self {
        let mut folded = Self {
            text: String::with_capacity(original.len()),
            clusters: Vec::new(),
            original_len: original.len(),
        };
        let mut chars = original.char_indices().peekable();
        while let Some((start, first)) = chars.next() {
            let mut end = start + first.len_utf8();
            while let Some((_, next)) = chars.next_if(|&(_, next)| !begins_cluster(next)) {
                end += next.len_utf8();
            }
            if origin == Origin::Kept {
                folded.clusters.push((folded.text.len(), start));
            }
            if first.is_ascii() && end == start + 1 {
                folded.text.push(first.to_ascii_lowercase());
            } else {
                fold_cluster(&original[start..end], &mut folded.text);
            }
        }
        folded
    }

    /// The folded text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that a part of the folded text came from:
    /// whole clusters. The origin must have been kept.
    pub(crate) fn origin(&self, part: Range<usize>) -> Range<usize> {
        let clusters = &self.clusters;
        let first = clusters.partition_point(|&(folded, _)| folded <= part.start);
        let after = clusters.partition_point(|&(folded, _)| folded < part.end);
        let start = clusters.get(first.wrapping_sub(1)).map_or(0, |&(_, at)| at);
        let end = clusters.get(after).map_or(self.original_len, |&(_, at)| at);
        start..end
    }
}

/// Whether normalization never combines this character with the one before it.
fn begins_cluster(c: char) -> bool {
    if matches!(c as u32, 0..0x300 | 0x3400..0xa000) {
        return true;
    }
    let mut first = None;
    decompose_compatible(c, |part| {
        first.get_or_insert(part);
    });
    let first = first.unwrap_or(c);
    canonical_combining_class(first) == 0
        && is_nfkc_quick(std::iter::once(first)) == IsNormalized::Yes
}

fn fold_cluster(cluster: &str, folded: &mut String) {
    // NFKC would make it the comma that groups digits, and it never does in
    // Chinese: "12，345" is two numbers.
    if cluster == "，" {
        folded.push_str(cluster);
        return;
    }
    for c in cluster.nfkc().flat_map(char::to_lowercase) {
        fold_char(c, folded);
    }
}

fn fold_char(c: char, folded: &mut String) {
    let letters = match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ł' => "l",
        'ı' => "i",
        'ς' => "σ",
        'ё' => "е",
        _ if is_ignorable(c) => "",
        _ if is_accented_script(c) => {
            folded.extend(c.nfd().filter(|&part| !is_ignorable(part)));
            return;
        }
        _ => {
            folded.push(simplified(c));
            return;
        }
    };
    folded.push_str(letters);
}

/// Accents, and characters that only guide the display: soft hyphens, zero
/// width spaces and joiners, marks of direction, variation selectors.
fn is_ignorable(c: char) -> bool {
    matches!(c as u32,
        0x300..=0x36f | 0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064
        | 0xfe00..=0xfe0f | 0xfeff | 0xe0100..=0xe01ef)
}

/// Latin and Greek, where an accent is left out as often as written. In other
/// scripts a mark makes another letter: Cyrillic short i, voiced kana.
fn is_accented_script(c: char) -> bool {
    matches!(c as u32, 0xc0..=0x24f | 0x370..=0x3ff | 0x1e00..=0x1fff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(text: &str) -> String {
        Folded::new(text, Origin::Forgotten).text
    }

    #[test]
    fn width_case_and_accents_do_not_matter() {
        assert_eq!(fold("Ｆｕｌｌ Ⅳ ﬁn ① ㎏"), "full iv fin 1 kg");
        assert_eq!(fold("Straße STRASSE ẞ"), "strasse strasse ss");
        assert_eq!(
            fold("Cæsar Œuvre Ærø Łódź İstanbul"),
            "caesar oeuvre aero lodz istanbul"
        );
        assert_eq!(fold("Émile Zoe\u{308} naïve"), "emile zoe naive");
        assert_eq!(fold("Ὀδυσσεύς ΟΔΥΣΣΕΥΣ"), "οδυσσευσ οδυσσευσ");
        assert_eq!(
            fold("co\u{ad}operate zero\u{200b}width"),
            "cooperate zerowidth"
        );
    }

    #[test]
    fn a_mark_that_makes_another_letter_stays() {
        assert_eq!(fold("Йод йод"), "йод йод");
        assert_ne!(fold("かき"), fold("がき"));
        assert_eq!(fold("ｶﾞｷﾞ"), "ガギ");
    }

    #[test]
    fn the_way_back_covers_whole_characters() {
        let text = "Die Stra\u{df}e, e\u{301}t\u{e9}";
        let folded = Folded::new(text, Origin::Kept);
        let at = folded.text().find("strasse").unwrap();
        assert_eq!(&text[folded.origin(at..at + 7)], "Straße");
        let at = folded.text().find("ete").unwrap();
        assert_eq!(&text[folded.origin(at..at + 3)], "e\u{301}t\u{e9}");
        assert_eq!(&text[folded.origin(at..at + 1)], "e\u{301}");
    }

    proptest! {
        #[test]
        fn canonically_equal_texts_fold_alike(text in any::<String>()) {
            let expected = fold(&text);
            prop_assert_eq!(&fold(&text.nfc().collect::<String>()), &expected);
            prop_assert_eq!(&fold(&text.nfd().collect::<String>()), &expected);
        }

        #[test]
        fn every_part_comes_from_characters_that_fold_to_a_text_around_it(text in any::<String>()) {
            let folded = Folded::new(&text, Origin::Kept);
            for (at, c) in folded.text().char_indices() {
                let origin = folded.origin(at..at + c.len_utf8());
                prop_assert!(fold(&text[origin]).contains(c));
            }
        }
    }
}
