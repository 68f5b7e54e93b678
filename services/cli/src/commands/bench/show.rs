//! Tables of `quire bench`.

use anyhow::Result;
use quire_bench::{Comparison, Pair, Report, Run};

use crate::output::{grouped, print_table, printable_line};

/// A report as tables.
pub(super) fn report(report: &Report) -> Result<()> {
    let server = report.server.version.as_deref().unwrap_or("a server");
    let local = match report.server.pid {
        Some(pid) => format!("process {pid} of this machine"),
        None => "not local: its processor time and memory are not known".to_owned(),
    };
    println!(
        "{} at {}, {local}; {} questions",
        printable_line(server),
        report.url,
        report.questions.count
    );
    let header = [
        "load",
        "answers/s",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
        "429/503",
        "failed",
        "CPU ms/answer",
        "peak MiB",
    ];
    let rows: Vec<Vec<String>> = report.runs.iter().map(row).collect();
    print_table(&header, &rows)?;
    println!("latencies in ms");
    stages(&report.runs)?;
    for run in &report.runs {
        notes(run);
    }
    if let Some(knee) = &report.knee {
        println!(
            "knee at {}: {:.1} answers/s, p99 {} ms{}",
            knee.point.load,
            knee.point.throughput,
            ms(knee.point.p99_us as f64),
            if knee.passed {
                ""
            } else {
                "; the sweep did not go beyond it"
            }
        );
        println!("  {}", knee.rule);
    }
    if let Some(check) = &report.check {
        match report.mismatches() {
            0 => println!(
                "every answer was the idle server's, byte for byte ({} questions)",
                check.asked
            ),
            count => println!("{} answers differ from the idle server's", grouped(count)),
        }
    }
    if let Some(first) = report.first_mismatch() {
        println!("  first: {}", printable_line(&first.question));
        println!(
            "  at byte {}, idle: {}",
            first.at,
            printable_line(&first.expected)
        );
        println!("  under load: {}", printable_line(&first.got));
    }
    Ok(())
}

fn row(run: &Run) -> Vec<String> {
    let latency = &run.answered;
    let mut row = vec![run.load.to_string(), format!("{:.1}", run.throughput)];
    let percentiles = [
        latency.p50_us,
        latency.p90_us,
        latency.p95_us,
        latency.p99_us,
        latency.p999_us,
        latency.max_us,
    ];
    row.extend(percentiles.map(|us| match latency.count {
        0 => "-".to_owned(),
        _ => ms(us as f64),
    }));
    row.push(grouped(run.rejected.latency.count));
    row.push(grouped(run.failed()));
    let server = run.server.as_ref();
    let cpu = server.and_then(|server| server.cpu_seconds_per_answer);
    row.push(cpu.map_or("-".to_owned(), |seconds| ms(seconds * 1e6)));
    row.push(server.map_or("-".to_owned(), |server| grouped(server.rss_peak >> 20)));
    row
}

/// Median and 99th percentile of each stage.
fn stages(runs: &[Run]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for stage in runs.iter().flat_map(|run| run.stages.keys()) {
        if !names.contains(&stage.as_str()) {
            names.push(stage);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    names.sort_unstable();
    let mut header = vec!["stage p50/p99"];
    header.extend(&names);
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let mut row = vec![run.load.to_string()];
            row.extend(names.iter().map(|name| match run.stages.get(*name) {
                Some(time) => format!("{}/{}", ms(time.p50_us as f64), ms(time.p99_us as f64)),
                None => "-".to_owned(),
            }));
            row
        })
        .collect();
    print_table(&header, &rows)
}

/// What a table's reader must know about a run.
fn notes(run: &Run) {
    let load = run.load;
    let refused = &run.rejected;
    if refused.latency.count > 0 {
        let by: Vec<String> = refused
            .by_status
            .iter()
            .map(|(status, count)| format!("{count} with {status}"))
            .collect();
        println!(
            "{load}: refused {} (p50 {} ms, p99 {} ms, max {} ms); {} without Retry-After",
            by.join(", "),
            ms(refused.latency.p50_us as f64),
            ms(refused.latency.p99_us as f64),
            ms(refused.latency.max_us as f64),
            refused.without_retry_after
        );
    }
    if !run.errors.is_empty() {
        let kinds: Vec<String> = run
            .errors
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        println!("{load}: failed: {}", kinds.join(", "));
    }
    if run.generator.behind > 0 {
        println!(
            "{load}: the generator was behind with {} of {} requests, by {} ms at worst; its \
             latencies still count from when they were due",
            grouped(run.generator.behind),
            grouped(run.requests),
            ms(run.generator.worst_lateness_us as f64)
        );
    }
}

/// A comparison as a table.
pub(super) fn comparison(comparison: &Comparison) -> Result<()> {
    for reason in &comparison.not_comparable {
        println!("NOT COMPARABLE, {}", printable_line(reason));
    }
    for difference in &comparison.differences {
        println!("differs: {}", printable_line(difference));
    }
    let header = ["load", "figure", "A", "B", "B/A"];
    let mut rows = Vec::new();
    for row in &comparison.rows {
        let figures = [
            ("answers/s", row.throughput),
            ("p50 ms", row.p50_ms),
            ("p95 ms", row.p95_ms),
            ("p99 ms", row.p99_ms),
            ("refused share", row.rejected),
            ("failed share", row.failed),
            ("CPU ms/answer", row.cpu_ms),
        ];
        for (at, (name, pair)) in figures.iter().enumerate() {
            let load = if at == 0 {
                row.load.to_string()
            } else {
                String::new()
            };
            rows.push(pair_row(load, name, pair));
        }
    }
    print_table(&header, &rows)?;
    for (side, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            let loads: Vec<String> = only.iter().map(ToString::to_string).collect();
            println!("only in {side}: {}", loads.join(", "));
        }
    }
    if comparison.rows.is_empty() {
        println!("no load is in both reports");
    }
    Ok(())
}

fn pair_row(load: String, name: &str, pair: &Pair) -> Vec<String> {
    let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), three_digits);
    vec![
        load,
        name.to_owned(),
        shown(pair.a),
        shown(pair.b),
        pair.ratio
            .map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
    ]
}

/// Microseconds as milliseconds.
pub(super) fn ms(micros: f64) -> String {
    three_digits(micros / 1000.0)
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits() {
        let shown = [0.0, 0.01234, 1.234, 12.34, 1234.5].map(three_digits);
        assert_eq!(shown, ["0", "0.012", "1.23", "12.3", "1234"]);
    }
}
