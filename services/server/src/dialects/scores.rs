//! What the dialects ask of the reranker: scores of documents that came with
//! the request, and the scale on which these are told.

use quire_model::{Call, RerankMethod, RerankScore};

use super::texts::{TooLong, call_for, counted, failed, longer, tokens};
use crate::problem::{Code, Problem};
use crate::service::App;

/// Documents that one request may have scored.
pub(super) const RERANK_TEXTS: usize = 1000;

/// The scores of documents against a query, in their order, and the tokens
/// that were read for them.
pub(super) struct Reranked {
    scores: Vec<RerankScore>,
    method: RerankMethod,
    /// Tokens the model read.
    pub(super) tokens: u64,
}

/// The scores of documents against a query. `member` is what the API calls the
/// documents.
///
/// # Errors
/// When there are none or too many, one is empty or too long, or the reranker
/// does not answer.
pub(super) fn reranked(
    app: &App,
    call: &Call,
    query: &str,
    documents: &[&str],
    too_long: TooLong,
    member: &'static str,
) -> Result<Reranked, Problem> {
    counted(documents, RERANK_TEXTS, member)?;
    if query.trim().is_empty() {
        return Err(Problem::new(Code::EmptyQuestion, "The query is empty.").about("query"));
    }
    let most = app.config.limits.question_bytes;
    if query.len() > most {
        let detail = format!("The query has more than {most} bytes.");
        return Err(Problem::new(Code::QuestionTooLong, detail).about("query"));
    }
    let reranker = &app.models.reranker;
    let call = call_for(documents.len(), call);
    let scores = reranker.rerank(query, documents, &call);
    let scores = scores.map_err(|error| failed(app, "rerank", &error))?;
    if scores.len() != documents.len() {
        return Err(Problem::internal("the reranker lost a document"));
    }
    let info = reranker.info();
    let cut = scores.iter().position(|one| one.truncated);
    if let (Some(place), TooLong::Refuse) = (cut, too_long) {
        return Err(longer(place, None, info.max_tokens).about(member));
    }
    let of_documents: u64 = scores.iter().map(|one| u64::from(one.tokens)).sum();
    let of_query = match info.method {
        // It reads the query anew with each document, and has counted it.
        RerankMethod::CrossEncoder => 0,
        RerankMethod::LateInteraction | RerankMethod::Ensemble => tokens(app, query)? as u64,
    };
    Ok(Reranked {
        scores,
        method: info.method,
        tokens: of_query + of_documents,
    })
}

impl Reranked {
    /// Each document's place in the request with its relevance, from 0 to 1,
    /// best first; equal ones in the request's order.
    pub(super) fn best_first(&self) -> Vec<(usize, f64)> {
        let scores = self.scores.iter().enumerate();
        let scores = scores.map(|(place, one)| (place, relevance(self.method, one.score)));
        let mut ranked: Vec<(usize, f64)> = scores.collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// The score of a document before it was mapped to 0 to 1: the logit of a
    /// cross-encoder or an ensemble, the mean best cosine of late interaction.
    pub(super) fn raw(&self, place: usize) -> f64 {
        f64::from(self.scores[place].score)
    }

    /// The documents of which only the beginning was read.
    pub(super) fn cut(&self) -> Vec<usize> {
        let scores = self.scores.iter().enumerate();
        scores
            .filter(|(_, one)| one.truncated)
            .map(|(place, _)| place)
            .collect()
    }
}

/// A score on the scale from 0 to 1: the sigmoid of a logit, a mean cosine moved
/// from -1 to 1 by `(s + 1) / 2`, which keeps every order.
fn relevance(method: RerankMethod, score: f32) -> f64 {
    let told = method.told(score);
    let moved = match method {
        RerankMethod::CrossEncoder | RerankMethod::Ensemble => told,
        RerankMethod::LateInteraction => f64::midpoint(told, 1.0),
    };
    moved.clamp(0.0, 1.0)
}

/// The beginning of a text, `most` tokens of it, prefix and special tokens not
/// counted.
///
/// # Errors
/// When the tokenizer fails.
pub(super) fn beginning<'a>(app: &App, text: &'a str, most: usize) -> Result<&'a str, Problem> {
    let ends = app.models.tokenizer.token_ends(text);
    let ends = ends.map_err(|error| failed(app, "rerank", &error))?;
    Ok(match ends.get(most.saturating_sub(1)) {
        Some(&end) if ends.len() > most => &text[..end],
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reranked(method: RerankMethod, scores: &[f32]) -> Reranked {
        let scores = scores.iter().map(|&score| RerankScore {
            score,
            tokens: 1,
            truncated: false,
        });
        Reranked {
            scores: scores.collect(),
            method,
            tokens: 0,
        }
    }

    #[test]
    fn relevance_is_from_0_to_1_and_keeps_the_order() {
        let cosines = [-1.0, -0.5, 0.0, 0.5, 0.500_000_06, 1.0];
        let ranked = reranked(RerankMethod::LateInteraction, &cosines).best_first();
        let places: Vec<usize> = ranked.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [5, 4, 3, 2, 1, 0]);
        assert_eq!((ranked[0].1, ranked[5].1), (1.0, 0.0));
        assert!(ranked[1].1 > ranked[2].1);
        assert_eq!(relevance(RerankMethod::LateInteraction, 1.000_000_1), 1.0);
    }

    #[test]
    fn equal_documents_stay_in_the_requests_order() {
        let ranked = reranked(RerankMethod::CrossEncoder, &[0.5, 0.75, 0.5, 0.75]).best_first();
        let places: Vec<usize> = ranked.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [1, 3, 0, 2]);
    }

    #[test]
    fn a_logit_is_told_as_its_sigmoid_and_kept_beside_it() {
        let scores = reranked(RerankMethod::CrossEncoder, &[-90.0, 0.0, 2.0]);
        let ranked = scores.best_first();
        assert_eq!(
            ranked.iter().map(|one| one.0).collect::<Vec<_>>(),
            [2, 1, 0]
        );
        assert!((ranked[0].1 - 0.880_797).abs() < 1e-6 && ranked[1].1 == 0.5);
        assert_eq!((scores.raw(0), scores.raw(2)), (-90.0, 2.0));
    }
}
