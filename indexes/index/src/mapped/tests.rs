//! Files that shrink, change and go while they are mapped.

use super::*;
use crate::testing::{as_child, in_child};
use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;

const LENGTH: u64 = 1 << 16;

fn file_of_ones(folder: &Path) -> PathBuf {
    let path = folder.join("file");
    fs::write(&path, vec![1u8; LENGTH as usize]).unwrap();
    path
}

fn shrink(path: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

#[test]
fn a_file_of_another_length_is_not_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    assert_eq!(Mapped::open_exact(&path, LENGTH).unwrap().len(), 1 << 16);
    let error = Mapped::open_exact(&path, LENGTH + 1).unwrap_err();
    assert!(error.to_string().contains("65536 bytes long where 65537"));
}

#[test]
fn an_empty_file_maps_to_no_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty");
    fs::write(&path, "").unwrap();
    let mapped = Mapped::open_exact(&path, 0).unwrap();
    assert!(mapped.is_empty());
    mapped.check().unwrap();
}

#[test]
fn a_folder_is_no_file_to_map() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Mapped::open(folder.path()).is_err());
}

#[test]
fn a_file_that_shrank_is_an_error_and_not_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let mapped = Mapped::open(&path).unwrap();
    let read = || guarded(&[folder.path()], || sum(&mapped));
    assert_eq!(read(), Ok(LENGTH));
    shrink(&path, 0);
    let shrank = MappingFault::Shrank {
        path: path.clone(),
        was: LENGTH,
        now: 0,
    };
    assert_eq!(read(), Err(shrank.clone()));
    // The zeros stay in the mapping, and so does the error.
    assert_eq!(read(), Err(shrank));
    shrink(&path, LENGTH);
    assert_eq!(read(), Err(MappingFault::Unreadable { path: path.clone() }));
    // Opened again, the file is what it is now.
    drop(mapped);
    assert_eq!(sum(&Mapped::open(&path).unwrap()), 0);
}

#[test]
fn a_file_cut_inside_its_last_page_raises_no_signal_and_is_an_error_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let mapped = Mapped::open(&path).unwrap();
    shrink(&path, LENGTH - 1);
    assert!(matches!(
        guarded(&[folder.path()], || sum(&mapped)),
        Err(MappingFault::Shrank { .. })
    ));
}

#[test]
fn a_file_that_was_written_to_is_an_error() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let mapped = Mapped::open(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_at(&[9], 0).unwrap();
    let later = SystemTime::now() + std::time::Duration::from_secs(1);
    file.set_modified(later).unwrap();
    assert_eq!(
        mapped.check(),
        Err(MappingFault::Changed { path: path.clone() })
    );
}

#[test]
fn a_removed_file_can_be_read_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let mapped = Mapped::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(guarded(&[folder.path()], || sum(&mapped)), Ok(LENGTH));
    fs::write(&path, "another file of that name").unwrap();
    assert_eq!(guarded(&[folder.path()], || sum(&mapped)), Ok(LENGTH));
}

#[test]
fn a_fault_in_one_folder_is_no_error_in_another() {
    let [broken, sound] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let path = file_of_ones(broken.path());
    let mapped = Mapped::open(&path).unwrap();
    let other = Mapped::open(&file_of_ones(sound.path())).unwrap();
    shrink(&path, 0);
    let both = || sum(&mapped) + sum(&other);
    assert_eq!(guarded(&[sound.path()], both), Ok(LENGTH));
    assert!(guarded(&[sound.path(), broken.path()], both).is_err());
}

#[test]
fn a_mapping_that_faulted_and_was_dropped_meanwhile_is_still_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let read = || {
        let mapped = Mapped::open(&path).unwrap();
        shrink(&path, 0);
        sum(&mapped)
    };
    assert_eq!(
        guarded(&[folder.path()], read),
        Err(MappingFault::Unreadable { path: path.clone() })
    );
}

#[test]
fn a_panic_over_zeros_is_the_error_and_any_other_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    let mapped = Mapped::open(&path).unwrap();
    let read = || guarded(&[folder.path()], || assert_eq!(mapped[1 << 15], 1));
    assert_eq!(read(), Ok(()));
    shrink(&path, 0);
    assert!(matches!(read(), Err(MappingFault::Shrank { .. })));
    let other = catch_unwind(|| guarded(&[], || panic!("of another kind")));
    assert!(other.is_err());
}

#[test]
fn many_threads_may_fault_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_of_ones(folder.path());
    for _ in 0..20 {
        shrink(&path, LENGTH);
        let mapped = Mapped::open(&path).unwrap();
        shrink(&path, 0);
        let read = || {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| sum(&mapped));
                }
            });
        };
        assert!(guarded(&[folder.path()], read).is_err());
    }
}

/// A mapping that is not one of ours, as another library may hold.
fn foreign_mapping(path: &Path) -> Mmap {
    // SAFETY: the test reads it as plain bytes only.
    unsafe { Mmap::map(&File::open(path).unwrap()).unwrap() }
}

#[test]
fn child_reads_a_foreign_mapping() {
    let Some(folder) = as_child() else { return };
    let path = file_of_ones(&folder);
    let ours = Mapped::open(&path).unwrap();
    let foreign = foreign_mapping(&path);
    drop(ours);
    shrink(&path, 0);
    assert_eq!(guarded(&[], || sum(&foreign)), Err(MappingFault::Stray));
    // Nobody can tell what else that reader sees: never trusted again.
    assert_eq!(guarded(&[], || ()), Err(MappingFault::Stray));
    fs::write(folder.join("survived"), "").unwrap();
    // No watch is open: then a fault ends the process as ever.
    let path = file_of_ones(&folder);
    let foreign = foreign_mapping(&path);
    shrink(&path, 0);
    fs::write(folder.join("read"), sum(&foreign).to_string()).unwrap();
}

#[test]
fn a_foreign_mapping_is_survived_under_a_watch_only() {
    let folder = tempfile::tempdir().unwrap();
    let ended = in_child(
        "mapped::tests::child_reads_a_foreign_mapping",
        folder.path(),
    )
    .wait()
    .unwrap();
    assert!(folder.path().join("survived").exists());
    assert!(!folder.path().join("read").exists());
    assert_eq!(ended.signal(), Some(libc::SIGBUS));
}

#[test]
fn child_is_sent_the_signal() {
    let Some(folder) = as_child() else { return };
    let _mapped = Mapped::open(&file_of_ones(&folder)).unwrap();
    let _watch = FaultWatch::begin();
    // Rust's own handler, to which ours passes the first one on, gives
    // way to the default and returns; the second one ends the process.
    for _ in 0..2 {
        // SAFETY: sends a signal to this process.
        unsafe { libc::raise(libc::SIGBUS) };
    }
    fs::write(folder.join("survived"), "").unwrap();
}

#[test]
fn a_signal_that_is_no_fault_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let ended = in_child("mapped::tests::child_is_sent_the_signal", folder.path())
        .wait()
        .unwrap();
    assert!(!folder.path().join("survived").exists());
    assert_eq!(ended.signal(), Some(libc::SIGBUS));
}
