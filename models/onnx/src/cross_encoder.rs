//! Scoring by a model that reads question and passage together.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;

use quire_model::{Call, ModelError, RerankMethod, RerankScore, Reranker, RerankerInfo};
use tokenizers::Encoding;

use crate::model::{LoadError, OnnxModel};
use crate::rerank::{info, step_until};
use crate::run::{RunError, TextOutput};

/// Reranks by a model that reads question and passage together.
pub struct CrossEncoder {
    model: Arc<OnnxModel>,
    info: RerankerInfo,
}

/// A question as it is paired with passages.
struct Question {
    tokens: Encoding,
    truncated: bool,
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
        self.rerank("quire", &["quire"], &Call::new()).map(|_| ())
    }

    fn question(&self, question: &str, call: &Call) -> Result<Question, ModelError> {
        if let Some(stop) = call.stop() {
            return Err(self.model.error(stop));
        }
        // A question may take three quarters of the room; passages are cut to
        // what it leaves.
        let (tokens, truncated) = self
            .model
            .tokenizer()
            .question(question, self.info.max_tokens / 4 * 3)
            .map_err(|error| self.model.error(error))?;
        Ok(Question { tokens, truncated })
    }

    /// Scores some of the passages, each in its place in `scores`.
    fn score(
        &self,
        question: &Question,
        passages: &[&str],
        some: Range<usize>,
        call: &Call,
        scores: &mut [Option<RerankScore>],
    ) -> Result<(), ModelError> {
        let tokenizer = self.model.tokenizer();
        let max_tokens = self.info.max_tokens;
        let first = some.start;
        self.model.run_each(
            some.len(),
            call,
            &|at| tokenizer.encode_pair(&question.tokens, passages[first + at], max_tokens),
            logit,
            &mut |values| {
                for (row, score) in values {
                    scores[first + row.index] = Some(RerankScore {
                        score,
                        tokens: row.tokens as u32,
                        truncated: row.truncated || question.truncated,
                    });
                }
                ControlFlow::Continue(())
            },
        )
    }
}

impl Reranker for CrossEncoder {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let question = self.question(question, call)?;
        let mut scores = vec![None; passages.len()];
        let all = 0..passages.len();
        self.score(&question, passages, all, call, &mut scores)?;
        scores
            .into_iter()
            .map(|score| score.ok_or_else(|| self.model.error(RunError::Ended)))
            .collect()
    }

    fn rerank_until(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
        budget: Instant,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let question = self.question(question, call)?;
        let mut scores = vec![None; passages.len()];
        let mut steps = (0..passages.len()).step_by(self.model.texts_at_once());
        step_until(call, budget, |within| {
            let Some(start) = steps.next() else {
                return Ok(ControlFlow::Break(()));
            };
            let end = passages.len().min(start + self.model.texts_at_once());
            self.score(&question, passages, start..end, within, &mut scores)?;
            Ok(ControlFlow::Continue(()))
        })?;
        // The last step may have got some scores, but not the first of them.
        Ok(scores.into_iter().map_while(|score| score).collect())
    }
}

/// A pair's logit.
fn logit(output: &TextOutput<'_>) -> Result<f32, RunError> {
    let score = output.values(&[1])?[0];
    if score.is_finite() {
        Ok(score)
    } else {
        Err(RunError::NotFinite { score })
    }
}
