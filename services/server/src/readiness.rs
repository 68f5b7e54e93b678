//! Proof that the service can do its work: a real inference, a real write.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quire_engine::Models;
use quire_model::{Call, ModelError, Role, Stop};
use tokio::sync::watch;

use crate::problem::chain;
use crate::wire::Check;

/// What an inference may take, the wait in the model's queue included.
const PATIENCE: Duration = Duration::from_secs(5);
const PROBE: &str = "Is anybody there?";

/// Proves models and disk on a thread of its own, at most once an interval.
pub(crate) struct Prover {
    ask: Mutex<Option<SyncSender<()>>>,
    proven: watch::Receiver<Proof>,
    fresh_for: Duration,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Clone)]
struct Proof {
    at: Option<Instant>,
    checks: Vec<Check>,
}

impl Prover {
    /// Proves all once, and again when asked and the last proof is older than
    /// `fresh_for`.
    pub(crate) fn start(
        models: Models,
        data: PathBuf,
        fresh_for: Duration,
    ) -> std::io::Result<Self> {
        let (ask, asked) = mpsc::sync_channel::<()>(1);
        let unproven = Proof {
            at: None,
            checks: vec![
                check("models", Err("not proven yet")),
                check("disk", Err("not proven yet")),
            ],
        };
        let (prove, proven) = watch::channel(unproven);
        let thread = thread::Builder::new()
            .name("readiness".to_owned())
            .spawn(move || {
                let mut reranker_proven = false;
                loop {
                    let checks = vec![
                        prove_models(&models, &mut reranker_proven),
                        prove_disk(&data),
                    ];
                    prove.send_replace(Proof {
                        at: Some(Instant::now()),
                        checks,
                    });
                    if asked.recv().is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            ask: Mutex::new(Some(ask)),
            proven,
            fresh_for,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The checks, proven lately. A proof that does not come in time fails.
    pub(crate) async fn checks(&self) -> Vec<Check> {
        let mut proven = self.proven.clone();
        let last = proven.borrow_and_update().clone();
        match last.at {
            // The first proof is under way; nobody is kept waiting for it.
            None => return last.checks,
            Some(at) if at.elapsed() < self.fresh_for => return last.checks,
            Some(_) => {}
        }
        if let Ok(ask) = self.ask.lock()
            && let Some(ask) = ask.as_ref()
        {
            // One that is pending already serves as well.
            let _ = ask.try_send(());
        }
        let late = PATIENCE + Duration::from_secs(1);
        match tokio::time::timeout(late, proven.changed()).await {
            Ok(Ok(())) => proven.borrow().checks.clone(),
            _ => vec![
                check("models", Err("no answer in time")),
                check("disk", Err("no answer in time")),
            ],
        }
    }

    pub(crate) fn close(&self) {
        if let Ok(mut ask) = self.ask.lock() {
            ask.take();
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Prover {
    fn drop(&mut self) {
        self.close();
    }
}

/// The embedder each time, the reranker until it has answered once: it may be
/// loaded by its first use.
fn prove_models(models: &Models, reranker_proven: &mut bool) -> Check {
    let call = Call::new().until(Instant::now() + PATIENCE);
    let embedded = models.embedder.embed(&[PROBE], Role::Question, &call);
    let whole = |vectors: Vec<quire_model::Embedding>| {
        vectors.len() == 1 && vectors[0].vector.iter().all(|value| value.is_finite())
    };
    if let Some(failed) = failure("the embedder", embedded.map(whole)) {
        return failed;
    }
    if !*reranker_proven {
        // Loading it may take long, and nothing else waits for this.
        let scored = models.reranker.rerank(PROBE, &[PROBE], &Call::new());
        let whole = |scores: Vec<quire_model::RerankScore>| {
            scores.len() == 1 && scores[0].score.is_finite()
        };
        if let Some(failed) = failure("the reranker", scored.map(whole)) {
            return failed;
        }
        *reranker_proven = true;
    }
    check("models", Ok("answered a probe"))
}

fn failure(model: &str, outcome: Result<bool, ModelError>) -> Option<Check> {
    match outcome {
        Ok(true) => None,
        Ok(false) => Some(check(
            "models",
            Err(&format!("{model} gave no finite result")),
        )),
        // Busy is alive.
        Err(error) if error.stop() == Some(Stop::QueueFull) => None,
        Err(error) => {
            tracing::error!(error = chain(&error), "{model} did not answer a probe");
            Some(check("models", Err(&format!("{model} did not answer"))))
        }
    }
}

fn prove_disk(data: &std::path::Path) -> Check {
    let path = data.join(format!(".probe-{}", std::process::id()));
    let written = std::fs::write(&path, PROBE);
    let removed = std::fs::remove_file(&path);
    match written.and(removed) {
        Ok(()) => check("disk", Ok("takes a file")),
        Err(error) => {
            tracing::error!(%error, "the data folder takes no file");
            check("disk", Err("the data folder takes no file"))
        }
    }
}

/// A check by name, with what there is to say either way.
pub(crate) fn check(name: &str, outcome: Result<&str, &str>) -> Check {
    Check {
        name: name.to_owned(),
        ok: outcome.is_ok(),
        detail: outcome.unwrap_or_else(|failed| failed).to_owned(),
    }
}
