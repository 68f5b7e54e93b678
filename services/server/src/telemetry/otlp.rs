//! Spans for a collector: OTLP as JSON over HTTP, from a thread of its own.
//!
//! The shape is that of `opentelemetry/proto/trace/v1/trace.proto` in its JSON
//! form: ids in hexadecimal digits, 64-bit numbers as strings.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::Metrics;
use crate::config::TelemetryConfig;
use crate::wire::Timings;

/// Requests that may wait to be sent; one more is dropped and counted.
const QUEUE: usize = 2048;
/// Requests in one message at most.
const BATCH: usize = 256;
/// How long a message waits to be filled.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// One request, as a collector is told of it.
#[derive(Debug, Clone)]
pub struct Span {
    name: String,
    method: String,
    route: String,
    status: u16,
    request_id: String,
    trace_id: String,
    parent: Option<String>,
    ended: SystemTime,
    took: Duration,
    timings: Option<Timings>,
}

impl Span {
    /// A request that has just ended; `parent` is its `traceparent` header.
    pub(crate) fn of_request(
        (method, route): (&str, &str),
        status: u16,
        took: Duration,
        request_id: &str,
        timings: Option<Timings>,
        parent: Option<&str>,
    ) -> Self {
        let (trace_id, parent) = match parent.and_then(trace_parent) {
            Some((trace, span)) => (trace.to_owned(), Some(span.to_owned())),
            None => (uuid::Uuid::new_v4().simple().to_string(), None),
        };
        Self {
            name: format!("{method} {route}"),
            method: method.to_owned(),
            route: route.to_owned(),
            status,
            request_id: request_id.to_owned(),
            trace_id,
            parent,
            ended: SystemTime::now(),
            took,
            timings,
        }
    }

    /// The request's span and one for each stage.
    fn write(&self, spans: &mut Vec<Value>) {
        let began = self.ended.checked_sub(self.took).unwrap_or(self.ended);
        let id = span_id();
        let mut span = json!({
            "traceId": self.trace_id,
            "spanId": id,
            "name": self.name,
            // SPAN_KIND_SERVER
            "kind": 2,
            "startTimeUnixNano": nanoseconds(began),
            "endTimeUnixNano": nanoseconds(self.ended),
            "attributes": [
                text("http.request.method", &self.method),
                text("http.route", &self.route),
                text("quire.request_id", &self.request_id),
                {"key": "http.response.status_code", "value": {"intValue": self.status.to_string()}},
            ],
            // STATUS_CODE_ERROR, or unset: a client's error is none of the server's.
            "status": {"code": if self.status >= 500 { 2 } else { 0 }},
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = json!(parent);
        }
        spans.push(span);
        for (name, from, to) in self.timings.iter().flat_map(|timings| stages(timings)) {
            let at = |ms: f64| {
                let after = Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default();
                nanoseconds(began + after.min(self.took))
            };
            spans.push(json!({
                "traceId": self.trace_id,
                "spanId": span_id(),
                "parentSpanId": id,
                "name": name,
                // SPAN_KIND_INTERNAL
                "kind": 1,
                "startTimeUnixNano": at(from),
                "endTimeUnixNano": at(to),
                "status": {"code": 0},
            }));
        }
    }
}

/// When each stage ran, in milliseconds from the request's beginning, as far as
/// their lengths tell: BM25 runs beside the embedding, all else in turn, and
/// what lies around them is put before the queue.
fn stages(timings: &Timings) -> Vec<(&'static str, f64, f64)> {
    let beside = timings.lexical.max(timings.embed);
    let after = timings.assemble.unwrap_or(0.0) + timings.answer.unwrap_or(0.0);
    let last = timings.dense + timings.fuse + timings.rerank + after;
    let queue = (timings.total - timings.queue - beside - last).max(0.0);
    let first = queue + timings.queue;
    let dense = first + beside;
    let fuse = dense + timings.dense;
    let rerank = fuse + timings.fuse;
    let assemble = rerank + timings.rerank;
    let answer = assemble + timings.assemble.unwrap_or(0.0);
    let mut stages = vec![
        ("queue", queue, first),
        ("lexical", first, first + timings.lexical),
        ("embed", first, first + timings.embed),
        ("dense", dense, fuse),
        ("fuse", fuse, rerank),
        ("rerank", rerank, assemble),
    ];
    for (name, from, took) in [
        ("assemble", assemble, timings.assemble),
        ("answer", answer, timings.answer),
    ] {
        stages.extend(took.map(|took| (name, from, from + took)));
    }
    stages
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn span_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..16].to_owned()
}

fn nanoseconds(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos()).to_string()
}

/// Trace and span of a `traceparent` header (W3C Trace Context).
fn trace_parent(header: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = header.split('-').collect();
    let [version, trace, span, flags, ..] = parts[..] else {
        return None;
    };
    let is_id = |id: &str, digits| {
        id.len() == digits
            && id
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && id.bytes().any(|b| b != b'0')
    };
    let sound = version.len() == 2 && version != "ff" && flags.len() == 2;
    (sound && is_id(trace, 32) && is_id(span, 16)).then_some((trace, span))
}

/// Sends spans to a collector. What it does not take in time is dropped and
/// counted; requests never wait for it.
pub struct Exporter {
    spans: Mutex<Option<SyncSender<Span>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

impl Exporter {
    /// Starts the thread that sends.
    ///
    /// # Errors
    /// When the operating system starts no thread.
    pub fn start(config: TelemetryConfig, metrics: Arc<Metrics>) -> std::io::Result<Self> {
        let (send, spans) = mpsc::sync_channel(QUEUE);
        let for_thread = Arc::clone(&metrics);
        let thread = thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || Sender::new(config, for_thread).run(&spans))?;
        Ok(Self {
            spans: Mutex::new(Some(send)),
            thread: Mutex::new(Some(thread)),
            metrics,
        })
    }

    /// Hands a span over, or drops it.
    pub(crate) fn send(&self, span: Span) {
        let Ok(spans) = self.spans.lock() else { return };
        // None once the exporter is closed.
        let dropped = match spans.as_ref() {
            Some(spans) => spans.try_send(span).is_err(),
            None => true,
        };
        if dropped {
            self.metrics.spans(0, 1);
        }
    }

    /// Sends what is left and ends the thread.
    pub(crate) fn close(&self) {
        if let Ok(mut spans) = self.spans.lock() {
            spans.take();
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.close();
    }
}

struct Sender {
    config: TelemetryConfig,
    metrics: Arc<Metrics>,
    agent: ureq::Agent,
    address: String,
    /// Whether the last message was taken, so that the log says it once.
    taken: bool,
}

impl Sender {
    fn new(config: TelemetryConfig, metrics: Arc<Metrics>) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .build();
        Self {
            address: format!("{}/v1/traces", config.endpoint.trim_end_matches('/')),
            agent: agent.into(),
            taken: true,
            config,
            metrics,
        }
    }

    fn run(mut self, spans: &Receiver<Span>) {
        while let Ok(first) = spans.recv() {
            let mut batch = vec![first];
            let end = Instant::now() + GATHER;
            while batch.len() < BATCH {
                let left = end.saturating_duration_since(Instant::now());
                match spans.recv_timeout(left) {
                    Ok(span) => batch.push(span),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            self.deliver(&batch);
        }
    }

    fn deliver(&mut self, batch: &[Span]) {
        let mut request = self
            .agent
            .post(&self.address)
            .header("content-type", "application/json");
        for (name, value) in &self.config.headers {
            request = request.header(name, value);
        }
        let sent = request.send(message(&self.config.service_name, batch).to_string());
        let count = batch.len() as u64;
        match sent {
            Ok(_) => self.metrics.spans(count, 0),
            Err(error) => {
                self.metrics.spans(0, count);
                if self.taken {
                    // Without the address, which may hold a key.
                    tracing::warn!(%error, "the telemetry collector takes no spans");
                }
                self.taken = false;
                return;
            }
        }
        self.taken = true;
    }
}

fn message(service: &str, batch: &[Span]) -> Value {
    let mut spans = Vec::new();
    for span in batch {
        span.write(&mut spans);
    }
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", service)]},
        "scopeSpans": [{
            "scope": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
            "spans": spans,
        }],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn span(parent: Option<&str>) -> Span {
        let timings = Timings {
            queue: 1.0,
            lexical: 2.0,
            embed: 6.0,
            dense: 1.0,
            rerank: 9.0,
            total: 20.0,
            ..Timings::default()
        };
        let took = Duration::from_millis(21);
        Span::of_request(
            ("POST", "/v1/search"),
            200,
            took,
            "id",
            Some(timings),
            parent,
        )
    }

    #[test]
    fn a_request_is_a_span_with_its_stages_inside() {
        let message = message("quire", &[span(Some(PARENT))]);
        let spans = message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
        let spans = spans.unwrap();
        assert_eq!(spans.len(), 7);
        assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
        let time =
            |span: &Value, end: &str| -> u128 { span[end].as_str().unwrap().parse().unwrap() };
        for stage in &spans[1..] {
            assert_eq!(stage["parentSpanId"], spans[0]["spanId"]);
            assert_eq!(stage["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
            let (start, end) = ("startTimeUnixNano", "endTimeUnixNano");
            assert!(time(stage, start) >= time(&spans[0], start));
            assert!(time(stage, end) <= time(&spans[0], end));
        }
    }

    #[test]
    fn a_parent_that_is_none_begins_a_new_trace() {
        assert!(trace_parent(PARENT).is_some());
        for wrong in [
            "",
            "00-0-0-0",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        ] {
            assert!(trace_parent(wrong).is_none(), "{wrong}");
            let span = span(Some(wrong));
            assert!(span.parent.is_none() && span.trace_id.len() == 32);
        }
    }
}
