//! Putting a load on.

mod closed;
mod open;
mod schedule;
mod window;

pub(crate) use window::Window;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::connection::{Client, Outcome};
use crate::tally::Tally;
use crate::{BenchError, Load};

/// What the requests of one load share.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) window: Window,
    questions: Arc<[String]>,
    next_question: AtomicUsize,
    in_flight: AtomicUsize,
    tally: Mutex<Tally>,
}

impl Session {
    pub(crate) fn new(client: Arc<Client>, questions: Arc<[String]>, window: Window) -> Self {
        Self {
            client,
            window,
            questions,
            next_question: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            tally: Mutex::default(),
        }
    }

    /// Puts the load on, until every request of the window is done.
    pub(crate) async fn put_on(
        self: &Arc<Self>,
        load: Load,
        seed: u64,
        most_connections: usize,
    ) -> Result<(), BenchError> {
        match load {
            Load::Closed { concurrency } => closed::put_on(self, concurrency).await,
            Load::Open { rate, arrivals } => {
                let schedule = schedule::Schedule::new(rate, arrivals, seed);
                open::put_on(self, schedule, most_connections).await?;
            }
        }
        Ok(())
    }

    /// Requests sent and not yet done.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        // All on one thread: the lock is never waited for.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the next question, due at a time, and counts what becomes of it.
    async fn ask_next(&self, slot: &mut crate::connection::Slot, due: Instant) -> Done {
        let turn = self.next_question.fetch_add(1, Ordering::Relaxed);
        let question = turn % self.client.questions();
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let outcome = self.client.ask(slot, question, due).await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let done = match &outcome {
            Outcome::Answered { .. } => Done::Answered,
            Outcome::Rejected { retry_after, .. } => Done::Rejected(*retry_after),
            Outcome::Failed(_) => Done::Failed,
        };
        let mut tally = self.tally();
        tally.add(&self.questions[question], due, outcome, &self.window);
        done
    }
}

/// What a client does next depends on.
#[derive(Debug, Clone, Copy)]
enum Done {
    Answered,
    Rejected(Option<u64>),
    Failed,
}
