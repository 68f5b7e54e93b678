//! The jobs' folder on the disk.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use quire_index::IoError;

use super::id::random;
use super::{JobError, JobId, JobReport, JobState, Problem};

/// How the name of an upload begins that is not a job yet.
const RECEIVING: &str = "receiving-";
/// How the name of a job begins that is being removed.
const REMOVING: &str = "removing-";
const RECORD: &str = "job.json";
const FILES: &str = "files";

/// The folder, held by this process.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Takes the folder over, and sweeps what never became a job or was being
    /// removed.
    pub(super) fn open(path: PathBuf) -> Result<Self, JobError> {
        fs::create_dir_all(&path).map_err(IoError::of("create the folder", &path))?;
        let folder = Self {
            _lock: lock(&path)?,
            path,
        };
        for name in folder.names()? {
            if name.starts_with(RECEIVING) || name.starts_with(REMOVING) {
                remove_folder(&folder.path.join(name))?;
            }
        }
        Ok(folder)
    }

    fn names(&self) -> Result<Vec<String>, IoError> {
        let list = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                // A name that is no text is none that was given here.
                names.extend(entry?.file_name().into_string());
            }
            Ok(names)
        };
        list().map_err(IoError::of("list", &self.path))
    }

    /// Every job, by acceptance; of the finished ones, what was uploaded is
    /// deleted if a kill came before that. One whose record cannot be read is
    /// a failed job that says so; its folder is left as it is, for people to
    /// look at.
    pub(super) fn load(&self) -> Result<Vec<JobReport>, IoError> {
        let names = self.names()?;
        let mut ids: Vec<JobId> = names.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        let mut reports = Vec::with_capacity(ids.len());
        for id in ids {
            match self.read(id) {
                Ok(report) => {
                    if report.state.is_finished() {
                        self.remove_files(id)?;
                    }
                    reports.push(report);
                }
                Err(error) => {
                    tracing::error!(job = %id, %error, "the record of a job is damaged");
                    reports.push(damaged(id));
                }
            }
        }
        Ok(reports)
    }

    fn read(&self, id: JobId) -> io::Result<JobReport> {
        let bytes = fs::read(self.job(id).join(RECORD))?;
        let report: JobReport = serde_json::from_slice(&bytes)?;
        if report.id != id {
            return Err(io::Error::other("it is the record of another job"));
        }
        Ok(report)
    }

    fn job(&self, id: JobId) -> PathBuf {
        self.path.join(id.to_string())
    }

    /// A new folder to receive files into, and the folder for them in it.
    pub(super) fn receive(&self) -> Result<(PathBuf, PathBuf), IoError> {
        let folder = self.path.join(format!("{RECEIVING}{:016x}", random()));
        let files = folder.join(FILES);
        fs::create_dir_all(&files).map_err(IoError::of("create the folder", &files))?;
        Ok((folder, files))
    }

    /// Makes what was received a job, in one rename. Its files are synced.
    pub(super) fn commit(&self, received: &Path, report: &JobReport) -> Result<(), JobError> {
        sync(&received.join(FILES))?;
        write_record(received, report)?;
        let place = self.job(report.id);
        fs::rename(received, &place).map_err(IoError::of("commit to", &place))?;
        sync(&self.path)?;
        Ok(())
    }

    /// Replaces a job's record: a kill leaves the old one or the new one.
    pub(super) fn save(&self, report: &JobReport) -> Result<(), JobError> {
        write_record(&self.job(report.id), report)
    }

    /// The bytes of an uploaded file, which are as many as were received.
    pub(super) fn file(&self, report: &JobReport, file: usize) -> Result<Vec<u8>, IoError> {
        let path = self.job(report.id).join(FILES).join(file.to_string());
        let expected = report.files[file].bytes;
        let read = || {
            // One byte more tells that there are too many.
            let mut bytes = Vec::with_capacity(expected as usize);
            let mut source = File::open(&path)?.take(expected + 1);
            source.read_to_end(&mut bytes)?;
            if bytes.len() as u64 != expected {
                let error = "it is not as long as it was when it was received";
                return Err(io::Error::other(error));
            }
            Ok(bytes)
        };
        read().map_err(IoError::of("read", &path))
    }

    /// Deletes what was uploaded.
    pub(super) fn remove_files(&self, id: JobId) -> Result<(), IoError> {
        remove_folder(&self.job(id).join(FILES))
    }

    /// Removes a job with all that is left of it.
    pub(super) fn remove(&self, id: JobId) -> Result<(), IoError> {
        let job = self.job(id);
        let removing = self.path.join(format!("{REMOVING}{id}"));
        match fs::rename(&job, &removing) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => {
                renamed.map_err(IoError::of("remove", &job))?;
                remove_folder(&removing)
            }
        }
    }
}

fn damaged(id: JobId) -> JobReport {
    JobReport {
        id,
        version: 0,
        state: JobState::Failed,
        accepted: String::new(),
        started: None,
        finished: None,
        files: Vec::new(),
        books: Vec::new(),
        progress: None,
        problem: Some(Problem {
            error: "the record of this job is damaged".to_owned(),
            remedy: "send the files again; finished work is kept".to_owned(),
        }),
    }
}

fn write_record(folder: &Path, report: &JobReport) -> Result<(), JobError> {
    let bytes = serde_json::to_vec(report).map_err(JobError::Serialize)?;
    let (path, beside) = (folder.join(RECORD), folder.join("job.json.new"));
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    write().map_err(IoError::of("write", &path))?;
    sync(folder)?;
    Ok(())
}

/// Waits until a folder's entries are on the disk, where the system can.
fn sync(folder: &Path) -> Result<(), IoError> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(IoError::of("sync", folder))?;
    }
    Ok(())
}

pub(super) fn remove_folder(folder: &Path) -> Result<(), IoError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(IoError::of("remove", folder)),
    }
}

/// The lock that one process at a time holds, until it ends however it ends.
fn lock(folder: &Path) -> Result<File, JobError> {
    let path = folder.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(IoError::of("open the lock", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JobError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(IoError::of("lock", &path)(error).into()),
    }
}
