//! `/healthz`, `/readyz`, `/metrics`

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::jobs::count_jobs;
use super::{chore, json};
use crate::problem::Problem;
use crate::readiness::check;
use crate::service::App;
use crate::wire::Readiness;

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", operation_id = "get_health", tag = "service", security(()),
    responses((status = 200, description = "It does", body = String, content_type = "text/plain")))]
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether the service can do its work: models proven by a real inference,
/// books open, disk writable, traces written, not stopping.
#[utoipa::path(get, path = "/readyz", operation_id = "get_readiness", tag = "service", security(()),
    responses(
        (status = 200, description = "It can", body = Readiness),
        (status = 503, description = "It cannot; the checks say why", body = Readiness),
    ))]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let mut checks = app.prover.checks().await;
    let books = app.shelf.ready();
    checks.push(match &books {
        Ok(open) => check("books", Ok(&format!("{open} open"))),
        Err(why) => check("books", Err(why)),
    });
    checks.push(match (app.traces.is_on(), app.traces.is_healthy()) {
        (false, _) => check("traces", Ok("off")),
        (true, true) => check("traces", Ok("written")),
        (true, false) => check("traces", Err("the last trace could not be written")),
    });
    checks.push(if app.is_draining() {
        check("serving", Err("stopping"))
    } else {
        check("serving", Ok("taking requests"))
    });
    let readiness = Readiness {
        ready: checks.iter().all(|check| check.ok),
        checks,
    };
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    json(status, &readiness)
}

/// Every metric of the service.
#[utoipa::path(get, path = "/metrics", operation_id = "get_metrics", tag = "service",
    responses((status = 200, description = "OpenMetrics text", body = String,
        content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let text = chore(&app, |app| {
        if let Ok(jobs) = app.jobs() {
            count_jobs(&app.metrics, jobs);
        }
        let text = app.metrics.text();
        text.map_err(|error| Problem::internal(error.to_string()))
    });
    let mut response = text.await?.into_response();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
