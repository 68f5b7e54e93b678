//! The models a query needs, whoever runs them.

use std::sync::Arc;

use quire_index::RerankerRecord;
use quire_model::{Embedder, ModelError, RerankMethod, Reranker, RerankerInfo, Tokenizer, Weights};

/// Loaded models.
#[derive(Clone)]
pub struct Models {
    /// Embeds questions and passages.
    pub embedder: Arc<dyn Embedder>,
    /// The embedder's tokenizer, which measures passages.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Scores candidates.
    pub reranker: Arc<dyn Reranker>,
    /// How their scores are weighed.
    pub weights: Weights,
    /// Where they run, for people and for the fingerprint: device and
    /// instruction set.
    pub device: String,
}

/// Loads models when they are first needed: indexing a book that is already
/// there costs no model.
pub trait ModelSource: Sync {
    /// The models, loaded once.
    ///
    /// # Errors
    /// When a file is missing or damaged, or the device cannot be used.
    fn models(&self) -> Result<Models, ModelError>;
}

impl ModelSource for Models {
    fn models(&self) -> Result<Models, ModelError> {
        Ok(self.clone())
    }
}

/// A reranker, as a manifest records it.
pub(crate) fn reranker_record(reranker: &RerankerInfo) -> RerankerRecord {
    RerankerRecord {
        name: reranker.name.clone(),
        revision: reranker.revision.clone(),
        digest: reranker.digest.clone(),
        precision: reranker.precision.clone(),
        method: match reranker.method {
            RerankMethod::CrossEncoder => "cross_encoder".to_owned(),
            RerankMethod::LateInteraction => "late_interaction".to_owned(),
            RerankMethod::Ensemble => "ensemble".to_owned(),
        },
        max_tokens: reranker.max_tokens,
    }
}
