//! A report as one page that needs nothing else.

mod figures;
mod parts;

use quire_pages::{escape, milliseconds, number, page as whole};

use crate::html::parts::{conditions, runs_table, tiles};
use crate::{BenchError, Report};

/// The page: inline pictures, no script, nothing from elsewhere.
///
/// # Errors
/// When the plotting library fails.
pub fn page(report: &Report) -> Result<String, BenchError> {
    let mut page = String::with_capacity(64 << 10);
    page += &format!(
        "<header>\n<h1>quire under load</h1>\n<p>{} · {} questions · {}</p>\n</header>\n",
        escape(&report.url),
        report.questions.count,
        escape(&report.started),
    );
    page += &tiles(report);
    if let Some(mismatch) = report.first_mismatch() {
        page += &format!(
            "<section class=\"alarm\" aria-labelledby=\"alarm\">\n<h2 id=\"alarm\">{} answers \
             differ from the idle server's</h2>\n<p>First: “{}”, at byte {}.</p>\n<dl>\
             <dt>Idle</dt><dd><code>{}</code></dd><dt>Under load</dt><dd><code>{}</code></dd></dl>\n\
             </section>\n",
            report.mismatches(),
            escape(&mismatch.question),
            mismatch.at,
            escape(&mismatch.expected),
            escape(&mismatch.got),
        );
    }
    page += "<section aria-labelledby=\"runs\">\n<h2 id=\"runs\">Each load</h2>\n";
    page += &runs_table(report);
    if let Some(knee) = &report.knee {
        page += &format!(
            "<p>The knee is at <strong>{}</strong>: {} answers a second, p99 {} ms. It is {}.{}</p>\n",
            escape(&knee.point.load.to_string()),
            number(knee.point.throughput),
            milliseconds(knee.point.p99_us as f64),
            escape(&knee.rule),
            if knee.passed {
                ""
            } else {
                " The sweep ended before it was passed, so it may lie higher."
            },
        );
    }
    page += "</section>\n";
    for figure in figures::all(report)? {
        page += &figure.section();
    }
    page += &conditions(report);
    let title = format!("quire under load: {}", report.url);
    Ok(whole(&title, "", &page))
}
