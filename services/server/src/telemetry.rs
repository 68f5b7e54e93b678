//! The service as seen from outside: metrics, and spans for a collector.

mod metrics;
mod models;
mod otlp;
mod process;

#[cfg(test)]
pub(crate) use metrics::ROUTES;
pub use metrics::{Metrics, Rejection};
pub use models::{LaneFigures, ModelFigures, ModelStats};
pub use otlp::{Exporter, Span};
