//! `/v1/jobs`: uploads that are indexed.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use quire_indexer::jobs::{JobId, JobQueue, JobState};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{chore, json};
use crate::problem::{Code, Problem};
use crate::service::App;
use crate::telemetry::{Metrics, Rejection};
use crate::wire::{JobList, JobView, ProblemDocument};

/// A follower of a job sees within this time that its client is gone.
const LOOK: Duration = Duration::from_secs(1);
/// Between two signs of life of a job that does not change.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Every upload that is remembered, the oldest first.
#[utoipa::path(get, path = "/v1/jobs", operation_id = "list_jobs", tag = "jobs",
    responses((status = 200, description = "The jobs", body = JobList)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let jobs = chore(&app, |app| {
        let jobs = app.jobs()?.list().into_iter().map(JobView::from);
        Ok(JobList {
            jobs: jobs.collect(),
        })
    });
    Ok(json(StatusCode::OK, &jobs.await?))
}

/// How far an upload is.
#[utoipa::path(get, path = "/v1/jobs/{id}", operation_id = "get_job", tag = "jobs",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The job", body = JobView),
        (status = 404, description = "unknown_job", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &find(&app, &id).await?))
}

/// How far an upload is, as it changes: server-sent events `progress`, and
/// `finished` at the end. Each one's data is the job.
#[utoipa::path(get, path = "/v1/jobs/{id}/events", operation_id = "follow_job", tag = "jobs",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The events", body = String, content_type = "text/event-stream"),
        (status = 404, description = "unknown_job", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "queue_full", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let job = find(&app, &id).await?.id;
    let permit = Arc::clone(&app.followers)
        .try_acquire_owned()
        .map_err(|_| {
            app.metrics.rejected(Rejection::Uploads);
            Problem::new(Code::QueueFull, "As many clients follow jobs as may.")
        })?;
    // The queue is waited for by condition variable: a thread for each
    // follower, of which there are few.
    let (send, events) = mpsc::channel(1);
    let for_thread = Arc::clone(&app);
    thread::Builder::new()
        .name("follow-job".to_owned())
        .spawn(move || follow(&for_thread, job, &send))
        .map_err(|error| Problem::internal(error.to_string()))?;
    let events = Events {
        events,
        _permit: permit,
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

async fn find(app: &Arc<App>, id: &str) -> Result<JobView, Problem> {
    let unknown = || Problem::new(Code::UnknownJob, "There is no job of that id.");
    let id: JobId = id.parse().map_err(|_| unknown())?;
    let job = chore(app, move |app| app.jobs()?.get(id).ok_or_else(unknown));
    Ok(job.await?.into())
}

/// Sends each change until the job has ended, or nobody listens. A client that
/// reads slowly misses changes, never the last.
fn follow(app: &App, id: JobId, send: &mpsc::Sender<Event>) {
    let Ok(jobs) = app.jobs() else {
        return;
    };
    let mut seen = u64::MAX;
    while let Some(report) = jobs.wait_change(id, seen, LOOK) {
        if report.version == seen {
            if send.is_closed() || app.is_draining() {
                return;
            }
            continue;
        }
        seen = report.version;
        let finished = report.state.is_finished();
        let Ok(data) = serde_json::to_string(&JobView::from(report)) else {
            return;
        };
        let name = if finished { "finished" } else { "progress" };
        let event = Event::default().event(name).id(seen.to_string()).data(data);
        if send.blocking_send(event).is_err() || finished {
            return;
        }
    }
}

/// The events of one follower.
struct Events {
    events: mpsc::Receiver<Event>,
    _permit: OwnedSemaphorePermit,
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Counts the jobs by state.
pub(crate) fn count_jobs(metrics: &Metrics, jobs: &JobQueue) {
    let jobs = jobs.list();
    for (state, name) in [
        (JobState::Waiting, "waiting"),
        (JobState::Running, "running"),
        (JobState::Done, "done"),
        (JobState::Partly, "partly"),
        (JobState::Failed, "failed"),
    ] {
        metrics.jobs(name, jobs.iter().filter(|job| job.state == state).count());
    }
}
