//! `POST /v1/search`

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use quire_engine::{Budgets, EngineError, StageName, search_within};
use quire_model::{Call, Stop};
use quire_traces::{RequestTimings, TraceEntry};
use tokio::sync::oneshot;

use super::{CancelOnDrop, json_bytes, queue_full};
use crate::body;
use crate::config::Limits;
use crate::pool::Pool;
use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::service::App;
use crate::shelf::Scope;
use crate::telemetry::Rejection;
use crate::wire::{self, ProblemDocument, Run, SearchRequest, SearchResponse, Timings};

/// What each stage took, for a browser's tools.
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Finds the passages of the books that answer a question.
#[utoipa::path(
    post, path = "/v1/search", tag = "search",
    request_body(content = SearchRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The evidence, best first. Server-Timing has each stage.", body = SearchResponse),
        (status = 400, description = "bad_json, not_utf8, bad_id, bad_name", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_book, unknown_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 408, description = "body_timeout", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_book, damaged_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 413, description = "too_large", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 415, description = "unsupported_media_type", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "empty_question, question_too_long, out_of_range, no_books", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "queue_full; Retry-After says when to try again", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 500, description = "stage_failed, internal", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "not_ready, draining", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 504, description = "timeout", body = ProblemDocument, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let request: SearchRequest = body::json(request, &config.limits, &config.times).await?;
    let answered = found(&app, &asked, request).await?;
    let timings = answered.response.run.timings_ms;
    let mut response = json_bytes(StatusCode::OK, answered.json);
    if let Ok(value) = HeaderValue::from_str(&timings.server_timing()) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    response.extensions_mut().insert(timings);
    Ok(response)
}

/// Searches, for whoever speaks otherwise than `/v1/search`.
///
/// # Errors
/// When it is not a question that can be asked, its time is up, or a stage
/// fails.
pub(crate) async fn find(
    app: &Arc<App>,
    asked: &Asked,
    request: SearchRequest,
) -> Result<SearchResponse, Problem> {
    Ok(found(app, asked, request).await?.response)
}

async fn found(app: &Arc<App>, asked: &Asked, request: SearchRequest) -> Result<Answered, Problem> {
    let budgets = checked(&request, app)?;
    let time = milliseconds(request.timeout_ms, app.config.times.query);
    let deadline = asked.at + time;
    let scope = app.shelf.scope(request.scope.as_ref())?;

    let gone = CancelOnDrop::default();
    let call = Call::new().until(deadline).cancelled_by(&gone.0);
    let query = Query {
        rerank_until: request
            .deadline_ms
            .map(|ms| asked.at + Duration::from_millis(ms)),
        call: call.clone(),
        asked: asked.clone(),
        scope,
        budgets,
        request,
    };
    let (reply, answer) = oneshot::channel();
    let for_thread = Arc::clone(app);
    submit(app, &app.queries, call, move |waited| {
        // Nobody listens if the client is gone.
        let _ = reply.send(query.run(&for_thread, waited));
    })?;
    outcome(app, answer, deadline, time).await
}

/// Puts work into a queue.
///
/// # Errors
/// When it is full.
pub(crate) fn submit(
    app: &App,
    pool: &Pool,
    call: Call,
    work: impl FnOnce(Duration) + Send + 'static,
) -> Result<(), Problem> {
    pool.submit(call, work).map_err(|full| {
        app.metrics.rejected(Rejection::QueueFull);
        queue_full(full.retry_after)
    })
}

/// What comes of work that was put into a queue, or that its time is up.
///
/// # Errors
/// Its own, and when it does not end in time.
pub(crate) async fn outcome<T>(
    app: &App,
    answer: oneshot::Receiver<Result<T, Problem>>,
    deadline: Instant,
    time: Duration,
) -> Result<T, Problem> {
    match tokio::time::timeout_at(deadline.into(), answer).await {
        Err(_) => Err(timed_out(time)),
        // A query that waits too long leaves the queue without an answer.
        Ok(Err(_)) if Instant::now() >= deadline => Err(timed_out(time)),
        Ok(Err(_)) if app.is_draining() => {
            let detail = "The service stopped before this query's turn.";
            Err(Problem::new(Code::Draining, detail))
        }
        Ok(Err(_)) => Err(Problem::internal("the query's thread panicked")),
        Ok(Ok(answered)) => answered,
    }
}

/// There was no answer in time.
pub(crate) fn timed_out(time: Duration) -> Problem {
    let detail = format!("There was no answer within {} ms.", time.as_millis());
    Problem::new(Code::Timeout, detail)
}

fn milliseconds(given: Option<u64>, otherwise: Duration) -> Duration {
    given.map_or(otherwise, Duration::from_millis)
}

/// The budgets of a request whose every value is in its range.
pub(crate) fn checked(request: &SearchRequest, app: &App) -> Result<Budgets, Problem> {
    let limits = &app.config.limits;
    if request.question.trim().is_empty() {
        return Err(EngineError::EmptyQuestion.into());
    }
    if request.question.len() > limits.question_bytes {
        let detail = format!(
            "The question has {} bytes; it may have {}.",
            request.question.len(),
            limits.question_bytes
        );
        return Err(Problem::new(Code::QuestionTooLong, detail));
    }
    let most = app.config.times.query_most.as_millis() as u64;
    for (name, value) in [
        ("timeout_ms", request.timeout_ms),
        ("deadline_ms", request.deadline_ms),
    ] {
        if value.is_some_and(|value| value == 0 || value > most) {
            return Err(out_of_range(name, 1, most as usize));
        }
    }
    if let Some(wire::Scope::Books(books)) = &request.scope
        && !(1..=limits.scope_books).contains(&books.len())
    {
        return Err(out_of_range(
            "scope.books (how many)",
            1,
            limits.scope_books,
        ));
    }
    let asked = request.budgets.clone().unwrap_or_default();
    let budgets = asked.over(&app.config.budgets);
    within(&budgets, limits)?;
    budgets.check().map_err(EngineError::from)?;
    Ok(budgets)
}

fn within(budgets: &Budgets, limits: &Limits) -> Result<(), Problem> {
    let most = &limits.budgets;
    for (name, value, least, most) in [
        ("budgets.lexical", budgets.lexical, 1, most.lexical),
        ("budgets.dense", budgets.dense, 1, most.dense),
        ("budgets.dense_ef", budgets.dense_ef, 1, most.dense_ef),
        ("budgets.rerank", budgets.rerank, 0, most.rerank),
        (
            "budgets.evidence_passages",
            budgets.evidence_passages,
            1,
            most.evidence_passages,
        ),
        (
            "budgets.evidence_tokens",
            budgets.evidence_tokens,
            1,
            most.evidence_tokens,
        ),
    ] {
        if value < least || value > most {
            return Err(out_of_range(name, least, most));
        }
    }
    Ok(())
}

fn out_of_range(name: &str, least: usize, most: usize) -> Problem {
    let detail = format!("{name} must be from {least} to {most}.");
    Problem::new(Code::OutOfRange, detail)
}

/// A question on its way through a thread.
struct Query {
    request: SearchRequest,
    budgets: Budgets,
    scope: Scope,
    asked: Asked,
    call: Call,
    rerank_until: Option<Instant>,
}

/// An answer, ready to be sent.
struct Answered {
    response: SearchResponse,
    json: Vec<u8>,
}

impl Query {
    /// Searches, logs the trace and writes the answer. On a query thread.
    fn run(self, app: &App, waited: Duration) -> Result<Answered, Problem> {
        let view = app.shelf.view(&self.scope)?;
        let found = search_within(
            &view,
            &app.models,
            &self.request.question,
            &self.budgets,
            &self.call,
            self.rerank_until,
        );
        let found = found.inspect_err(|error| learn(app, &self.scope, error))?;
        let run = Run {
            trace_id: None,
            trace_logged: false,
            request_id: self.asked.id.to_string(),
            timings_ms: Timings::default(),
        };
        let explain = self.request.explain;
        let left_out = self.scope.left_out;
        let mut answer = SearchResponse::of(&view, &found, explain, left_out, run)?;

        let total = milliseconds_of(self.asked.at.elapsed());
        let timings = Timings::of(&found.trace, milliseconds_of(waited), total);
        app.metrics.stages(&timings);
        let trace = app.traces.append(&TraceEntry {
            request_id: Some(&self.asked.id),
            books: &answer.books,
            timings: RequestTimings {
                queue_ms: timings.queue,
                total_ms: timings.total,
            },
            trace: &found.trace,
            answer: None,
        });
        answer.run.trace_logged = trace.is_some();
        answer.run.trace_id = trace.map(|id| id.to_string());
        answer.run.timings_ms = timings;
        let json = serde_json::to_vec(&answer);
        Ok(Answered {
            json: json.map_err(|error| Problem::internal(error.to_string()))?,
            response: answer,
        })
    }
}

/// What an error says about the service itself.
pub(crate) fn learn(app: &App, scope: &Scope, error: &EngineError) {
    match error {
        EngineError::Stopped { stop, .. } => match stop {
            Stop::QueueFull => app.metrics.rejected(Rejection::ModelQueueFull),
            Stop::DeadlinePassed => app.metrics.rejected(Rejection::Expired),
            // Counted where the request ends.
            Stop::Cancelled => {}
        },
        EngineError::Stage { stage, .. } if *stage != StageName::Embed => {
            app.shelf.suspect(scope);
        }
        _ => {}
    }
}

/// A time in milliseconds.
pub(crate) fn milliseconds_of(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
