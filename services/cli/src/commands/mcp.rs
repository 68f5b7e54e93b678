//! `quire mcp`

use anyhow::{Context as _, Result};
use quire_engine::ModelSource;
use quire_server::{Parts, Service, ServiceConfig, StartError, run_mcp};
use quire_traces::TraceError;

use crate::Ending;
use crate::answering::AnswerSettings;
use crate::args::McpArgs;
use crate::context::Context;
use crate::loader::Loader;

pub fn run(context: &mut Context, args: McpArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let answers = AnswerSettings::read(settings, &args.answer)?;
    let models = settings.models(&args.models)?;
    let config = ServiceConfig {
        budgets: settings.budgets(&args.budgets, &models)?,
        answer_workers: answers.workers,
        traces: settings.or("traces", args.traces, true)?,
        uploads: false,
        ..ServiceConfig::default()
    };
    let cut = settings.cut(&args.cut)?;
    let loader = Loader::new(&context.home, &models)?;
    let mut parts = Parts::new(loader.models()?, context.store()?, loader.recipe(&cut)?);
    parts.answerers = answers.answerers(&parts.models);
    let service = start(config, parts)
        .with_context(|| format!("cannot ask the books in {}", context.home.data.display()))?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the threads of the session")?;
    runtime.block_on(run_mcp(service, tokio::io::stdin(), tokio::io::stdout()))?;
    // A read of standard input that waits cannot be ended.
    runtime.shutdown_background();
    Ok(Ending::Done)
}

/// Starts the service, without a trace log where another process writes it.
fn start(config: ServiceConfig, parts: Parts) -> Result<Service, StartError> {
    let without = ServiceConfig {
        traces: false,
        ..config.clone()
    };
    match Service::start(config, parts.clone()) {
        Err(StartError::Traces(TraceError::InUse { .. })) => {
            tracing::warn!(
                "another process writes the trace log; this session's queries are not logged"
            );
            Service::start(without, parts)
        }
        started => started,
    }
}
