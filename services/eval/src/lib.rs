//! Measures retrieval on judged data sets, and answers against gold answers.

pub mod answering;
pub mod answers;
pub mod datasets;
pub mod metrics;
pub mod questions;
mod run;
pub mod statistics;

pub use run::{Indexed, Measures, Report, Scope};
