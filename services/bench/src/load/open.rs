//! Requests sent when they are due, whatever became of earlier ones.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::Session;
use super::schedule::Schedule;
use crate::BenchError;
use crate::connection::Slot;

pub(super) async fn put_on(
    session: &Arc<Session>,
    schedule: Schedule,
    most_connections: usize,
) -> Result<(), BenchError> {
    let mut due = pace(Arc::clone(session), schedule)?;
    let pool = Arc::new(Pool {
        free: Semaphore::new(most_connections.min(Semaphore::MAX_PERMITS)),
        idle: Mutex::default(),
    });
    let mut requests = JoinSet::new();
    while let Some(due) = due.recv().await {
        let (session, pool) = (Arc::clone(session), Arc::clone(&pool));
        requests.spawn(async move { request(&session, &pool, due).await });
        while requests.try_join_next().is_some() {}
    }
    requests.join_all().await;
    Ok(())
}

/// Tells when each request is due, at that time. A thread of its own sleeps
/// more exactly than the runtime's timer, whose steps are a millisecond.
fn pace(
    session: Arc<Session>,
    schedule: Schedule,
) -> Result<mpsc::UnboundedReceiver<Instant>, BenchError> {
    let (tell, told) = mpsc::unbounded_channel();
    let started = Instant::now();
    let pacer = move || {
        for offset in schedule {
            let due = started + offset;
            if !session.window.admits(due) {
                return;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if tell.send(due).is_err() {
                return;
            }
        }
    };
    let builder = thread::Builder::new().name("pace".to_owned());
    builder.spawn(pacer).map_err(|source| BenchError::System {
        action: "start the thread that paces the requests",
        source,
    })?;
    Ok(told)
}

/// Connections: those in use are as many as permits are out.
struct Pool {
    free: Semaphore,
    idle: Mutex<Vec<Slot>>,
}

async fn request(session: &Session, pool: &Pool, due: Instant) {
    // The pool outlives every request and its semaphore is never closed.
    let Ok(_permit) = pool.free.acquire().await else {
        return;
    };
    if due >= session.window.begin() {
        session.tally().sent(due.elapsed());
    }
    let idle = || pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
    // The one used last is the least likely to have been closed meanwhile.
    let mut slot = idle().pop().flatten();
    session.ask_next(&mut slot, due).await;
    if slot.is_some() {
        idle().push(slot);
    }
}
