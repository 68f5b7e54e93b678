//! What the server and the load itself take, while a load is on.

use std::time::Instant;

use crate::load::Window;
use crate::process::Process;
use crate::report::ServerUse;

/// One look at both processes.
#[derive(Debug, Clone, Copy)]
struct Reading {
    server_cpu: Option<f64>,
    own_cpu: Option<f64>,
    answers: u64,
}

/// Reads processor time at the edges of the measured window, and memory once a
/// second.
#[derive(Debug)]
pub(crate) struct Meter {
    server: Option<Process>,
    started: Instant,
    begin: Option<Reading>,
    end: Option<Reading>,
    rss_start: u64,
    samples: Vec<(f64, u64)>,
}

impl Meter {
    pub(crate) fn start(server: Option<Process>) -> Self {
        Self {
            server,
            started: Instant::now(),
            begin: None,
            end: None,
            rss_start: resident(server).unwrap_or(0),
            samples: Vec::new(),
        }
    }

    /// Looks, where it is time to; `answers` came since the window began.
    pub(crate) fn observe(&mut self, window: &Window, answers: u64) {
        let now = Instant::now();
        let seconds = now.duration_since(self.started).as_secs_f64();
        if seconds >= self.samples.len() as f64
            && let Some(bytes) = resident(self.server)
        {
            self.samples.push((seconds, bytes));
        }
        // Answers and processor time are read at one moment, so their ratio
        // does not depend on how exactly that is the window's edge.
        if self.begin.is_none() && now >= window.begin() {
            self.begin = Some(self.read(answers));
        }
        if self.end.is_none() && window.end().is_some_and(|end| now >= end) {
            self.end = Some(self.read(answers));
        }
    }

    /// Processor seconds of this process and what the server took; `answers`
    /// came in all.
    pub(crate) fn finish(mut self, answers: u64) -> (Option<f64>, Option<ServerUse>) {
        let end = self.end.unwrap_or_else(|| self.read(answers));
        let begin = self.begin.unwrap_or(end);
        let spent = |from: Option<f64>, to: Option<f64>| Some(to? - from?);
        (
            spent(begin.own_cpu, end.own_cpu),
            self.server_use(begin, end),
        )
    }

    fn server_use(&mut self, begin: Reading, end: Reading) -> Option<ServerUse> {
        let cpu_seconds = end.server_cpu? - begin.server_cpu?;
        let memory = self.server?.memory().ok()?;
        let answers = end.answers.saturating_sub(begin.answers);
        let samples = std::mem::take(&mut self.samples);
        let seen = samples.iter().map(|(_, bytes)| *bytes).max();
        Some(ServerUse {
            cpu_seconds,
            cpu_seconds_per_answer: (answers > 0).then(|| cpu_seconds / answers as f64),
            rss_start: self.rss_start,
            rss_peak: seen.unwrap_or(0).max(self.rss_start).max(memory.resident),
            rss_end: memory.resident,
            high_water_mark: memory.high_water_mark,
            rss_samples: samples,
        })
    }

    fn read(&self, answers: u64) -> Reading {
        let cpu = |process: Process| process.cpu_seconds().ok();
        Reading {
            server_cpu: self.server.and_then(cpu),
            own_cpu: cpu(Process::own()),
            answers,
        }
    }
}

fn resident(process: Option<Process>) -> Option<u64> {
    Some(process?.memory().ok()?.resident)
}
