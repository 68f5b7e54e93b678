//! Bringing what was appended to the disk, off the path of queries.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::sink::Sink;

/// How long a record may be in the operating system's memory alone.
const EVERY: Duration = Duration::from_secs(1);

/// A thread that syncs files at most once a second.
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ending: Condvar,
}

#[derive(Default)]
struct State {
    unsynced: Vec<Arc<dyn Sink>>,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The list is whole after every statement that changes it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) {
        let files = std::mem::take(&mut self.lock().unsynced);
        for file in files {
            if let Err(error) = file.sync() {
                tracing::warn!(%error, "traces could not be synced to the disk");
            }
        }
    }

    fn run(&self) {
        loop {
            let state = self.lock();
            let waited = self
                .ending
                .wait_timeout_while(state, EVERY, |state| !state.ended);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let ended = state.ended;
            drop(state);
            self.sync();
            if ended {
                return;
            }
        }
    }
}

impl Syncer {
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("trace-sync".to_owned())
            .spawn(move || of_thread.run())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Has a file synced within a second.
    pub(crate) fn soon(&self, file: &Arc<dyn Sink>) {
        let mut state = self.shared.lock();
        if !state.unsynced.iter().any(|other| Arc::ptr_eq(other, file)) {
            state.unsynced.push(Arc::clone(file));
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.ending.notify_all();
        if let Some(thread) = self.thread.take() {
            // It only panics if a sync does, and then there is nothing left
            // to do.
            let _ = thread.join();
        }
    }
}
