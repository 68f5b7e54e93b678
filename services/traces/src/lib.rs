//! The append-only log of traces: what every query retrieved and why, kept on
//! disk, bounded, and safe against a kill. And comparing two traces of one
//! question, which is how a replay is judged.
//!
//! One process appends; any number read, while it does.

mod compare;
mod error;
mod files;
mod id;
mod log;
mod reader;
mod record;
mod sink;
mod sync;
#[cfg(test)]
mod testing;

pub use compare::{Comparison, Difference, FieldDifference, StageComparison, compare};
pub use error::TraceError;
pub use id::{ParseTraceIdError, TraceId};
pub use log::{TraceLog, TraceLogOptions};
pub use reader::TraceReader;
pub use record::{RequestTimings, TraceEntry, TraceRecord};
