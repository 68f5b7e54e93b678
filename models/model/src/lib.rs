//! What a model is to quire: traits, and the facts that identify a model.
//!
//! A leaf crate. It knows text, never passages or indexes.

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

mod call;
mod weights;

pub use call::{Call, CancelFlag, Stop, Urgency};
pub use weights::{Blend, Fusion, Weights, WeightsError};

/// What a text is to the embedder. Asymmetric models prefix the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question somebody asks.
    Question,
    /// A passage that may answer it.
    Passage,
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The first token's vector.
    Cls,
    /// The mean over all tokens of the text.
    Mean,
}

/// All that decides an embedder's output: the part of a recipe that is a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderInfo {
    /// The catalogue's name of the model, such as `multilingual-e5-small`.
    pub name: String,
    /// The source's revision of its files.
    pub revision: String,
    /// SHA-256 over the digests of every file that is loaded.
    pub digest: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a question.
    pub question_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
    /// Values in a vector.
    pub dims: usize,
    /// Tokens the model reads, prefix and special tokens included; what is
    /// beyond is cut off and flagged.
    pub max_tokens: usize,
}

/// One text's vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Unit length, [`EmbedderInfo::dims`] values, all finite.
    pub vector: Vec<f32>,
    /// Tokens the model read, prefix and special tokens included.
    pub tokens: u32,
    /// Whether the text was longer than the model reads.
    pub truncated: bool,
}

/// Turns texts into unit vectors whose dot product is their similarity.
pub trait Embedder: Send + Sync {
    /// What identifies the model.
    fn info(&self) -> &EmbedderInfo;

    /// One embedding a text, in the texts' order. A text's vector depends on
    /// the text and its role alone, never on the other texts.
    ///
    /// # Errors
    /// When the runtime fails, a vector is not finite, or the call is no
    /// longer wanted: see [`ModelError::stop`].
    fn embed(&self, texts: &[&str], role: Role, call: &Call) -> Result<Vec<Embedding>, ModelError>;

    /// The same embeddings, handed to `done` as they are finished: some texts
    /// at a time, each with its place in `texts`, in no particular order. Ends
    /// early, without an error, when `done` breaks.
    ///
    /// # Errors
    /// Those of [`embed`](Self::embed); what `done` got before stays valid.
    fn embed_each(
        &self,
        texts: &[&str],
        role: Role,
        call: &Call,
        done: &mut dyn FnMut(Vec<(usize, Embedding)>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        const AT_ONCE: usize = 32;
        for (group, texts) in texts.chunks(AT_ONCE).enumerate() {
            let embeddings = self.embed(texts, role, call)?;
            if done((group * AT_ONCE..).zip(embeddings).collect()).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Splits text into the tokens a model counts by.
pub trait Tokenizer: Send + Sync {
    /// Where each token of `text` ends, as ascending byte offsets that lie on
    /// character boundaries; no prefix, no special tokens, never truncated.
    /// Tokens that share one character share its end. The last is at most
    /// `text.len()` (trailing white space has no token).
    ///
    /// # Errors
    /// When the tokenizer cannot read the text.
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, ModelError>;
}

/// By which method a reranker scores, and on what scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerankMethod {
    /// One model reads question and passage together; the score is its logit,
    /// of any size, and is told as the logit's sigmoid, between 0 and 1.
    CrossEncoder,
    /// MaxSim over the embedder's own token vectors: the mean over the
    /// question's tokens of the best cosine with a passage token, between -1
    /// and 1 (Khattab and Zaharia 2020, equation 3, divided by the number of
    /// question tokens). Not a cross-encoder.
    LateInteraction,
    /// A cross-encoder's logit and late interaction's cosine at a fixed
    /// weight: a logit again, told as its sigmoid.
    Ensemble,
}

impl RerankMethod {
    /// A score as people are told it. It keeps the order; two logits beyond 36
    /// may be told as one.
    pub fn told(self, score: f32) -> f64 {
        let score = f64::from(score);
        match self {
            Self::CrossEncoder | Self::Ensemble => 1.0 / (1.0 + (-score).exp()),
            Self::LateInteraction => score,
        }
    }
}

/// All that decides a reranker's scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerankerInfo {
    /// The catalogue's name of the model.
    pub name: String,
    /// The source's revision of its files.
    pub revision: String,
    /// SHA-256 over the digests of every file that is loaded.
    pub digest: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// By which method it scores.
    pub method: RerankMethod,
    /// Tokens read of question and passage together (cross-encoder) or of
    /// each (late interaction).
    pub max_tokens: usize,
}

/// How well one passage answers a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerankScore {
    /// On the scale of the reranker's [`RerankMethod`].
    pub score: f32,
    /// Tokens the model read for this passage.
    pub tokens: u32,
    /// Whether the passage, or the question it was read with, was cut short.
    pub truncated: bool,
}

/// Scores passages against a question.
pub trait Reranker: Send + Sync {
    /// What identifies the model.
    fn info(&self) -> &RerankerInfo;

    /// One score a passage, in the passages' order. A passage's score depends
    /// on it and the question alone, never on the other passages.
    ///
    /// # Errors
    /// When the runtime fails, a score is not finite, or the call is no longer
    /// wanted: see [`ModelError::stop`].
    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError>;

    /// The scores of the first passages, as many as there is time for until
    /// `budget` ends; the same scores as [`rerank`](Self::rerank) gives.
    /// Passages are to be given best first.
    ///
    /// # Errors
    /// Those of [`rerank`](Self::rerank); the end of `budget` is none.
    fn rerank_until(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
        budget: Instant,
    ) -> Result<Vec<RerankScore>, ModelError> {
        const AT_ONCE: usize = 4;
        let within = call.until(budget);
        let mut scores = Vec::with_capacity(passages.len());
        for group in passages.chunks(AT_ONCE) {
            if Instant::now() >= budget {
                break;
            }
            match self.rerank(question, group, &within) {
                Ok(group) => scores.extend(group),
                Err(error) => {
                    // The caller's own deadline is an error, the budget is not.
                    let budget_ended = error.stop() == Some(Stop::DeadlinePassed);
                    if budget_ended && call.stop().is_none() {
                        break;
                    }
                    return Err(error);
                }
            }
        }
        Ok(scores)
    }
}

/// A model that did not answer, and why.
#[derive(Debug)]
pub struct ModelError {
    model: String,
    source: Box<dyn Error + Send + Sync>,
}

impl ModelError {
    /// An error of the model of that name.
    pub fn new(model: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            model: model.into(),
            source: source.into(),
        }
    }
}

impl ModelError {
    /// Why the model was not asked, if it did not fail: the cause is a [`Stop`].
    pub fn stop(&self) -> Option<Stop> {
        self.source.downcast_ref::<Stop>().copied()
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.stop().is_some() {
            "was not asked"
        } else {
            "failed"
        };
        write!(f, "the model {} {what}", self.model)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
