//! `POST /v1/chat/completions`: the last user message is the question, the
//! model's name picks the books, and the evidence comes along.

mod request;
mod stream;
mod wire;

use std::sync::Arc;
use std::time::SystemTime;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

pub(crate) use request::ChatRequest;
pub(crate) use wire::{ChatChunk, ChatCompletion};

use super::ErrorReply;
use super::models::scope_of;
use crate::ask;
use crate::body;
use crate::problem::Problem;
use crate::request::Asked;
use crate::routes::search::SERVER_TIMING;
use crate::routes::{chore, json};
use crate::service::App;

/// What all parts of one completion share.
#[derive(Debug, Clone)]
struct Head {
    id: String,
    created: u64,
    model: String,
    /// Members of the request that were taken and not used.
    ignored: Vec<String>,
}

/// Answers the last user message, as the OpenAI API does. With `stream` the
/// answer is server-sent events of ChatChunk, the evidence on the first.
#[utoipa::path(
    post, path = "/v1/chat/completions", operation_id = "openai_chat", tag = "clients",
    request_body(content = ChatRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The answer and its evidence", content(
            (ChatCompletion = "application/json"),
            (ChatChunk = "text/event-stream"),
        )),
        (status = 400, description = "The body, no_text, unsupported, bad_options, out_of_range, no_books, no_answer_model", body = ErrorReply),
        (status = 401, description = "invalid_api_key", body = ErrorReply),
        (status = 404, description = "model_not_found", body = ErrorReply),
        (status = 413, description = "too_large", body = ErrorReply),
        (status = 429, description = "rate_limit_exceeded; Retry-After says when to try again", body = ErrorReply),
        (status = 500, description = "stage_failed, answer_model_misconfigured, internal", body = ErrorReply),
        (status = 502, description = "answer_model_unreachable, answer_model_failed, answer_model_refused, answer_not_usable", body = ErrorReply),
        (status = 503, description = "not_ready, draining, answer_model_busy", body = ErrorReply),
        (status = 504, description = "timeout, answer_model_timeout", body = ErrorReply),
    )
)]
pub(crate) async fn completions(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let most = config.limits.texts_json_bytes;
    let bytes = body::json_bytes(request, most, &config.times).await?;
    // A long conversation takes a while to parse.
    let request: ChatRequest = chore(&app, move |_| body::parsed(&bytes)).await?;
    let since = SystemTime::UNIX_EPOCH.elapsed();
    let head = Head {
        id: format!("chatcmpl-{}", asked.id),
        created: since.map_or(0, |since| since.as_secs()),
        model: request.model.clone(),
        ignored: request.ignored()?,
    };
    let include_usage = request.includes_usage();
    let streamed = request.stream;
    let of_model = scope_of(&app, &request.model)?;
    let question = request.question(of_model)?;
    if streamed {
        return stream::answered(&app, &asked, question, head, include_usage).await;
    }
    let answer = ask::answer(&app, &asked, question).await?;
    let timings = answer.run.timings_ms;
    let mut response = json(StatusCode::OK, &ChatCompletion::of(head, answer));
    if let Ok(value) = HeaderValue::from_str(&timings.server_timing()) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    response.extensions_mut().insert(timings);
    Ok(response)
}
