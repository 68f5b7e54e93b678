//! `/v1/traces`

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{chore, json};
use crate::problem::{Code, Problem};
use crate::service::App;
use crate::wire::ProblemDocument;

/// What each stage of one query found: the record of the trace log.
#[utoipa::path(get, path = "/v1/traces/{id}", operation_id = "get_trace", tag = "traces",
    params(("id" = String, Path, description = "The trace's id, as a search gave it")),
    responses(
        (status = 200, description = "The record", body = Object),
        (status = 404, description = "unknown_trace, switched_off", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    if !app.traces.is_on() {
        return Err(Problem::new(Code::SwitchedOff, "No traces are kept here."));
    }
    let unknown = || Problem::new(Code::UnknownTrace, "There is no trace of that id.");
    let id = id.parse().map_err(|_| unknown())?;
    let record = chore(&app, move |app| app.traces.get(&id)?.ok_or_else(unknown));
    Ok(json(StatusCode::OK, &record.await?))
}
