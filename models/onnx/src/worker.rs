//! Threads that own sessions, fed by a queue.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::batch::Batch;
use crate::run::RunError;

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Threads, each of which owns a session `S`: a session runs mutably.
pub(crate) struct Workers<S> {
    jobs: Option<SyncSender<Job<S>>>,
    threads: Vec<JoinHandle<()>>,
}

/// What comes back for a batch.
pub(crate) type Reply<T> = (Batch, Result<T, RunError>);

impl<S: Send + 'static> Workers<S> {
    /// Starts one worker a session.
    pub(crate) fn start(name: &str, sessions: Vec<S>) -> io::Result<Self> {
        // Short, so that a question does not wait behind a whole book.
        let (jobs, queue) = sync_channel::<Job<S>>(sessions.len());
        let queue = Arc::new(Mutex::new(queue));
        let threads = sessions
            .into_iter()
            .enumerate()
            .map(|(number, session)| {
                let queue = Arc::clone(&queue);
                std::thread::Builder::new()
                    .name(format!("{name}-{number}"))
                    .spawn(move || serve(session, &queue))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            jobs: Some(jobs),
            threads,
        })
    }

    /// How many workers.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// How many batches keep every worker busy.
    pub(crate) fn depth(&self) -> usize {
        2 * self.len()
    }

    /// Has some worker do `work` on a batch and send the result to `reply`.
    /// Waits while the queue is full. A panic is a failure of this batch; the
    /// worker lives on.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        batch: Batch,
        work: impl FnOnce(&mut S, &Batch) -> Result<T, RunError> + Send + 'static,
        reply: &Sender<Reply<T>>,
    ) -> Result<(), RunError> {
        let reply = reply.clone();
        let job: Job<S> = Box::new(move |session| {
            let work = || work(session, &batch);
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                Err(RunError::Panicked {
                    message: message(panic.as_ref()),
                })
            });
            // Whoever asked may have stopped listening.
            let _ = reply.send((batch, result));
        });
        let jobs = self.jobs.as_ref().ok_or(RunError::Ended)?;
        jobs.send(job).map_err(|_| RunError::Ended)
    }
}

impl<S> Drop for Workers<S> {
    fn drop(&mut self) {
        // Closing the queue ends the workers.
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A worker catches its panics, so it has nothing to report.
            let _ = thread.join();
        }
    }
}

fn serve<S>(mut session: S, queue: &Mutex<Receiver<Job<S>>>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(&mut session),
            Err(_) => return,
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn batch(width: usize) -> Batch {
        Batch {
            rows: Vec::new(),
            width,
            ids: Vec::new(),
        }
    }

    #[test]
    fn a_panic_fails_its_batch_and_the_worker_lives_on() {
        let workers = Workers::start("counting", vec![0usize]).unwrap();
        let (reply, replies) = channel();
        for width in 1..=5 {
            let count = move |seen: &mut usize, batch: &Batch| {
                assert_ne!(batch.width, 3, "three is too many");
                *seen += 1;
                Ok(*seen)
            };
            workers.submit(batch(width), count, &reply).unwrap();
        }
        let results: Vec<_> = (0..5).map(|_| replies.recv().unwrap()).collect();
        let seen: Vec<_> = results.iter().map(|(_, seen)| seen.as_ref().ok()).collect();
        assert_eq!(seen, [Some(&1), Some(&2), None, Some(&3), Some(&4)]);
        let error = results[2].1.as_ref().unwrap_err().to_string();
        assert!(error.contains("three is too many"), "{error}");
    }

    #[test]
    fn work_nobody_waits_for_any_more_is_done_and_forgotten() {
        let workers = Workers::start("deaf", vec![(), ()]).unwrap();
        assert_eq!(workers.len(), 2);
        let (reply, replies) = channel();
        drop(replies);
        for _ in 0..20 {
            workers.submit(batch(1), |(), _| Ok(()), &reply).unwrap();
        }
        let (reply, replies) = channel();
        workers.submit(batch(1), |(), _| Ok(7), &reply).unwrap();
        assert_eq!(replies.recv().unwrap().1.unwrap(), 7);
    }
}
