//! The folder of a run: `run.json`, `records.jsonl`, and what is made of them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::log::{LogError, RunLog};
use super::plan::{RunFile, SCHEMA};

/// What a run is.
const RUN: &str = "run.json";
/// Its results.
const RECORDS: &str = "records.jsonl";
/// Held by the process that writes.
const LOCK: &str = "lock";

/// A run's folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system refused.
    #[error("cannot {what} {path}; check the disk and the folder's permissions")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Of what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds another run.
    #[error(
        "{path} holds another run ({other}); they differ in {difference}. Results are not mixed: give another --out, or remove that folder"
    )]
    AnotherRun {
        /// The folder.
        path: PathBuf,
        /// The other run's id.
        other: String,
        /// In what they differ.
        difference: &'static str,
    },
    /// The folder holds something else.
    #[error("{path} is not empty and holds no run; give another --out")]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// Somebody else writes to it.
    #[error("another process is at the run in {path}; wait for its end, or give another --out")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// Its `run.json` is none.
    #[error(
        "{path} does not describe a run of this version; use the quire that wrote it, or run it again"
    )]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Its log.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A run's folder, held by this process.
pub struct RunFolder {
    path: PathBuf,
    /// Unlocked when it is dropped.
    _lock: File,
    /// What the run is. Where the folder was there before, as it was then:
    /// first command and start.
    pub run: RunFile,
}

impl RunFolder {
    /// Takes the folder of a run, or makes it.
    ///
    /// # Errors
    /// When it holds another run or something else, or another process is at
    /// it.
    pub fn take(path: &Path, run: RunFile) -> Result<Self, FolderError> {
        let io = |what| {
            let path = path.to_owned();
            move |source| FolderError::Io { what, path, source }
        };
        fs::create_dir_all(path).map_err(io("make"))?;
        let file = path.join(RUN);
        let is_new = !file.exists();
        let foreign = fs::read_dir(path).map_err(io("read"))?.flatten();
        let foreign = foreign.filter(|entry| entry.file_name() != LOCK).count();
        if is_new && foreign > 0 && !path.join(LOCK).exists() {
            return Err(FolderError::NoRun {
                path: path.to_owned(),
            });
        }
        let lock = File::create(path.join(LOCK)).map_err(io("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io("lock")(source)),
        }
        let run = if is_new {
            let json = serde_json::to_vec_pretty(&run).expect("a run is plain data");
            write_whole(&file, &json)?;
            run
        } else {
            let there = read_run(&file)?;
            if let Some(difference) = run.identity.difference(&there.identity) {
                return Err(FolderError::AnotherRun {
                    path: path.to_owned(),
                    other: there.id,
                    difference,
                });
            }
            there
        };
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            run,
        })
    }

    /// Its log, with what an earlier process left there.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn log(&self) -> Result<RunLog, LogError> {
        RunLog::open(&self.path.join(RECORDS))
    }

    /// A run that is there, to be read.
    ///
    /// # Errors
    /// When there is none, or its files are damaged.
    pub fn read(
        path: &Path,
    ) -> Result<(RunFile, Vec<super::Found>, Vec<super::Answered>), FolderError> {
        let run = read_run(&path.join(RUN))?;
        let (found, answered) = RunLog::results(&path.join(RECORDS))?;
        Ok((run, found, answered))
    }

    /// Writes a file of the folder, all of it or nothing.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, FolderError> {
        let path = self.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| FolderError::Io {
                what: "make",
                path: parent.to_owned(),
                source,
            })?;
        }
        write_whole(&path, bytes)?;
        Ok(path)
    }
}

fn read_run(file: &Path) -> Result<RunFile, FolderError> {
    let json = fs::read(file).map_err(|source| FolderError::Io {
        what: "read",
        path: file.to_owned(),
        source,
    })?;
    let not_a_run = |source| FolderError::NotARun {
        path: file.to_owned(),
        source,
    };
    let run: RunFile = serde_json::from_slice(&json).map_err(not_a_run)?;
    if run.schema != SCHEMA {
        let what = format!("schema {}, not {SCHEMA}", run.schema);
        return Err(not_a_run(serde::de::Error::custom(what)));
    }
    Ok(run)
}

/// Writes a file beside the one that is meant and puts it in its place.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let beside = path.with_extension("part");
    let written = fs::write(&beside, bytes)
        .and_then(|()| File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|source| FolderError::Io {
        what: "write",
        path: path.to_owned(),
        source,
    })
}
