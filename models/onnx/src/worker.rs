//! Threads that own sessions and empty the queue.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::batch::Batch;
use crate::caller::panicked;
use crate::queue::{Queue, Taken};
use crate::run::{Output, RunError};

/// What a worker owns. A session runs mutably, so one thread has it.
pub(crate) trait Compute: Send + 'static {
    /// Runs the model over a batch and hands its output to `read`, once.
    fn compute(&mut self, batch: &Batch, read: &mut dyn FnMut(&Output<'_>))
    -> Result<(), RunError>;
}

/// The threads of one model, which end when this is dropped.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts one worker a session.
    pub(crate) fn start<S: Compute>(
        name: &str,
        sessions: Vec<S>,
        queue: Queue,
    ) -> io::Result<Self> {
        let mut workers = Self {
            queue: Arc::new(queue),
            threads: Vec::with_capacity(sessions.len()),
        };
        for (number, session) in sessions.into_iter().enumerate() {
            let queue = Arc::clone(&workers.queue);
            // When this one cannot start, dropping `workers` ends the others.
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || serve(session, &queue))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// How many workers.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// What feeds them.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A worker catches its panics, so it has nothing to report.
            let _ = thread.join();
        }
    }
}

fn serve<S: Compute>(mut session: S, queue: &Queue) {
    while let Some(taken) = queue.next() {
        run(&mut session, &taken, queue);
        queue.finished(&taken);
    }
}

/// Runs a batch and answers every caller in it, whatever happens.
fn run<S: Compute>(session: &mut S, taken: &Taken, queue: &Queue) {
    let Taken { batch, callers, .. } = taken;
    let mut answered = 0;
    let start = Instant::now();
    let compute = || {
        session.compute(batch, &mut |output| {
            queue.counters().ran(batch, start.elapsed());
            let mut first = 0;
            for (caller, rows) in &callers[answered..] {
                answered += 1;
                caller.read(&batch.rows[first..first + rows], first, output);
                first += rows;
            }
        })
    };
    let result = catch_unwind(AssertUnwindSafe(compute))
        .unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
    if answered == callers.len() {
        return;
    }
    queue.counters().failed();
    let error = Arc::new(result.err().unwrap_or(RunError::Ended));
    for (caller, _) in &callers[answered..] {
        caller.fail(Arc::clone(&error));
    }
}
