//! The OpenAI API: embeddings, models and chat completions. Its official
//! clients raise their typed exceptions from the status alone and show the
//! message, so both are chosen as that API documents them.

pub(crate) mod chat;
pub(crate) mod embeddings;
pub(crate) mod models;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::{Code, Problem};
use crate::service::App;
use crate::wire::ProblemDocument;

/// An error of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ErrorReply {
    /// What went wrong.
    pub(crate) error: ErrorBody,
}

/// What went wrong, in the OpenAI API's members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What is wrong with this request, and what helps.
    pub(crate) message: String,
    /// `invalid_request_error`, `rate_limit_error` or `server_error`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The member of the body that it is about, if it is known.
    pub(crate) param: Option<String>,
    /// The API's code where it has one, else the service's own: see
    /// `/problems/{code}`.
    pub(crate) code: String,
}

impl ErrorReply {
    /// A problem, told as the document that it makes.
    pub(crate) fn of(problem: &Problem, document: &ProblemDocument) -> Self {
        let kind = match problem.code().status() {
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let code = match problem.code() {
            Code::TextTooLong => "context_length_exceeded",
            Code::Unauthorized => "invalid_api_key",
            Code::UnknownModel => "model_not_found",
            Code::QueueFull => "rate_limit_exceeded",
            own => own.name(),
        };
        Self {
            error: ErrorBody {
                message: format!("{} {}", document.detail, document.remedy),
                kind: kind.to_owned(),
                param: problem.member().map(str::to_owned),
                code: code.to_owned(),
            },
        }
    }
}

/// The status of a problem: the API has 400 for whatever is wrong with a body,
/// and its clients would try again on 409.
pub(crate) fn status(code: Code) -> u16 {
    match code.status() {
        409 | 422 => 400,
        status => status,
    }
}

/// Whether the embedder is called so.
///
/// # Errors
/// When it is not: nothing is embedded by another model than the one named.
fn check_embedder(app: &App, model: &str) -> Result<(), Problem> {
    let name = &app.models.embedder.info().name;
    if model == name {
        return Ok(());
    }
    let detail = format!("The model that embeds here is {name}, not {model:?}.");
    Err(Problem::new(Code::UnknownModel, detail).about("model"))
}
