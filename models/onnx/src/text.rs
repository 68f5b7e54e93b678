//! From text to token ids.

use std::path::{Path, PathBuf};

use quire_model::{ModelError, Tokenizer};
use serde_json::Value;
use tokenizers::{Encoding, TruncationDirection};

/// The tokenizer of a model: XLM-RoBERTa's kind, a Unigram vocabulary of
/// SentencePiece.
///
/// Text is only text to it: `</s>` or `<mask>` written in a book are split
/// into pieces like any other characters, never read as the model's own marks.
pub struct TextTokenizer {
    model: String,
    tokenizer: tokenizers::Tokenizer,
}

/// A tokenizer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is not a tokenizer.
    #[error("cannot load the tokenizer {}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: tokenizers::Error,
    },
    /// The tokenizer is of another kind.
    #[error(
        "the tokenizer {} is not of the Unigram kind, the only one quire reads",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The text cannot be split.
    #[error("cannot split a text of {bytes} bytes into tokens")]
    Split {
        /// The length of the text.
        bytes: usize,
        /// Why.
        #[source]
        source: tokenizers::Error,
    },
}

/// A text as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// With the model's own marks.
    pub(crate) ids: Vec<u32>,
    /// Whether tokens were cut off.
    pub(crate) truncated: bool,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// When the file is not a tokenizer of the Unigram kind.
    pub fn load(model: &str, path: &Path) -> Result<Self, TokenizerError> {
        let fail = |source: tokenizers::Error| TokenizerError::Load {
            path: path.to_owned(),
            source,
        };
        let bytes = std::fs::read(path).map_err(|error| fail(error.into()))?;
        let mut file = serde_json::from_slice(&bytes).map_err(|error| fail(error.into()))?;
        if without_marks(&mut file).is_none() {
            return Err(TokenizerError::Kind {
                path: path.to_owned(),
            });
        }
        let mut tokenizer: tokenizers::Tokenizer =
            serde_json::from_value(file).map_err(|error| fail(error.into()))?;
        // Length is this crate's business: see `batch`.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(fail)?;
        Ok(Self {
            model: model.to_owned(),
            tokenizer,
        })
    }

    /// A text behind its prefix, cut to `max_tokens` with the model's marks.
    pub(crate) fn encode(
        &self,
        prefix: &str,
        text: &str,
        max_tokens: usize,
    ) -> Result<Encoded, TokenizerError> {
        let mut encoding = self.split(&format!("{prefix}{text}"))?;
        let room = max_tokens.saturating_sub(self.marks(false));
        let truncated = cut(&mut encoding, room);
        self.marked(encoding, None, truncated, text.len())
    }

    /// The tokens of a question that is to be paired with passages, cut to
    /// `max_tokens`, and whether it was cut.
    pub(crate) fn question(
        &self,
        question: &str,
        max_tokens: usize,
    ) -> Result<(Encoding, bool), TokenizerError> {
        let mut encoding = self.split(question)?;
        let truncated = cut(&mut encoding, max_tokens);
        Ok((encoding, truncated))
    }

    /// A question and a passage as one text, the passage cut so that the
    /// whole has at most `max_tokens`.
    pub(crate) fn encode_pair(
        &self,
        question: &Encoding,
        passage: &str,
        max_tokens: usize,
    ) -> Result<Encoded, TokenizerError> {
        let mut encoding = self.split(passage)?;
        let room = max_tokens.saturating_sub(self.marks(true) + question.len());
        let truncated = cut(&mut encoding, room);
        self.marked(question.clone(), Some(encoding), truncated, passage.len())
    }

    /// How many marks the model puts around a text or a pair.
    fn marks(&self, pair: bool) -> usize {
        use tokenizers::PostProcessor as _;
        self.tokenizer
            .get_post_processor()
            .map_or(0, |marks| marks.added_tokens(pair))
    }

    fn split(&self, text: &str) -> Result<Encoding, TokenizerError> {
        self.tokenizer
            .encode_fast(text, false)
            .map_err(|source| TokenizerError::Split {
                bytes: text.len(),
                source,
            })
    }

    fn marked(
        &self,
        encoding: Encoding,
        pair: Option<Encoding>,
        truncated: bool,
        bytes: usize,
    ) -> Result<Encoded, TokenizerError> {
        let marked = self
            .tokenizer
            .post_process(encoding, pair, true)
            .map_err(|source| TokenizerError::Split { bytes, source })?;
        Ok(Encoded {
            ids: marked.get_ids().to_vec(),
            truncated,
        })
    }
}

impl Tokenizer for TextTokenizer {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, ModelError> {
        let encoding = self
            .tokenizer
            .encode(text, false)
            .map_err(|source| TokenizerError::Split {
                bytes: text.len(),
                source,
            })
            .map_err(|error| ModelError::new(&self.model, error))?;
        let mut last = 0;
        let ends = encoding.get_offsets().iter().map(|(_, end)| {
            // A character that the normalizer turned into several may end a
            // token in its middle, or give its end to all of them.
            last = text.ceil_char_boundary(*end).max(last);
            last
        });
        Ok(ends.collect())
    }
}

/// Keeps the first `room` tokens; whether there were more.
fn cut(encoding: &mut Encoding, room: usize) -> bool {
    if encoding.len() <= room {
        return false;
    }
    encoding.truncate(room, 0, TruncationDirection::Right);
    // The rest would be marked and paired as well, only to be dropped.
    encoding.take_overflowing();
    true
}

/// Changes a `tokenizer.json` so that the model's marks match no text; `None`
/// if it is not of the Unigram kind.
///
/// The file lists the marks (`<s>`, `</s>`, `<mask>`, ...) twice: as words to
/// look for in every text, and among the pieces, with the best score of all.
/// Either way a book with such characters in it would reach the model as a
/// mark, which SentencePiece itself never does.
fn without_marks(file: &mut Value) -> Option<()> {
    let mut marks = Vec::new();
    file.get_mut("added_tokens")?
        .as_array_mut()?
        .retain(|token| {
            let mark = token["special"] == true;
            if mark {
                marks.extend(token["id"].as_u64());
            }
            !mark
        });
    let model = file.get_mut("model")?;
    if model["type"] != "Unigram" {
        return None;
    }
    let pieces = model.get_mut("vocab")?.as_array_mut()?;
    for id in marks {
        // No text that reaches the vocabulary contains a space: it was split
        // there, or has U+2581 instead.
        let unmatched = Value::from(format!(" {id}"));
        if let Some(piece) = pieces
            .get_mut(id as usize)
            .and_then(|entry| entry.get_mut(0))
        {
            *piece = unmatched;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// A tokenizer of XLM-RoBERTa's form with a handful of pieces.
    fn tiny() -> TextTokenizer {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        let marks = ["<s>", "<pad>", "</s>", "<unk>"];
        let mut vocabulary: Vec<_> = marks.iter().map(|mark| json!([mark, 0.0])).collect();
        let pieces = [
            "\u{2581}",
            "a",
            "b",
            "c",
            "s",
            "<",
            ">",
            "/",
            "1",
            "2",
            "\u{2581}ab",
            "中",
            "文",
            "fi",
        ];
        vocabulary.extend(pieces.iter().map(|piece| json!([piece, -5.0])));
        let added = (0..).zip(marks).map(|(id, mark)| {
            json!({"id": id, "content": mark, "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false, "special": true})
        });
        let mark = |mark: &str| json!({"SpecialToken": {"id": mark, "type_id": 0}});
        let text = |which: &str| json!({"Sequence": {"id": which, "type_id": 0}});
        let metaspace = json!({"type": "Metaspace", "replacement": "\u{2581}",
                               "prepend_scheme": "always", "split": true});
        let tokenizer = json!({
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
            "padding": null,
            "added_tokens": added.collect::<Vec<_>>(),
            "normalizer": {"type": "NFKC"},
            "pre_tokenizer": {"type": "Sequence",
                              "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [mark("<s>"), text("A"), mark("</s>")],
                "pair": [mark("<s>"), text("A"), mark("</s>"), mark("</s>"), text("B"), mark("</s>")],
                "special_tokens": {
                    "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                    "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}},
            "decoder": metaspace,
            "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": false}});
        std::fs::write(&path, tokenizer.to_string()).unwrap();
        TextTokenizer::load("tiny", &path).unwrap()
    }

    #[test]
    fn a_text_is_put_behind_its_prefix_and_between_marks() {
        let encoded = tiny().encode("ab ", "c", 10).unwrap();
        assert_eq!(encoded.ids, [0, 14, 4, 7, 2]);
        assert!(!encoded.truncated);
    }

    #[test]
    fn what_is_beyond_the_models_length_is_cut_off_and_told() {
        let encoded = tiny().encode("", "ab c c c", 5).unwrap();
        assert_eq!(encoded.ids, [0, 14, 4, 7, 2]);
        assert!(encoded.truncated);
        let exactly = tiny().encode("", "ab c", 5).unwrap();
        assert!(!exactly.truncated);
    }

    #[test]
    fn an_empty_text_is_the_marks_alone() {
        for blank in ["", " ", "\n\t "] {
            assert_eq!(tiny().encode("", blank, 10).unwrap().ids, [0, 2]);
        }
    }

    #[test]
    fn marks_written_in_a_book_are_text() {
        let encoded = tiny().encode("", "a</s>b <s> <unk>", 40).unwrap();
        let inner = &encoded.ids[1..encoded.ids.len() - 1];
        assert_eq!(inner[..7], [4, 5, 9, 11, 8, 10, 6]);
        assert!(!inner.iter().any(|id| [0, 1, 2].contains(id)), "{inner:?}");
        let ends = tiny().token_ends("a</s>b").unwrap();
        assert_eq!(ends.last(), Some(&6));
    }

    #[test]
    fn of_a_pair_the_passage_alone_is_cut() {
        let tokenizer = tiny();
        let (question, cut) = tokenizer.question("ab", 3).unwrap();
        assert!(!cut);
        let whole = tokenizer.encode_pair(&question, "c c", 9).unwrap();
        assert_eq!(whole.ids, [0, 14, 2, 2, 4, 7, 4, 7, 2]);
        assert!(!whole.truncated);
        let short = tokenizer.encode_pair(&question, "c c c", 8).unwrap();
        assert_eq!(short.ids, [0, 14, 2, 2, 4, 7, 4, 2]);
        assert!(short.truncated);
        let (question, cut) = tokenizer.question("c c c", 3).unwrap();
        assert!(cut);
        let none = tokenizer.encode_pair(&question, "c", 7).unwrap();
        assert_eq!(none.ids, [0, 4, 7, 4, 2, 2, 2]);
        assert!(none.truncated);
    }

    #[test]
    fn a_character_of_several_tokens_gives_each_its_end() {
        // NFKC makes two digits and a slash of the fraction.
        let text = "a ½ c";
        let ends = tiny().token_ends(text).unwrap();
        assert!(ends.is_sorted());
        assert!(
            ends.iter().all(|end| text.is_char_boundary(*end)),
            "{ends:?}"
        );
        assert_eq!(ends.iter().filter(|end| **end == 4).count(), 4, "{ends:?}");
        assert_eq!(ends.last(), Some(&text.len()));
    }

    #[test]
    fn a_file_that_is_no_unigram_tokenizer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        assert!(matches!(
            TextTokenizer::load("m", &path),
            Err(TokenizerError::Load { .. })
        ));
        let other = json!({"version": "1.0", "added_tokens": [],
                           "model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}});
        std::fs::write(&path, other.to_string()).unwrap();
        assert!(matches!(
            TextTokenizer::load("m", &path),
            Err(TokenizerError::Kind { .. })
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn token_ends_ascend_on_character_boundaries(text in "(\\PC|[ab中文\u{fb01}½\\s</>s\u{301}]){0,40}") {
            thread_local! {
                static TINY: TextTokenizer = tiny();
            }
            let ends = TINY.with(|tiny| tiny.token_ends(&text)).unwrap();
            prop_assert!(ends.is_sorted());
            prop_assert!(ends.iter().all(|end| text.is_char_boundary(*end)));
            prop_assert!(ends.last().is_none_or(|end| *end <= text.len()));
        }
    }
}
