//! Reports as pages that need nothing else: one HTML file with its style and
//! pictures in it, readable on light and dark, wide and narrow screens, by eye
//! and by ear.

mod axis;
mod figure;
mod parts;
mod plot;

pub use axis::Axis;
pub use figure::{Figure, page};
pub use parts::{Cell, cell, count, escape, legend, milliseconds, number, table, unwanted};
pub use plot::{Bar, Line, MOST_SERIES, NARROW, WIDE, bars, lines};

/// A picture that cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {plot}: {why}")]
pub struct PlotError {
    /// Which.
    pub plot: &'static str,
    /// What the plotting library says.
    pub why: String,
}
