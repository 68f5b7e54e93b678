//! The queue of one model: fed by all its callers, emptied by its workers.
//!
//! Single texts go in; what a worker takes is a batch of equal padded length,
//! whoever asked for them. Which texts share a run is an accident of timing
//! and changes no result: see `batch`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quire_model::{Call, Stop, Urgency};

use crate::batch::{Batch, BatchRule, Row};
use crate::caller::{Caller, Reply};
use crate::lanes::{Lanes, Waiting};
use crate::run::{RunError, TextOutput};
use crate::stats::{Counters, LaneStats, ModelStats};
use crate::text::Encoded;

/// Bounds of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Texts of questions that may wait.
    pub(crate) questions: usize,
    /// How long a text of a question waits for mates while the model is busy.
    pub(crate) linger: Duration,
}

/// A text and its place among those that a call asked for.
pub(crate) type Text = (usize, Encoded);

/// What callers and workers share.
pub(crate) struct Queue {
    rule: BatchRule,
    limits: Limits,
    state: Mutex<State>,
    /// Something came, or a run ended, or the queue was closed.
    changed: Condvar,
    callers: AtomicU64,
    counters: Counters,
}

#[derive(Default)]
struct State {
    lanes: Lanes,
    /// Runs in flight, by urgency.
    running_questions: usize,
    running_bulk: usize,
    closed: bool,
}

impl State {
    fn running(&mut self, urgency: Urgency) -> &mut usize {
        match urgency {
            Urgency::Question => &mut self.running_questions,
            Urgency::Bulk => &mut self.running_bulk,
        }
    }
}

/// What a worker has to do.
pub(crate) struct Taken {
    pub(crate) batch: Batch,
    /// Whose rows they are: each caller and how many, in the batch's order.
    pub(crate) callers: Vec<(Arc<Caller>, usize)>,
    urgency: Urgency,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(rule: BatchRule, limits: Limits) -> Self {
        Self {
            rule,
            limits,
            state: Mutex::default(),
            changed: Condvar::new(),
            callers: AtomicU64::new(0),
            counters: Counters::default(),
        }
    }

    /// How batches are made.
    pub(crate) fn rule(&self) -> &BatchRule {
        &self.rule
    }

    /// What was done so far.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A new caller, which takes one value a text by `read` and gets them by
    /// `replies`.
    pub(crate) fn caller<T: Send + 'static>(
        &self,
        call: &Call,
        read: impl Fn(&TextOutput<'_>) -> Result<T, RunError> + Send + Sync + 'static,
        replies: Sender<Reply<T>>,
    ) -> Arc<Caller> {
        let id = self.callers.fetch_add(1, Ordering::Relaxed);
        Arc::new(Caller::new(id, call.clone(), read, replies))
    }

    /// Whether `texts` more texts may wait now. What is as large as the whole
    /// queue is let in when nothing else waits.
    pub(crate) fn has_room(&self, urgency: Urgency, texts: usize) -> bool {
        self.room(&self.lock(), urgency, texts)
    }

    fn room(&self, state: &State, urgency: Urgency, texts: usize) -> bool {
        let waiting = state.lanes.questions.len();
        urgency == Urgency::Bulk || waiting == 0 || waiting + texts <= self.limits.questions
    }

    /// Puts a caller's texts in.
    ///
    /// # Errors
    /// Gives them back when there is no room.
    pub(crate) fn put(&self, caller: &Arc<Caller>, texts: Vec<Text>) -> Result<(), Vec<Text>> {
        let mut state = self.lock();
        let urgency = caller.urgency();
        if !self.room(&state, urgency, texts.len()) {
            return Err(texts);
        }
        let since = Instant::now();
        let texts = texts.into_iter().map(|(index, encoded)| Waiting {
            caller: Arc::clone(caller),
            row: Row {
                index,
                tokens: encoded.ids.len(),
                truncated: encoded.truncated,
            },
            ids: encoded.ids,
            since,
        });
        state.lanes.of(urgency).put(&self.rule, texts.collect());
        drop(state);
        // All of them: one that waits for mates of a question could swallow
        // the only notice of bulk work.
        self.changed.notify_all();
        Ok(())
    }

    /// Drops what a caller left behind, which `stop` explains.
    pub(crate) fn forget(&self, caller: &Caller, stop: Stop) {
        let urgency = caller.urgency();
        let forgotten = self.lock().lanes.of(urgency).forget(caller.id());
        self.counters.dropped(urgency, stop, forgotten);
    }

    /// The next batch, as soon as there is one; `None` when the queue is closed.
    pub(crate) fn next(&self) -> Option<Taken> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            let Some(urgency) = state.lanes.turn() else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if let Some(patience) = self.lingers(&state, urgency) {
                state = self
                    .changed
                    .wait_timeout(state, patience)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                continue;
            }
            let dropped = &mut |stop| self.counters.dropped(urgency, stop, 1);
            if let Some((width, texts)) = state.lanes.of(urgency).take(&self.rule, dropped) {
                state.lanes.took(urgency);
                *state.running(urgency) += 1;
                drop(state);
                return Some(self.taken(urgency, width, texts));
            }
        }
    }

    /// How long to wait for mates before taking the next batch, if at all:
    /// only while another worker runs questions, so that more may be coming,
    /// and only for a batch with room.
    fn lingers(&self, state: &State, urgency: Urgency) -> Option<Duration> {
        if urgency == Urgency::Bulk || state.running_questions == 0 {
            return None;
        }
        let head = state.lanes.questions.head(&self.rule)?;
        let left = self.limits.linger.checked_sub(head.since.elapsed())?;
        (!head.full && !left.is_zero()).then_some(left)
    }

    fn taken(&self, urgency: Urgency, width: usize, mut texts: Vec<Waiting>) -> Taken {
        let now = Instant::now();
        for text in &texts {
            let waited = now.saturating_duration_since(text.since);
            self.counters.waited(urgency, waited);
        }
        // Side by side, so that each caller reads its rows in one go.
        texts.sort_by_key(|text| text.caller.id());
        let callers = texts
            .chunk_by(|a, b| a.caller.id() == b.caller.id())
            .map(|own| (Arc::clone(&own[0].caller), own.len()))
            .collect();
        let rows = texts.iter().map(|text| (text.row, text.ids.as_slice()));
        Taken {
            batch: self.rule.batch(width, rows),
            callers,
            urgency,
        }
    }

    /// Notes that a run is over.
    pub(crate) fn finished(&self, taken: &Taken) {
        *self.lock().running(taken.urgency) -= 1;
        // Nobody waits for mates beside an idle model.
        self.changed.notify_all();
    }

    /// Ends the workers: nothing that waits is run any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// What the queue and its workers did and do; `model_time` is added up over
    /// the workers.
    pub(crate) fn stats(&self) -> ModelStats {
        let state = self.lock();
        let lane = |urgency, waiting| LaneStats {
            waiting,
            ..self.counters.lane(urgency)
        };
        ModelStats {
            running: state.running_questions + state.running_bulk,
            questions: lane(Urgency::Question, state.lanes.questions.len()),
            bulk: lane(Urgency::Bulk, state.lanes.bulk.len()),
            ..self.counters.read()
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
