//! Progress of long work on standard error: a bar in a terminal, a plain line
//! now and then elsewhere.

use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quire_engine::{BuildEvent, Progress};

use crate::output::grouped;

/// How often a plain line is printed.
const EVERY: Duration = Duration::from_secs(10);

/// Shows the progress of one book.
pub struct BookProgress {
    name: String,
    bar: Option<ProgressBar>,
    pace: Mutex<Pace>,
}

/// How far embedding has come, and when it began.
struct Pace {
    started: Instant,
    /// Tokens that were done before this run.
    resumed: u64,
    spoke: Instant,
}

impl BookProgress {
    pub fn new(name: &str) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            bar: io::stderr().is_terminal().then(|| {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(200));
                bar.set_message(format!("{name}: reading"));
                bar
            }),
            pace: Mutex::new(Pace {
                started: now,
                resumed: 0,
                spoke: now,
            }),
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!("{}: {what}", self.name)),
            None => eprintln!("{}: {what}", self.name),
        }
    }
}

impl Progress for BookProgress {
    fn event(&self, event: BuildEvent) {
        let Ok(mut pace) = self.pace.lock() else {
            return;
        };
        match event {
            BuildEvent::Waiting => self.say("another process is indexing it; waiting"),
            BuildEvent::Cut {
                passages,
                tokens,
                resumed,
            } => {
                let now = Instant::now();
                *pace = Pace {
                    started: now,
                    resumed,
                    spoke: now,
                };
                let resumed_share = if resumed > 0 {
                    format!(", {} of them embedded by an earlier run", grouped(resumed))
                } else {
                    String::new()
                };
                if let Some(bar) = &self.bar {
                    bar.set_length(tokens);
                    bar.set_position(resumed);
                    if let Ok(style) = ProgressStyle::with_template(
                        "{msg} {bar:24} {percent:>3}% {human_pos}/{human_len} tokens",
                    ) {
                        bar.set_style(style);
                    }
                }
                self.say(&format!(
                    "{} passages, {} tokens{resumed_share}",
                    grouped(passages as u64),
                    grouped(tokens)
                ));
            }
            BuildEvent::Embedded { done, total } => {
                let seconds = pace.started.elapsed().as_secs_f64();
                let rate = done.saturating_sub(pace.resumed) as f64 / seconds.max(1e-9);
                let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
                let line = format!("{rate:.0} tokens/s, {} left", duration(left));
                match &self.bar {
                    Some(bar) => {
                        bar.set_position(done);
                        bar.set_message(format!("{}: {line}", self.name));
                    }
                    None if pace.spoke.elapsed() >= EVERY => {
                        pace.spoke = Instant::now();
                        eprintln!(
                            "{}: {} of {} tokens, {line}",
                            self.name,
                            grouped(done),
                            grouped(total)
                        );
                    }
                    None => {}
                }
            }
        }
    }
}

/// Seconds as people say them: `42 s`, `3 min 05 s`, `2 h 10 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_read_as_people_say_them() {
        let said = [3.4, 59.6, 185.0, 7800.0].map(duration);
        assert_eq!(said, ["3 s", "1 min 00 s", "3 min 05 s", "2 h 10 min"]);
    }
}
