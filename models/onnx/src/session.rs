//! Opening a model's graph on a device.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ort::ep;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

use crate::batch::{Batch, Row};
use crate::device::{Device, DeviceChoice, DeviceError, prove_cuda};
use crate::run::{GraphSession, Ports, RunError, run};
use crate::runtime::Runtime;

/// How a model's sessions are opened and fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Where it runs.
    pub device: Device,
    /// Sessions, each with its own copy of what ONNX Runtime makes of the
    /// weights. One on a CUDA device, whatever this says. A text's vector does
    /// not depend on it.
    pub workers: usize,
    /// Threads within each session. A text's vector does not depend on it.
    pub threads: usize,
    /// Whether threads wait for each other actively. Faster on a machine with
    /// nothing else to do; otherwise it burns what others could use. A text's
    /// vector does not depend on it.
    pub spinning: bool,
    /// Tokens in a batch at most, padding included; `None` for what suits the
    /// device. A text's vector does not depend on it.
    pub token_budget: Option<usize>,
    /// How long a question waits for others of its padded length, to share a
    /// run with them, while another session runs questions. An idle model
    /// never waits. 0 as a rule: where several sessions share a processor, 32
    /// short questions in one run take as long as 32 runs, and what was not
    /// run meanwhile is lost. A text's vector does not depend on it.
    pub linger: Duration,
    /// Texts of questions that may wait; a call beyond that is refused at once
    /// ([`Stop::QueueFull`](quire_model::Stop::QueueFull)). Indexing is never
    /// refused and waits outside.
    pub queue: usize,
}

/// Tokens in a batch for each thread of a processor, and at least. A batch
/// whose values stay in the caches is faster than a larger one: on two cores
/// with multilingual-e5-small in int8, 512 tokens gave 4,200 tokens per second
/// of processor time, 1,024 gave 3,700 and 2,048 gave 3,200.
const BUDGET_PER_THREAD: usize = 256;
const BUDGET_AT_LEAST: usize = 512;

/// Tokens in a batch on a CUDA device, which needs much work at a time.
const CUDA_BUDGET: usize = 16_384;

impl SessionOptions {
    /// One session that uses all of this machine's cores: least memory, and
    /// the quickest answer to a single question.
    pub fn new(device: Device) -> Self {
        Self {
            device,
            workers: 1,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            spinning: false,
            token_budget: None,
            linger: Duration::ZERO,
            queue: 4096,
        }
    }

    /// The same number of threads, each with a session of its own: the most
    /// tokens a second, since no thread waits for another, at the price of
    /// memory for every session.
    #[must_use]
    pub fn one_thread_each(self) -> Self {
        Self {
            workers: self.threads.max(1),
            threads: 1,
            ..self
        }
    }

    /// Tokens in a batch at most, on the device that was chosen.
    pub(crate) fn budget_on(&self, device: Device) -> usize {
        self.token_budget.unwrap_or(match device {
            Device::Cuda(_) => CUDA_BUDGET,
            Device::Cpu | Device::Auto => BUDGET_AT_LEAST.max(BUDGET_PER_THREAD * self.threads),
        })
    }
}

/// A graph that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// ONNX Runtime refuses the file.
    #[error(
        "cannot open the graph {} (damaged, or its external data is missing beside it)",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// What ONNX Runtime said.
        #[source]
        source: ort::Error,
    },
    /// The device that was asked for is not usable.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The graph wants something that no text has.
    #[error("the graph {} has the input '{input}', which quire does not know", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The input.
        input: String,
    },
    /// The graph lacks the output that the catalogue names.
    #[error("the graph {} has none of the outputs {wanted:?}, but {found:?}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The names in the catalogue.
        wanted: Vec<String>,
        /// The names in the graph.
        found: Vec<String>,
    },
    /// The first run failed.
    #[error("the graph {} opens, but does not run", path.display())]
    Probe {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: RunError,
    },
}

/// A model's sessions, opened and tried.
pub(crate) struct Opened {
    pub(crate) sessions: Vec<GraphSession>,
    pub(crate) device: DeviceChoice,
}

/// What to open.
pub(crate) struct Graph<'a> {
    pub(crate) path: &'a Path,
    /// The names the output may have.
    pub(crate) outputs: &'a [String],
}

/// Opens the graph on the device asked for. With [`Device::Auto`] a CUDA
/// device that does not work is a reason to use the processor; with
/// [`Device::Cuda`] it is an error.
pub(crate) fn open(
    runtime: &Runtime,
    graph: &Graph<'_>,
    options: &SessionOptions,
) -> Result<Opened, SessionError> {
    let on_cpu = |reason: String| {
        open_on(runtime, graph, options, None).map(|sessions| Opened {
            sessions,
            device: DeviceChoice {
                device: Device::Cpu,
                reason,
            },
        })
    };
    let on_cuda = |number: u32, reason: &str| {
        open_on(runtime, graph, options, Some(number)).map(|sessions| Opened {
            sessions,
            device: DeviceChoice {
                device: Device::Cuda(number),
                reason: reason.to_owned(),
            },
        })
    };
    match options.device {
        Device::Cpu => on_cpu("asked for".to_owned()),
        Device::Cuda(number) => on_cuda(number, "asked for"),
        Device::Auto if !runtime.has_cuda() => {
            on_cpu("this ONNX Runtime library is built without CUDA".to_owned())
        }
        Device::Auto => match on_cuda(0, "a CUDA device is there and runs the model") {
            Err(SessionError::Device(error)) => {
                on_cpu(format!("no usable CUDA device: {}", with_causes(&error)))
            }
            other => other,
        },
    }
}

fn open_on(
    runtime: &Runtime,
    graph: &Graph<'_>,
    options: &SessionOptions,
    cuda: Option<u32>,
) -> Result<Vec<GraphSession>, SessionError> {
    let mut first = Prover::open(runtime, graph, options, cuda)?;
    let ports = ports(&first.session, graph)?;
    first.prove(&ports, graph, cuda)?;
    let mut sessions = vec![first.session];
    while cuda.is_none() && sessions.len() < options.workers {
        let session = commit(builder(runtime, options, cuda), graph, cuda)?;
        sessions.push(session);
    }
    let ports = Arc::new(ports);
    let with_ports = |session| GraphSession {
        session,
        ports: Arc::clone(&ports),
    };
    Ok(sessions.into_iter().map(with_ports).collect())
}

/// A session whose first run is watched.
struct Prover {
    session: Session,
    /// Where the profile of the first run is written; CUDA only.
    profile: Option<tempfile::TempDir>,
}

impl Prover {
    fn open(
        runtime: &Runtime,
        graph: &Graph<'_>,
        options: &SessionOptions,
        cuda: Option<u32>,
    ) -> Result<Self, SessionError> {
        let Some(number) = cuda else {
            let session = commit(builder(runtime, options, None), graph, None)?;
            return Ok(Self {
                session,
                profile: None,
            });
        };
        if !runtime.has_cuda() {
            return Err(DeviceError::NotBuilt { number }.into());
        }
        let folder = tempfile::tempdir()
            .map_err(|error| DeviceError::Profile(Box::new(error)))
            .map_err(SessionError::Device)?;
        let prefix = folder.path().join("run");
        let builder = builder(runtime, options, cuda)
            .and_then(|builder| Ok(builder.with_profiling(&prefix)?));
        Ok(Self {
            session: commit(builder, graph, cuda)?,
            profile: Some(folder),
        })
    }

    /// Runs the model once: the graph computes, and on the device asked for.
    fn prove(
        &mut self,
        ports: &Ports,
        graph: &Graph<'_>,
        cuda: Option<u32>,
    ) -> Result<(), SessionError> {
        let batch = Batch {
            rows: vec![Row {
                index: 0,
                tokens: 3,
                truncated: false,
            }],
            width: 8,
            // Ids that every vocabulary has.
            ids: vec![0, 3, 2, 1, 1, 1, 1, 1],
        };
        run(&mut self.session, ports, &batch, &mut |_| ()).map_err(|source| {
            SessionError::Probe {
                path: graph.path.to_owned(),
                source,
            }
        })?;
        let (Some(number), Some(_folder)) = (cuda, self.profile.take()) else {
            return Ok(());
        };
        let file = self
            .session
            .end_profiling()
            .map_err(|error| DeviceError::Profile(Box::new(error)))?;
        let profile =
            std::fs::read_to_string(file).map_err(|error| DeviceError::Profile(Box::new(error)))?;
        Ok(prove_cuda(number, &profile)?)
    }
}

fn builder(
    runtime: &Runtime,
    options: &SessionOptions,
    cuda: Option<u32>,
) -> ort::Result<SessionBuilder> {
    let builder = Session::builder(runtime.environment())?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(options.threads)?
        .with_intra_op_spinning(options.spinning)?
        // Every batch has another shape, and a pattern is kept for each.
        .with_memory_pattern(false)?;
    let Some(number) = cuda else {
        return Ok(builder.with_execution_providers([ep::CPU::default()
            .with_arena_allocator(true)
            .build()
            .error_on_failure()])?);
    };
    let number = i32::try_from(number).map_err(|error| ort::Error::new(error.to_string()))?;
    Ok(builder.with_execution_providers([ep::CUDA::default()
        .with_device_id(number)
        // 10 bits of mantissa are not the fp32 that the recipe says.
        .with_tf32(false)
        .build()
        .error_on_failure()])?)
}

fn commit(
    builder: ort::Result<SessionBuilder>,
    graph: &Graph<'_>,
    cuda: Option<u32>,
) -> Result<Session, SessionError> {
    builder
        .and_then(|mut builder| builder.commit_from_file(graph.path))
        .map_err(|source| match cuda {
            Some(number) => DeviceError::Start { number, source }.into(),
            None => SessionError::Open {
                path: graph.path.to_owned(),
                source,
            },
        })
}

/// Which of the graph's inputs and outputs are used.
fn ports(session: &Session, graph: &Graph<'_>) -> Result<Ports, SessionError> {
    const KNOWN: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];
    let names = |outlets: &[ort::value::Outlet]| -> Vec<String> {
        outlets
            .iter()
            .map(|outlet| outlet.name().to_owned())
            .collect()
    };
    let inputs = names(session.inputs());
    if let Some(input) = inputs.iter().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(SessionError::Input {
            path: graph.path.to_owned(),
            input: input.clone(),
        });
    }
    let found = names(session.outputs());
    match graph.outputs.iter().find(|name| found.contains(name)) {
        Some(output) => Ok(Ports {
            inputs,
            output: output.clone(),
        }),
        None => Err(SessionError::Output {
            path: graph.path.to_owned(),
            wanted: graph.outputs.to_vec(),
            found,
        }),
    }
}

/// An error and its causes on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
