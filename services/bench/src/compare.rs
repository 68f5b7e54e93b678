//! Two reports side by side.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::{Latency, Load, Report, Run};

/// Two reports, load by load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What makes the figures those of different things, such as other
    /// questions or another machine. Empty where they can be compared.
    pub not_comparable: Vec<String>,
    /// Other differences: what was changed on purpose, perhaps.
    pub differences: Vec<String>,
    /// The loads both have, in the first one's order.
    pub rows: Vec<Row>,
    /// Loads of the first alone.
    pub only_a: Vec<Load>,
    /// Loads of the second alone.
    pub only_b: Vec<Load>,
}

/// One load in both reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub load: Load,
    /// Answers a second.
    pub throughput: Pair,
    /// The median latency, in milliseconds.
    pub p50_ms: Pair,
    /// The 95th percentile.
    pub p95_ms: Pair,
    /// The 99th percentile.
    pub p99_ms: Pair,
    /// Share of requests that were refused.
    pub rejected: Pair,
    /// Share of requests that failed.
    pub failed: Pair,
    /// Processor milliseconds of the server for each answer.
    pub cpu_ms: Pair,
}

/// A figure in both reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Pair {
    /// In the first.
    pub a: Option<f64>,
    /// In the second.
    pub b: Option<f64>,
    /// The second by the first; `None` where either is missing or the first is
    /// 0.
    pub ratio: Option<f64>,
}

impl Pair {
    fn of(a: Option<f64>, b: Option<f64>) -> Self {
        let ratio = match (a, b) {
            (Some(a), Some(b)) if a > 0.0 => Some(b / a),
            _ => None,
        };
        Self { a, b, ratio }
    }
}

/// All runs of one load in one report, together.
#[derive(Debug)]
pub struct Side {
    throughput: f64,
    latency: Latency,
    requests: u64,
    rejected: u64,
    failed: u64,
    cpu_seconds_per_answer: Option<f64>,
}

impl Side {
    /// Joins the runs a report has of a load: histograms are merged, answers
    /// and seconds added. `None` if it has none.
    pub fn of(report: &Report, load: &Load) -> Option<Self> {
        let runs: Vec<&Run> = report.runs.iter().filter(|run| run.load == *load).collect();
        if runs.is_empty() {
            return None;
        }
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let answers: f64 = runs.iter().map(|run| run.throughput * run.seconds).sum();
        let costs = runs
            .iter()
            .map(|run| run.server.as_ref()?.cpu_seconds_per_answer);
        let costs: Option<Vec<f64>> = costs.collect();
        Some(Self {
            throughput: if seconds > 0.0 {
                answers / seconds
            } else {
                0.0
            },
            latency: Latency::merged(runs.iter().map(|run| &run.answered)),
            requests: runs.iter().map(|run| run.requests).sum(),
            rejected: runs.iter().map(|run| run.rejected.latency.count).sum(),
            failed: runs.iter().map(|run| run.failed()).sum(),
            cpu_seconds_per_answer: costs
                .map(|costs| costs.iter().sum::<f64>() / costs.len() as f64),
        })
    }

    /// Milliseconds, where there was an answer.
    fn milliseconds(&self, micros: u64) -> Option<f64> {
        (self.latency.count > 0).then_some(micros as f64 / 1000.0)
    }

    fn share(&self, count: u64) -> Option<f64> {
        (self.requests > 0).then(|| count as f64 / self.requests as f64)
    }
}

/// Puts two reports side by side. Loads match when their mode and size are the
/// same; several runs of a load are taken together.
pub fn compare(a: &Report, b: &Report) -> Comparison {
    let (in_a, in_b) = (loads(a), loads(b));
    let only = |these: &[Load], others: &[Load]| -> Vec<Load> {
        let missing = these.iter().filter(|load| !others.contains(load));
        missing.copied().collect()
    };
    let rows = in_a.iter().filter_map(|load| {
        let (a, b) = (Side::of(a, load)?, Side::of(b, load)?);
        let pair = |figure: &dyn Fn(&Side) -> Option<f64>| Pair::of(figure(&a), figure(&b));
        Some(Row {
            load: *load,
            throughput: pair(&|side| Some(side.throughput)),
            p50_ms: pair(&|side| side.milliseconds(side.latency.p50_us)),
            p95_ms: pair(&|side| side.milliseconds(side.latency.p95_us)),
            p99_ms: pair(&|side| side.milliseconds(side.latency.p99_us)),
            rejected: pair(&|side| side.share(side.rejected)),
            failed: pair(&|side| side.share(side.failed)),
            cpu_ms: pair(&|side| Some(side.cpu_seconds_per_answer? * 1000.0)),
        })
    });
    let (not_comparable, differences) = differences(a, b);
    Comparison {
        not_comparable,
        differences,
        rows: rows.collect(),
        only_a: only(&in_a, &in_b),
        only_b: only(&in_b, &in_a),
    }
}

/// The loads of a report, each once, in its order.
fn loads(report: &Report) -> Vec<Load> {
    let mut loads = Vec::new();
    for run in &report.runs {
        if !loads.contains(&run.load) {
            loads.push(run.load);
        }
    }
    loads
}

/// Members of the answers' fingerprints that differ, and both values.
fn fingerprint_differences(a: &Report, b: &Report) -> Vec<(String, Value, Value)> {
    let member = |report: &Report, name: &str| {
        let fingerprint = report.server.fingerprint.as_ref();
        fingerprint
            .and_then(|f| f.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let names: BTreeSet<String> = [a, b]
        .iter()
        .filter_map(|report| report.server.fingerprint.as_ref()?.as_object())
        .flat_map(|fingerprint| fingerprint.keys().cloned())
        .collect();
    let both = names.into_iter().map(|name| {
        let (a, b) = (member(a, &name), member(b, &name));
        (name, a, b)
    });
    both.filter(|(_, a, b)| a != b).collect()
}

fn differences(a: &Report, b: &Report) -> (Vec<String>, Vec<String>) {
    let mut grave = Vec::new();
    if a.questions.sha256 != b.questions.sha256 {
        grave.push(format!(
            "other questions: {} of {} against {} of {}",
            a.questions.count,
            a.questions.files.join(", "),
            b.questions.count,
            b.questions.files.join(", ")
        ));
    }
    let request = |report: &Report| Value::Object(report.request.clone());
    if a.request != b.request {
        grave.push(format!(
            "other requests: {} against {}",
            request(a),
            request(b)
        ));
    }
    if a.machine != b.machine {
        let named =
            |report: &Report| format!("{}, {} cores", report.machine.cpu, report.machine.cores);
        let (a, b) = (named(a), named(b));
        grave.push(match a == b {
            true => "machines that round differently".to_owned(),
            false => format!("other machines: {a} against {b}"),
        });
    }
    let mut other = Vec::new();
    let mut differ = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
        let (a, b) = (a.to_string(), b.to_string());
        if a != b {
            other.push(format!("{what}: {a} against {b}"));
        }
    };
    let version = |report: &Report| {
        report
            .server
            .version
            .clone()
            .unwrap_or("unknown".to_owned())
    };
    differ("server", &version(a), &version(b));
    differ("seed", &a.seed, &b.seed);
    let lasted = |report: &Report| {
        let seconds = report.runs.iter().map(|run| run.seconds.round() as u64);
        let lasted: BTreeSet<u64> = seconds.collect();
        let lasted: Vec<String> = lasted.iter().map(ToString::to_string).collect();
        lasted.join(", ")
    };
    differ("seconds measured", &lasted(a), &lasted(b));
    for (member, a, b) in fingerprint_differences(a, b) {
        let line = format!("{member} of the answers: {a} against {b}");
        // How much is asked for decides what an answer costs.
        match member.as_str() {
            "budgets" => grave.push(line),
            // Said above.
            "version" => {}
            _ => other.push(line),
        }
    }
    (grave, other)
}
