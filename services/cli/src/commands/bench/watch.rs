//! A load as it goes on, in a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quire_bench::{Live, Load, Run, Watch};

/// One line on standard error, where that is a terminal; else nothing.
pub(super) struct Terminal {
    bar: Option<ProgressBar>,
}

impl Terminal {
    pub(super) fn new() -> Self {
        Self {
            bar: io::stderr().is_terminal().then(|| {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{bar:16} {msg}") {
                    bar.set_style(style);
                }
                bar
            }),
        }
    }

    /// Takes the line off the screen.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Terminal {
    fn checking(&self, asked: usize, of: usize) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(of as u64);
        bar.set_position(asked as u64);
        bar.set_message(format!("asking the idle server: {asked} of {of}"));
    }

    fn live(&self, load: &Load, live: &Live) {
        let Some(bar) = &self.bar else { return };
        match (live.requests, live.of) {
            ((done, Some(of)), _) => {
                bar.set_length(of);
                bar.set_position(done.min(of));
            }
            (_, Some(seconds)) => {
                bar.set_length((seconds * 10.0) as u64);
                bar.set_position((live.seconds.min(seconds) * 10.0) as u64);
            }
            _ => {}
        }
        if live.warming_up {
            bar.set_message(format!("{load}: warming up"));
            return;
        }
        let millis = |us: u64| us as f64 / 1000.0;
        bar.set_message(format!(
            "{load}: {:.1}/s, p50 {:.1} ms, p99 {:.1} ms, {} refused, {} failed, {} in flight",
            live.throughput,
            millis(live.p50_us),
            millis(live.p99_us),
            live.rejected,
            live.failed,
            live.in_flight
        ));
    }

    fn done(&self, run: &Run) {
        let Some(bar) = &self.bar else { return };
        bar.println(format!(
            "{}: {:.1}/s, p50 {:.1} ms, p99 {:.1} ms",
            run.load,
            run.throughput,
            run.answered.p50_us as f64 / 1000.0,
            run.answered.p99_us as f64 / 1000.0
        ));
    }
}
