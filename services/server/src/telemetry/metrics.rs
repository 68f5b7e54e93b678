//! Every metric. All series are there from the start, at zero.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use quire_answer::{ModelKind, Usage};
use quire_model::Stop;

use super::ModelStats;
use super::models::ModelsCollector;
use super::process::Process;
use crate::problem::Code;
use crate::wire::Timings;

/// Every route, as metrics and the log name it. What is none is `none`.
pub const ROUTES: [&str; 32] = [
    "/",
    "/page/{file}",
    "/v1/search",
    "/v1/answer",
    "/v1/books",
    "/v1/books/{id}",
    "/v1/libraries",
    "/v1/libraries/{name}",
    "/v1/libraries/{name}/books/{id}",
    "/v1/chunks/{id}",
    "/v1/jobs",
    "/v1/jobs/{id}",
    "/v1/jobs/{id}/events",
    "/v1/traces/{id}",
    "/mcp",
    "/v1/embeddings",
    "/v1/models",
    "/v1/models/{model}",
    "/v1/models/{family}/{book}",
    "/v1/chat/completions",
    "/v1/rerank",
    "/v2/rerank",
    "/embed",
    "/rerank",
    "/info",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/problems/{code}",
    "none",
];

const STAGES: [&str; 9] = [
    "queue", "lexical", "embed", "dense", "fuse", "rerank", "assemble", "answer", "total",
];

/// Why a request or a query was turned away or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// The queue before the query threads was full.
    QueueFull,
    /// A model's queue was full.
    ModelQueueFull,
    /// Too many connections.
    Connections,
    /// Too many uploads or followers of jobs.
    Uploads,
    /// The service is stopping.
    Draining,
    /// The client went away.
    ClientGone,
    /// The query's time was up while it waited.
    Expired,
}

const REJECTIONS: [(Rejection, &str); 7] = [
    (Rejection::QueueFull, "queue_full"),
    (Rejection::ModelQueueFull, "model_queue_full"),
    (Rejection::Connections, "connections"),
    (Rejection::Uploads, "uploads"),
    (Rejection::Draining, "draining"),
    (Rejection::ClientGone, "client_gone"),
    (Rejection::Expired, "expired"),
];

/// The ends of an answer model: what goes in, what comes out.
const PROMPT: &str = "prompt";
const COMPLETION: &str = "completion";

const JOB_STATES: [&str; 5] = ["waiting", "running", "done", "partly", "failed"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
    status: &'static str,
}

macro_rules! label {
    ($name:ident $field:ident) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name {
            $field: &'static str,
        }
    };
}
label!(ByCode code);
label!(ByReason reason);
label!(ByStage stage);
label!(ByState state);
label!(ByModel model);
label!(ByEnd end);

type Seconds = Gauge<f64, AtomicU64>;

/// Every metric of the service.
pub struct Metrics {
    registry: Registry,
    requests: Family<RouteLabels, Counter>,
    in_flight: Gauge,
    connections: Gauge,
    errors: Family<ByCode, Counter>,
    rejections: Family<ByReason, Counter>,
    queue_depth: Gauge,
    running: Gauge,
    queue_wait: Histogram,
    stages: Family<ByStage, Histogram, fn() -> Histogram>,
    books_open: Gauge,
    books_damaged: Gauge,
    answers: Family<ByModel, Counter>,
    answer_tokens: Family<ByEnd, Counter>,
    traces_appended: Counter,
    traces_failed: Counter,
    jobs: Family<ByState, Gauge<i64, AtomicI64>>,
    spans_exported: Counter,
    spans_dropped: Counter,
    started: Seconds,
}

fn seconds() -> Histogram {
    // From 0.1 ms to 52 s, each twice the one before.
    Histogram::new(exponential_buckets(1e-4, 2.0, 20))
}

impl Metrics {
    /// All metrics, at zero; those of the models where they tell theirs.
    pub fn new(models: Option<Arc<dyn ModelStats>>) -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            errors: Family::default(),
            rejections: Family::default(),
            queue_depth: Gauge::default(),
            running: Gauge::default(),
            queue_wait: seconds(),
            stages: Family::new_with_constructor(seconds),
            books_open: Gauge::default(),
            books_damaged: Gauge::default(),
            answers: Family::default(),
            answer_tokens: Family::default(),
            traces_appended: Counter::default(),
            traces_failed: Counter::default(),
            jobs: Family::default(),
            spans_exported: Counter::default(),
            spans_dropped: Counter::default(),
            started: Gauge::default(),
        };
        metrics.fill();
        metrics.register();
        if let Some(models) = models {
            let collector = Box::new(ModelsCollector(models));
            metrics.registry.register_collector(collector);
        }
        metrics
    }

    /// Creates every series.
    fn fill(&self) {
        for route in ROUTES {
            for status in ["2xx", "4xx", "5xx"] {
                let _ = self.requests.get_or_create(&RouteLabels { route, status });
            }
        }
        for code in Code::ALL {
            let _ = self.errors.get_or_create(&ByCode { code: code.name() });
        }
        for (_, reason) in REJECTIONS {
            let _ = self.rejections.get_or_create(&ByReason { reason });
        }
        for stage in STAGES {
            let _ = self.stages.get_or_create(&ByStage { stage });
        }
        for model in [ModelKind::Extractive, ModelKind::OpenAi] {
            let model = model.as_str();
            let _ = self.answers.get_or_create(&ByModel { model });
        }
        for end in [PROMPT, COMPLETION] {
            let _ = self.answer_tokens.get_or_create(&ByEnd { end });
        }
        for state in JOB_STATES {
            let _ = self.jobs.get_or_create(&ByState { state });
        }
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
        self.started.set(now.map_or(0.0, |now| now.as_secs_f64()));
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register(
            "quire_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        r.register(
            "quire_requests_in_flight",
            "Requests being answered",
            self.in_flight.clone(),
        );
        r.register(
            "quire_connections",
            "Open connections",
            self.connections.clone(),
        );
        r.register(
            "quire_errors",
            "Errors answered, by code",
            self.errors.clone(),
        );
        r.register(
            "quire_rejections",
            "Requests turned away or given up, by reason",
            self.rejections.clone(),
        );
        r.register(
            "quire_queue_depth",
            "Queries that wait for a thread",
            self.queue_depth.clone(),
        );
        r.register(
            "quire_queries_running",
            "Queries on a thread",
            self.running.clone(),
        );
        r.register_with_unit(
            "quire_queue_wait",
            "How long queries waited for a thread",
            Unit::Seconds,
            self.queue_wait.clone(),
        );
        r.register_with_unit(
            "quire_stage",
            "How long each stage of a query took",
            Unit::Seconds,
            self.stages.clone(),
        );
        r.register(
            "quire_books_open",
            "Books that can be searched",
            self.books_open.clone(),
        );
        r.register(
            "quire_books_damaged",
            "Books that cannot be opened",
            self.books_damaged.clone(),
        );
        r.register(
            "quire_answers",
            "Answers given, by the kind of model",
            self.answers.clone(),
        );
        r.register(
            "quire_answer_tokens",
            "Tokens of prompts and completions, as the answer model's server counted them",
            self.answer_tokens.clone(),
        );
        r.register(
            "quire_traces_appended",
            "Traces written to the log",
            self.traces_appended.clone(),
        );
        r.register(
            "quire_traces_failed",
            "Traces that could not be written to the log",
            self.traces_failed.clone(),
        );
        r.register("quire_jobs", "Upload jobs, by state", self.jobs.clone());
        r.register(
            "quire_spans_exported",
            "Spans the collector took",
            self.spans_exported.clone(),
        );
        r.register(
            "quire_spans_dropped",
            "Spans that were dropped because the collector was slow or away",
            self.spans_dropped.clone(),
        );
        r.register_with_unit(
            "process_start_time",
            "When this process began to serve, since the Unix epoch",
            Unit::Seconds,
            self.started.clone(),
        );
        r.register_collector(Box::new(Process));
    }

    /// All metrics as OpenMetrics text.
    ///
    /// # Errors
    /// When a collector fails.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    pub(crate) fn begun(&self) {
        self.in_flight.inc();
    }

    pub(crate) fn answered(&self, route: &str, status: u16, code: Option<Code>) {
        self.in_flight.dec();
        let route = ROUTES.iter().find(|&&known| known == route);
        let route = route.copied().unwrap_or("none");
        let status = match status {
            100..400 => "2xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.requests
            .get_or_create(&RouteLabels { route, status })
            .inc();
        if let Some(code) = code {
            self.errors
                .get_or_create(&ByCode { code: code.name() })
                .inc();
        }
    }

    pub(crate) fn connected(&self, change: i64) {
        self.connections.inc_by(change);
    }

    pub(crate) fn rejected(&self, reason: Rejection) {
        let named = REJECTIONS.iter().find(|(known, _)| *known == reason);
        if let Some(&(_, reason)) = named {
            self.rejections.get_or_create(&ByReason { reason }).inc();
        }
    }

    pub(crate) fn queue_depth(&self, waiting: usize) {
        self.queue_depth.set(waiting as i64);
    }

    pub(crate) fn running(&self, change: i64) {
        self.running.inc_by(change);
    }

    pub(crate) fn queue_wait(&self, waited: Duration) {
        self.queue_wait.observe(waited.as_secs_f64());
    }

    pub(crate) fn dropped_from_queue(&self, stop: Stop) {
        self.rejected(match stop {
            Stop::Cancelled => Rejection::ClientGone,
            Stop::DeadlinePassed => Rejection::Expired,
            Stop::QueueFull => Rejection::ModelQueueFull,
        });
    }

    pub(crate) fn given(&self, model: ModelKind, usage: Option<Usage>) {
        let model = model.as_str();
        self.answers.get_or_create(&ByModel { model }).inc();
        let usage = usage.map_or([0, 0], |usage| {
            [usage.prompt_tokens, usage.completion_tokens]
        });
        for (end, tokens) in [PROMPT, COMPLETION].into_iter().zip(usage) {
            self.answer_tokens
                .get_or_create(&ByEnd { end })
                .inc_by(tokens);
        }
    }

    pub(crate) fn stages(&self, timings: &Timings) {
        for (stage, ms) in timings.named() {
            self.stages
                .get_or_create(&ByStage { stage })
                .observe(ms / 1e3);
        }
    }

    pub(crate) fn books(&self, open: usize, damaged: usize) {
        self.books_open.set(open as i64);
        self.books_damaged.set(damaged as i64);
    }

    pub(crate) fn trace_appended(&self) {
        self.traces_appended.inc();
    }

    pub(crate) fn trace_failed(&self) {
        self.traces_failed.inc();
    }

    pub(crate) fn jobs(&self, state: &'static str, count: usize) {
        self.jobs
            .get_or_create(&ByState { state })
            .set(count as i64);
    }

    pub(crate) fn spans(&self, exported: u64, dropped: u64) {
        self.spans_exported.inc_by(exported);
        self.spans_dropped.inc_by(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LaneFigures, ModelFigures};
    use super::*;

    struct OneModel;

    impl ModelStats for OneModel {
        fn figures(&self) -> Vec<ModelFigures> {
            vec![ModelFigures {
                model: "embedder".to_owned(),
                texts: 6,
                tokens: 90,
                padding: 10,
                batches: 3,
                batch_sizes: vec![(1.0, 1), (4.0, 1)],
                lanes: vec![LaneFigures {
                    lane: "question",
                    waiting: 2,
                    refused: 5,
                    waits: vec![(0.001, 4)],
                    waited: 6,
                    seconds_waited: 0.25,
                    ..LaneFigures::default()
                }],
                ..ModelFigures::default()
            }]
        }
    }

    #[test]
    fn every_series_is_there_from_the_start_at_zero() {
        let text = Metrics::new(None).text().unwrap();
        for line in [
            "quire_requests_total{route=\"/v1/search\",status=\"5xx\"} 0",
            "quire_errors_total{code=\"queue_full\"} 0",
            "quire_rejections_total{reason=\"client_gone\"} 0",
            "quire_stage_seconds_count{stage=\"rerank\"} 0",
            "quire_queue_wait_seconds_count 0",
            "quire_jobs{state=\"failed\"} 0",
            "quire_traces_failed_total 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        assert!(text.contains("process_cpu_seconds_total "));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_model_tells_its_batches() {
        let text = Metrics::new(Some(Arc::new(OneModel))).text().unwrap();
        for line in [
            "quire_model_tokens_total{model=\"embedder\"} 90",
            "quire_model_padding_share{model=\"embedder\"} 0.1",
            "quire_model_queue_depth{model=\"embedder\",lane=\"question\"} 2",
            "quire_model_refused_texts_total{model=\"embedder\",lane=\"question\"} 5",
            "quire_model_queue_wait_seconds_sum{model=\"embedder\",lane=\"question\"} 0.25",
            "quire_model_failed_batches_total{model=\"embedder\"} 0",
            "quire_model_batch_size_count{model=\"embedder\"} 3",
            "quire_model_batch_size_bucket{le=\"4.0\",model=\"embedder\"} 2",
            "quire_model_batch_size_bucket{le=\"+Inf\",model=\"embedder\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_route_nobody_knows_makes_no_series() {
        let metrics = Metrics::new(None);
        let lines = metrics.text().unwrap().lines().count();
        metrics.begun();
        metrics.answered("/v1/x\"y", 404, Some(Code::NoRoute));
        let text = metrics.text().unwrap();
        assert_eq!(text.lines().count(), lines);
        assert!(text.contains("quire_requests_total{route=\"none\",status=\"4xx\"} 1"));
    }
}
