//! How far a run is.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use quire_eval::run::Progress;

use crate::output::grouped;
use crate::progress::duration;

/// How often a plain line is printed.
const EVERY: Duration = Duration::from_secs(10);

/// A bar in a terminal, a plain line now and then elsewhere.
pub struct RunProgress {
    bar: OnceLock<ProgressBar>,
    pace: Mutex<Pace>,
}

struct Pace {
    started: Instant,
    spoke: Instant,
    done: usize,
    left: usize,
}

impl RunProgress {
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            bar: OnceLock::new(),
            pace: Mutex::new(Pace {
                started: now,
                spoke: now,
                done: 0,
                left: 0,
            }),
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn pace(&self) -> std::sync::MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for RunProgress {
    fn begin(&self, left: usize, all: usize) {
        let now = Instant::now();
        *self.pace() = Pace {
            started: now,
            spoke: now,
            done: 0,
            left,
        };
        if left < all {
            eprintln!(
                "{} of {} questions were asked by an earlier run",
                grouped((all - left) as u64),
                grouped(all as u64)
            );
        }
        if io::stderr().is_terminal() {
            let bar = ProgressBar::new(left as u64);
            let style =
                "{msg} {bar:24} {percent:>3}% {human_pos}/{human_len} questions, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.set_message("asking");
            let _ = self.bar.set(bar);
        }
    }

    fn done(&self) {
        if let Some(bar) = self.bar.get() {
            bar.inc(1);
            return;
        }
        let mut pace = self.pace();
        pace.done += 1;
        if pace.spoke.elapsed() < EVERY {
            return;
        }
        pace.spoke = Instant::now();
        let each = pace.started.elapsed().as_secs_f64() / pace.done as f64;
        eprintln!(
            "{} of {} questions, {} left",
            grouped(pace.done as u64),
            grouped(pace.left as u64),
            duration(each * (pace.left - pace.done) as f64)
        );
    }
}
