//! The threads that run queries, and the bounded queue before them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quire_model::Call;

use crate::telemetry::Metrics;

/// Ended queries by whose times the speed is judged.
const REMEMBERED: usize = 64;
/// Nobody is told to come back later than this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Threads that run queries, and the queue before them. A query that nobody
/// waits for any more leaves the queue unrun.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// When there will be room, by how fast queries ended lately.
    pub retry_after: Duration,
}

/// What is to be done, given how long it has waited.
type Work = Box<dyn FnOnce(Duration) + Send>;

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    capacity: usize,
    metrics: Option<Arc<Metrics>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Ticket>,
    idle: usize,
    closed: bool,
    ended: VecDeque<Instant>,
}

struct Ticket {
    since: Instant,
    call: Call,
    work: Work,
}

impl Pool {
    /// Starts `workers` threads of that name before which `capacity` pieces of
    /// work may wait. The metrics, if any, are told of all that happens.
    ///
    /// # Errors
    /// When the operating system starts no more threads.
    pub fn start(
        name: &str,
        workers: usize,
        capacity: usize,
        metrics: Option<Arc<Metrics>>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            capacity,
            metrics,
        });
        let pool = Self {
            shared: Arc::clone(&shared),
            threads: Mutex::default(),
        };
        for number in 0..workers.max(1) {
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || shared.run())?;
            lock(&pool.threads).push(thread);
        }
        Ok(pool)
    }

    /// Puts work into the queue. It runs unless `call` ends before its turn.
    ///
    /// # Errors
    /// When the queue is full, or the pool is closed.
    pub fn submit(
        &self,
        call: Call,
        work: impl FnOnce(Duration) + Send + 'static,
    ) -> Result<(), Full> {
        let mut state = lock(&self.shared.state);
        if state.room(self.shared.capacity) == 0 {
            state.drop_unwanted(self.shared.metrics.as_deref());
        }
        if state.closed || state.room(self.shared.capacity) == 0 {
            return Err(Full {
                retry_after: state.wait_for_room(),
            });
        }
        state.waiting.push_back(Ticket {
            since: Instant::now(),
            call,
            work: Box::new(work),
        });
        self.shared
            .tell(|metrics| metrics.queue_depth(state.waiting.len()));
        drop(state);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Drops what waits, lets what runs end, and ends the threads.
    pub fn close(&self) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        state.waiting.clear();
        self.shared.tell(|metrics| metrics.queue_depth(0));
        drop(state);
        self.shared.changed.notify_all();
        for thread in lock(&self.threads).drain(..) {
            // A panic of a query was caught and told already.
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn tell(&self, what: impl FnOnce(&Metrics)) {
        if let Some(metrics) = &self.metrics {
            what(metrics);
        }
    }

    fn run(&self) {
        while let Some((work, waited)) = self.next() {
            self.tell(|metrics| metrics.running(1));
            // What the work holds is dropped with it, so nothing half done is
            // ever seen again.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(waited)));
            self.tell(|metrics| metrics.running(-1));
            if outcome.is_err() {
                tracing::error!("a query panicked; its thread goes on");
            }
            lock(&self.state).has_ended(Instant::now());
        }
    }

    /// The next work that somebody waits for; none once the pool is closed.
    fn next(&self) -> Option<(Work, Duration)> {
        let mut state = lock(&self.state);
        loop {
            while let Some(ticket) = state.waiting.pop_front() {
                let waited = ticket.since.elapsed();
                self.tell(|metrics| {
                    metrics.queue_depth(state.waiting.len());
                    metrics.queue_wait(waited);
                });
                match ticket.call.stop() {
                    None => return Some((ticket.work, waited)),
                    Some(stop) => self.tell(|metrics| metrics.dropped_from_queue(stop)),
                }
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl State {
    /// How many more may wait. One that an idle thread is about to take does
    /// not count.
    fn room(&self, capacity: usize) -> usize {
        (capacity + self.idle).saturating_sub(self.waiting.len())
    }

    fn drop_unwanted(&mut self, metrics: Option<&Metrics>) {
        self.waiting.retain(|ticket| {
            let stop = ticket.call.stop();
            if let (Some(stop), Some(metrics)) = (stop, metrics) {
                metrics.dropped_from_queue(stop);
            }
            stop.is_none()
        });
        if let Some(metrics) = metrics {
            metrics.queue_depth(self.waiting.len());
        }
    }

    fn has_ended(&mut self, now: Instant) {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(now);
    }

    /// How long until half of what waits has run, at the speed of late: whoever
    /// comes back then finds room.
    fn wait_for_room(&self) -> Duration {
        let (Some(&first), true) = (self.ended.front(), self.ended.len() > 1) else {
            return Duration::from_secs(1);
        };
        let each = first.elapsed() / self.ended.len() as u32;
        let half = self.waiting.len().div_ceil(2).max(1);
        (each * half as u32).clamp(Duration::from_secs(1), LONGEST_WAIT)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds a lock here; were it so, the state would
    // still be whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quire_model::CancelFlag;
    use std::sync::mpsc;

    fn pool(workers: usize, capacity: usize) -> Pool {
        Pool::start("test", workers, capacity, None).unwrap()
    }

    /// Work that occupies a thread until the sender is dropped.
    fn occupy(pool: &Pool) -> mpsc::Sender<()> {
        let (release, wait) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let work = move |_| {
            begun.send(()).unwrap();
            let _ = wait.recv();
        };
        pool.submit(Call::new(), work).unwrap();
        has_begun.recv().unwrap();
        release
    }

    #[test]
    fn a_full_queue_refuses_and_says_when_to_come_back() {
        let pool = pool(1, 1);
        let release = occupy(&pool);
        let (done, is_done) = mpsc::channel();
        pool.submit(Call::new(), move |_| done.send(()).unwrap())
            .unwrap();
        let full = pool.submit(Call::new(), |_| {}).unwrap_err();
        assert_eq!(full.retry_after, Duration::from_secs(1));
        drop(release);
        is_done.recv().unwrap();
    }

    #[test]
    fn what_nobody_waits_for_makes_room_and_never_runs() {
        let metrics = Arc::new(Metrics::new(None));
        let pool = Pool::start("test", 1, 1, Some(Arc::clone(&metrics))).unwrap();
        let release = occupy(&pool);
        let gone = CancelFlag::default();
        let (ran, has_run) = mpsc::channel();
        let told = ran.clone();
        let call = Call::new().cancelled_by(&gone);
        pool.submit(call, move |_| told.send("gone").unwrap())
            .unwrap();
        gone.cancel();
        pool.submit(Call::new(), move |_| ran.send("wanted").unwrap())
            .unwrap();
        drop(release);
        assert_eq!(has_run.iter().collect::<Vec<_>>(), ["wanted"]);
        let dropped = "quire_rejections_total{reason=\"client_gone\"} 1\n";
        assert!(metrics.text().unwrap().contains(dropped));
    }

    #[test]
    fn a_panic_ends_the_query_and_not_the_thread() {
        let pool = pool(1, 4);
        pool.submit(Call::new(), |_| panic!("told to")).unwrap();
        let (done, is_done) = mpsc::channel();
        pool.submit(Call::new(), move |_| done.send(()).unwrap())
            .unwrap();
        is_done.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn the_wait_follows_how_fast_queries_ended() {
        let mut state = State::default();
        let now = Instant::now();
        for ago in [40, 30, 20, 10] {
            state.has_ended(now - Duration::from_secs(ago));
        }
        for _ in 0..3 {
            state.waiting.push_back(Ticket {
                since: now,
                call: Call::new(),
                work: Box::new(|_| {}),
            });
        }
        // One in ten seconds; two of three must run.
        let wait = state.wait_for_room().as_secs_f64();
        assert!((20.0..21.0).contains(&wait), "{wait}");
    }
}
