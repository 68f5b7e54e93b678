//! The engine over HTTP: high throughput, safe under overload, honest about
//! its state. The only crate that names axum.
//!
//! [`Service::start`] takes loaded models, a store and a recipe; [`run`] answers
//! requests on a listener until it is told to stop. Both are the caller's
//! choice, so tests choose them.
//!
//! A request's way: a connection (`serve`), what all requests go through
//! (`request`, `access`), its route (`routes`), for a question the queue and a
//! thread (`pool`) that asks the open books (`shelf`) and, if it is to be
//! answered (`ask`), an answer model, and out. What goes wrong
//! becomes an answer in one place (`problem`). Async threads wait and move
//! bytes; everything else is done on threads of its own.

mod access;
mod ask;
mod body;
mod config;
mod dialects;
mod keys;
mod mcp;
mod pool;
mod problem;
mod readiness;
mod request;
mod routes;
mod serve;
mod service;
mod shelf;
mod telemetry;
mod traces;
pub mod wire;

pub use ask::Answerers;
pub use config::{Limits, ServiceConfig, TelemetryConfig, Times};
pub use keys::{Key, KeyFileError, Keys, Role};
pub use mcp::{McpError, run_mcp};
pub use problem::Code;
pub use serve::run;
pub use service::{Parts, Service, StartError};
pub use telemetry::{LaneFigures, ModelFigures, ModelStats};
