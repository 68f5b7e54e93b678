//! What every request goes through, before and after its route: its id, the
//! key, the count, the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access;
use crate::dialects::Dialect;
use crate::problem::{Code, Problem, written};
use crate::service::App;
use crate::telemetry::{Rejection, Span};
use crate::wire::Timings;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A client's id for a request may have so many characters.
const LONGEST_ID: usize = 128;

/// What a route may know of its request besides what is in it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The request's id, the client's own if it gave one.
    pub(crate) id: Arc<str>,
    /// When its header had arrived.
    pub(crate) at: Instant,
}

impl Asked {
    /// One that no HTTP request brought, at this moment.
    pub(crate) fn unnamed() -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string().into(),
            at: Instant::now(),
        }
    }
}

/// Around every route, and around what is none.
pub(crate) async fn around(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or("none", MatchedPath::as_str).to_owned();
    let dialect = Dialect::of(request.method(), &route);
    let asked = Asked {
        id: request_id(request.headers()),
        at: Instant::now(),
    };
    let mut running = Running::begin(Arc::clone(&app), &route, &request, &asked);
    request.extensions_mut().insert(asked.clone());

    let answer = if app.is_draining() && !access::is_open(request.method(), &route) {
        app.metrics.rejected(Rejection::Draining);
        let detail = "The service takes no new requests.";
        Problem::new(Code::Draining, detail)
            .closing()
            .into_response()
    } else {
        match access::admit(&app.config.keys, &route, &request) {
            Ok(key) => {
                running.key = key;
                next.run(request).await
            }
            Err(problem) => problem.into_response(),
        }
    };
    let mut answer = written(answer, dialect, &asked.id);
    if let Ok(id) = HeaderValue::from_str(&asked.id) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    let headers = answer.headers_mut();
    let never = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(never);
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    if app.is_draining() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    running.end(&answer);
    answer
}

/// The client's id for the request if it is one, or a new one.
fn request_id(headers: &HeaderMap) -> Arc<str> {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let visible = |id: &&str| {
        (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match given.filter(visible) {
        Some(id) => id.into(),
        None => uuid::Uuid::new_v4().to_string().into(),
    }
}

/// A request that is being answered. Dropped before its end, its client went
/// away.
struct Running {
    app: Arc<App>,
    route: String,
    method: String,
    asked: Asked,
    /// The name of the key that was shown.
    key: Option<String>,
    parent: Option<HeaderValue>,
    ended: bool,
}

impl Running {
    fn begin(app: Arc<App>, route: &str, request: &Request, asked: &Asked) -> Self {
        app.metrics.begun();
        app.in_flight.fetch_add(1, Ordering::AcqRel);
        // A method may be any word; the log and spans know a few.
        let method = match request.method().as_str() {
            known @ ("GET" | "HEAD" | "POST" | "DELETE" | "PUT" | "PATCH" | "OPTIONS") => known,
            _ => "other",
        };
        Self {
            app,
            route: route.to_owned(),
            method: method.to_owned(),
            asked: asked.clone(),
            key: None,
            parent: request.headers().get("traceparent").cloned(),
            ended: false,
        }
    }

    fn end(mut self, answer: &Response) {
        let code = answer.extensions().get::<Code>().copied();
        let timings = answer.extensions().get::<Timings>().copied();
        self.tell(answer.status().as_u16(), code, timings);
        self.ended = true;
    }

    fn tell(&self, status: u16, code: Option<Code>, timings: Option<Timings>) {
        let took = self.asked.at.elapsed();
        self.app.metrics.answered(&self.route, status, code);
        tracing::info!(
            request_id = &*self.asked.id,
            method = self.method,
            route = self.route,
            status,
            code = code.map(Code::name),
            ms = took.as_secs_f64() * 1e3,
            key = self.key,
            "request"
        );
        if let Some(exporter) = &self.app.exporter {
            let parent = self.parent.as_ref().and_then(|parent| parent.to_str().ok());
            exporter.send(Span::of_request(
                (&self.method, &self.route),
                status,
                took,
                &self.asked.id,
                timings,
                parent,
            ));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.app.metrics.rejected(Rejection::ClientGone);
            self.tell(Code::ClientGone.status(), Some(Code::ClientGone), None);
        }
        self.app.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(given: &[u8]) -> Arc<str> {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_bytes(given).unwrap());
        request_id(&headers)
    }

    #[test]
    fn a_clients_id_is_kept_if_it_is_a_short_word() {
        assert_eq!(&*id(b"my-request.7"), "my-request.7");
        assert_eq!(id(&[b'x'; 128]).len(), 128);
        for odd in [&b""[..], b"two words", &[b'x'; 129], "\u{e9}".as_bytes()] {
            assert_eq!(id(odd).len(), 36);
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
