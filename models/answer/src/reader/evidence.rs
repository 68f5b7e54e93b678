//! The evidence as the reader sees it: sentences, and which words they hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::sentences::sentences;
use super::words::terms;
use crate::model::EvidenceText;

/// A word in a sentence beside counts half: names are said once and then
/// become "he".
const BESIDE: f64 = 0.5;

/// A sentence of the evidence.
#[derive(Debug)]
pub(super) struct Sentence {
    /// Which piece of evidence it stands in.
    pub(super) evidence: usize,
    /// Where in its text.
    pub(super) bytes: Range<usize>,
    /// Whether it is a question.
    pub(super) asks: bool,
    terms: BTreeSet<String>,
}

/// Terms and what each is worth, each once.
pub(super) type Weighed = Vec<(String, f64)>;

/// All evidence, cut into sentences.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    texts: &'a [EvidenceText],
    pub(super) sentences: Vec<Sentence>,
    /// In how many sentences a term stands.
    holders: HashMap<String, usize>,
}

impl<'a> Evidence<'a> {
    pub(super) fn read(texts: &'a [EvidenceText]) -> Self {
        let mut found = Vec::new();
        let mut holders = HashMap::new();
        for (evidence, piece) in texts.iter().enumerate() {
            for bytes in sentences(&piece.text) {
                let text = &piece.text[bytes.clone()];
                let terms: BTreeSet<String> = terms(text).into_iter().map(|t| t.text).collect();
                for term in &terms {
                    *holders.entry(term.clone()).or_insert(0) += 1;
                }
                let asks = text
                    .trim_end_matches(['"', '”', '’', '」', '』', '\''])
                    .ends_with(['?', '？']);
                found.push(Sentence {
                    evidence,
                    bytes,
                    asks,
                    terms,
                });
            }
        }
        Self {
            texts,
            sentences: found,
            holders,
        }
    }

    /// The piece that a sentence stands in.
    pub(super) fn around(&self, sentence: usize) -> &'a str {
        &self.texts[self.sentences[sentence].evidence].text
    }

    /// A sentence's text.
    pub(super) fn text(&self, sentence: usize) -> &'a str {
        let Sentence {
            evidence, bytes, ..
        } = &self.sentences[sentence];
        &self.texts[*evidence].text[bytes.clone()]
    }

    /// A text's terms, weighed by how rare they are in the evidence (the
    /// inverse document frequency of BM25, Robertson and Zaragoza 2009,
    /// equation 3.3) and how much such a word can say.
    pub(super) fn weighed(&self, text: &str) -> Weighed {
        let all = self.sentences.len() as f64;
        let mut weighed = BTreeMap::new();
        for term in terms(text) {
            let holders = self.holders.get(&term.text).copied().unwrap_or(0) as f64;
            let rarity = (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln();
            weighed.insert(term.text, rarity * term.content);
        }
        weighed.into_iter().collect()
    }

    /// The share of the terms' weight that a sentence holds, from 0 to 1;
    /// what only its neighbours hold counts half.
    pub(super) fn coverage(&self, sentence: usize, wanted: &Weighed) -> f64 {
        let total: f64 = wanted.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return 0.0;
        }
        let held: f64 = wanted
            .iter()
            .map(|(term, weight)| weight * self.holds(sentence, term))
            .sum();
        held / total
    }

    fn holds(&self, sentence: usize, term: &str) -> f64 {
        let own = &self.sentences[sentence];
        if own.terms.contains(term) {
            return 1.0;
        }
        let before = sentence.checked_sub(1);
        let beside = [before, Some(sentence + 1)].into_iter().flatten();
        let found = beside
            .filter_map(|at| self.sentences.get(at))
            .any(|other| other.evidence == own.evidence && other.terms.contains(term));
        if found { BESIDE } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(texts: &[&str]) -> Vec<EvidenceText> {
        let piece = |text: &&str| EvidenceText {
            label: "1".into(),
            text: (*text).to_owned(),
        };
        texts.iter().map(piece).collect()
    }

    #[test]
    fn a_neighbours_words_count_half_and_another_pieces_not() {
        let pieces = pieces(&["Ann came. She lit it. Done.", "Bob slept."]);
        let evidence = Evidence::read(&pieces);
        let ann = vec![("ann".to_owned(), 2.0)];
        let coverage: Vec<f64> = (0..4).map(|s| evidence.coverage(s, &ann)).collect();
        assert_eq!(coverage, [1.0, 0.5, 0.0, 0.0]);
        let bob = vec![("bob".to_owned(), 2.0)];
        assert_eq!(evidence.coverage(2, &bob), 0.0);
    }

    #[test]
    fn rare_words_weigh_more_than_common_and_joining_ones() {
        let pieces = pieces(&["The lamp. The door. The lamp and the key."]);
        let evidence = Evidence::read(&pieces);
        let weighed: BTreeMap<String, f64> = evidence
            .weighed("the lamp key dragon")
            .into_iter()
            .collect();
        assert!(weighed["the"] < weighed["lamp"]);
        assert!(weighed["lamp"] < weighed["key"]);
        assert!(weighed["key"] < weighed["dragon"]);
    }

    #[test]
    fn a_question_is_known_within_quotation_marks() {
        let pieces = pieces(&["\"Who lit it?\" He left. 「谁点的？」"]);
        let evidence = Evidence::read(&pieces);
        let asks: Vec<bool> = evidence.sentences.iter().map(|s| s.asks).collect();
        assert_eq!(asks, [true, false, true]);
    }
}
