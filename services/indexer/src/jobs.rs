//! Durable indexing of uploaded books, for a server.
//!
//! An upload is received into a folder of its own and becomes a job in one
//! rename, with every byte on the disk. One thread takes the jobs in the order
//! of their acceptance. Whatever ends the process, the jobs that are not
//! finished are taken up again at the next start, each from its last finished
//! batch.
//!
//! ```text
//! <data>/jobs/lock                      held by the process that runs the jobs
//! <data>/jobs/receiving-<random>/       an upload that is not a job yet
//! <data>/jobs/<id>/job.json             a job, whole in every version
//! <data>/jobs/<id>/files/0, 1, ...      what was uploaded, until it is indexed
//! <data>/jobs/removing-<id>/            a job that is being removed
//! ```
//!
//! A failed job's upload is deleted like that of any other: it is for the
//! client to send it again, and what was finished of it is found then.

mod error;
mod folder;
mod id;
mod label;
mod options;
mod queue;
mod receive;
mod report;
mod said;
mod worker;

pub use error::JobError;
pub use id::{JobId, ParseJobIdError};
pub use options::{JobHooks, JobOptions, JobParts};
pub use queue::JobQueue;
pub use receive::Receiving;
pub use report::{BookOutcome, BookStatus, JobFile, JobProgress, JobReport, JobState, Problem};
