//! Why an upload is not taken.

use std::io;
use std::path::PathBuf;

use quire_index::IoError;

/// Why an upload is not taken, or jobs cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The files of one job have more bytes than allowed.
    #[error("the upload has more than {most} bytes: send the books in several uploads")]
    TooLarge {
        /// Bytes at most.
        most: u64,
    },
    /// One file has more bytes than allowed.
    #[error("the file {name} has more than {most} bytes: split it into books")]
    FileTooLarge {
        /// Its label.
        name: String,
        /// Bytes at most.
        most: u64,
    },
    /// One job has more files than allowed.
    #[error("the upload has more than {most} files: send them in several uploads")]
    TooManyFiles {
        /// Files at most.
        most: usize,
    },
    /// Nothing was sent.
    #[error("the upload holds no file: send at least one")]
    NoFile,
    /// Bytes were sent before a file was named.
    #[error("there is no file to write to: name one first")]
    NoFileBegun,
    /// As many jobs wait as may.
    #[error("{waiting} uploads wait already, as many as may: try again when some are indexed")]
    QueueFull {
        /// Jobs that wait and uploads that are being received.
        waiting: usize,
    },
    /// The queue takes no more jobs.
    #[error("no more uploads are taken: the server is stopping")]
    Stopping,
    /// Another process runs the jobs of this folder.
    #[error(
        "another process runs the jobs in {}: stop it, or give this one another data folder",
        path.display()
    )]
    InUse {
        /// The jobs' folder.
        path: PathBuf,
    },
    /// The operating system refused. Its message has paths of this machine,
    /// which are no client's to read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A record cannot be written as JSON.
    #[error("a job's record cannot be written as JSON")]
    Serialize(#[source] serde_json::Error),
}

impl JobError {
    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io(error) => is_full(error.source.kind()),
            _ => false,
        }
    }
}

pub(super) fn is_full(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_errors_of_the_system() {
        let error = |kind: io::ErrorKind| JobError::from(IoError::of("write", "x")(kind.into()));
        assert!(error(io::ErrorKind::StorageFull).is_disk_full());
        assert!(error(io::ErrorKind::QuotaExceeded).is_disk_full());
        assert!(!error(io::ErrorKind::PermissionDenied).is_disk_full());
        assert!(!JobError::NoFile.is_disk_full());
    }
}
