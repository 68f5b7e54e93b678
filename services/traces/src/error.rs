//! Why a trace is not logged or not read.

use std::path::PathBuf;

use quire_index::IoError;

use crate::TraceId;

/// Why a trace is not logged or not read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused, as on a full disk. The log is as it was
    /// before and takes the next record once there is room.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Another process appends to this log.
    #[error(
        "another process writes the traces in {}: stop it, or give this one another data folder",
        path.display()
    )]
    InUse {
        /// The log's folder.
        path: PathBuf,
    },
    /// A record longer than a file of the log may be.
    #[error("the trace takes {bytes} bytes, more than the {most} of a file of traces; allow more")]
    TooLong {
        /// The record's length.
        bytes: u64,
        /// The length of a file at most.
        most: u64,
    },
    /// A score or a time that JSON cannot hold.
    #[error("the trace has a {what} that is not finite")]
    NotFinite {
        /// What it is.
        what: &'static str,
    },
    /// The record cannot be written as JSON.
    #[error("the trace cannot be written as JSON")]
    Serialize(#[source] serde_json::Error),
    /// A record that is there, but not as it was written.
    #[error("the record of trace {id} is damaged, or another version of quire wrote it")]
    Damaged {
        /// The record.
        id: TraceId,
        /// Where it goes wrong.
        #[source]
        source: serde_json::Error,
    },
}
