//! How a reranker's scores and the first stage's make the final order.

use quire_corpus::ChunkId;
use quire_index::{Hit, Ranking, RankingError};
use quire_model::{Blend, RerankMethod};

/// One candidate's scores, each on its own scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The passage.
    pub chunk: ChunkId,
    /// The reranker's score: a cross-encoder's logit, late interaction's mean
    /// cosine.
    pub rerank: f32,
    /// The cosine of question and passage.
    pub dense: f64,
    /// The BM25 score; 0 where no term matches.
    pub lexical: f64,
}

/// Orders candidates by `sum of weight * z(score)`, where `z` subtracts the
/// mean over the candidates and divides by their standard deviation. A pure
/// blend keeps the reranker's own scores as `method` tells them.
///
/// # Errors
/// When a score is not finite or a candidate stands twice.
pub fn blend(
    candidates: &[Candidate],
    method: RerankMethod,
    weights: &Blend,
) -> Result<Ranking, RankingError> {
    let scores: Vec<f64> = if weights.is_pure() {
        candidates
            .iter()
            .map(|candidate| method.told(candidate.rerank))
            .collect()
    } else {
        let rerank = standardized(candidates, |candidate| f64::from(candidate.rerank));
        let dense = standardized(candidates, |candidate| candidate.dense);
        let lexical = standardized(candidates, |candidate| candidate.lexical);
        (0..candidates.len())
            .map(|i| {
                weights.rerank * rerank[i] + weights.dense * dense[i] + weights.lexical * lexical[i]
            })
            .collect()
    };
    let hits = candidates.iter().zip(scores);
    Ranking::by_score(
        hits.map(|(candidate, score)| Hit {
            chunk: candidate.chunk,
            score,
        })
        .collect(),
    )
}

/// Each score less the mean, over the (population) standard deviation; 0
/// everywhere when all are equal.
fn standardized(candidates: &[Candidate], score: impl Fn(&Candidate) -> f64) -> Vec<f64> {
    let count = candidates.len() as f64;
    let mean = candidates.iter().map(&score).sum::<f64>() / count;
    let variance = candidates
        .iter()
        .map(|c| (score(c) - mean).powi(2))
        .sum::<f64>()
        / count;
    let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
    candidates
        .iter()
        .map(|candidate| (score(candidate) - mean) / deviation)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quire_corpus::BookId;

    fn candidates(scores: &[(f32, f64, f64)]) -> Vec<Candidate> {
        let book = BookId::of_text("a book");
        let candidate = |(ordinal, &(rerank, dense, lexical))| Candidate {
            chunk: ChunkId { book, ordinal },
            rerank,
            dense,
            lexical,
        };
        (0..).zip(scores).map(candidate).collect()
    }

    fn order(ranking: &Ranking) -> Vec<u32> {
        ranking.chunks().map(|chunk| chunk.ordinal).collect()
    }

    #[test]
    fn a_cross_encoder_that_decides_alone_tells_the_sigmoids_of_its_logits() {
        let pure = Blend::of(RerankMethod::CrossEncoder);
        let scored = candidates(&[(-3.0, 0.9, 50.0), (0.0, 0.1, 0.0)]);
        let ranking = blend(&scored, RerankMethod::CrossEncoder, &pure).unwrap();
        assert_eq!(order(&ranking), [1, 0]);
        assert_eq!(ranking.hits()[0].score, 0.5);
    }

    #[test]
    fn late_interaction_is_weighed_against_both_retrievers() {
        let blended = Blend::of(RerankMethod::LateInteraction);
        // z-scores by hand: rerank (1, -1), dense (-1, 1), lexical (1, -1).
        let scored = candidates(&[(0.9, 0.1, 7.0), (0.8, 0.5, 3.0)]);
        let ranking = blend(&scored, RerankMethod::LateInteraction, &blended).unwrap();
        assert_eq!(order(&ranking), [0, 1]);
        assert!((ranking.hits()[0].score - 1.25).abs() < 1e-12);
    }

    #[test]
    fn equal_scores_leave_the_order_to_the_passage() {
        let blended = Blend::of(RerankMethod::LateInteraction);
        let method = RerankMethod::LateInteraction;
        let ranking = blend(&candidates(&[(0.5, 0.5, 0.0); 3]), method, &blended).unwrap();
        assert_eq!(order(&ranking), [0, 1, 2]);
        assert!(blend(&[], method, &blended).unwrap().is_empty());
    }

    #[test]
    fn a_score_that_is_no_number_fails_the_stage() {
        let blended = Blend::of(RerankMethod::LateInteraction);
        let scored = candidates(&[(f32::NAN, 0.5, 0.0), (0.1, 0.2, 0.3)]);
        assert!(blend(&scored, RerankMethod::LateInteraction, &blended).is_err());
    }
}
