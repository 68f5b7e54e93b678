//! Texts to unit vectors.

use std::ops::ControlFlow;
use std::sync::Arc;

use quire_model::{Call, Embedder, EmbedderInfo, Embedding, ModelError, Role};

use crate::catalogue::{ModelSpec, Precision};
use crate::files::Identity;
use crate::handoff::QuestionTokens;
use crate::model::{LoadError, OnnxModel};
use crate::pool::{pool, unit_tokens};
use crate::run::RunError;

/// An embedder on ONNX Runtime. A text's vector depends on the text, its role
/// and the kind of processor, and on nothing else: not on its batch, the
/// number of threads or workers.
pub struct OnnxEmbedder {
    model: Arc<OnnxModel>,
    info: EmbedderInfo,
}

/// What identifies an embedder, without loading it.
///
/// # Errors
/// When the catalogue does not call the model one, or has no such precision.
pub fn embedder_info(
    spec: &ModelSpec,
    precision: Precision,
    identity: &Identity,
) -> Result<EmbedderInfo, LoadError> {
    let Some(embedder) = &spec.embedder else {
        return Err(LoadError::Kind {
            model: spec.name.clone(),
            wanted: "an embedder",
        });
    };
    Ok(EmbedderInfo {
        name: spec.name.clone(),
        revision: spec.files(precision)?.source.revision().to_owned(),
        digest: identity.model.clone(),
        precision: precision.to_string(),
        pooling: embedder.pooling,
        question_prefix: embedder.question_prefix.clone(),
        passage_prefix: embedder.passage_prefix.clone(),
        dims: embedder.dims,
        max_tokens: spec.max_tokens,
    })
}

impl OnnxEmbedder {
    /// Embeds with a loaded model.
    ///
    /// # Errors
    /// When the catalogue does not call the model an embedder.
    pub fn new(model: Arc<OnnxModel>) -> Result<Self, LoadError> {
        let info = embedder_info(model.spec(), model.precision(), model.identity())?;
        Ok(Self { model, info })
    }

    /// The model behind it.
    pub fn model(&self) -> &Arc<OnnxModel> {
        &self.model
    }

    /// Embeds a short text: a health check that runs the real model.
    ///
    /// # Errors
    /// When the model does not give a unit vector.
    pub fn probe(&self) -> Result<(), ModelError> {
        self.embed(&["quire"], Role::Question, &Call::new())
            .map(|_| ())
    }
}

impl Embedder for OnnxEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    fn embed(&self, texts: &[&str], role: Role, call: &Call) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = vec![None; texts.len()];
        self.embed_each(texts, role, call, &mut |batch| {
            for (index, embedding) in batch {
                embeddings[index] = Some(embedding);
            }
            ControlFlow::Continue(())
        })?;
        embeddings
            .into_iter()
            .map(|embedding| embedding.ok_or_else(|| self.model.error(RunError::Ended)))
            .collect()
    }

    fn embed_each(
        &self,
        texts: &[&str],
        role: Role,
        call: &Call,
        done: &mut dyn FnMut(Vec<(usize, Embedding)>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        let prefix = match role {
            Role::Question => &self.info.question_prefix,
            Role::Passage => &self.info.passage_prefix,
        };
        let tokenizer = self.model.tokenizer();
        let (dims, pooling) = (self.info.dims, self.info.pooling);
        let hand_off = match role {
            Role::Question => Some(self.model.hand_off()).filter(|to| to.is_wanted()),
            Role::Passage => None,
        };
        let leave = hand_off.is_some();
        self.model.run_each(
            texts.len(),
            call,
            &|index| tokenizer.encode(prefix, texts[index], self.info.max_tokens),
            move |output| {
                let tokens = output.tokens(dims)?;
                // A token without a direction is late interaction's error.
                let left = leave.then(|| unit_tokens(tokens, dims).ok()).flatten();
                Ok((pool(tokens, dims, pooling)?, left))
            },
            &mut |values| {
                let embeddings = values.into_iter().map(|(row, (vector, left))| {
                    if let (Some(hand_off), Some(vectors)) = (hand_off, left) {
                        let truncated = row.truncated;
                        hand_off.leave(texts[row.index], QuestionTokens { vectors, truncated });
                    }
                    let embedding = Embedding {
                        vector,
                        tokens: row.tokens as u32,
                        truncated: row.truncated,
                    };
                    (row.index, embedding)
                });
                done(embeddings.collect())
            },
        )
    }
}
