//! Models made of arithmetic, and books for them.

#![allow(dead_code)] // Each test file uses some of it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quire_corpus::{ReadOptions, SourceBook, read_books};
use quire_engine::{CutSettings, EngineError, How, Models, Silent, build, recipe};
use quire_index::{Recipe, Store};
use quire_model::{
    Call, Embedder, EmbedderInfo, Embedding, ModelError, Pooling, RerankMethod, RerankScore,
    Reranker, RerankerInfo, Role, Tokenizer, Weights,
};
use tempfile::TempDir;

const DIMS: usize = 64;

/// A text's vector counts its words, hashed into [`DIMS`] places.
pub struct WordCounts {
    info: EmbedderInfo,
    /// Texts embedded so far.
    embedded: AtomicUsize,
    /// Fails when so many are.
    most: usize,
}

impl WordCounts {
    pub fn failing_after(most: usize) -> Self {
        let info = EmbedderInfo {
            name: "word-counts".to_owned(),
            revision: "1".to_owned(),
            digest: "0".repeat(64),
            precision: "fp32".to_owned(),
            pooling: Pooling::Mean,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            dims: DIMS,
            max_tokens: 64,
        };
        Self {
            info,
            embedded: AtomicUsize::new(0),
            most,
        }
    }
}

pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
}

impl Embedder for WordCounts {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    fn embed(&self, texts: &[&str], _: Role, _: &Call) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = Vec::new();
        for text in texts {
            if self.embedded.fetch_add(1, Ordering::SeqCst) >= self.most {
                return Err(ModelError::new("word-counts", "it was told to fail"));
            }
            let mut vector = vec![0.01f32; DIMS];
            for word in words(text) {
                let hash = word
                    .bytes()
                    .fold(7usize, |h, b| h.wrapping_mul(31) + usize::from(b));
                vector[hash % DIMS] += 1.0;
            }
            let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|v| *v /= length);
            embeddings.push(Embedding {
                vector,
                tokens: 3,
                truncated: false,
            });
        }
        Ok(embeddings)
    }

    /// Four texts at a time, so that a failure comes between batches.
    fn embed_each(
        &self,
        texts: &[&str],
        role: Role,
        call: &Call,
        done: &mut dyn FnMut(Vec<(usize, Embedding)>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        for (batch, texts) in texts.chunks(4).enumerate() {
            let embeddings = self.embed(texts, role, call)?;
            if done((batch * 4..).zip(embeddings).collect()).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// One token a word.
pub struct Words;

impl Tokenizer for Words {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, ModelError> {
        let start = text.as_ptr() as usize;
        Ok(text
            .split_whitespace()
            .map(|w| w.as_ptr() as usize - start + w.len())
            .collect())
    }
}

/// What a reranker does instead of scoring.
#[derive(Clone, Copy)]
pub enum Fault {
    None,
    Error,
    NotANumber,
    OneTooFew,
}

/// The share of the question's words that a passage holds.
pub struct SharedWords {
    info: RerankerInfo,
    fault: Fault,
}

impl Reranker for SharedWords {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        _: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let asked: Vec<String> = words(question).collect();
        let mut scores: Vec<RerankScore> = passages
            .iter()
            .map(|passage| {
                let held: Vec<String> = words(passage).collect();
                let shared = asked.iter().filter(|word| held.contains(word)).count();
                RerankScore {
                    score: shared as f32 / asked.len() as f32,
                    tokens: 5,
                    truncated: passage.contains("endless"),
                }
            })
            .collect();
        match self.fault {
            Fault::None => {}
            Fault::Error => return Err(ModelError::new("shared-words", "it was told to fail")),
            Fault::NotANumber => scores[0].score = f32::NAN,
            Fault::OneTooFew => drop(scores.pop()),
        }
        Ok(scores)
    }
}

pub fn models(fault: Fault, most: usize) -> Models {
    let info = RerankerInfo {
        name: "shared-words".to_owned(),
        revision: "1".to_owned(),
        digest: "1".repeat(64),
        precision: "fp32".to_owned(),
        method: RerankMethod::CrossEncoder,
        max_tokens: 64,
    };
    Models {
        embedder: Arc::new(WordCounts::failing_after(most)),
        tokenizer: Arc::new(Words),
        reranker: Arc::new(SharedWords { info, fault }),
        weights: Weights::of(RerankMethod::CrossEncoder),
        device: "none".to_owned(),
    }
}

pub fn good() -> Models {
    models(Fault::None, usize::MAX)
}

pub fn a_recipe() -> Recipe {
    let cut = CutSettings {
        max_tokens: 16,
        keep_boilerplate: false,
    };
    recipe(&cut, good().embedder.info(), "tokenizer").unwrap()
}

pub fn book(name: &str, text: &str) -> SourceBook {
    read_books(name, text.as_bytes(), &ReadOptions::default())
        .unwrap()
        .remove(0)
}

/// Sentences of nine words, each about another room.
pub fn rooms(colour: &str, count: usize) -> String {
    (0..count)
        .map(|room| format!("In room{room} of the house stood a {colour} lamp. "))
        .collect()
}

pub struct Fixture {
    _folder: TempDir,
    pub store: Store,
}

impl Fixture {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self {
            _folder: folder,
            store,
        }
    }

    pub fn build(&self, book: &SourceBook, models: &Models) -> Result<How, EngineError> {
        Ok(build(&self.store, book, &a_recipe(), models, &Silent)?.how)
    }
}
