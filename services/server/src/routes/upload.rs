//! `POST /v1/books`: books go to disk as they arrive, and are indexed later.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::multipart::MultipartError;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, Multipart, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use quire_indexer::jobs::JobReport;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use utoipa::IntoParams;

use super::json;
use crate::body;
use crate::problem::{Code, Problem};
use crate::service::App;
use crate::telemetry::Rejection;
use crate::wire::{JobView, ProblemDocument};

/// Pieces of a body between the network and the disk.
const PIECES: usize = 4;
/// Bytes of a form in which no file goes on: a header without end.
const FORM_OVERHEAD: usize = 1 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Named {
    /// The file's name, where the body is the file itself. Its extension
    /// tells the format.
    name: Option<String>,
}

/// Takes one book or many, and indexes them as a job. Either a form with one
/// file a part, or one file as the body with its name in the address.
#[utoipa::path(post, path = "/v1/books", operation_id = "add_books", tag = "books",
    params(Named),
    request_body(content(
        (String = "multipart/form-data"),
        (String = "application/octet-stream"),
    )),
    responses(
        (status = 202, description = "The job; Location is its address", body = JobView),
        (status = 400, description = "bad_request", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 408, description = "body_timeout", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 413, description = "too_large", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, description = "queue_full", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused, draining", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    named: Result<Query<Named>, QueryRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let Query(Named { name }) =
        named.map_err(|error| Problem::new(Code::BadRequest, error.body_text()))?;
    let most = app.config.limits.upload_bytes;
    if request.body().size_hint().lower() > most.saturating_add(FORM_OVERHEAD as u64) {
        let detail = format!("An upload may have {most} bytes.");
        return Err(Problem::new(Code::TooLarge, detail).closing());
    }
    let _permit = app.uploads.try_acquire().map_err(|_| {
        app.metrics.rejected(Rejection::Uploads);
        let detail = "As many uploads are received as may be at once.";
        Problem::new(Code::QueueFull, detail).closing()
    })?;
    let idle = app.config.times.body_idle;
    let is_form = body::media_type(request.headers()) == Some("multipart/form-data");
    let disk = ToDisk::start(&app)?;
    let report = match (is_form, name) {
        (true, None) => form(request, idle, disk).await?,
        (false, Some(name)) => file(request, &name, idle, disk).await?,
        (true, Some(_)) => {
            let detail = "A form names its files itself; leave ?name= out.";
            return Err(Problem::new(Code::BadRequest, detail).closing());
        }
        (false, None) => {
            let detail = "Send a form of files, or one file as the body with ?name=FILE.";
            return Err(Problem::new(Code::BadRequest, detail).closing());
        }
    };
    let place = format!("/v1/jobs/{}", report.id);
    let mut response = json(StatusCode::ACCEPTED, &JobView::from(report));
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

async fn file(
    request: Request,
    name: &str,
    idle: Duration,
    mut disk: ToDisk,
) -> Result<JobReport, Problem> {
    let mut body = request.into_body();
    disk.send(Piece::File(name.to_owned())).await?;
    while let Some(bytes) = body::piece(&mut body, idle, None).await? {
        disk.send(Piece::Bytes(bytes)).await?;
    }
    disk.commit().await
}

async fn form(request: Request, idle: Duration, mut disk: ToDisk) -> Result<JobReport, Problem> {
    let overhead = Arc::new(AtomicUsize::new(0));
    let request = request.map(|body| {
        Body::from_stream(Metered {
            body,
            overhead: Arc::clone(&overhead),
        })
    });
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|error| bad_form(&error.body_text()))?;
    while let Some(mut part) = in_time(idle, form.next_field()).await? {
        let Some(name) = part.file_name().map(str::to_owned) else {
            return Err(bad_form("a part has no file name"));
        };
        disk.send(Piece::File(name)).await?;
        while let Some(bytes) = in_time(idle, part.chunk()).await? {
            overhead.store(0, Ordering::Relaxed);
            disk.send(Piece::Bytes(bytes)).await?;
        }
    }
    disk.commit().await
}

async fn in_time<T>(
    idle: Duration,
    next: impl Future<Output = Result<T, MultipartError>>,
) -> Result<T, Problem> {
    match timeout(idle, next).await {
        Err(_) => Err(body::late()),
        Ok(Err(error)) => Err(bad_form(&error.body_text())),
        Ok(Ok(next)) => Ok(next),
    }
}

fn bad_form(why: &str) -> Problem {
    let detail = format!("The form cannot be read: {why}.");
    Problem::new(Code::BadRequest, detail).closing()
}

/// A form's body that ends in an error when too much of it is no file's.
struct Metered {
    body: Body,
    /// Bytes since a file last went on.
    overhead: Arc<AtomicUsize>,
}

impl Stream for Metered {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => frame,
            };
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            let before = self.overhead.fetch_add(bytes.len(), Ordering::Relaxed);
            if before > FORM_OVERHEAD {
                let error = axum::Error::new("a part's header has no end");
                return Poll::Ready(Some(Err(error)));
            }
            return Poll::Ready(Some(Ok(bytes)));
        }
    }
}

enum Piece {
    File(String),
    Bytes(Bytes),
    End,
}

/// The way to the disk, on a thread of its own. Dropped before its end, it
/// leaves nothing on the disk.
struct ToDisk {
    pieces: mpsc::Sender<Piece>,
    outcome: Option<oneshot::Receiver<Result<Option<JobReport>, Problem>>>,
}

impl ToDisk {
    fn start(app: &Arc<App>) -> Result<Self, Problem> {
        let (pieces, received) = mpsc::channel(PIECES);
        let (reply, outcome) = oneshot::channel();
        let app = Arc::clone(app);
        thread::Builder::new()
            .name("upload".to_owned())
            .spawn(move || {
                let _ = reply.send(receive(&app, received));
            })
            .map_err(|error| Problem::internal(error.to_string()))?;
        Ok(Self {
            pieces,
            outcome: Some(outcome),
        })
    }

    async fn send(&mut self, piece: Piece) -> Result<(), Problem> {
        if self.pieces.send(piece).await.is_ok() {
            return Ok(());
        }
        match self.outcome().await {
            Err(problem) => Err(problem),
            Ok(_) => Err(Problem::internal("the upload's thread ended early")),
        }
    }

    async fn commit(mut self) -> Result<JobReport, Problem> {
        self.send(Piece::End).await?;
        let report = self.outcome().await?;
        report.ok_or_else(|| Problem::internal("the upload was not committed"))
    }

    async fn outcome(&mut self) -> Result<Option<JobReport>, Problem> {
        let panicked = || Problem::internal("the upload's thread panicked");
        let outcome = self.outcome.take().ok_or_else(panicked)?;
        outcome.await.map_err(|_| panicked())?
    }
}

/// Writes what comes. None if it does not come to its end.
fn receive(app: &App, mut pieces: mpsc::Receiver<Piece>) -> Result<Option<JobReport>, Problem> {
    let mut receiving = app.jobs()?.receive()?;
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::File(name) => receiving.add_file(&name)?,
            Piece::Bytes(bytes) => receiving.write(&bytes)?,
            Piece::End => return Ok(Some(receiving.commit()?)),
        }
    }
    Ok(None)
}
