//! Tables and lists of the page.

use quire_pages::{cell, count, escape, milliseconds, number, table, unwanted};

use crate::{Report, Run};

/// Every run's counts.
pub(super) fn runs_table(report: &Report) -> String {
    let header = [
        "load",
        "answers/s",
        "p50 ms",
        "p99 ms",
        "accepted",
        "refused",
        "refused p99",
        "failed",
        "differing",
        "behind",
        "CPU ms each",
        "peak MiB",
    ];
    let rows = report.runs.iter().map(|run| {
        let server = run.server.as_ref();
        let cpu = server.and_then(|server| server.cpu_seconds_per_answer);
        let none = || "–".to_owned();
        vec![
            cell(run.load.to_string()),
            cell(number(run.throughput)),
            cell(milliseconds(run.answered.p50_us as f64)),
            cell(milliseconds(run.answered.p99_us as f64)),
            cell(count(run.answered.count)),
            cell(count(run.rejected.latency.count)),
            cell(match run.rejected.latency.count {
                0 => none(),
                _ => milliseconds(run.rejected.latency.p99_us as f64),
            }),
            unwanted(run.failed()),
            match report.check {
                Some(_) => unwanted(run.mismatches),
                None => cell(none()),
            },
            unwanted(run.generator.behind),
            cell(cpu.map_or_else(none, |seconds| number(seconds * 1000.0))),
            cell(server.map_or_else(none, |server| count(server.rss_peak >> 20))),
        ]
    });
    table(&header, rows.collect())
}

/// The figures one looks for first.
pub(super) fn tiles(report: &Report) -> String {
    let mut tiles = Vec::new();
    let best = report
        .runs
        .iter()
        .max_by(|a, b| a.throughput.total_cmp(&b.throughput));
    if let Some(best) = best {
        tiles.push((
            "Most answers a second",
            number(best.throughput),
            format!("at {}", best.load),
            false,
        ));
    }
    if let Some(first) = report.runs.iter().find(|run| run.answered.count > 0) {
        tiles.push((
            "Median latency",
            format!("{} ms", milliseconds(first.answered.p50_us as f64)),
            format!("at {}", first.load),
            false,
        ));
    }
    let refused: u64 = report
        .runs
        .iter()
        .map(|run| run.rejected.latency.count)
        .sum();
    let failed: u64 = report.runs.iter().map(Run::failed).sum();
    tiles.push(("Refused", count(refused), "429 and 503".to_owned(), false));
    tiles.push(("Failed", count(failed), String::new(), failed > 0));
    if report.check.is_some() {
        let differing = report.mismatches();
        tiles.push((
            "Differing answers",
            count(differing),
            "byte by byte".to_owned(),
            differing > 0,
        ));
    }
    let shown = tiles.iter().map(|(name, value, note, bad)| {
        format!(
            "<div{}><dt>{name}</dt><dd>{} <small>{}</small></dd></div>\n",
            if *bad { " class=\"bad\"" } else { "" },
            escape(value),
            escape(note)
        )
    });
    format!("<dl class=\"tiles\">\n{}</dl>\n", shown.collect::<String>())
}

/// What is needed to make the measurement again.
pub(super) fn conditions(report: &Report) -> String {
    let mut facts = vec![
        (
            "Command",
            format!("<code>{}</code>", escape(&report.command.join(" "))),
        ),
        ("Tool", escape(&report.tool)),
    ];
    let server = report.server.version.as_deref().unwrap_or("unknown");
    let place = match report.server.pid {
        Some(pid) => format!("{server}, process {pid} of this machine"),
        None => format!("{server}, not local"),
    };
    facts.push(("Server", escape(&place)));
    let machine = &report.machine;
    facts.push((
        "Machine",
        escape(&format!(
            "{}, {} cores, {}",
            machine.cpu, machine.cores, machine.os
        )),
    ));
    facts.push((
        "Questions",
        format!(
            "{} of {}; SHA-256 <code>{}</code>",
            report.questions.count,
            escape(&report.questions.files.join(", ")),
            escape(&report.questions.sha256)
        ),
    ));
    let request = serde_json::Value::Object(report.request.clone());
    facts.push((
        "Request",
        format!("<code>{}</code>", escape(&request.to_string())),
    ));
    facts.push(("Seed", report.seed.to_string()));
    if let Some(run) = report.runs.first() {
        let times = format!(
            "{} s measured after {} s of warm-up; clients give up after {} s",
            number(run.seconds),
            number(run.warmup_seconds),
            number(report.give_up_seconds)
        );
        facts.push(("Time", times));
    }
    let facts = facts
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    format!(
        "<section aria-labelledby=\"conditions\">\n<h2 id=\"conditions\">Conditions</h2>\n\
         <dl class=\"facts\">\n{}</dl>\n</section>\n",
        facts.collect::<String>()
    )
}
