//! The queue of jobs.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use quire_index::{IoError, rfc3339};

use super::folder::Folder;
use super::said::{Sayer, in_full};
use super::worker;
use super::{
    JobError, JobFile, JobHooks, JobId, JobOptions, JobParts, JobReport, JobState, Receiving,
};

/// The queue of jobs and the thread that runs them. All methods may be called
/// from any thread. What is asked of jobs is answered from memory at once;
/// only [`receive`](Self::receive) waits for the disk, and
/// [`stop`](Self::stop) and [`wait_change`](Self::wait_change) as they say.
pub struct JobQueue {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the queue, its thread and the uploads being received share.
pub(super) struct Shared {
    pub(super) folder: Folder,
    pub(super) parts: JobParts,
    pub(super) options: JobOptions,
    pub(super) hooks: JobHooks,
    pub(super) sayer: Sayer,
    stopping: AtomicBool,
    state: Mutex<State>,
    /// The last id that was given. Held while a job is accepted, so that ids
    /// are given and jobs are queued in one order.
    last: Mutex<Option<JobId>>,
    /// Any job changed, one was accepted, or the queue is stopping.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: BTreeMap<JobId, JobReport>,
    /// Those that wait, in order.
    waiting: VecDeque<JobId>,
    /// Uploads that are being received.
    receiving: usize,
}

impl JobQueue {
    /// Takes over the jobs in the store's folder, and begins with those that
    /// an earlier process left unfinished.
    ///
    /// # Errors
    /// When another process runs them, or the operating system refuses.
    pub fn start(parts: JobParts, options: JobOptions, hooks: JobHooks) -> Result<Self, JobError> {
        let path = parts.store.root().join("jobs");
        let folder = Folder::open(path.clone())?;
        let mut state = State::default();
        for mut report in folder.load()? {
            report.version = 1;
            report.progress = None;
            if !report.state.is_finished() {
                report.state = JobState::Waiting;
                state.waiting.push_back(report.id);
            }
            state.jobs.insert(report.id, report);
        }
        if !state.waiting.is_empty() {
            tracing::info!(
                jobs = state.waiting.len(),
                "unfinished jobs are taken up again"
            );
        }
        let mut private = options.private.clone();
        private.push(parts.store.root().to_owned());
        let shared = Arc::new(Shared {
            folder,
            sayer: Sayer::new(private),
            parts,
            options,
            hooks,
            stopping: AtomicBool::new(false),
            last: Mutex::new(state.jobs.last_key_value().map(|(id, _)| *id)),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        shared.forget_oldest();
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("jobs".to_owned())
            .spawn(move || worker::run(&of_thread))
            .map_err(IoError::of("start the thread that runs the jobs", path))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Begins to receive an upload, with a place in the queue kept for it.
    ///
    /// # Errors
    /// When no place is left, when the queue is stopping, or when the
    /// operating system refuses.
    pub fn receive(&self) -> Result<Receiving, JobError> {
        Receiving::begin(&self.shared)
    }

    /// What is known of a job; `None` if there is none of that name.
    pub fn get(&self, id: JobId) -> Option<JobReport> {
        self.shared.lock().jobs.get(&id).cloned()
    }

    /// Every job there is, by acceptance.
    pub fn list(&self) -> Vec<JobReport> {
        self.shared.lock().jobs.values().cloned().collect()
    }

    /// Jobs that wait, without the one that runs.
    pub fn waiting(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Waits until a job's version is not `seen`, at most for `timeout`, and
    /// gives what is known then: with the same version if nothing changed.
    /// `None` if there is no such job. Ends early when the queue stops.
    pub fn wait_change(&self, id: JobId, seen: u64, timeout: Duration) -> Option<JobReport> {
        let unchanged = |state: &mut State| {
            let job = state.jobs.get(&id);
            job.is_some_and(|job| job.version == seen) && !self.shared.is_stopping()
        };
        let state = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, timeout, unchanged);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.jobs.get(&id).cloned()
    }

    /// Ends the running build after its current batch and waits for that. The
    /// jobs that are not finished stay on the disk for the next start; no
    /// upload is accepted any more. The models must outlast this.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        // Under the lock, so that nobody misses it who is about to wait.
        drop(self.shared.lock());
        self.shared.changed.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic in it was logged where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for JobQueue {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is one statement, so a panic leaves no half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps a place for an upload.
    pub(super) fn reserve(&self) -> Result<(), JobError> {
        if self.is_stopping() {
            return Err(JobError::Stopping);
        }
        let mut state = self.lock();
        let waiting = state.waiting.len() + state.receiving;
        if waiting >= self.options.max_waiting {
            return Err(JobError::QueueFull { waiting });
        }
        state.receiving += 1;
        Ok(())
    }

    /// Gives the place of an upload back.
    pub(super) fn give_back(&self) {
        self.lock().receiving -= 1;
    }

    /// Makes what was received a job.
    pub(super) fn accept(
        &self,
        received: &Path,
        files: Vec<JobFile>,
    ) -> Result<JobReport, JobError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_stopping() {
            return Err(JobError::Stopping);
        }
        let now = SystemTime::now();
        let report = JobReport {
            id: JobId::after(*last, now),
            version: 1,
            state: JobState::Waiting,
            accepted: rfc3339(now),
            started: None,
            finished: None,
            files,
            books: Vec::new(),
            progress: None,
            problem: None,
        };
        self.folder.commit(received, &report)?;
        *last = Some(report.id);
        let mut state = self.lock();
        state.jobs.insert(report.id, report.clone());
        state.waiting.push_back(report.id);
        drop(state);
        self.changed.notify_all();
        tracing::info!(job = %report.id, files = report.files.len(), "job accepted");
        Ok(report)
    }

    /// The next job to run; `None` when the queue stops.
    pub(super) fn next(&self) -> Option<JobReport> {
        let nothing = |state: &mut State| state.waiting.is_empty() && !self.is_stopping();
        let waited = self.changed.wait_while(self.lock(), nothing);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if self.is_stopping() {
            return None;
        }
        let id = state.waiting.pop_front()?;
        state.jobs.get(&id).cloned()
    }

    /// Changes what is known of a job and wakes who follows it.
    pub(super) fn update(&self, id: JobId, change: impl FnOnce(&mut JobReport)) {
        if let Some(report) = self.lock().jobs.get_mut(&id) {
            change(report);
            report.version += 1;
        }
        self.changed.notify_all();
    }

    /// Puts what is known of a job in place of what was.
    pub(super) fn publish(&self, report: &JobReport) {
        self.update(report.id, |known| {
            let version = known.version;
            known.clone_from(report);
            known.version = version;
        });
    }

    /// Removes the oldest finished jobs beyond those that are kept.
    pub(super) fn forget_oldest(&self) {
        let mut state = self.lock();
        let finished = state.jobs.values().filter(|job| job.state.is_finished());
        let finished: Vec<JobId> = finished.map(|job| job.id).collect();
        let beyond = finished.len().saturating_sub(self.options.keep);
        for id in &finished[..beyond] {
            state.jobs.remove(id);
        }
        drop(state);
        for id in &finished[..beyond] {
            if let Err(error) = self.folder.remove(*id) {
                tracing::warn!(job = %id, error = in_full(&error), "an old job stays on the disk");
            }
        }
    }
}
