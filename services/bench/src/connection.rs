//! One request over a connection that is kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};
use tokio::net::TcpStream;

use crate::body::{Comparing, Difference};
use crate::{BenchError, Key, Target};

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Status 200, with the stage times the server gave.
    Answered {
        timing: Option<HeaderValue>,
        difference: Option<Difference>,
    },
    /// Status 429 or 503, with its `Retry-After` in seconds.
    Rejected {
        status: u16,
        retry_after: Option<u64>,
    },
    /// No answer.
    Failed(Failure),
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// No connection.
    Connect,
    /// The client gave up.
    Timeout,
    /// The connection ended within the answer.
    ShortBody,
    /// The connection ended before the answer, or was not HTTP.
    Closed,
    /// Another status.
    Status(u16),
}

impl Failure {
    /// Its name in a report.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Connect => "connect".to_owned(),
            Self::Timeout => "timeout".to_owned(),
            Self::ShortBody => "short_body".to_owned(),
            Self::Closed => "closed".to_owned(),
            Self::Status(status) => format!("status {status}"),
        }
    }
}

/// A place for a connection: empty until it is first used and after it broke.
pub(crate) type Slot = Option<SendRequest<Full<Bytes>>>;

/// Asks a server prepared questions.
#[derive(Debug)]
pub(crate) struct Client {
    target: Target,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
    search: String,
    bodies: Vec<Bytes>,
    expected: Vec<Bytes>,
    give_up: Duration,
    opened: AtomicU64,
}

impl Client {
    /// Makes every request's body.
    pub(crate) fn new(
        target: &Target,
        key: Option<&Key>,
        questions: &[String],
        request: &Map<String, Value>,
        give_up: Duration,
    ) -> Result<Self, BenchError> {
        let header = |text: String, what: &str| {
            HeaderValue::from_str(&text)
                .map_err(|_| BenchError::Options(format!("{what} holds characters no header may")))
        };
        let authorization = match key {
            None => None,
            Some(Key(key)) => {
                let mut value = header(format!("Bearer {key}"), "QUIRE_KEY")?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let body = |question: &String| {
            let mut body = Map::new();
            body.insert("question".to_owned(), Value::from(question.as_str()));
            body.extend(request.clone());
            Bytes::from(Value::Object(body).to_string())
        };
        Ok(Self {
            target: target.clone(),
            host: header(target.authority(), "the host of --url")?,
            authorization,
            search: target.path("/v1/search"),
            bodies: questions.iter().map(body).collect(),
            expected: Vec::new(),
            give_up,
            opened: AtomicU64::new(0),
        })
    }

    /// From now on compares each answer with what is expected of its question.
    pub(crate) fn expect(&mut self, answers: Vec<Bytes>) {
        self.expected = answers;
    }

    /// How many different questions there are.
    pub(crate) fn questions(&self) -> usize {
        self.bodies.len()
    }

    /// How many connections were opened since this was last asked.
    pub(crate) fn take_opened(&self) -> u64 {
        self.opened.swap(0, Ordering::Relaxed)
    }

    /// Asks a question that was due at a time, and reads the answer to its end.
    pub(crate) async fn ask(&self, slot: &mut Slot, question: usize, due: Instant) -> Outcome {
        let deadline = tokio::time::Instant::from_std(due + self.give_up);
        let outcome = tokio::time::timeout_at(deadline, self.exchange(slot, question)).await;
        match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(failure)) => {
                *slot = None;
                Outcome::Failed(failure)
            }
            Err(_) => {
                // The rest of an answer may still come over it.
                *slot = None;
                Outcome::Failed(Failure::Timeout)
            }
        }
    }

    async fn exchange(&self, slot: &mut Slot, question: usize) -> Result<Outcome, Failure> {
        let request = self.request(Method::POST, &self.search, self.bodies[question].clone());
        let response = self.send(slot, request).await?;
        let status = response.status().as_u16();
        let headers = response.headers();
        let timing = headers.get("server-timing").cloned();
        let retry_after = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let expected = match status {
            200 => self.expected.get(question),
            _ => None,
        };
        let mut comparing = expected.map(|expected| Comparing::with(expected));
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Failure::ShortBody)?;
            if let (Some(comparing), Some(data)) = (&mut comparing, frame.data_ref()) {
                comparing.feed(data);
            }
        }
        Ok(match status {
            200 => Outcome::Answered {
                timing,
                difference: comparing.and_then(Comparing::finish),
            },
            429 | 503 => Outcome::Rejected {
                status,
                retry_after,
            },
            other => Outcome::Failed(Failure::Status(other)),
        })
    }

    /// Status, headers and whole body of one question or, without one, of
    /// another endpoint.
    pub(crate) async fn fetch(
        &self,
        slot: &mut Slot,
        what: Fetch<'_>,
    ) -> Result<(hyper::http::response::Parts, Bytes), Failure> {
        let request = match what {
            Fetch::Answer(question) => {
                self.request(Method::POST, &self.search, self.bodies[question].clone())
            }
            Fetch::Endpoint(path) => {
                self.request(Method::GET, &self.target.path(path), Bytes::new())
            }
        };
        let whole = async {
            let (parts, body) = self.send(slot, request).await?.into_parts();
            let body = body.collect().await.map_err(|_| Failure::ShortBody)?;
            Ok((parts, body.to_bytes()))
        };
        let outcome = tokio::time::timeout(self.give_up, whole).await;
        let outcome = outcome.unwrap_or(Err(Failure::Timeout));
        if outcome.is_err() {
            *slot = None;
        }
        outcome
    }

    /// Sends over the kept connection, or over a new one where it is gone.
    async fn send(
        &self,
        slot: &mut Slot,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = request;
        if let Some(sender) = slot
            && sender.ready().await.is_ok()
        {
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                // The server closed the idle connection before it saw anything.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Failure::Closed),
                },
            }
        }
        let sender = slot.insert(self.open().await?);
        sender.ready().await.map_err(|_| Failure::Closed)?;
        let response = sender.send_request(request).await;
        response.map_err(|_| Failure::Closed)
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let stream = self.connect().await.map_err(|_| Failure::Connect)?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|_| Failure::Connect)?;
        // Its error reaches the one who waits for the answer.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// Opens a connection, without a word on it.
    pub(crate) async fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect((self.target.host(), self.target.port())).await?;
        stream.set_nodelay(true)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(stream)
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        // Checked when the target was read.
        *request.uri_mut() = path.parse().unwrap_or_default();
        if method == Method::POST {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
        }
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }
}

/// What is fetched whole.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fetch<'a> {
    /// The answer to a question, by its number.
    Answer(usize),
    /// Another endpoint, by its path.
    Endpoint(&'a str),
}
