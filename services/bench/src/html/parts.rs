//! Tables and lists of the page.

use crate::{Report, Run};

/// Text as it may stand in HTML, in an element or in a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // Marks that reverse the direction of text could rewrite a line.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A count, grouped.
pub(super) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A measured number to three digits or, above, whole and grouped.
pub(super) fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    grouped(&format!("{value:.digits$}"))
}

/// With a comma before each three digits of the whole part.
fn grouped(text: &str) -> String {
    let whole = text.find('.').unwrap_or(text.len());
    let mut shown = String::new();
    for (at, c) in text.char_indices() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(c);
    }
    shown
}

/// Microseconds, in milliseconds.
pub(super) fn milliseconds(micros: f64) -> String {
    number(micros / 1000.0)
}

/// A cell of a table.
pub(super) struct Cell {
    text: String,
    bad: bool,
}

pub(super) fn cell(text: String) -> Cell {
    Cell { text, bad: false }
}

/// A cell with a count that should be 0.
fn unwanted(number: u64) -> Cell {
    Cell {
        text: count(number),
        bad: number > 0,
    }
}

/// A table whose first column names the row.
pub(super) fn table(header: &[&str], rows: Vec<Vec<Cell>>) -> String {
    let mut html = "<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead><tr>".to_owned();
    for name in header {
        html += &format!("<th scope=\"col\">{}</th>", escape(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        html += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            let text = escape(&cell.text);
            html += &match (at, cell.bad) {
                (0, _) => format!("<th scope=\"row\">{text}</th>"),
                (_, true) => format!("<td class=\"bad\">{text}</td>"),
                (_, false) => format!("<td>{text}</td>"),
            };
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table>\n</div>\n"
}

pub(super) fn legend(series: &[(String, usize)]) -> String {
    let entries = series
        .iter()
        .map(|(name, color)| format!("<li><i class=\"s{color}\"></i>{}</li>", escape(name)));
    format!(
        "<ul class=\"legend\">{}</ul>\n",
        entries.collect::<String>()
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            escape("<script>\"'&\u{202e}\x1b"),
            "&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn numbers_keep_three_digits_and_are_grouped() {
        let shown = [0.0, 0.1234, 1.234, 12.0, 123.4, 1234.0, 1_234_567.8].map(number);
        assert_eq!(
            shown,
            ["0", "0.123", "1.23", "12.0", "123", "1,234", "1,234,568"]
        );
    }
}
