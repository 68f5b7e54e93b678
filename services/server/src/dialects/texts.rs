//! What the dialects ask of the embedder: vectors of texts that came with the
//! request, on a query's thread, within bounds.

use std::sync::Arc;

use quire_model::{Call, Embedding, ModelError, Role, Stop};
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
pub(super) fn call_for(texts: usize, call: &Call) -> Call {
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

pub(super) fn counted(texts: &[&str], most: usize, member: &'static str) -> Result<(), Problem> {
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
pub(super) fn tokens(app: &App, text: &str) -> Result<usize, Problem> {
    let ends = app.models.tokenizer.token_ends(text);
    Ok(ends.map_err(|error| failed(app, "embed", &error))?.len())
}

pub(super) fn longer(place: usize, tokens: Option<usize>, most: usize) -> Problem {
    let has = tokens.map_or_else(|| "more".to_owned(), |tokens| format!("{tokens} tokens"));
    let detail = format!(
        "The text at index {place} has {has}, of which the model reads {most} at most, its own \
         marks included."
    );
    Problem::new(Code::TextTooLong, detail)
}

pub(super) fn failed(app: &App, stage: &str, error: &ModelError) -> Problem {
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
