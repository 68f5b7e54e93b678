//! A report as one page that needs nothing else.

mod drill;
mod figures;
mod parts;

use quire_pages::{PlotError, escape, page as whole};

use crate::report::Report;

const STYLE: &str = include_str!("html/eval.css");

/// The page: pictures, tables, and every question, to be looked through. Its
/// script only shows what the page already holds.
///
/// # Errors
/// When the plotting library fails.
pub fn page(report: &Report) -> Result<String, PlotError> {
    let sets = report.run.identity.sets.iter();
    let names: Vec<&str> = sets.map(|set| set.name.as_str()).collect();
    let title = format!("quire: {}", names.join(", "));
    let mut body = format!(
        "<header>\n<h1>Evaluation</h1>\n<p>{} · run {} · {}</p>\n</header>\n",
        escape(&names.join(", ")),
        escape(&report.run.id),
        escape(&report.finished),
    );
    body += &parts::tiles(report);
    for figure in figures::all(report)? {
        body += &figure.section();
    }
    body += &parts::steps(report);
    body += &parts::routing(report);
    body += &parts::answers(report);
    body += &parts::indexing(report);
    body += &drill::section(report);
    body += &parts::conditions(report);
    Ok(whole(&title, STYLE, &body))
}
