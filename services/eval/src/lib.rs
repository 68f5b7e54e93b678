//! Measures retrieval on judged data sets.

pub mod datasets;
pub mod metrics;
mod run;

pub use run::{Indexed, Measures, Report, Scope};
