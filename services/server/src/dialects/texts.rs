//! What the dialects ask of the models: vectors and scores of texts that came
//! with the request, on a query's thread, within bounds.

use std::sync::Arc;

use quire_model::{Call, Embedding, ModelError, RerankMethod, RerankScore, Role, Stop};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::problem::{Code, Problem, stopped};
use crate::request::Asked;
use crate::routes::CancelOnDrop;
use crate::routes::search::{outcome, submit};
use crate::service::App;
use crate::telemetry::Rejection;

/// Texts that one request may have embedded.
pub(super) const EMBED_TEXTS: usize = 2048;
/// Tokens of all of them together.
pub(super) const EMBED_TOKENS: usize = 300_000;
/// Texts that one request may have scored.
pub(super) const RERANK_TEXTS: usize = 1000;
/// A request of so many texts is a question; one of more is bulk work, and
/// waits behind questions.
const URGENT: usize = 32;

/// One text or several, as APIs take them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a text or a list of texts (token ids are not taken)"
)]
pub(crate) enum TextOrTexts {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl TextOrTexts {
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts.iter().map(String::as_str).collect(),
        }
    }
}

/// What happens to a text that is longer than the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooLong {
    /// It is refused.
    Refuse,
    /// Its beginning is read, and the result says so.
    Cut,
}

impl TooLong {
    /// As a member `truncate` asks for; refused where it is absent.
    pub(super) fn asked(truncate: Option<bool>) -> Self {
        if truncate == Some(true) {
            Self::Cut
        } else {
            Self::Refuse
        }
    }
}

/// Runs work that waits for models, from reading the body's JSON to writing
/// the answer's, on a query's thread. It is dropped when the client goes or the
/// time of a query is up.
///
/// # Errors
/// Its own, and when too much waits or its time is up.
pub(super) async fn on_a_thread<T: Send + 'static>(
    app: &Arc<App>,
    asked: &Asked,
    work: impl FnOnce(&App, &Call) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let time = app.config.times.query;
    let deadline = asked.at + time;
    let gone = CancelOnDrop::default();
    let call = Call::new().until(deadline).cancelled_by(&gone.0);
    let (reply, answer) = oneshot::channel();
    let for_thread = Arc::clone(app);
    let for_work = call.clone();
    submit(app, &app.queries, call, move |_| {
        // Nobody listens if the client is gone.
        let _ = reply.send(work(&for_thread, &for_work));
    })?;
    outcome(app, answer, deadline, time).await
}

/// The call of a request with so many texts.
fn call_for(texts: usize, call: &Call) -> Call {
    if texts <= URGENT {
        call.clone()
    } else {
        call.as_bulk()
    }
}

/// The vectors of texts, in their order. `member` is what the API calls them.
///
/// # Errors
/// When there are none or too many, one is empty or too long, or the embedder
/// does not answer.
pub(super) fn embedded(
    app: &App,
    call: &Call,
    texts: &[&str],
    role: Role,
    too_long: TooLong,
    member: &'static str,
) -> Result<Vec<Embedding>, Problem> {
    counted(texts, EMBED_TEXTS, member)?;
    let most = app.models.embedder.info().max_tokens;
    let mut total = 0;
    for (place, text) in texts.iter().enumerate() {
        let tokens = tokens(app, text)?;
        // The model would say so too, after reading all of the others.
        if too_long == TooLong::Refuse && tokens > most {
            return Err(longer(place, Some(tokens), most).about(member));
        }
        total += tokens.min(most);
        if total > EMBED_TOKENS {
            let detail = format!("The texts have more than {EMBED_TOKENS} tokens together.");
            return Err(Problem::new(Code::OutOfRange, detail).about(member));
        }
    }
    let call = call_for(texts.len(), call);
    let embeddings = app.models.embedder.embed(texts, role, &call);
    let embeddings = embeddings.map_err(|error| failed(app, "embed", &error))?;
    if embeddings.len() != texts.len() {
        return Err(Problem::internal("the embedder lost a text"));
    }
    let cut = embeddings.iter().position(|one| one.truncated);
    match (cut, too_long) {
        (Some(place), TooLong::Refuse) => Err(longer(place, None, most).about(member)),
        _ => Ok(embeddings),
    }
}

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
        RerankMethod::LateInteraction => tokens(app, query)? as u64,
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
    /// cross-encoder, the mean best cosine of late interaction.
    pub(super) fn raw(&self, place: usize) -> f64 {
        let score = f64::from(self.scores[place].score);
        match self.method {
            RerankMethod::CrossEncoder => {
                // A sigmoid of 0 or 1 has lost its logit; the nearest value
                // below it has one.
                let nearly = f64::from(f32::EPSILON) / 2.0;
                let score = score.clamp(nearly, 1.0 - nearly);
                (score / (1.0 - score)).ln()
            }
            RerankMethod::LateInteraction => score,
        }
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

/// A score on the scale from 0 to 1: a cross-encoder's own, a mean cosine moved
/// from -1 to 1 by `(s + 1) / 2`, which keeps every order.
fn relevance(method: RerankMethod, score: f32) -> f64 {
    let score = f64::from(score);
    let moved = match method {
        RerankMethod::CrossEncoder => score,
        RerankMethod::LateInteraction => f64::midpoint(score, 1.0),
    };
    moved.clamp(0.0, 1.0)
}

fn counted(texts: &[&str], most: usize, member: &'static str) -> Result<(), Problem> {
    if texts.is_empty() {
        return Err(Problem::new(Code::NoText, "The list of texts is empty.").about(member));
    }
    if texts.len() > most {
        let detail = format!("There are {} texts; there may be {most}.", texts.len());
        return Err(Problem::new(Code::OutOfRange, detail).about(member));
    }
    if let Some(place) = texts.iter().position(|text| text.trim().is_empty()) {
        let detail = format!("The text at index {place} is empty.");
        return Err(Problem::new(Code::NoText, detail).about(member));
    }
    Ok(())
}

/// How many tokens a text has, without prefix and special tokens.
fn tokens(app: &App, text: &str) -> Result<usize, Problem> {
    let ends = app.models.tokenizer.token_ends(text);
    Ok(ends.map_err(|error| failed(app, "embed", &error))?.len())
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

fn longer(place: usize, tokens: Option<usize>, most: usize) -> Problem {
    let has = tokens.map_or_else(|| "more".to_owned(), |tokens| format!("{tokens} tokens"));
    let detail = format!(
        "The text at index {place} has {has}, of which the model reads {most} at most, its own \
         marks included."
    );
    Problem::new(Code::TextTooLong, detail)
}

fn failed(app: &App, stage: &str, error: &ModelError) -> Problem {
    let Some(stop) = error.stop() else {
        let detail = format!("The {stage} stage failed.");
        return Problem::new(Code::StageFailed, detail).because(error);
    };
    match stop {
        Stop::QueueFull => app.metrics.rejected(Rejection::ModelQueueFull),
        Stop::DeadlinePassed => app.metrics.rejected(Rejection::Expired),
        // Counted where the request ends.
        Stop::Cancelled => {}
    }
    stopped(stage, stop)
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
    fn a_raw_score_is_finite_even_at_the_ends() {
        let scores = reranked(RerankMethod::CrossEncoder, &[0.0, 0.5, 1.0]);
        assert!(scores.raw(0) < -10.0 && scores.raw(0).is_finite());
        assert_eq!(scores.raw(1), 0.0);
        assert!(scores.raw(2) > 10.0 && scores.raw(2).is_finite());
    }

    #[test]
    fn a_text_of_token_ids_is_refused_in_words() {
        for given in ["[1, 2]", "[[1, 2]]", "7", "null"] {
            let error = serde_json::from_str::<TextOrTexts>(given).unwrap_err();
            assert!(error.to_string().contains("token ids"), "{error}");
        }
        let texts: TextOrTexts = serde_json::from_str(r#"["a", "b"]"#).unwrap();
        assert_eq!(texts.texts(), ["a", "b"]);
    }
}
