//! Measures a running quire over HTTP, and the building of indexes.
//!
//! [`run`] loads a server in closed or open loop and gives a [`Report`];
//! [`compare`] puts two of them side by side, [`html::page`] draws one;
//! [`index_books`] times indexing.
//!
//! The server may share this machine's cores, so the path of a request is kept
//! cheap: bodies are built once, answers are never parsed, one thread drives
//! all connections.

mod body;
mod compare;
mod connection;
mod error;
pub mod html;
mod indexing;
mod knee;
mod latency;
mod load;
mod meter;
mod plan;
mod prepare;
mod process;
mod questions;
mod report;
mod rng;
mod run;
mod server_timing;
mod tally;
mod target;

pub use compare::{Comparison, Pair, Row, Side, compare};
pub use error::BenchError;
pub use indexing::{Disk, IndexReport, StageShare, index_books};
pub use knee::{CLOSED_SHARE, Knee, OPEN_SHARE, Point, knee};
pub use latency::Latency;
pub use plan::{Arrivals, Key, Length, Load, Loads, Plan};
pub use questions::Questions;
pub use report::{
    Check, Generator, Mismatch, QuestionsRecord, Rejections, Report, Run, SCHEMA, ServerRecord,
    ServerUse,
};
pub use run::{Live, Watch, run};
pub use server_timing::entries;
pub use target::Target;
