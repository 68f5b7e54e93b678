//! Texts to unit vectors.

use std::ops::ControlFlow;
use std::sync::Arc;

use quire_model::{Embedder, EmbedderInfo, Embedding, ModelError, Role};

use crate::batch::Batch;
use crate::catalogue::{ModelSpec, Precision};
use crate::files::Identity;
use crate::model::{LoadError, OnnxModel};
use crate::pool::pool;
use crate::run::{Output, RunError};

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
        self.embed(&["quire"], Role::Question).map(|_| ())
    }
}

impl Embedder for OnnxEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = vec![None; texts.len()];
        self.embed_each(texts, role, &mut |batch| {
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
        done: &mut dyn FnMut(Vec<(usize, Embedding)>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        let prefix = match role {
            Role::Question => &self.info.question_prefix,
            Role::Passage => &self.info.passage_prefix,
        };
        let tokenizer = self.model.tokenizer();
        let (dims, pooling) = (self.info.dims, self.info.pooling);
        let read = move |batch: &Batch, output: &Output<'_>| {
            token_vectors(batch, output, dims, |tokens| {
                Ok(pool(tokens, dims, pooling)?)
            })
        };
        self.model.run_each(
            texts.len(),
            &|index| tokenizer.encode(prefix, texts[index], self.info.max_tokens),
            read,
            &mut |batch, vectors| done(embeddings(batch, vectors)),
        )
    }
}

fn embeddings(batch: &Batch, vectors: Vec<Vec<f32>>) -> Vec<(usize, Embedding)> {
    let rows = batch.rows.iter().zip(vectors);
    rows.map(|(row, vector)| {
        let embedding = Embedding {
            vector,
            tokens: row.tokens as u32,
            truncated: row.truncated,
        };
        (row.index, embedding)
    })
    .collect()
}

/// One value a text, from its token vectors (`tokens * dims`, no padding).
pub(crate) fn token_vectors<T>(
    batch: &Batch,
    output: &Output<'_>,
    dims: usize,
    read: impl Fn(&[f32]) -> Result<T, RunError>,
) -> Result<Vec<T>, RunError> {
    output.expect(&[batch.rows.len(), batch.width, dims])?;
    batch
        .rows
        .iter()
        .zip(output.values.chunks_exact(batch.width * dims))
        .map(|(row, tokens)| read(&tokens[..row.tokens * dims]))
        .collect()
}
