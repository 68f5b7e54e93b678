//! The routes. One list makes the router, and the tests hold the document
//! against it.

pub(crate) mod answer;
pub(crate) mod books;
pub(crate) mod chunks;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod libraries;
pub(crate) mod page;
pub(crate) mod search;
pub(crate) mod stream;
pub(crate) mod traces;
pub(crate) mod upload;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use quire_model::{Call, CancelFlag};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::dialects::{openai, rerank, tei};
use crate::mcp;
use crate::problem::{Code, Problem};
use crate::request;
use crate::service::App;

/// Every route with what answers it.
pub(crate) fn table() -> Vec<(&'static str, MethodRouter<Arc<App>>)> {
    vec![
        ("/", get(page::index).post(tei::root)),
        ("/page/{file}", get(page::file)),
        ("/v1/search", post(search::search)),
        ("/v1/answer", post(answer::answer)),
        (
            "/v1/books",
            // The job queue bounds an upload, and says so in its own words.
            get(books::list)
                .post(upload::upload)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/v1/books/{id}", get(books::get).delete(books::delete)),
        (
            "/v1/libraries",
            get(libraries::list).post(libraries::create),
        ),
        (
            "/v1/libraries/{name}",
            get(libraries::get).delete(libraries::delete),
        ),
        (
            "/v1/libraries/{name}/books/{id}",
            put(libraries::put_book).delete(libraries::delete_book),
        ),
        ("/v1/chunks/{id}", get(chunks::get)),
        ("/v1/jobs", get(jobs::list)),
        ("/v1/jobs/{id}", get(jobs::get)),
        ("/v1/jobs/{id}/events", get(jobs::events)),
        ("/v1/traces/{id}", get(traces::get)),
        ("/mcp", post(mcp::call)),
        ("/v1/embeddings", post(openai::embeddings::embeddings)),
        ("/v1/models", get(openai::models::list)),
        ("/v1/models/{model}", get(openai::models::get)),
        (
            "/v1/models/{family}/{book}",
            get(openai::models::get_of_book),
        ),
        ("/v1/chat/completions", post(openai::chat::completions)),
        ("/v1/rerank", post(rerank::v1)),
        ("/v2/rerank", post(rerank::v2)),
        ("/embed", post(tei::embed)),
        ("/rerank", post(tei::rerank)),
        ("/info", get(tei::info)),
        ("/healthz", get(health::alive)),
        ("/readyz", get(health::ready)),
        ("/metrics", get(health::metrics)),
        ("/openapi.json", get(docs::document)),
        ("/docs", get(docs::page)),
        ("/problems/{code}", get(docs::problem)),
    ]
}

/// The service's router.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for (path, methods) in table() {
        router = router.route(path, methods);
    }
    router
        .fallback(no_route)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(Arc::clone(&app), request::around))
        .with_state(app)
}

async fn no_route() -> Problem {
    Problem::new(Code::NoRoute, "This service has no such address.")
}

async fn other_method() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "This address does not take that method.",
    )
}

/// An answer of JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => json_bytes(status, bytes),
        Err(error) => Problem::internal(error.to_string()).into_response(),
    }
}

pub(crate) fn json_bytes(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Runs what may wait for the disk on a thread for such, and drops it unrun
/// when the client goes.
///
/// # Errors
/// Its own, and when too much of the kind waits.
pub(crate) async fn chore<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let (reply, answer) = oneshot::channel();
    let cancel = CancelOnDrop::default();
    let for_thread = Arc::clone(app);
    let call = Call::new().cancelled_by(&cancel.0);
    app.chores
        .submit(call, move |_| {
            let _ = reply.send(work(&for_thread));
        })
        .map_err(|full| queue_full(full.retry_after))?;
    match answer.await {
        Ok(outcome) => outcome,
        Err(_) if app.is_draining() => Err(Problem::new(
            Code::Draining,
            "The service stopped meanwhile.",
        )),
        Err(_) => Err(Problem::internal("a thread panicked")),
    }
}

fn queue_full(retry_after: Duration) -> Problem {
    let detail = "As many requests wait as may.";
    Problem::new(Code::QueueFull, detail).retry_after(retry_after)
}

/// Says on its end that nobody waits any more.
#[derive(Default)]
pub(crate) struct CancelOnDrop(pub(crate) CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
