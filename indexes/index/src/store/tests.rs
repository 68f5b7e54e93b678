//! The store as several processes, some of them killed, leave it.

use super::*;
use crate::manifest::MANIFEST_FILE;
use crate::testing::{self, TEXT, begin, commit, key, manifest, other_recipe, recipe, write_files};
use crate::{BookArtifact, LibraryId, Manifest, ResumeLog};

/// Every path below a folder, with the bytes of files.
fn snapshot(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let contents = crate::artifact::Contents::of(folder).unwrap();
    let files = contents.files.into_iter();
    files
        .map(|path| (path.clone(), fs::read(folder.join(path)).unwrap()))
        .collect()
}

fn commit_library(store: &Store, texts: &[&str]) -> ArtifactDir {
    let books: Vec<BookId> = texts.iter().map(|text| BookId::of_text(text)).collect();
    let key = ArtifactKey::new(LibraryId::of_books(&books), recipe().key());
    let staging = begin(store, key);
    staging.write("vectors.bin", &[5, 6]).unwrap();
    let mut counts = crate::Counts::default();
    for book in &books {
        let book = store.find(*book, recipe().key()).unwrap().unwrap();
        let of_book = &book.manifest().counts;
        counts.passages += of_book.passages;
        counts.tokens += of_book.tokens;
        counts.text_bytes += of_book.text_bytes;
        counts.chapters += of_book.chapters;
    }
    let manifest = Manifest::of_library(&books, recipe(), counts, testing::build());
    staging.commit(manifest).unwrap()
}

#[test]
fn what_was_committed_is_found_whole_and_nothing_else_is_left() {
    let (_folder, store) = testing::store();
    assert!(
        store
            .find(key(TEXT).subject, key(TEXT).recipe)
            .unwrap()
            .is_none()
    );
    let committed = commit(&store, TEXT, recipe());
    committed.check().unwrap();
    let listed: Vec<&str> = committed
        .manifest()
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(
        listed,
        [
            "bm25/meta.json",
            "chapters.json",
            "passages.bin",
            "text.txt",
            "vectors.bin"
        ]
    );
    let begun = store.begin(key(TEXT)).unwrap();
    assert!(matches!(begun, Begin::Committed(found) if found.path() == committed.path()));
    assert!(snapshot(&store.root().join("staging")).is_empty());
    assert_eq!(store.books().unwrap(), [BookId::of_text(TEXT)]);
    assert!(store.strangers().unwrap().is_empty());
}

#[test]
fn two_builds_differ_in_the_manifest_at_most() {
    let artifacts = [(); 2].map(|()| {
        let (folder, store) = testing::store();
        let path = commit(&store, TEXT, recipe()).path().to_owned();
        let mut files = snapshot(&path);
        files.retain(|(path, _)| path != MANIFEST_FILE);
        drop(folder);
        files
    });
    assert_eq!(artifacts[0].len(), 5);
    assert_eq!(artifacts[0], artifacts[1]);
}

#[test]
fn another_recipe_stands_beside_the_first() {
    let (_folder, store) = testing::store();
    commit(&store, TEXT, recipe());
    commit(&store, TEXT, other_recipe());
    assert_eq!(store.artifacts().unwrap().len(), 2);
    assert_eq!(store.books().unwrap().len(), 1);
}

#[test]
fn a_manifest_of_another_key_is_not_committed() {
    let (_folder, store) = testing::store();
    let staging = begin(&store, key(TEXT));
    write_files(&staging, TEXT);
    let committed = staging.commit(manifest(TEXT, other_recipe()));
    assert!(matches!(committed, Err(StoreError::OtherKey { .. })));
    assert!(store.books().unwrap().is_empty());
}

#[test]
#[cfg(unix)]
fn a_link_is_not_committed() {
    let (_folder, store) = testing::store();
    let staging = begin(&store, key(TEXT));
    write_files(&staging, TEXT);
    std::os::unix::fs::symlink("/etc/hostname", staging.dir().join("link")).unwrap();
    let committed = staging.commit(manifest(TEXT, recipe()));
    assert!(matches!(committed, Err(StoreError::OddFile { .. })));
}

#[test]
fn a_build_killed_before_its_manifest_resumes_from_its_scratch_files_alone() {
    let (_folder, store) = testing::store();
    let staging = begin(&store, key(TEXT));
    assert!(!staging.resumed());
    let log = staging.scratch("embeddings.log").unwrap();
    ResumeLog::open(&log, key(TEXT), 4).unwrap();
    staging.write("bm25/half", b"writt").unwrap();
    staging.write("half", b"writt").unwrap();
    // A kill drops the lock and nothing else, as this does.
    drop(staging);
    assert_eq!(store.unfinished().unwrap(), [key(TEXT)]);
    let staging = begin(&store, key(TEXT));
    assert!(staging.resumed());
    let left: Vec<String> = snapshot(staging.dir())
        .into_iter()
        .map(|(p, _)| p)
        .collect();
    assert_eq!(left, ["scratch/embeddings.log"]);
    write_files(&staging, TEXT);
    let committed = staging.commit(manifest(TEXT, recipe())).unwrap();
    assert!(!committed.path().join("scratch").exists());
    committed.check().unwrap();
}

/// A store whose builder was killed just after it wrote the manifest.
fn killed_after_the_manifest(store: &Store) -> PathBuf {
    let committed = commit(store, TEXT, recipe()).path().to_owned();
    let staged = store.staging_path(&key(TEXT).staging_name());
    fs::rename(&committed, &staged).unwrap();
    fs::remove_dir(committed.parent().unwrap()).unwrap();
    fs::create_dir(staged.join("scratch")).unwrap();
    fs::write(staged.join("scratch/embeddings.log"), "finished work").unwrap();
    staged
}

#[test]
fn a_build_killed_after_its_manifest_is_finished_by_the_next() {
    let (_folder, store) = testing::store();
    let staged = killed_after_the_manifest(&store);
    assert!(store.books().unwrap().is_empty());
    let Begin::Committed(finished) = store.begin(key(TEXT)).unwrap() else {
        panic!("expected an artifact");
    };
    finished.check().unwrap();
    assert!(!staged.exists());
    assert!(!finished.path().join("scratch").exists());
}

#[test]
fn a_build_killed_after_its_manifest_and_then_damaged_is_built_again() {
    for damage in ["bm25/meta.json", "text.txt", MANIFEST_FILE, "another file"] {
        let (_folder, store) = testing::store();
        let staged = killed_after_the_manifest(&store);
        fs::write(staged.join(damage), "damage").unwrap();
        let staging = begin(&store, key(TEXT));
        assert!(staging.resumed(), "the finished work is still there");
        write_files(&staging, TEXT);
        staging
            .commit(manifest(TEXT, recipe()))
            .unwrap()
            .check()
            .unwrap();
    }
}

#[test]
fn an_artifact_that_is_there_at_the_last_moment_stays() {
    let (_folder, store) = testing::store();
    let staging = begin(&store, key(TEXT));
    write_files(&staging, TEXT);
    // Another machine, which this one's lock does not reach, was faster.
    let (_other_folder, other) = testing::store();
    let theirs = commit(&other, TEXT, recipe()).path().to_owned();
    let place = store.root().join(key(TEXT).place());
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(&theirs, &place).unwrap();
    let before = snapshot(&place);
    let committed = staging.commit(manifest(TEXT, recipe())).unwrap();
    assert_eq!(committed.path(), place);
    assert_eq!(snapshot(&place), before);
    assert!(store.unfinished().unwrap().is_empty());
}

#[test]
fn a_prefix_names_one_book_or_lists_the_candidates() {
    let (_folder, store) = testing::store();
    let book = BookId::of_text(TEXT);
    commit(&store, TEXT, recipe());
    let written = book.to_string();
    for prefix in [
        &written[..4],
        &written[..12],
        &written,
        &written[..9].to_uppercase(),
    ] {
        assert_eq!(store.resolve(prefix).unwrap(), book);
    }
    // A folder named like a book whose id begins the same.
    let twin = format!("{}{}", &written[..10], "0".repeat(54));
    let twin_folder = store.root().join("indexes").join(&twin);
    fs::create_dir_all(twin_folder.join(recipe().key().to_string())).unwrap();
    let error = store.resolve(&written[..10]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains(&twin) && message.contains(&written),
        "{message}"
    );
    assert_eq!(store.resolve(&written[..11]).unwrap(), book);
    for wrong in ["", "abc", "xyzw", &format!("{written}0"), "ä123"] {
        assert!(matches!(
            store.resolve(wrong),
            Err(StoreError::NotAPrefix { .. })
        ));
    }
    let unknown = if written.starts_with("0000") {
        "ffff"
    } else {
        "0000"
    };
    assert!(matches!(
        store.resolve(unknown),
        Err(StoreError::Unknown { .. })
    ));
}

#[test]
fn removing_a_book_takes_its_recipes_its_libraries_and_its_unfinished_builds() {
    let (_folder, store) = testing::store();
    let other_text = format!("{TEXT} of another book");
    commit(&store, TEXT, recipe());
    commit(&store, TEXT, other_recipe());
    commit(&store, &other_text, recipe());
    let both = commit_library(&store, &[TEXT, &other_text]).key();
    let other_alone = commit_library(&store, &[&other_text]).key();
    let third = crate::Recipe {
        format: 3,
        ..recipe()
    };
    let unfinished = ArtifactKey::new(BookId::of_text(TEXT), third.key());
    drop(begin(&store, unfinished));
    let removed = store.remove(BookId::of_text(TEXT)).unwrap();
    assert_eq!(removed.len(), 3);
    assert_eq!(removed[0], both, "libraries go first");
    let left: Vec<ArtifactKey> = store.artifacts().unwrap().iter().map(|f| f.key).collect();
    assert_eq!(left, [key(&other_text), other_alone]);
    assert!(store.unfinished().unwrap().is_empty());
    assert!(snapshot(&store.root().join("staging")).is_empty());
    assert!(store.remove(BookId::of_text(TEXT)).unwrap().is_empty());
}

#[test]
fn a_book_that_is_being_built_is_not_removed() {
    let (_folder, store) = testing::store();
    commit(&store, TEXT, recipe());
    let building = ArtifactKey::new(BookId::of_text(TEXT), other_recipe().key());
    let staging = begin(&store, building);
    let removed = store.remove(BookId::of_text(TEXT));
    assert!(matches!(removed, Err(StoreError::Busy { key }) if key == building));
    assert_eq!(store.artifacts().unwrap().len(), 1);
    staging.discard().unwrap();
    assert_eq!(store.remove(BookId::of_text(TEXT)).unwrap().len(), 1);
}

#[test]
fn a_removal_that_was_killed_shows_nothing_and_is_completed() {
    let (_folder, store) = testing::store();
    let path = commit(&store, TEXT, recipe()).path().to_owned();
    let trash = store.staging_path(&format!("{TRASH}{}", key(TEXT).staging_name()));
    fs::rename(&path, &trash).unwrap();
    fs::remove_file(trash.join(MANIFEST_FILE)).unwrap();
    assert!(store.books().unwrap().is_empty());
    assert_eq!(store.strangers().unwrap().len(), 1);
    drop(begin(&store, key(TEXT)));
    assert!(!trash.exists());
}

#[test]
fn a_removed_book_stays_readable_to_who_has_it_open() {
    let (_folder, store) = testing::store();
    let book = BookArtifact::open(&commit(&store, TEXT, recipe())).unwrap();
    store.remove(book.book()).unwrap();
    assert_eq!(book.text().unwrap(), TEXT);
}

#[test]
fn foreign_files_are_no_artifacts() {
    let (_folder, store) = testing::store();
    let artifact = commit(&store, TEXT, recipe());
    let foreign = [
        "indexes/.DS_Store".into(),
        "indexes/notes/readme".into(),
        "libraries/x".into(),
        "staging/y".into(),
        format!("indexes/{}/backup", BookId::of_text(TEXT)),
    ];
    for path in &foreign {
        let path = store.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "foreign").unwrap();
    }
    assert_eq!(store.artifacts().unwrap().len(), 1);
    assert_eq!(store.strangers().unwrap().len(), foreign.len());
    store.remove(BookId::of_text(TEXT)).unwrap();
    assert!(!artifact.path().exists());
    for path in &foreign {
        assert!(store.root().join(path).exists(), "{path}");
    }
}

#[test]
fn one_broken_artifact_does_not_hide_the_others() {
    let (_folder, store) = testing::store();
    let other_text = format!("{TEXT} of another book");
    let broken = commit(&store, TEXT, recipe());
    commit(&store, &other_text, recipe());
    fs::remove_file(broken.path().join(MANIFEST_FILE)).unwrap();
    let found = store.artifacts().unwrap();
    assert_eq!(
        found.iter().filter(|found| found.artifact.is_ok()).count(),
        1
    );
    let error = store.begin(key(TEXT)).unwrap_err().to_string();
    let short = BookId::of_text(TEXT).short();
    assert!(
        error.contains(&format!("`quire rm {short} && quire index PATH`")),
        "{error}"
    );
    store.remove(BookId::of_text(TEXT)).unwrap();
    commit(&store, TEXT, recipe());
}

#[test]
fn an_artifact_in_the_place_of_another_is_refused() {
    let (_folder, store) = testing::store();
    let artifact = commit(&store, TEXT, recipe());
    let other = ArtifactKey::new(BookId::of_text("another"), recipe().key());
    let place = store.root().join(other.place());
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(artifact.path(), &place).unwrap();
    let found = store.find(other.subject, other.recipe);
    assert!(matches!(found, Err(ArtifactError::Elsewhere { .. })));
}

#[test]
fn a_data_folder_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        Store::open(&file),
        Err(StoreError::NotAFolder { .. })
    ));
    let error = Store::open(file.join("below")).unwrap_err().to_string();
    assert!(error.contains("a part of the path is a file"), "{error}");
}

/// Whether permissions bind this process; they do not bind an administrator.
#[cfg(unix)]
fn may_write(folder: &Path) -> bool {
    fs::write(folder.join("probe"), "").is_ok()
}

#[test]
#[cfg(unix)]
fn a_store_that_may_only_be_read_finds_what_is_there_and_says_why_it_builds_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = testing::store();
    commit(&store, TEXT, recipe());
    fs::remove_dir_all(store.root().join("staging")).unwrap();
    let allow = |mode| {
        fs::set_permissions(store.root(), fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(0o555);
    let binds = !may_write(store.root());
    let found = store.begin(key(TEXT));
    let built = store.begin(ArtifactKey::new(BookId::of_text("new"), recipe().key()));
    allow(0o755);
    assert!(matches!(found, Ok(Begin::Committed(_))));
    match built {
        Err(error) => assert!(error.to_string().contains("permission denied"), "{error}"),
        Ok(_) => assert!(!binds, "a folder was created in a read-only one"),
    }
}

mod processes {
    use super::*;
    use crate::testing::{as_child, in_child};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn of_many_that_begin_at_once_one_builds_and_all_find_its_artifact() {
        let (_folder, store) = testing::store();
        let (built, waited) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = Store::open(store.root()).unwrap();
                    let waiting = || {
                        waited.fetch_add(1, Ordering::SeqCst);
                    };
                    let artifact = match store.begin_or_wait(key(TEXT), waiting).unwrap() {
                        Begin::Committed(artifact) => *artifact,
                        Begin::Staging(staging) => {
                            built.fetch_add(1, Ordering::SeqCst);
                            // Until all others wait, who cannot get past it.
                            while waited.load(Ordering::SeqCst) < 3 {
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            write_files(&staging, TEXT);
                            staging.commit(manifest(TEXT, recipe())).unwrap()
                        }
                    };
                    artifact.check().unwrap();
                });
            }
        });
        assert_eq!(built.load(Ordering::SeqCst), 1);
        assert!(store.strangers().unwrap().is_empty());
    }

    #[test]
    fn child_builds_and_removes_without_end() {
        let Some(folder) = as_child() else { return };
        let store = Store::open(folder).unwrap();
        loop {
            if let Begin::Staging(staging) = store.begin(key(TEXT)).unwrap() {
                fs::write(staging.scratch("log").unwrap(), "work").unwrap();
                write_files(&staging, TEXT);
                staging.commit(manifest(TEXT, recipe())).unwrap();
            }
            store.remove(BookId::of_text(TEXT)).unwrap();
        }
    }

    #[test]
    fn a_kill_at_any_moment_leaves_a_whole_artifact_or_none() {
        let (_folder, store) = testing::store();
        for round in 0..12 {
            let name = "store::tests::processes::child_builds_and_removes_without_end";
            let mut child = in_child(name, store.root());
            // Not before it works, and then at another moment each time.
            while !store.root().join("staging").exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_micros(4_000 + 1_700 * round));
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            for found in store.artifacts().unwrap() {
                found.artifact.unwrap().check().unwrap();
            }
            let artifact = match store.begin(key(TEXT)).unwrap() {
                Begin::Committed(artifact) => *artifact,
                Begin::Staging(staging) => {
                    write_files(&staging, TEXT);
                    staging.commit(manifest(TEXT, recipe())).unwrap()
                }
            };
            artifact.check().unwrap();
            store.remove(BookId::of_text(TEXT)).unwrap();
            assert!(store.artifacts().unwrap().is_empty());
            fs::remove_dir_all(store.root().join("staging")).unwrap();
        }
    }

    #[test]
    fn child_holds_a_build_until_it_is_killed() {
        let Some(folder) = as_child() else { return };
        let store = Store::open(&folder).unwrap();
        let staging = begin(&store, key(TEXT));
        fs::write(staging.scratch("log").unwrap(), "work").unwrap();
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn who_waits_for_a_process_that_is_killed_gets_its_work() {
        let (_folder, store) = testing::store();
        let name = "store::tests::processes::child_holds_a_build_until_it_is_killed";
        let mut child = in_child(name, store.root());
        let log = store
            .staging_path(&key(TEXT).staging_name())
            .join("scratch/log");
        while !log.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut waited = false;
        let begun = store.begin_or_wait(key(TEXT), || {
            waited = true;
            child.kill().unwrap();
        });
        child.wait().unwrap();
        assert!(waited);
        assert!(matches!(begun, Ok(Begin::Staging(staging)) if staging.resumed()));
    }
}
