//! A report as one page that needs nothing else.

use crate::report::Report;

/// The page.
///
/// # Errors
/// When the plotting library fails.
pub fn page(report: &Report) -> Result<String, std::fmt::Error> {
    Ok(format!("<!doctype html><title>{}</title>", report.run.id))
}
