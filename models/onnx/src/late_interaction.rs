//! Scoring by the token vectors of an embedder.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use quire_model::{Call, ModelError, RerankMethod, RerankScore, Reranker, RerankerInfo};

use crate::handoff::QuestionTokens;
use crate::max_sim::max_sim;
use crate::model::{LoadError, OnnxModel};
use crate::pool::unit_tokens;
use crate::rerank::{info, step_until};
use crate::run::RunError;
use crate::token_cache::{PassageTokens, TextKey, TokenCache};

/// Reranks by MaxSim over an embedder's own token vectors. Every token counts,
/// prefixes and marks included, on both sides.
///
/// A question that [`OnnxEmbedder`](crate::OnnxEmbedder) has just embedded with
/// the same model is not run again: its token vectors were left there, and are
/// taken. The scores are the same, bit for bit.
pub struct LateInteraction {
    model: Arc<OnnxModel>,
    info: RerankerInfo,
    dims: usize,
    question_prefix: String,
    passage_prefix: String,
    cache: TokenCache,
}

/// Passages and what is known of each.
struct Passages<'a> {
    texts: &'a [&'a str],
    keys: Vec<TextKey>,
    known: Vec<Option<PassageTokens>>,
}

impl Passages<'_> {
    /// The first passages of which nothing is known, `most` at most.
    fn unknown(&self, most: usize) -> Vec<usize> {
        let all = (0..self.texts.len()).filter(|index| self.known[*index].is_none());
        all.take(most).collect()
    }
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
        model.hand_off().want();
        Ok(Self {
            info: info(&model, RerankMethod::LateInteraction)?,
            model,
            dims: embedder.dims,
            question_prefix: embedder.question_prefix,
            passage_prefix: embedder.passage_prefix,
            cache: TokenCache::new(0),
        })
    }

    /// Remembers up to `bytes` of passages' token vectors between questions
    /// (1,536 bytes a token at 384 dimensions). Scores stay the same.
    #[must_use]
    pub fn remembering(self, bytes: usize) -> Self {
        Self {
            cache: TokenCache::new(bytes),
            ..self
        }
    }

    /// The question's token vectors: those the embedder left, or new ones.
    fn question(&self, question: &str, call: &Call) -> Result<QuestionTokens, ModelError> {
        if let Some(left) = self.model.hand_off().take(question) {
            return Ok(left);
        }
        let tokenizer = self.model.tokenizer();
        let dims = self.dims;
        let mut found = None;
        self.model.run_each(
            1,
            call,
            &|_| tokenizer.encode(&self.question_prefix, question, self.info.max_tokens),
            move |output| Ok(unit_tokens(output.tokens(dims)?, dims)?),
            &mut |values| {
                found = values.into_iter().next();
                ControlFlow::Continue(())
            },
        )?;
        let (row, vectors) = found.ok_or_else(|| self.model.error(RunError::Ended))?;
        Ok(QuestionTokens {
            vectors,
            truncated: row.truncated,
        })
    }

    /// The passages, with what is remembered of them.
    fn meet<'a>(&self, texts: &'a [&'a str]) -> Passages<'a> {
        let keys: Vec<TextKey> = texts.iter().map(|text| TokenCache::key(text)).collect();
        Passages {
            texts,
            known: keys.iter().map(|key| self.cache.get(key)).collect(),
            keys,
        }
    }

    /// Runs the model over some passages, and remembers each as it comes.
    fn learn(
        &self,
        passages: &mut Passages<'_>,
        some: &[usize],
        call: &Call,
    ) -> Result<(), ModelError> {
        let tokenizer = self.model.tokenizer();
        let dims = self.dims;
        let Passages { texts, keys, known } = passages;
        self.model.run_each(
            some.len(),
            call,
            &|at| tokenizer.encode(&self.passage_prefix, texts[some[at]], self.info.max_tokens),
            move |output| Ok(unit_tokens(output.tokens(dims)?, dims)?),
            &mut |values: Vec<(_, Vec<f32>)>| {
                for (row, vectors) in values {
                    let passage = PassageTokens {
                        vectors: vectors.into(),
                        tokens: row.tokens as u32,
                        truncated: row.truncated,
                    };
                    let index = some[row.index];
                    self.cache.insert(keys[index], passage.clone());
                    known[index] = Some(passage);
                }
                ControlFlow::Continue(())
            },
        )
    }

    fn score(
        &self,
        question: &QuestionTokens,
        passage: &PassageTokens,
    ) -> Result<RerankScore, ModelError> {
        let score = max_sim(&question.vectors, &passage.vectors, self.dims) as f32;
        if !score.is_finite() {
            return Err(self.model.error(RunError::NotFinite { score }));
        }
        Ok(RerankScore {
            score,
            tokens: passage.tokens,
            truncated: passage.truncated || question.truncated,
        })
    }
}

impl Reranker for LateInteraction {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let question = self.question(question, call)?;
        let mut passages = self.meet(passages);
        let unknown = passages.unknown(usize::MAX);
        self.learn(&mut passages, &unknown, call)?;
        passages
            .known
            .iter()
            .map(|passage| {
                let passage = passage.as_ref();
                let passage = passage.ok_or_else(|| self.model.error(RunError::Ended))?;
                self.score(&question, passage)
            })
            .collect()
    }

    fn rerank_until(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
        budget: Instant,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let mut passages = self.meet(passages);
        let mut asked = None;
        step_until(call, budget, |within| {
            if asked.is_none() {
                asked = Some(self.question(question, within)?);
            }
            let unknown = passages.unknown(self.model.texts_at_once());
            if unknown.is_empty() {
                return Ok(ControlFlow::Break(()));
            }
            self.learn(&mut passages, &unknown, within)?;
            Ok(ControlFlow::Continue(()))
        })?;
        let Some(question) = asked else {
            return Ok(Vec::new());
        };
        // The last step may have got some passages, but not the first of them.
        let known = passages.known.iter().map_while(Option::as_ref);
        known
            .map(|passage| self.score(&question, passage))
            .collect()
    }
}
