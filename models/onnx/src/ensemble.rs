//! A cross-encoder's score and late interaction's, added up.

use std::sync::Arc;
use std::time::Instant;

use quire_model::{Call, ModelError, RerankMethod, RerankScore, Reranker, RerankerInfo};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::digest::hex;

/// What late interaction counts beside the logit: `logit + weight * cosine +
/// shift`, the logistic regression of whether a passage answers on both
/// scores.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateWeight {
    /// Of the mean best cosine.
    pub weight: f64,
    /// Added to every score: it changes no order, only the sigmoid.
    pub shift: f64,
}

/// Reranks by a cross-encoder and by late interaction, both over all
/// candidates.
pub struct Ensemble {
    cross: Arc<dyn Reranker>,
    late: Arc<dyn Reranker>,
    weight: LateWeight,
    info: RerankerInfo,
}

impl Ensemble {
    /// Adds late interaction to a cross-encoder. No model is run before the
    /// first passages come.
    pub fn new(cross: Arc<dyn Reranker>, late: Arc<dyn Reranker>, weight: LateWeight) -> Self {
        Self {
            info: joined(cross.info(), late.info(), weight),
            cross,
            late,
            weight,
        }
    }

    fn sum(&self, cross: RerankScore, late: RerankScore) -> RerankScore {
        let LateWeight { weight, shift } = self.weight;
        let score = f64::from(cross.score) + weight * f64::from(late.score) + shift;
        RerankScore {
            score: score as f32,
            tokens: cross.tokens + late.tokens,
            truncated: cross.truncated || late.truncated,
        }
    }

    fn sums(&self, cross: Vec<RerankScore>, late: Vec<RerankScore>) -> Vec<RerankScore> {
        let both = cross.into_iter().zip(late);
        both.map(|(cross, late)| self.sum(cross, late)).collect()
    }
}

/// Both rerankers' identity; the digest covers the weights.
fn joined(cross: &RerankerInfo, late: &RerankerInfo, weight: LateWeight) -> RerankerInfo {
    let both = |of: fn(&RerankerInfo) -> &str| format!("{}+{}", of(cross), of(late));
    let mut digest = Sha256::new();
    digest.update(both(|info| &info.digest));
    digest.update(weight.weight.to_le_bytes());
    digest.update(weight.shift.to_le_bytes());
    RerankerInfo {
        name: both(|info| &info.name),
        revision: both(|info| &info.revision),
        digest: hex(&digest.finalize()),
        precision: both(|info| &info.precision),
        method: RerankMethod::Ensemble,
        max_tokens: cross.max_tokens.min(late.max_tokens),
    }
}

impl Reranker for Ensemble {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let late = self.late.rerank(question, passages, call)?;
        let cross = self.cross.rerank(question, passages, call)?;
        Ok(self.sums(cross, late))
    }

    /// Late interaction has half of the time, the cross-encoder what is left
    /// of it, and of the passages those that late interaction came to.
    fn rerank_until(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
        budget: Instant,
    ) -> Result<Vec<RerankScore>, ModelError> {
        let now = Instant::now();
        let half = now + budget.saturating_duration_since(now) / 2;
        let late = self.late.rerank_until(question, passages, call, half)?;
        let reached = &passages[..late.len()];
        let cross = self.cross.rerank_until(question, reached, call, budget)?;
        Ok(self.sums(cross, late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Scores a passage by its length, and takes its time for each.
    struct ByLength {
        info: RerankerInfo,
        times: f32,
        pause: Duration,
    }

    impl Reranker for ByLength {
        fn info(&self) -> &RerankerInfo {
            &self.info
        }

        fn rerank(
            &self,
            _: &str,
            passages: &[&str],
            _: &Call,
        ) -> Result<Vec<RerankScore>, ModelError> {
            let score = |passage: &&str| {
                std::thread::sleep(self.pause);
                RerankScore {
                    score: self.times * passage.len() as f32,
                    tokens: 3,
                    truncated: passage.len() > 4,
                }
            };
            Ok(passages.iter().map(score).collect())
        }
    }

    fn by_length(name: &str, method: RerankMethod, times: f32, pause: Duration) -> Arc<ByLength> {
        Arc::new(ByLength {
            info: RerankerInfo {
                name: name.to_owned(),
                revision: "1".to_owned(),
                digest: name.repeat(2),
                precision: "int8".to_owned(),
                method,
                max_tokens: 512,
            },
            times,
            pause,
        })
    }

    fn ensemble(weight: f64, pause: Duration) -> Ensemble {
        Ensemble::new(
            by_length("cross", RerankMethod::CrossEncoder, -1.0, pause),
            by_length("late", RerankMethod::LateInteraction, 0.25, Duration::ZERO),
            LateWeight { weight, shift: 1.5 },
        )
    }

    #[test]
    fn a_score_is_the_logit_and_the_weighed_cosine() {
        let both = ensemble(8.0, Duration::ZERO);
        let scores = both.rerank("?", &["ab", "abcdef"], &Call::new()).unwrap();
        // -2 + 8 * 0.5 + 1.5 and -6 + 8 * 1.5 + 1.5
        assert_eq!((scores[0].score, scores[1].score), (3.5, 7.5));
        assert_eq!(scores[0].tokens, 6);
        assert!(!scores[0].truncated && scores[1].truncated);
    }

    #[test]
    fn its_identity_holds_both_models_and_the_weights() {
        let info = ensemble(8.0, Duration::ZERO).info;
        assert_eq!(info.name, "cross+late");
        assert_eq!(info.method, RerankMethod::Ensemble);
        assert_eq!(info, ensemble(8.0, Duration::ZERO).info);
        assert_ne!(info.digest, ensemble(8.5, Duration::ZERO).info.digest);
    }

    #[test]
    fn what_the_time_did_not_reach_has_no_score() {
        let both = ensemble(8.0, Duration::from_millis(40));
        let passages = vec!["passage"; 40];
        let budget = Instant::now() + Duration::from_millis(300);
        let scores = both.rerank_until("?", &passages, &Call::new(), budget);
        let reached = scores.unwrap().len();
        assert!(0 < reached && reached < passages.len(), "{reached}");
    }
}
