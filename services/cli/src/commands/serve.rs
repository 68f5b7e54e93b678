//! `quire serve`

use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use quire_engine::ModelSource;
use quire_onnx::{BATCH_BOUNDS, ModelStats as OnnxStats, WAIT_BOUNDS};
use quire_server::{
    Keys, LaneFigures, Limits, ModelFigures, ModelStats, Parts, Service, ServiceConfig,
    TelemetryConfig, Times,
};
use quire_traces::TraceLogOptions;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Ending;
use crate::answering::AnswerSettings;
use crate::args::{ServeArgs, ServeLimitArgs};
use crate::context::Context;
use crate::loader::Loader;
use crate::settings::Settings;

pub fn run(context: &mut Context, args: ServeArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let address: String = settings.or("address", args.address, "127.0.0.1:8080".to_owned())?;
    let address: SocketAddr = address.parse().map_err(|_| {
        anyhow!("'{address}' is no address to listen on: give IP:PORT, such as 127.0.0.1:8080")
    })?;
    let mut config = config(settings, &args.limits)?;
    let models = settings.models(&args.models)?;
    config.budgets = settings.budgets(&args.budgets, &models)?;
    let answers = AnswerSettings::read(settings, &args.answer)?;
    config.answer_workers = answers.workers;
    config.traces = settings.or("traces", args.traces, true)?;
    if let Some(file) = settings.path("keys", args.keys)? {
        config.keys = Keys::read(&file)?;
    }
    // Said before the models are loaded, which may take a while.
    if config.keys.is_empty() && !address.ip().is_loopback() {
        bail!(
            "{address} can be reached from other machines, so clients need keys: give a file of \
             them with --keys, or listen on 127.0.0.1"
        );
    }
    config.telemetry = telemetry();
    let trace_disk = settings.or("trace-disk", args.trace_disk, 1024)?.max(1) << 20;
    let cut = settings.cut(&args.cut)?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the threads of the server")?;
    // Bound first: a port that is taken is better known before models load.
    let listener = runtime
        .block_on(TcpListener::bind(address))
        .with_context(|| format!("cannot listen on {address}; choose another with --address"))?;
    let address = listener.local_addr().context("cannot tell the address")?;
    let loader = Arc::new(Loader::new(&context.home, &models)?);
    let mut parts = Parts::new(loader.models()?, context.store()?, loader.recipe(&cut)?);
    parts.answerers = answers.answerers(&parts.models);
    parts.jobs.private.push(context.home.root.clone());
    parts.traces = TraceLogOptions {
        file_bytes: TraceLogOptions::default().file_bytes.min(trace_disk / 2),
        most_bytes: trace_disk,
    };
    parts.model_stats = Some(Arc::new(Stats(Arc::clone(&loader))));
    let service = Service::start(config, parts)
        .with_context(|| format!("cannot serve from {}", context.home.data.display()))?;

    let mut stdout = io::stdout();
    // Nobody may be reading.
    let _ = writeln!(stdout, "listening on http://{address}").and_then(|()| stdout.flush());
    runtime.block_on(async {
        let mut end = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let asked_to_stop = async {
            tokio::select! {
                _ = end.recv() => {}
                _ = interrupt.recv() => {}
            }
            tokio::spawn(async move {
                tokio::select! {
                    _ = end.recv() => {}
                    _ = interrupt.recv() => {}
                }
                tracing::warn!("stopped a second time; not waiting any longer");
                std::process::exit(1);
            });
        };
        quire_server::run(listener, service, asked_to_stop).await?;
        Ok(Ending::Done)
    })
}

fn config(settings: &mut Settings, args: &ServeLimitArgs) -> Result<ServiceConfig> {
    let default = ServiceConfig::default();
    let workers = settings.or("workers", args.workers, default.workers)?;
    let queue = settings.or("queue", args.queue, default.queue)?;
    let timeout = default.times.query.as_millis() as u64;
    let timeout = settings.or("timeout", args.timeout, timeout)?;
    let upload = settings.or(
        "max-upload",
        args.max_upload,
        default.limits.upload_bytes >> 20,
    )?;
    let connections = default.limits.connections;
    let connections = settings.or("connections", args.connections, connections)?;
    let drain = settings.or("drain", args.drain, default.times.drain.as_secs())?;
    let in_range = [
        ("workers", workers as u64, 1, 1024),
        ("queue", queue as u64, 0, 1 << 20),
        (
            "timeout",
            timeout,
            1,
            default.times.query_most.as_millis() as u64,
        ),
        ("max-upload", upload, 1, 64 << 10),
        ("connections", connections as u64, 1, 1 << 20),
        ("drain", drain, 0, 3600),
    ];
    for (name, value, least, most) in in_range {
        if value < least || value > most {
            bail!("{name} is {value}; it must be from {least} to {most}");
        }
    }
    Ok(ServiceConfig {
        workers,
        queue,
        limits: Limits {
            upload_bytes: upload << 20,
            connections,
            ..default.limits
        },
        times: Times {
            query: Duration::from_millis(timeout),
            drain: Duration::from_secs(drain),
            ..default.times
        },
        ..default
    })
}

/// Where spans go, by the variables that OpenTelemetry defines.
fn telemetry() -> Option<TelemetryConfig> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let headers = variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let headers = headers.split(',').filter_map(|header| {
        let (name, value) = header.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    Some(TelemetryConfig {
        endpoint: variable("OTEL_EXPORTER_OTLP_ENDPOINT")?,
        service_name: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "quire".to_owned()),
        headers: headers.collect(),
    })
}

/// What the models' queues have done, for `/metrics`.
struct Stats(Arc<Loader>);

impl ModelStats for Stats {
    fn figures(&self) -> Vec<ModelFigures> {
        let models = self.0.stats().into_iter();
        models
            .map(|(model, stats)| figures(model, &stats))
            .collect()
    }
}

fn figures(model: String, stats: &OnnxStats) -> ModelFigures {
    let sizes = BATCH_BOUNDS.iter().zip(stats.batch_sizes.counts);
    let lane = |name: &'static str, lane: &quire_onnx::LaneStats| LaneFigures {
        lane: name,
        waiting: lane.waiting as u64,
        dropped: lane.cancelled + lane.late,
        refused: lane.refused,
        waits: WAIT_BOUNDS
            .iter()
            .zip(lane.waits.counts)
            .map(|(&bound, count)| (bound as f64 / 1e9, count))
            .collect(),
        waited: lane.waits.count(),
        seconds_waited: lane.waits.sum as f64 / 1e9,
    };
    ModelFigures {
        model,
        texts: stats.texts,
        truncated: stats.truncated,
        tokens: stats.tokens,
        padding: stats.padded_tokens - stats.tokens,
        batches: stats.batches,
        failed: stats.failed,
        batch_sizes: sizes.map(|(&bound, count)| (bound as f64, count)).collect(),
        lanes: vec![
            lane("question", &stats.questions),
            lane("bulk", &stats.bulk),
        ],
    }
}
