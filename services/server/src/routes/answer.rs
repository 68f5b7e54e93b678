//! `POST /v1/answer`

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};

use super::json;
use super::search::SERVER_TIMING;
use super::stream::pulled;
use crate::ask::{self, AnswerEvent};
use crate::body;
use crate::problem::Problem;
use crate::request::Asked;
use crate::service::App;
use crate::wire::{AnswerRequest, AnswerResponse, ProblemDocument};

/// Between two signs of life while a model thinks.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Answers a question from the books, with the evidence. With `stream` the
/// answer is server-sent events: `evidence` (AnswerBasis), `delta` (Delta) for
/// each piece, and at the end `answer` (AnswerResponse) or `problem`.
#[utoipa::path(
    post, path = "/v1/answer", tag = "search",
    request_body(content = AnswerRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The answer and its evidence. Server-Timing has each stage.", content(
            (AnswerResponse = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 400, description = "bad_json, not_utf8, bad_id, bad_name", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_book, unknown_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 408, description = "body_timeout", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_book, damaged_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 413, description = "too_large", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 415, description = "unsupported_media_type", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "empty_question, question_too_long, bad_options, out_of_range, no_books, no_answer_model, prompt_too_long", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "queue_full; Retry-After says when to try again", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 500, description = "stage_failed, answer_model_misconfigured, internal", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 502, description = "answer_model_unreachable, answer_model_failed, answer_model_refused, answer_not_usable", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "not_ready, draining, answer_model_busy", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 504, description = "timeout, answer_model_timeout", body = ProblemDocument, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let request: AnswerRequest = body::json(request, &config.limits, &config.times).await?;
    if request.stream {
        return streamed(&app, &asked, request);
    }
    let answer = ask::answer(&app, &asked, request).await?;
    let timings = answer.run.timings_ms;
    let mut response = json(StatusCode::OK, &answer);
    if let Ok(value) = HeaderValue::from_str(&timings.server_timing()) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    response.extensions_mut().insert(timings);
    Ok(response)
}

fn streamed(app: &Arc<App>, asked: &Asked, request: AnswerRequest) -> Result<Response, Problem> {
    let events = ask::stream(app, asked, request)?;
    let id = Arc::clone(&asked.id);
    let events = pulled(events, move |event| {
        Ok::<_, Infallible>(written(event, &id))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

fn written(event: AnswerEvent, request_id: &str) -> Event {
    let (name, data) = match event {
        AnswerEvent::Evidence(basis) => ("evidence", serde_json::to_string(&basis)),
        AnswerEvent::Delta(delta) => ("delta", serde_json::to_string(&delta)),
        AnswerEvent::Answer(answer) => ("answer", serde_json::to_string(&answer)),
        AnswerEvent::Problem(problem) => {
            ("problem", serde_json::to_string(&problem.told(request_id)))
        }
    };
    // None of these shapes can fail to be written.
    Event::default().event(name).data(data.unwrap_or_default())
}
