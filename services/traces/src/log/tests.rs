use super::*;
use crate::testing::{entry, trace};
use quire_engine::Trace;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

fn open(folder: &TempDir, options: TraceLogOptions) -> TraceLog {
    TraceLog::open(folder.path(), options).unwrap()
}

/// A trace that is told from others by its question.
fn asking(question: &str) -> Trace {
    Trace {
        question: question.to_owned(),
        ..trace(2)
    }
}

fn append(log: &TraceLog, question: &str) -> TraceId {
    log.append(&entry(&asking(question))).unwrap()
}

fn question_of(reader: &TraceReader, id: TraceId) -> Option<String> {
    let record = reader.get(&id).unwrap()?;
    assert_eq!(record.id, id);
    Some(record.trace.question)
}

/// Bytes of all files of the log together.
fn on_disk(folder: &TempDir) -> u64 {
    let files = files::list(folder.path()).unwrap();
    files.iter().map(|(_, length)| length).sum()
}

#[test]
fn every_record_is_found_by_its_id_while_the_log_is_open_and_after() {
    let folder = TempDir::new().unwrap();
    let log = open(&folder, TraceLogOptions::default());
    let ids: Vec<_> = (0..20)
        .map(|at| (append(&log, &at.to_string()), at.to_string()))
        .collect();
    assert_eq!(log.get(&ids[3].0).unwrap().unwrap().trace, asking("3"));
    log.sync().unwrap();
    drop(log);
    let reader = TraceReader::open(folder.path());
    for (id, question) in ids {
        assert_eq!(question_of(&reader, id), Some(question));
    }
    let never = TraceId::new(1, 3);
    assert_eq!(reader.get(&never).unwrap(), None);
    assert_eq!(reader.get(&TraceId::new(99, 0)).unwrap(), None);
}

#[test]
fn an_opened_log_goes_on_behind_what_is_there() {
    let folder = TempDir::new().unwrap();
    let first = append(&open(&folder, TraceLogOptions::default()), "first");
    let second = append(&open(&folder, TraceLogOptions::default()), "second");
    assert!(second > first);
    let reader = TraceReader::open(folder.path());
    assert_eq!(question_of(&reader, first).as_deref(), Some("first"));
    assert_eq!(question_of(&reader, second).as_deref(), Some("second"));
}

#[test]
fn the_oldest_records_make_room_and_the_bound_holds_at_every_moment() {
    let folder = TempDir::new().unwrap();
    let options = TraceLogOptions {
        file_bytes: 8_000,
        most_bytes: 30_000,
    };
    let log = open(&folder, options);
    let mut ids = Vec::new();
    for at in 0..100 {
        ids.push(append(&log, &at.to_string()));
        assert!(on_disk(&folder) <= options.most_bytes);
    }
    assert!(ids.is_sorted());
    let reader = TraceReader::open(folder.path());
    let kept = ids
        .iter()
        .filter(|id| question_of(&reader, **id).is_some())
        .count();
    // The newest are kept, without a gap.
    assert!((5..100).contains(&kept), "{kept}");
    assert!(question_of(&reader, ids[100 - kept]).is_some());
    let files = files::list(folder.path()).unwrap();
    assert!(files.iter().all(|(_, length)| *length <= 8_000));
    assert!(files.len() >= 3 && files[0].0 > 1, "{files:?}");
}

#[test]
fn a_file_is_at_most_half_of_what_is_kept() {
    let folder = TempDir::new().unwrap();
    let options = TraceLogOptions {
        most_bytes: 20_000,
        ..TraceLogOptions::default()
    };
    let log = open(&folder, options);
    for at in 0..40 {
        append(&log, &at.to_string());
        assert!(on_disk(&folder) <= 20_000);
    }
    assert_eq!(files::list(folder.path()).unwrap().len(), 2);
}

#[test]
fn a_record_longer_than_a_file_is_refused_and_the_next_one_taken() {
    let folder = TempDir::new().unwrap();
    let options = TraceLogOptions {
        file_bytes: 8_000,
        most_bytes: 30_000,
    };
    let log = open(&folder, options);
    let long = asking(&"x".repeat(9_000));
    let refused = log.append(&entry(&long)).unwrap_err();
    assert!(matches!(refused, TraceError::TooLong { most: 8_000, .. }));
    let id = append(&log, "short");
    assert!(log.get(&id).unwrap().is_some());
}

#[test]
fn a_record_cut_short_anywhere_costs_no_other() {
    let folder = TempDir::new().unwrap();
    let log = open(&folder, TraceLogOptions::default());
    let (first, second) = (append(&log, "first"), append(&log, "second"));
    drop(log);
    let path = files::path_of(folder.path(), 1);
    let whole = fs::read(&path).unwrap();
    let start = second.offset as usize;
    for length in (start..whole.len()).step_by(97).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        let reader = TraceReader::open(folder.path());
        assert_eq!(question_of(&reader, first).as_deref(), Some("first"));
        assert_eq!(question_of(&reader, second), None, "cut at {length}");

        let log = open(&folder, TraceLogOptions::default());
        let third = append(&log, "third");
        assert_eq!(third.offset as usize, start);
        assert_eq!(question_of(&reader, first).as_deref(), Some("first"));
        assert_eq!(question_of(&reader, third).as_deref(), Some("third"));
        assert_eq!(question_of(&reader, second), None);
    }
}

#[test]
fn a_damaged_record_is_an_error_that_names_it() {
    let folder = TempDir::new().unwrap();
    let log = open(&folder, TraceLogOptions::default());
    let id = append(&log, "first");
    drop(log);
    let path = files::path_of(folder.path(), 1);
    let damaged = fs::read_to_string(&path)
        .unwrap()
        .replace("\"dense\"", "\"dance\"");
    fs::write(&path, damaged).unwrap();
    let error = TraceReader::open(folder.path()).get(&id).unwrap_err();
    assert!(error.to_string().contains(&id.to_string()), "{error}");
}

#[test]
fn one_process_appends_and_another_reads_meanwhile() {
    let folder = TempDir::new().unwrap();
    let log = open(&folder, TraceLogOptions::default());
    let id = append(&log, "first");
    let refused = TraceLog::open(folder.path(), TraceLogOptions::default()).err();
    assert!(matches!(refused, Some(TraceError::InUse { .. })));
    let reader = TraceReader::open(folder.path());
    assert!(question_of(&reader, id).is_some());
    drop(log);
    assert!(TraceLog::open(folder.path(), TraceLogOptions::default()).is_ok());
}

#[test]
fn records_appended_by_many_threads_are_all_whole() {
    let folder = TempDir::new().unwrap();
    let options = TraceLogOptions {
        file_bytes: 50_000,
        ..TraceLogOptions::default()
    };
    let log = open(&folder, options);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let log = &log;
            threads.spawn(move || {
                for at in 0..50 {
                    let question = format!("{thread}-{at}");
                    let id = append(log, &question);
                    assert_eq!(log.get(&id).unwrap().unwrap().trace.question, question);
                }
            });
        }
    });
    assert!(files::list(folder.path()).unwrap().len() > 1);
}

/// A disk with room for so many bytes more.
struct Disk {
    file: File,
    room: AtomicUsize,
    /// Whether what was written cannot be cut off either.
    stuck: AtomicBool,
}

impl Sink for Disk {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let fits = self.room.load(Ordering::SeqCst).min(bytes.len());
        self.file.append(&bytes[..fits])?;
        self.room.fetch_sub(fits, Ordering::SeqCst);
        if fits < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.stuck.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Other.into());
        }
        self.file.cut(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

#[test]
fn a_full_disk_refuses_a_record_and_takes_the_next_when_there_is_room() {
    for stuck in [false, true] {
        let folder = TempDir::new().unwrap();
        let log = open(&folder, TraceLogOptions::default());
        let first = append(&log, "first");
        let disk = Arc::new(Disk {
            file: sink::open(&log.path(1)).unwrap(),
            room: AtomicUsize::new(100),
            stuck: AtomicBool::new(stuck),
        });
        log.tail.lock().unwrap().sink = Arc::clone(&disk) as Arc<dyn Sink>;

        let before = on_disk(&folder);
        let full = log.append(&entry(&asking("second"))).unwrap_err();
        assert!(full.to_string().contains("no space is left"), "{full}");
        let left = if stuck { 100 } else { 0 };
        assert_eq!(on_disk(&folder), before + left);

        disk.room.store(1 << 20, Ordering::SeqCst);
        if stuck {
            // Nothing goes behind half a record.
            assert!(log.append(&entry(&asking("second"))).is_err());
            disk.stuck.store(false, Ordering::SeqCst);
        }
        let third = append(&log, "third");
        assert_eq!(
            question_of(&TraceReader::open(folder.path()), first).as_deref(),
            Some("first")
        );
        assert_eq!(log.get(&third).unwrap().unwrap().trace.question, "third");
        assert_eq!(third.offset as u64, before);
    }
}

/// A device whose every write fails with the system's own "no space left".
#[cfg(target_os = "linux")]
#[test]
fn the_systems_own_full_disk_is_said_as_such() {
    let folder = TempDir::new().unwrap();
    let log = open(&folder, TraceLogOptions::default());
    let real = Arc::clone(&log.tail.lock().unwrap().sink);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    log.tail.lock().unwrap().sink = Arc::new(full);
    let error = log.append(&entry(&asking("first"))).unwrap_err();
    assert!(error.to_string().contains("no space is left"), "{error}");
    log.tail.lock().unwrap().sink = real;
    let id = append(&log, "second");
    assert!(log.get(&id).unwrap().is_some());
}
