//! Clients that wait for their answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Done, Session};

/// A client that was refused comes back when the server says, but not later
/// than this: the load is to stay on.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Where the server does not say, or cannot be reached.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn put_on(session: &Arc<Session>, concurrency: usize) {
    let mut clients = JoinSet::new();
    for _ in 0..concurrency {
        let session = Arc::clone(session);
        clients.spawn(async move { client(&session).await });
    }
    clients.join_all().await;
}

async fn client(session: &Session) {
    let mut slot = None;
    loop {
        let due = Instant::now();
        if !session.window.admits(due) {
            return;
        }
        // Without a pause, clients that are refused at once would spend the
        // machine on being refused.
        let pause = match session.ask_next(&mut slot, due).await {
            Done::Answered => continue,
            Done::Rejected(Some(seconds)) => Duration::from_secs(seconds).min(LONGEST_PAUSE),
            Done::Rejected(None) | Done::Failed => SHORT_PAUSE,
        };
        let until = Instant::now() + pause;
        let until = session.window.end().map_or(until, |end| until.min(end));
        tokio::time::sleep_until(until.into()).await;
    }
}
