//! Connections: taken, bounded, timed, and let go of.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_io_timeout::TimeoutStream;

use crate::problem::{Code, Problem};
use crate::routes::router;
use crate::service::{App, Service, StartError};
use crate::telemetry::Rejection;

/// Bytes of a request's header, and of what is read ahead of a body.
const READ_BUFFER: usize = 64 << 10;
/// Clients over the limit that are told so at once; more are only closed.
const TOLD: usize = 64;
/// How long such a client may take to hear it.
const TELLING: Duration = Duration::from_secs(1);
/// How long connections may take to close once nothing is in flight.
const CLOSING: Duration = Duration::from_secs(2);
/// How long the threads may take to end after that.
const ENDING: Duration = Duration::from_secs(30);
/// After an accept that failed, as when no descriptor is left.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Answers requests until `shutdown` ends. Then no connection is taken any
/// more, what is in flight is answered within the drain time, all else is
/// refused, and the service's threads end.
///
/// # Errors
/// When the service has no keys and others reach the listener's address.
pub async fn run(
    listener: TcpListener,
    service: Service,
    shutdown: impl Future<Output = ()>,
) -> Result<(), StartError> {
    let address = listener.local_addr().map_err(StartError::Address)?;
    service.check_address(address)?;
    let app = Arc::clone(&service.app);
    tracing::info!(%address, "serving");
    let (close, closing) = watch::channel(false);
    let mut connections = Connections {
        router: router(Arc::clone(&app)),
        room: Arc::new(Semaphore::new(app.config.limits.connections)),
        telling: Arc::new(Semaphore::new(TOLD)),
        tasks: JoinSet::new(),
        closing,
        app: Arc::clone(&app),
    };
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.tasks.join_next(), if !connections.tasks.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.take(stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    sleep(BACK_OFF).await;
                }
            },
        }
    }
    drop(listener);
    app.drain();
    let in_flight = app.in_flight.load(Ordering::Acquire);
    tracing::info!(in_flight, "stopping");
    let end = Instant::now() + app.config.times.drain;
    while app.in_flight.load(Ordering::Acquire) > 0 && Instant::now() < end {
        sleep(Duration::from_millis(5)).await;
    }
    close.send_replace(true);
    connections.end(end).await;
    end_threads(app).await;
    tracing::info!("stopped");
    Ok(())
}

/// Open connections.
struct Connections {
    app: Arc<App>,
    router: Router,
    room: Arc<Semaphore>,
    telling: Arc<Semaphore>,
    tasks: JoinSet<()>,
    closing: watch::Receiver<bool>,
}

impl Connections {
    fn take(&mut self, stream: TcpStream) {
        // Small answers go out at once; the caller's loss if it cannot be set.
        let _ = stream.set_nodelay(true);
        match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => {
                let served = serve(
                    Arc::clone(&self.app),
                    self.router.clone(),
                    stream,
                    self.closing.clone(),
                    permit,
                );
                self.tasks.spawn(served);
            }
            Err(_) => {
                self.app.metrics.rejected(Rejection::Connections);
                if let Ok(permit) = Arc::clone(&self.telling).try_acquire_owned() {
                    self.tasks.spawn(refuse(stream, permit));
                }
            }
        }
    }

    /// Lets connections close until shortly after `end`, then closes them.
    async fn end(&mut self, end: Instant) {
        let end = end.max(Instant::now() + CLOSING);
        let all_closed = async { while self.tasks.join_next().await.is_some() {} };
        if timeout_at(end, all_closed).await.is_err() {
            tracing::warn!(left = self.tasks.len(), "connections were cut off");
            self.tasks.shutdown().await;
        }
    }
}

async fn serve(
    app: Arc<App>,
    router: Router,
    stream: TcpStream,
    mut closing: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let _counted = Counted::new(&app);
    let times = &app.config.times;
    // Reading is timed where it is known what is read: hyper times the header,
    // the routes their bodies, and nothing is read while a query runs.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(times.write_stall));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.header)
        .max_buf_size(READ_BUFFER)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(router),
        );
    let mut connection = pin!(connection);
    let told_to_close = async {
        // Also if whoever would tell is gone.
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told_to_close => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

/// Counts a connection while it is open.
struct Counted<'a>(&'a App);

impl<'a> Counted<'a> {
    fn new(app: &'a App) -> Self {
        app.metrics.connected(1);
        Self(app)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.metrics.connected(-1);
    }
}

/// Says to one client too many that it is that, without reading what it asks.
async fn refuse(mut stream: TcpStream, _permit: OwnedSemaphorePermit) {
    let _ = timeout(TELLING, async {
        let message = refusal().await;
        stream.write_all(&message).await?;
        stream.shutdown().await
    })
    .await;
}

async fn refusal() -> Vec<u8> {
    let detail = "As many clients are connected as may be.";
    let id = uuid::Uuid::new_v4().to_string();
    let (head, body) = Problem::new(Code::TooManyConnections, detail)
        .closing()
        .response(&id)
        .into_parts();
    let body = to_bytes(body, READ_BUFFER).await.unwrap_or_default();
    let mut message = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        message.extend_from_slice(name.as_str().as_bytes());
        message.extend_from_slice(b": ");
        message.extend_from_slice(value.as_bytes());
        message.extend_from_slice(b"\r\n");
    }
    message.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    message.extend_from_slice(&body);
    message
}

/// Ends the service's threads, on a thread that may wait for them.
async fn end_threads(app: Arc<App>) {
    let (done, is_done) = oneshot::channel();
    let closer = std::thread::Builder::new()
        .name("stop".to_owned())
        .spawn(move || {
            app.close();
            // Whoever is told may start the next service on the same folder.
            drop(app);
            let _ = done.send(());
        });
    if closer.is_ok() && timeout(ENDING, is_done).await.is_err() {
        tracing::error!("a thread does not end; what it did is lost");
    }
}
