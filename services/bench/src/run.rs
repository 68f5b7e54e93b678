//! One measurement from its plan to its report.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use quire_index::{Machine, rfc3339};

use crate::connection::Client;
use crate::knee::{Point, knee, seen_enough};
use crate::load::{Session, Window};
use crate::meter::Meter;
use crate::prepare;
use crate::process::Process;
use crate::report::{Check, Generator, QuestionsRecord, Report, Run, SCHEMA};
use crate::{BenchError, Length, Load, Loads, Plan};

/// Told how a measurement goes on.
pub trait Watch {
    /// So many of the questions have been asked of the idle server.
    fn checking(&self, asked: usize, of: usize);
    /// A load is on; told a few times a second.
    fn live(&self, load: &Load, live: &Live);
    /// A load is done.
    fn done(&self, run: &Run);
}

/// How a load goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// Seconds since its warm-up began.
    pub seconds: f64,
    /// Seconds it takes, warm-up included, where that is known.
    pub of: Option<f64>,
    /// Whether this is still the warm-up.
    pub warming_up: bool,
    /// Requests counted so far, and of how many, where that is known.
    pub requests: (u64, Option<u64>),
    /// Answers a second so far.
    pub throughput: f64,
    /// The median so far, in microseconds.
    pub p50_us: u64,
    /// The 99th percentile so far, in microseconds.
    pub p99_us: u64,
    /// Requests refused so far.
    pub rejected: u64,
    /// Requests failed so far.
    pub failed: u64,
    /// Requests that are not done.
    pub in_flight: usize,
}

/// How often the live view and the meter look.
const LOOK: Duration = Duration::from_millis(200);
/// A sweep doubles the clients up to this.
const MOST_DOUBLED: usize = 1024;

/// Measures a running server.
///
/// # Errors
/// When the plan cannot be carried out, or no quire answers there. Requests
/// that fail under load are counted, not returned.
pub fn run(plan: &Plan, watch: &dyn Watch) -> Result<Report, BenchError> {
    plan.check_options()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|source| BenchError::System {
            action: "start the asynchronous runtime",
            source,
        })?;
    runtime.block_on(measure(plan, watch))
}

async fn measure(plan: &Plan, watch: &dyn Watch) -> Result<Report, BenchError> {
    let started = rfc3339(SystemTime::now());
    let questions: Arc<[String]> = plan.questions.as_slice().into();
    let mut client = Client::new(
        &plan.target,
        plan.key.as_ref(),
        &questions,
        &plan.request,
        plan.give_up,
    )?;
    let process = match plan.pid {
        Some(pid) => {
            let found = Process::of(pid);
            Some(found.map_err(|source| BenchError::Process { pid, source })?)
        }
        None => Process::listening(&plan.target),
    };
    let server = prepare::server(plan, &client, process).await?;
    let mut check = None;
    if plan.check {
        let of = questions.len();
        let answers = prepare::expected(plan, &client, |asked| watch.checking(asked, of)).await?;
        check = Some(Check {
            asked: of,
            bytes: answers.iter().map(|answer| answer.len() as u64).sum(),
        });
        client.expect(answers);
    }
    let bench = Bench {
        plan,
        watch,
        client: Arc::new(client),
        questions,
        process,
    };
    let runs = bench.all().await?;
    let sweep = !matches!(plan.loads, Loads::Each(_));
    let points: Vec<Point> = runs.iter().map(point).collect();
    Ok(Report {
        schema: SCHEMA,
        tool: concat!("quire ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: plan.command.clone(),
        started,
        url: plan.target.url(),
        server,
        machine: Machine::detect(),
        seed: plan.seed,
        questions: QuestionsRecord {
            files: plan.questions.files().to_vec(),
            count: plan.questions.as_slice().len(),
            sha256: plan.questions.sha256().to_owned(),
        },
        request: plan.request.clone(),
        give_up_seconds: plan.give_up.as_secs_f64(),
        most_connections: plan.most_connections,
        check,
        runs,
        knee: if sweep { knee(&points) } else { None },
    })
}

fn point(run: &Run) -> Point {
    Point {
        load: run.load,
        throughput: run.throughput,
        p99_us: run.answered.p99_us,
    }
}

struct Bench<'a> {
    plan: &'a Plan,
    watch: &'a dyn Watch,
    client: Arc<Client>,
    questions: Arc<[String]>,
    process: Option<Process>,
}

impl Bench<'_> {
    /// Every load of the plan, one after the other.
    async fn all(&self) -> Result<Vec<Run>, BenchError> {
        let mut runs = Vec::new();
        match &self.plan.loads {
            Loads::Each(loads) => {
                for load in loads {
                    runs.push(self.one(*load).await?);
                }
            }
            Loads::Sweep(loads) => {
                let mut loads = loads.clone();
                loads.sort_by(|a, b| a.size().total_cmp(&b.size()));
                for load in loads {
                    runs.push(self.one(load).await?);
                }
            }
            Loads::Doubling => {
                let mut concurrency = 1;
                while concurrency <= MOST_DOUBLED {
                    runs.push(self.one(Load::Closed { concurrency }).await?);
                    let points: Vec<Point> = runs.iter().map(point).collect();
                    if seen_enough(&points) {
                        break;
                    }
                    concurrency *= 2;
                }
            }
        }
        Ok(runs)
    }

    /// One load.
    async fn one(&self, load: Load) -> Result<Run, BenchError> {
        let plan = self.plan;
        self.client.take_opened();
        let mut meter = Meter::start(self.process);
        let started = Instant::now();
        let session = Arc::new(Session::new(
            Arc::clone(&self.client),
            Arc::clone(&self.questions),
            Window::after(plan.warmup, plan.length),
        ));
        {
            let on = session.put_on(load, plan.seed, plan.most_connections);
            let mut on = std::pin::pin!(on);
            let mut looks = tokio::time::interval(LOOK);
            loop {
                tokio::select! {
                    outcome = &mut on => break outcome?,
                    _ = looks.tick() => {
                        let live = self.live(&session, started);
                        meter.observe(&session.window, session.tally().answers_in_window);
                        self.watch.live(&load, &live);
                    }
                }
            }
        }
        let run = self.report(load, &session, meter);
        self.watch.done(&run);
        Ok(run)
    }

    fn live(&self, session: &Session, started: Instant) -> Live {
        let begin = session.window.begin();
        let measured = begin.elapsed().as_secs_f64();
        let tally = session.tally();
        let rejected = tally.rejected_by_status.values().sum();
        Live {
            seconds: started.elapsed().as_secs_f64(),
            of: session
                .window
                .end()
                .map(|end| end.duration_since(started).as_secs_f64()),
            warming_up: Instant::now() < begin,
            requests: (
                tally.requests,
                match self.plan.length {
                    Length::Requests(requests) => Some(requests),
                    Length::Time(_) => None,
                },
            ),
            throughput: if measured > 0.0 {
                tally.answers_in_window as f64 / measured
            } else {
                0.0
            },
            p50_us: tally.answered.quantile(0.5),
            p99_us: tally.answered.quantile(0.99),
            rejected,
            failed: tally.failed(),
            in_flight: session.in_flight(),
        }
    }

    fn report(&self, load: Load, session: &Session, meter: Meter) -> Run {
        let tally = session.tally();
        let window = &session.window;
        let end = window.end().or(tally.last).unwrap_or(window.begin());
        let seconds = end.duration_since(window.begin()).as_secs_f64();
        let (own_cpu, server) = meter.finish(tally.answers_in_window);
        Run {
            load,
            warmup_seconds: self.plan.warmup.as_secs_f64(),
            seconds,
            requests: tally.requests,
            throughput: if seconds > 0.0 {
                tally.answers_in_window as f64 / seconds
            } else {
                0.0
            },
            answered: tally.answered.summary(),
            rejected: tally.rejections(),
            errors: tally.errors.clone(),
            mismatches: tally.mismatches,
            first_mismatch: tally.first_mismatch.clone(),
            stages: tally.stages(),
            generator: Generator {
                behind: tally.behind,
                worst_lateness_us: tally.worst_lateness.as_micros() as u64,
                connections: self.client.take_opened(),
                cpu_seconds: own_cpu,
            },
            server,
        }
    }
}
