//! Scoring passages against a question: late interaction and cross-encoders.

use std::ops::ControlFlow;
use std::sync::Arc;

use quire_model::{ModelError, RerankMethod, RerankScore, Reranker, RerankerInfo};

use crate::batch::Batch;
use crate::catalogue::{ModelSpec, Precision};
use crate::embedder::token_vectors;
use crate::files::Identity;
use crate::model::{LoadError, OnnxModel};
use crate::pool::{max_sim, unit_tokens};
use crate::run::{Output, RunError};
use crate::text::{Encoded, TokenizerError};
use crate::token_cache::{PassageTokens, TextKey, TokenCache};

/// Reranks by MaxSim over an embedder's own token vectors. Every token counts,
/// prefixes and marks included, on both sides.
pub struct LateInteraction {
    model: Arc<OnnxModel>,
    info: RerankerInfo,
    dims: usize,
    question_prefix: String,
    passage_prefix: String,
    cache: TokenCache,
}

/// Reranks by a model that reads question and passage together.
pub struct CrossEncoder {
    model: Arc<OnnxModel>,
    info: RerankerInfo,
}

/// What identifies a reranker, without loading it.
///
/// # Errors
/// When the catalogue has no such precision of the model.
pub fn reranker_info(
    spec: &ModelSpec,
    precision: Precision,
    identity: &Identity,
    method: RerankMethod,
) -> Result<RerankerInfo, LoadError> {
    Ok(RerankerInfo {
        name: spec.name.clone(),
        revision: spec.files(precision)?.source.revision().to_owned(),
        digest: identity.model.clone(),
        precision: precision.to_string(),
        method,
        max_tokens: spec.max_tokens,
    })
}

fn info(model: &OnnxModel, method: RerankMethod) -> Result<RerankerInfo, LoadError> {
    reranker_info(model.spec(), model.precision(), model.identity(), method)
}

impl LateInteraction {
    /// Reranks with a loaded embedder.
    ///
    /// # Errors
    /// When the catalogue does not call the model an embedder.
    pub fn new(model: Arc<OnnxModel>) -> Result<Self, LoadError> {
        let Some(embedder) = model.spec().embedder.clone() else {
            return Err(LoadError::Kind {
                model: model.spec().name.clone(),
                wanted: "an embedder, whose token vectors late interaction needs",
            });
        };
        Ok(Self {
            info: info(&model, RerankMethod::LateInteraction)?,
            model,
            dims: embedder.dims,
            question_prefix: embedder.question_prefix,
            passage_prefix: embedder.passage_prefix,
            cache: TokenCache::new(0),
        })
    }

    /// The question's token vectors, each of unit length, and whether the
    /// question was cut.
    fn question(&self, question: &str) -> Result<(Vec<f32>, bool), ModelError> {
        let tokenizer = self.model.tokenizer();
        let dims = self.dims;
        let mut found = None;
        self.model.run_each(
            1,
            &|_| tokenizer.encode(&self.question_prefix, question, self.info.max_tokens),
            move |batch, output| {
                token_vectors(batch, output, dims, |tokens| Ok(unit_tokens(tokens, dims)?))
            },
            &mut |batch, mut vectors| {
                found = vectors
                    .pop()
                    .map(|vectors| (vectors, batch.rows[0].truncated));
                ControlFlow::Break(())
            },
        )?;
        found.ok_or_else(|| self.model.error(RunError::Ended))
    }
}

impl LateInteraction {
    /// Remembers up to `bytes` of passages' token vectors between questions
    /// (1,536 bytes a token at 384 dimensions). Scores stay the same.
    #[must_use]
    pub fn remembering(self, bytes: usize) -> Self {
        Self {
            cache: TokenCache::new(bytes),
            ..self
        }
    }

    /// Runs the model over the passages that are not known, and remembers them.
    fn encode_missing(
        &self,
        passages: &[&str],
        keys: &[TextKey],
        known: &mut [Option<PassageTokens>],
    ) -> Result<(), ModelError> {
        let missing: Vec<usize> = (0..passages.len())
            .filter(|index| known[*index].is_none())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let tokenizer = self.model.tokenizer();
        let dims = self.dims;
        self.model.run_each(
            missing.len(),
            &|at| {
                let text = passages[missing[at]];
                tokenizer.encode(&self.passage_prefix, text, self.info.max_tokens)
            },
            move |batch, output| {
                token_vectors(batch, output, dims, |tokens| Ok(unit_tokens(tokens, dims)?))
            },
            &mut |batch, vectors: Vec<Vec<f32>>| {
                for (row, vectors) in batch.rows.iter().zip(vectors) {
                    let passage = PassageTokens {
                        vectors: vectors.into(),
                        tokens: row.tokens as u32,
                        truncated: row.truncated,
                    };
                    let index = missing[row.index];
                    self.cache.insert(keys[index], passage.clone());
                    known[index] = Some(passage);
                }
                ControlFlow::Continue(())
            },
        )
    }
}

impl Reranker for LateInteraction {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(&self, question: &str, passages: &[&str]) -> Result<Vec<RerankScore>, ModelError> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let (question, question_cut) = self.question(question)?;
        let keys: Vec<TextKey> = passages.iter().map(|text| TokenCache::key(text)).collect();
        let mut known: Vec<Option<PassageTokens>> =
            keys.iter().map(|key| self.cache.get(key)).collect();
        self.encode_missing(passages, &keys, &mut known)?;
        known
            .into_iter()
            .map(|passage| {
                let passage = passage.ok_or_else(|| self.model.error(RunError::Ended))?;
                let score = max_sim(&question, &passage.vectors, self.dims) as f32;
                if !score.is_finite() {
                    return Err(self.model.error(RunError::NotFinite { score }));
                }
                Ok(RerankScore {
                    score,
                    tokens: passage.tokens,
                    truncated: passage.truncated || question_cut,
                })
            })
            .collect()
    }
}

impl CrossEncoder {
    /// Reranks with a loaded cross-encoder.
    ///
    /// # Errors
    /// When the catalogue does not call the model one.
    pub fn new(model: Arc<OnnxModel>) -> Result<Self, LoadError> {
        if model.spec().cross_encoder.is_none() {
            return Err(LoadError::Kind {
                model: model.spec().name.clone(),
                wanted: "a cross-encoder",
            });
        }
        Ok(Self {
            info: info(&model, RerankMethod::CrossEncoder)?,
            model,
        })
    }

    /// The model behind it.
    pub fn model(&self) -> &Arc<OnnxModel> {
        &self.model
    }

    /// Scores a short pair: a health check that runs the real model.
    ///
    /// # Errors
    /// When the model does not give a finite score.
    pub fn probe(&self) -> Result<(), ModelError> {
        self.rerank("quire", &["quire"]).map(|_| ())
    }
}

impl Reranker for CrossEncoder {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(&self, question: &str, passages: &[&str]) -> Result<Vec<RerankScore>, ModelError> {
        let tokenizer = self.model.tokenizer();
        // A question may take three quarters of the room; passages are cut to
        // what it leaves.
        let max_tokens = self.info.max_tokens;
        let (question, question_cut) = tokenizer
            .question(question, max_tokens / 4 * 3)
            .map_err(|error| self.model.error(error))?;
        score_each(
            &self.model,
            passages.len(),
            question_cut,
            &|index| tokenizer.encode_pair(&question, passages[index], max_tokens),
            logits,
        )
    }
}

/// One probability a pair: the sigmoid of its logit.
fn logits(batch: &Batch, output: &Output<'_>) -> Result<Vec<f32>, RunError> {
    output.expect(&[batch.rows.len(), 1])?;
    let sigmoid = |logit: &f32| (1.0 / (1.0 + (-f64::from(*logit)).exp())) as f32;
    Ok(output.values.iter().map(sigmoid).collect())
}

/// Runs the model over all passages and puts their scores in order.
fn score_each(
    model: &OnnxModel,
    passages: usize,
    question_cut: bool,
    encode: &(dyn Fn(usize) -> Result<Encoded, TokenizerError> + Sync),
    read: impl Fn(&Batch, &Output<'_>) -> Result<Vec<f32>, RunError> + Clone + Send + 'static,
) -> Result<Vec<RerankScore>, ModelError> {
    let read = move |batch: &Batch, output: &Output<'_>| {
        let scores = read(batch, output)?;
        match scores.iter().find(|score| !score.is_finite()) {
            Some(score) => Err(RunError::NotFinite { score: *score }),
            None => Ok(scores),
        }
    };
    let mut scores = vec![None; passages];
    model.run_each(passages, encode, read, &mut |batch, values| {
        for (row, score) in batch.rows.iter().zip(values) {
            scores[row.index] = Some(RerankScore {
                score,
                tokens: row.tokens as u32,
                truncated: row.truncated || question_cut,
            });
        }
        ControlFlow::Continue(())
    })?;
    scores
        .into_iter()
        .map(|score| score.ok_or_else(|| model.error(RunError::Ended)))
        .collect()
}
