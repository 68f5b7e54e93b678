//! The log of a run: a line a result, written when it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::record::{Answered, Found, Key};

/// What a line holds.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Found(Found),
    Answered(Answered),
}

/// A log that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The operating system refused.
    #[error("cannot {what} {path}; check the disk and the folder's permissions")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The log.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line that is not the last is no result.
    #[error(
        "{path}, line {line}: not a result of a run; the file was changed or is damaged: remove its folder, or give another --out"
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// At most so much is lost when the machine loses power. A process that is
/// killed loses nothing that was written.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The results of a run so far.
#[derive(Default)]
struct Results {
    found: BTreeMap<Key, Found>,
    answered: BTreeMap<(Key, usize, u64), Answered>,
}

/// The log of a run, open for more.
pub struct RunLog {
    path: PathBuf,
    file: Mutex<(File, Instant)>,
    results: Mutex<Results>,
    resumed: usize,
}

impl RunLog {
    /// Opens the log and reads what is in it. A last line that was not
    /// finished is taken off.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let io = |what| {
            move |source| LogError::Io {
                what,
                path: path.to_owned(),
                source,
            }
        };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(io("open"))?;
        let (results, whole) = read(path, &file)?;
        file.set_len(whole).map_err(io("shorten"))?;
        file.seek(SeekFrom::End(0)).map_err(io("read"))?;
        let answered = results.answered.values();
        let resumed = answered.filter(|answered| !answered.passing).count();
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new((file, Instant::now())),
            results: Mutex::new(results),
            resumed,
        })
    }

    /// The results in a log that nobody writes any more.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn results(path: &Path) -> Result<(Vec<Found>, Vec<Answered>), LogError> {
        let file = File::open(path).map_err(|source| LogError::Io {
            what: "open",
            path: path.to_owned(),
            source,
        })?;
        let (results, _) = read(path, &file)?;
        Ok((
            results.found.into_values().collect(),
            results.answered.into_values().collect(),
        ))
    }

    /// How many answers an earlier run left.
    pub fn resumed(&self) -> usize {
        self.resumed
    }

    /// Whether a question was searched.
    pub(super) fn has_found(&self, key: Key) -> bool {
        lock(&self.results).found.contains_key(&key)
    }

    /// The ways in which a question was answered, but those that were only not
    /// reached.
    pub(super) fn answered(&self, key: Key) -> BTreeSet<(usize, u64)> {
        let results = lock(&self.results);
        let from = (key, 0, 0);
        let of_key = results
            .answered
            .range(from..)
            .take_while(|((k, ..), _)| *k == key);
        let whole = of_key.filter(|(_, answered)| !answered.passing);
        whole.map(|((_, arm, seed), _)| (*arm, *seed)).collect()
    }

    pub(super) fn add_found(&self, found: Found) -> Result<(), LogError> {
        self.append(&Line::Found(found.clone()))?;
        lock(&self.results).found.insert(found.key, found);
        Ok(())
    }

    pub(super) fn add_answered(&self, answered: Answered) -> Result<(), LogError> {
        self.append(&Line::Answered(answered.clone()))?;
        let key = (answered.key, answered.arm, answered.seed);
        lock(&self.results).answered.insert(key, answered);
        Ok(())
    }

    /// A line is written whole, by one call, before anybody hears of it.
    fn append(&self, line: &Line) -> Result<(), LogError> {
        let mut bytes = serde_json::to_vec(line).expect("a result is plain data");
        bytes.push(b'\n');
        let mut file = lock(&self.file);
        let (file, synced) = &mut *file;
        let written = file.write_all(&bytes).and_then(|()| {
            if synced.elapsed() < SYNC_EVERY {
                return Ok(());
            }
            *synced = Instant::now();
            file.sync_data()
        });
        written.map_err(|source| self.io("write", source))
    }

    /// Everything, in the order of keys, once all of it is on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(self) -> Result<(Vec<Found>, Vec<Answered>), LogError> {
        let synced = lock(&self.file).0.sync_all();
        synced.map_err(|source| self.io("write", source))?;
        let results = self
            .results
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Ok((
            results.found.into_values().collect(),
            results.answered.into_values().collect(),
        ))
    }

    fn io(&self, what: &'static str, source: io::Error) -> LogError {
        LogError::Io {
            what,
            path: self.path.clone(),
            source,
        }
    }
}

/// The results in a log, and how many of its bytes are whole lines. Of two
/// results of one question the later counts.
fn read(path: &Path, file: &File) -> Result<(Results, u64), LogError> {
    let mut results = Results::default();
    let mut whole = 0;
    let mut file = BufReader::new(file);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = file.read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| LogError::Io {
            what: "read",
            path: path.to_owned(),
            source,
        })?;
        if bytes.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice(&bytes) {
            Ok(Line::Found(found)) => {
                results.found.insert(found.key, found);
            }
            Ok(Line::Answered(answered)) => {
                let key = (answered.key, answered.arm, answered.seed);
                results.answered.insert(key, answered);
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(LogError::Damaged { path, line, source });
            }
        }
        whole += read as u64;
    }
    Ok((results, whole))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing panics while it holds a lock here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::Usage;

    fn answered(question: usize, passing: bool) -> Answered {
        Answered {
            key: Key {
                scope: 0,
                set: 0,
                question,
            },
            arm: 0,
            seed: 1,
            answer: Some("a bell".into()),
            failure: None,
            passing,
            supported: true,
            score: Some(1.0 / 3.0),
            evidence: vec![(0, 7)],
            usage: Usage::default(),
        }
    }

    #[test]
    fn a_line_that_was_not_finished_is_asked_again_and_whole_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let log = RunLog::open(&path).unwrap();
        log.add_answered(answered(0, false)).unwrap();
        log.add_answered(answered(1, true)).unwrap();
        log.add_answered(answered(2, false)).unwrap();
        drop(log);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();

        let log = RunLog::open(&path).unwrap();
        assert_eq!(log.resumed(), 1);
        let done = |question| !log.answered(answered(question, false).key).is_empty();
        assert_eq!([0, 1, 2].map(done), [true, false, false]);
        log.add_answered(answered(1, false)).unwrap();
        let (_, all) = log.finish().unwrap();
        assert_eq!(all, [answered(0, false), answered(1, false)]);
        assert_eq!(RunLog::results(&path).unwrap().1, all);
    }

    #[test]
    fn a_line_that_is_no_result_is_told_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let log = RunLog::open(&path).unwrap();
        log.add_answered(answered(0, false)).unwrap();
        drop(log);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"found\": 3}\n");
        fs::write(&path, text).unwrap();
        let error = RunLog::open(&path).err().unwrap().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
