//! A report as one page that needs nothing else.

mod axis;
mod figures;
mod parts;
mod plot;

use crate::html::parts::{conditions, escape, legend, milliseconds, number, runs_table, tiles};
use crate::{BenchError, Report};

const STYLE: &str = include_str!("html/style.css");

/// A picture and what is said beside it.
struct Figure {
    id: &'static str,
    heading: &'static str,
    /// What it shows, for those who do not see it.
    described: String,
    /// For a window of a desk and of a telephone.
    wide: String,
    narrow: String,
    /// Names of the series, with the number of their colour.
    series: Vec<(String, usize)>,
    note: String,
    table: String,
}

/// The page: inline pictures, no script, nothing from elsewhere.
///
/// # Errors
/// When the plotting library fails.
pub fn page(report: &Report) -> Result<String, BenchError> {
    let mut page = String::with_capacity(64 << 10);
    page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n";
    page += &format!(
        "<title>quire under load: {}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n",
        escape(&report.url),
        plot::palette_style(),
    );
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
        page += &section(&figure);
    }
    page += &conditions(report);
    page += "</main>\n</body>\n</html>\n";
    Ok(page)
}

fn section(figure: &Figure) -> String {
    let id = figure.id;
    let picture = |svg: &str, class: &str| {
        format!(
            "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{id}-{class}-t {id}-{class}-d\" \
             {}<title id=\"{id}-{class}-t\">{}</title><desc id=\"{id}-{class}-d\">{}</desc>{}",
            plot::view_box(svg),
            escape(figure.heading),
            escape(&figure.described),
            plot::content(svg),
        )
    };
    format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n<p>{}</p>\n<figure>\n{}\
         {}\n{}\n</figure>\n{}</section>\n",
        escape(figure.heading),
        escape(&figure.note),
        legend(&figure.series),
        picture(&figure.wide, "wide"),
        picture(&figure.narrow, "narrow"),
        figure.table,
    )
}
