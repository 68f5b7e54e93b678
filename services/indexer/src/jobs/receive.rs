//! An upload that is being received.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use quire_index::IoError;

use super::folder::remove_folder;
use super::label::label;
use super::queue::Shared;
use super::{JobError, JobFile, JobReport};

/// An upload that is being received, file after file. Dropped without a
/// commit, it leaves nothing behind. Every call may wait for the disk.
pub struct Receiving {
    shared: Arc<Shared>,
    folder: PathBuf,
    files_folder: PathBuf,
    files: Vec<JobFile>,
    /// The last of the files, which is written to.
    open: Option<File>,
    bytes: u64,
}

impl Receiving {
    /// Takes a place in the queue, which is given back when this is dropped.
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, JobError> {
        shared.reserve()?;
        let (folder, files_folder) = shared
            .folder
            .receive()
            .inspect_err(|_| shared.give_back())?;
        Ok(Self {
            shared: Arc::clone(shared),
            folder,
            files_folder,
            files: Vec::new(),
            open: None,
            bytes: 0,
        })
    }

    /// Begins the next file. The client's name for it becomes a label: its
    /// last part, without control characters, at most 255 bytes. The label's
    /// extension tells the file's format, and no file is named by it.
    ///
    /// # Errors
    /// When there are too many files, or the operating system refuses.
    pub fn add_file(&mut self, name: &str) -> Result<(), JobError> {
        self.finish_file()?;
        let most = self.shared.options.max_files;
        if self.files.len() >= most {
            return Err(JobError::TooManyFiles { most });
        }
        let path = self.path(self.files.len());
        let file = File::create_new(&path).map_err(IoError::of("create", &path))?;
        self.open = Some(file);
        self.files.push(JobFile {
            name: label(name),
            bytes: 0,
        });
        Ok(())
    }

    /// Appends to the file that was begun last.
    ///
    /// # Errors
    /// When there is none, when the file or the upload grows too large, or
    /// when the operating system refuses, as on a full disk. Nothing but
    /// dropping the upload makes sense then.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), JobError> {
        let path = self.path(self.files.len().saturating_sub(1));
        let (Some(file), Some(open)) = (self.files.last_mut(), self.open.as_mut()) else {
            return Err(JobError::NoFileBegun);
        };
        let most = self.shared.options.max_job_bytes;
        let more = bytes.len() as u64;
        if more > most - self.bytes {
            return Err(JobError::TooLarge { most });
        }
        let most = self.shared.parts.read.limits.max_file_bytes;
        if more > most.saturating_sub(file.bytes) {
            return Err(JobError::FileTooLarge {
                name: file.name.clone(),
                most,
            });
        }
        open.write_all(bytes).map_err(IoError::of("write", path))?;
        file.bytes += more;
        self.bytes += more;
        Ok(())
    }

    /// Makes the upload a job, on the disk with every byte. It is accepted
    /// once this returns.
    ///
    /// # Errors
    /// When there is no file, when the queue is stopping, or when the
    /// operating system refuses; there is no job then.
    pub fn commit(mut self) -> Result<JobReport, JobError> {
        self.finish_file()?;
        if self.files.is_empty() {
            return Err(JobError::NoFile);
        }
        let files = std::mem::take(&mut self.files);
        self.shared.accept(&self.folder, files)
    }

    fn finish_file(&mut self) -> Result<(), JobError> {
        if let Some(file) = self.open.take() {
            let path = self.path(self.files.len().saturating_sub(1));
            file.sync_all().map_err(IoError::of("sync", path))?;
        }
        Ok(())
    }

    fn path(&self, file: usize) -> PathBuf {
        self.files_folder.join(file.to_string())
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // After a commit there is no such folder any more.
        if let Err(error) = remove_folder(&self.folder) {
            tracing::warn!(%error, "what was received of an upload is left to the next start");
        }
        self.shared.give_back();
    }
}
