//! Runs: every question of some sets, searched and answered, logged so that a
//! run that ends early goes on where it was.

mod answer;
mod execute;
mod folder;
mod log;
mod plan;
mod record;
mod scopes;
mod views;

pub use answer::{Answering, GaveUp};
pub use execute::{Done, Progress, execute};
pub use folder::{FolderError, RunFolder};
pub use log::{LogError, RunLog};
pub use plan::{Arm, BookEntry, Cut, Identity, IndexEntry, Over, Plan, RunFile, SCHEMA, SetEntry};
pub use record::{Answered, Found, Hit, Key, Lost, Usage};
pub use scopes::{Places, Scope, ScopeError, scopes};

use quire_engine::EngineError;

/// Why a run stops before its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A search failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What was done cannot be written down.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The answer model does not answer.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
}
