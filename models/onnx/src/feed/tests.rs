//! The queue, fed by many and emptied by sessions made of arithmetic.

use super::*;
use crate::batch::{Batch, BatchRule};
use crate::catalogue::BatchMates;
use crate::queue::Limits;
use crate::run::Output;
use crate::stats::ModelStats;
use crate::worker::{Compute, Workers};
use quire_model::CancelFlag;
use std::sync::atomic::AtomicUsize;
use std::sync::{Condvar, Mutex};
use std::thread::{Scope, ScopedJoinHandle, scope};

/// Ids that mean something to the session or the reader.
const BREAKS_THE_SESSION: u32 = 666;
const BREAKS_THE_READER: u32 = 667;

/// Texts of eight tokens in a batch at most.
const MATES: usize = 4;

/// What all sessions of a scene share: they run only while it is open.
#[derive(Default)]
struct Stage {
    open: Mutex<bool>,
    opened: Condvar,
    /// The first id of each text of each run, in the order they began.
    runs: Mutex<Vec<Vec<i64>>>,
}

impl Stage {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn runs(&self) -> Vec<Vec<i64>> {
        self.runs.lock().unwrap().clone()
    }
}

/// Gives back every id as a vector of one value.
struct Session(Arc<Stage>);

impl Compute for Session {
    fn compute(
        &mut self,
        batch: &Batch,
        read: &mut dyn FnMut(&Output<'_>),
    ) -> Result<(), RunError> {
        let mut firsts: Vec<i64> = batch.ids.chunks(batch.width).map(|ids| ids[0]).collect();
        firsts.sort_unstable();
        self.0.runs.lock().unwrap().push(firsts);
        let open = self.0.open.lock().unwrap();
        drop(self.0.opened.wait_while(open, |open| !*open).unwrap());
        let breaks = i64::from(BREAKS_THE_SESSION);
        assert!(!batch.ids.contains(&breaks), "no such id");
        let values: Vec<f32> = batch.ids.iter().map(|id| *id as f32).collect();
        read(&Output {
            name: "ids",
            shape: &[batch.rows.len() as i64, batch.width as i64, 1],
            values: &values,
            rows: batch.rows.len(),
            width: batch.width,
        });
        Ok(())
    }
}

/// A model of such sessions.
struct Scene {
    workers: Workers,
    stage: Arc<Stage>,
}

impl Scene {
    fn new(sessions: usize, limits: Limits) -> Self {
        let stage = Arc::new(Stage::default());
        let rule = BatchRule {
            budget: 8 * MATES,
            mates: BatchMates::Any,
            max_tokens: 64,
            pad_id: 0,
        };
        let sessions = (0..sessions).map(|_| Session(Arc::clone(&stage))).collect();
        Self {
            workers: Workers::start("fake", sessions, Queue::new(rule, limits)).unwrap(),
            stage,
        }
    }

    /// One worker, closed, that has begun a run of a text of its own.
    fn busy<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        scope.spawn(|| self.ask(&Call::new(), &[(1, 60)]).unwrap());
        self.when(|stats| stats.running == 1);
    }

    /// Texts, each an id and how often it stands there, and what comes back
    /// for each: the sum of its ids.
    fn ask(&self, call: &Call, texts: &[(u32, usize)]) -> Result<Vec<f32>, Failure> {
        let mut sums = vec![f32::NAN; texts.len()];
        let read = |output: &TextOutput<'_>| {
            let ids = output.tokens(1)?;
            assert_ne!(ids[0], BREAKS_THE_READER as f32, "unreadable");
            Ok(ids.iter().sum::<f32>())
        };
        let encode = |index: usize| {
            let (id, times) = texts[index];
            Ok(Encoded {
                ids: vec![id; times],
                truncated: false,
            })
        };
        let queue = self.workers.queue();
        run_each(queue, texts.len(), call, &encode, read, &mut |values| {
            for (row, sum) in values {
                sums[row.index] = sum;
            }
            ControlFlow::Continue(())
        })?;
        Ok(sums)
    }

    fn stats(&self) -> ModelStats {
        self.workers.queue().stats()
    }

    /// Waits until the model has come so far.
    fn when(&self, so_far: impl Fn(&ModelStats) -> bool) {
        let start = Instant::now();
        while !so_far(&self.stats()) {
            assert!(start.elapsed().as_secs() < 20, "{:?}", self.stats());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

const NO_LIMITS: Limits = Limits {
    questions: usize::MAX,
    linger: Duration::ZERO,
};

fn stop<T: std::fmt::Debug>(result: Result<T, Failure>) -> Stop {
    match result {
        Err(Failure::Stopped(stop)) => stop,
        other => panic!("{other:?}"),
    }
}

fn cause<T: std::fmt::Debug>(handle: ScopedJoinHandle<'_, Result<T, Failure>>) -> String {
    match handle.join().unwrap() {
        Err(Failure::Run(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn callers_share_a_run_and_each_gets_its_own_values() {
    let scene = Scene::new(1, NO_LIMITS);
    scope(|scope| {
        scene.busy(scope);
        let one = scope.spawn(|| scene.ask(&Call::new(), &[(10, 3), (20, 8)]));
        scene.when(|stats| stats.questions.waiting == 2);
        let other = scope.spawn(|| scene.ask(&Call::new(), &[(30, 5), (40, 9), (50, 1)]));
        scene.when(|stats| stats.questions.waiting == 5);
        scene.stage.open();
        assert_eq!(one.join().unwrap().unwrap(), [30.0, 160.0]);
        assert_eq!(other.join().unwrap().unwrap(), [150.0, 360.0, 50.0]);
    });
    let runs = scene.stage.runs();
    assert_eq!(runs, [vec![1], vec![10, 20, 30, 50], vec![40]]);
    let stats = scene.stats();
    assert_eq!((stats.texts, stats.batches, stats.tokens), (6, 3, 86));
    assert_eq!(stats.batch_sizes.counts[..4], [2, 0, 1, 0]);
    assert_eq!(stats.questions.waits.count(), 6);
}

#[test]
fn texts_of_a_cancelled_call_are_never_run() {
    let scene = Scene::new(1, NO_LIMITS);
    let flag = CancelFlag::default();
    let call = Call::new().cancelled_by(&flag);
    scope(|scope| {
        scene.busy(scope);
        let gone = scope.spawn(|| scene.ask(&call, &[(10, 3), (20, 30), (30, 3)]));
        scene.when(|stats| stats.questions.waiting == 3);
        flag.cancel();
        // While the worker is still at its first run.
        assert_eq!(stop(gone.join().unwrap()), Stop::Cancelled);
        let stats = scene.stats();
        assert_eq!((stats.questions.waiting, stats.questions.cancelled), (0, 3));
        scene.stage.open();
    });
    assert_eq!(stop(scene.ask(&call, &[(10, 3)])), Stop::Cancelled);
    assert_eq!(scene.stage.runs(), [[1]]);
}

#[test]
fn a_call_returns_at_its_deadline_whatever_the_worker_does() {
    let scene = Scene::new(1, NO_LIMITS);
    scope(|scope| {
        scene.busy(scope);
        let deadline = Instant::now() + Duration::from_millis(100);
        let late = scene.ask(&Call::new().until(deadline), &[(10, 3), (20, 3)]);
        assert_eq!(stop(late), Stop::DeadlinePassed);
        assert!(deadline.elapsed() < Duration::from_secs(5));
        let stats = scene.stats();
        assert_eq!((stats.questions.waiting, stats.questions.late), (0, 2));
        scene.stage.open();
    });
    assert_eq!(scene.stage.runs(), [[1]]);
}

#[test]
fn a_full_queue_refuses_questions_at_once_but_not_bulk_work() {
    let limits = Limits {
        questions: 4,
        ..NO_LIMITS
    };
    let scene = Scene::new(1, limits);
    scope(|scope| {
        scene.busy(scope);
        // As nothing waits yet, more than the queue holds is let in.
        let large = scope.spawn(|| scene.ask(&Call::new(), &[(10, 3); 6]));
        scene.when(|stats| stats.questions.waiting == 6);
        assert_eq!(
            stop(scene.ask(&Call::new(), &[(20, 3); 2])),
            Stop::QueueFull
        );
        assert_eq!(scene.stats().questions.refused, 2);
        let bulk = scope.spawn(|| scene.ask(&Call::bulk(), &[(30, 3); 9]));
        scene.when(|stats| stats.bulk.waiting == 9);
        scene.stage.open();
        assert_eq!(large.join().unwrap().unwrap(), [30.0; 6]);
        assert_eq!(bulk.join().unwrap().unwrap(), [90.0; 9]);
    });
    assert_eq!(scene.ask(&Call::new(), &[(20, 3); 2]).unwrap(), [60.0; 2]);
}

#[test]
fn a_long_call_that_was_let_in_waits_for_room_instead_of_failing() {
    let limits = Limits {
        questions: WINDOW,
        ..NO_LIMITS
    };
    let scene = Scene::new(1, limits);
    let texts = vec![(1, 5); 4 * WINDOW];
    scope(|scope| {
        scene.busy(scope);
        let long = scope.spawn(|| scene.ask(&Call::new(), &texts));
        scene.when(|stats| stats.questions.waiting == WINDOW);
        // Longer than it takes to try for the second window.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(scene.stats().questions.waiting, WINDOW);
        scene.stage.open();
        assert_eq!(long.join().unwrap().unwrap(), [5.0; 4 * WINDOW]);
    });
    assert_eq!(scene.stats().questions.refused, 0);
}

#[test]
fn questions_overtake_bulk_work() {
    let scene = Scene::new(1, NO_LIMITS);
    scope(|scope| {
        scene.busy(scope);
        scope.spawn(|| scene.ask(&Call::bulk(), &[(10, 20), (11, 30)]));
        scene.when(|stats| stats.bulk.waiting == 2);
        scope.spawn(|| scene.ask(&Call::new(), &[(20, 20)]));
        scene.when(|stats| stats.questions.waiting == 1);
        scene.stage.open();
    });
    assert_eq!(scene.stage.runs(), [[1], [20], [11], [10]]);
}

#[test]
fn bulk_work_is_not_starved_by_a_flood_of_questions() {
    let scene = Scene::new(1, NO_LIMITS);
    scene.stage.open();
    let flag = CancelFlag::default();
    scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !flag.is_cancelled() {
                    scene.ask(&Call::new(), &[(1, 60)]).unwrap();
                }
            });
        }
        scene.when(|stats| stats.batches > 20);
        let done = scene.ask(&Call::bulk(), &vec![(2, 60); 40]);
        flag.cancel();
        assert_eq!(done.unwrap(), [120.0; 40]);
    });
}

#[test]
fn a_long_bulk_call_has_at_most_two_windows_in_the_queue() {
    let scene = Scene::new(1, NO_LIMITS);
    let texts = vec![(1, 5); 5 * WINDOW];
    scope(|scope| {
        scene.busy(scope);
        let bulk = scope.spawn(|| scene.ask(&Call::bulk(), &texts));
        scene.when(|stats| stats.bulk.waiting == 2 * WINDOW);
        // Longer than tokenizing all of it takes.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(scene.stats().bulk.waiting, 2 * WINDOW);
        scene.stage.open();
        assert_eq!(bulk.join().unwrap().unwrap(), [5.0; 5 * WINDOW]);
    });
}

#[test]
fn what_a_caller_no_longer_needs_is_dropped() {
    let scene = Scene::new(1, NO_LIMITS);
    scene.stage.open();
    let encode = |_: usize| {
        Ok(Encoded {
            ids: vec![1; 64],
            truncated: false,
        })
    };
    // The second text keeps the worker busy until the call has returned.
    let (read, returned) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let waiting = Arc::clone(&returned);
    let read = move |_: &TextOutput<'_>| {
        let second = read.fetch_add(1, Ordering::SeqCst) == 1;
        while second && !waiting.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    let mut got = 0;
    let queue = scene.workers.queue();
    run_each(queue, 1000, &Call::bulk(), &encode, read, &mut |values| {
        got += values.len();
        ControlFlow::Break(())
    })
    .unwrap();
    returned.store(true, Ordering::SeqCst);
    assert_eq!(got, 1);
    scene.when(|stats| stats.running == 0);
    let stats = scene.stats();
    assert_eq!(stats.bulk.waiting, 0);
    assert!(stats.texts <= 2, "{stats:?}");
    assert!(stats.bulk.cancelled >= WINDOW as u64 - 2, "{stats:?}");
}

#[test]
fn a_panic_in_one_callers_reading_fails_that_caller_alone() {
    let scene = Scene::new(1, NO_LIMITS);
    scope(|scope| {
        scene.busy(scope);
        let unlucky = scope.spawn(|| scene.ask(&Call::new(), &[(BREAKS_THE_READER, 2)]));
        scene.when(|stats| stats.questions.waiting == 1);
        let mate = scope.spawn(|| scene.ask(&Call::new(), &[(3, 2)]));
        scene.when(|stats| stats.questions.waiting == 2);
        scene.stage.open();
        let cause = cause(unlucky);
        assert!(cause.contains("unreadable"), "{cause}");
        assert_eq!(mate.join().unwrap().unwrap(), [6.0]);
    });
    assert_eq!(scene.stage.runs()[1].len(), 2);
}

#[test]
fn a_failed_run_fails_all_its_callers_and_the_worker_lives_on() {
    let scene = Scene::new(1, NO_LIMITS);
    scope(|scope| {
        scene.busy(scope);
        let both = [BREAKS_THE_SESSION, 3].map(|id| {
            let scene = &scene;
            scope.spawn(move || scene.ask(&Call::new(), &[(id, 2)]))
        });
        scene.when(|stats| stats.questions.waiting == 2);
        scene.stage.open();
        for caller in both {
            let cause = cause(caller);
            assert!(cause.contains("no such id"), "{cause}");
        }
    });
    assert_eq!(scene.ask(&Call::new(), &[(3, 2)]).unwrap(), [6.0]);
    assert_eq!((scene.stats().failed, scene.stats().batches), (1, 2));
}

#[test]
fn a_question_waits_for_mates_only_while_another_session_runs_questions() {
    let patient = Limits {
        linger: Duration::from_secs(3600),
        ..NO_LIMITS
    };
    let scene = Scene::new(2, patient);
    scope(|scope| {
        // At once, since the model is idle.
        scene.busy(scope);
        for number in 1..MATES {
            scope.spawn(|| scene.ask(&Call::new(), &[(7, 3)]).unwrap());
            scene.when(|stats| stats.questions.waiting == number);
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(scene.stats().running, 1);
        // A full batch waits no longer.
        scope.spawn(|| scene.ask(&Call::new(), &[(7, 3)]).unwrap());
        scene.when(|stats| stats.running == 2);
        // Nor does one beside a model that has become idle.
        scope.spawn(|| scene.ask(&Call::new(), &[(8, 3)]).unwrap());
        scene.stage.open();
    });
    assert_eq!(scene.stage.runs(), [vec![1], vec![7; MATES], vec![8]]);
}

#[test]
fn results_do_not_depend_on_who_else_asks() {
    let scene = Scene::new(3, NO_LIMITS);
    scene.stage.open();
    scope(|scope| {
        for caller in 1..=8u32 {
            let scene = &scene;
            scope.spawn(move || {
                let call = [Call::new(), Call::bulk()][caller as usize % 2].clone();
                for round in 0..40 {
                    let texts: Vec<(u32, usize)> = (0..caller * 3)
                        .map(|n| (caller * 100 + n, 1 + (n + round) as usize % 64))
                        .collect();
                    let sums = scene.ask(&call, &texts).unwrap();
                    for ((id, times), sum) in texts.iter().zip(sums) {
                        assert_eq!(sum, *id as f32 * *times as f32);
                    }
                }
            });
        }
    });
    // A worker answers before it notes the end of its run.
    scene.when(|stats| stats.running == 0);
    let stats = scene.stats();
    assert_eq!(
        stats.texts,
        (1..=8).map(|caller| caller * 3 * 40).sum::<u64>()
    );
    assert_eq!((stats.questions.waiting, stats.bulk.waiting), (0, 0));
}
