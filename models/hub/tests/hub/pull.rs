//! Files arriving, and how they lie in the cache.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use quire_hub::fake::{Act, Point, git_blob, sha256};
use quire_hub::{Event, HubError, Origin, WantedFile, pull};

use crate::scene::{LARGE, REPO, SMALL, SMALL_CONTENT, Scene, told};

#[test]
fn large_and_small_files_arrive_whole_in_one_snapshot() {
    let scene = Scene::new(300_000);
    let snapshot = scene.pull(&[LARGE, SMALL]).unwrap();
    assert_eq!(snapshot.commit, scene.commit);
    assert_eq!(snapshot.files[0].name, LARGE);
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    assert_eq!(fs::read(&snapshot.files[1].path).unwrap(), SMALL_CONTENT);
    assert_eq!(snapshot.files[0].path, snapshot.folder.join(LARGE));
    let received = 300_000;
    assert_eq!(snapshot.files[0].origin, Origin::Hub { received });
    assert!(!scene.large_part().exists());
}

#[test]
fn the_cache_is_laid_out_as_every_tool_of_the_hub_expects() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE, SMALL]).unwrap();
    let mut found = Vec::new();
    list(&scene.config.cache, Path::new(""), &mut found);
    found.sort();
    let (large, small) = (sha256(&scene.large), git_blob(SMALL_CONTENT));
    let commit = &scene.commit;
    let mut expected = vec![
        format!(".locks/models--org--model/{large}.lock"),
        format!(".locks/models--org--model/{small}.lock"),
        "CACHEDIR.TAG".to_owned(),
        format!("models--org--model/blobs/{large}"),
        format!("models--org--model/blobs/{small}"),
        "models--org--model/refs/main".to_owned(),
        format!("models--org--model/snapshots/{commit}/config.json -> ../../blobs/{small}"),
        format!(
            "models--org--model/snapshots/{commit}/onnx/model.onnx_data -> ../../../blobs/{large}"
        ),
    ];
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(
        fs::read_to_string(scene.at("refs/main")).unwrap(),
        scene.commit
    );
}

fn list(root: &Path, below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            list(root, &path, found);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            found.push(format!("{} -> {}", path.display(), target.display()));
        } else {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_second_pull_fetches_nothing_and_one_of_a_commit_asks_nothing() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE, SMALL]).unwrap();
    let before = scene.hub.seen().len();
    let again = scene.pull(&[LARGE, SMALL]).unwrap();
    assert!(again.files.iter().all(|file| file.origin == Origin::Cache));
    let asked = &scene.hub.seen()[before..];
    assert!(asked.iter().all(|seen| seen.method == "HEAD"), "{asked:?}");

    let before = scene.hub.seen().len();
    let files = [WantedFile::new(LARGE)];
    pull(REPO, &scene.commit, &files, &scene.config, &mut |_| {}).unwrap();
    assert_eq!(scene.hub.seen().len(), before);
}

#[test]
fn a_new_commit_fetches_only_what_changed() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE, SMALL]).unwrap();
    use quire_hub::fake::Storage::{Git, Large};
    let commit = scene
        .hub
        .commit(REPO, &[(LARGE, Large, &scene.large), (SMALL, Git, b"new")]);
    let snapshot = scene.pull(&[LARGE, SMALL]).unwrap();
    assert_eq!(snapshot.commit, commit);
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    assert_eq!(fs::read(&snapshot.files[1].path).unwrap(), b"new");
    assert_eq!(scene.hub.content_requests().len(), 1);
    assert_eq!(fs::read_to_string(scene.at("refs/main")).unwrap(), commit);
    let old = scene.at("snapshots").join(&scene.commit).join(SMALL);
    assert_eq!(fs::read(old).unwrap(), SMALL_CONTENT);
}

#[test]
fn two_pulls_at_once_fetch_a_file_once() {
    let scene = Scene::new(300_000);
    let slow = Act::Slow(30_000, Duration::from_millis(30));
    scene.hub.fault(Point::Content, 1, slow);
    let files = [WantedFile::new(LARGE)];
    let run = || {
        let mut waited = false;
        let snapshot = pull(REPO, "main", &files, &scene.config, &mut |event| {
            waited |= matches!(event, Event::Waiting { .. });
        });
        (snapshot.unwrap(), waited)
    };
    let both = thread::scope(|scope| {
        let other = scope.spawn(run);
        [run(), other.join().unwrap()]
    });
    assert_eq!(scene.hub.content_requests().len(), 1);
    assert_eq!(both.iter().filter(|(_, waited)| *waited).count(), 1);
    for (snapshot, waited) in &both {
        assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
        assert_eq!(snapshot.files[0].origin == Origin::Cache, *waited);
    }
}

#[test]
fn progress_counts_from_what_is_there_to_the_whole() {
    let scene = Scene::new(500_000);
    scene.hub.fault(Point::Content, 1, Act::CutAfter(200_000));
    let mut counts = Vec::new();
    let mut last = String::new();
    let files = [WantedFile::new(LARGE)];
    pull(REPO, "main", &files, &scene.config, &mut |event| {
        last = format!("{event:?}");
        if let Event::Progress { file, done, total } = event {
            assert_eq!((file, total), (LARGE, Some(500_000)));
            counts.push(done);
        }
    })
    .unwrap();
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!((counts[0], *counts.last().unwrap()), (0, 500_000));
    assert!(counts.iter().filter(|done| **done == 200_000).count() == 2);
    assert!(last.starts_with("Fetched"), "{last}");
}

#[test]
fn an_empty_file_is_a_file() {
    let scene = Scene::new(1000);
    use quire_hub::fake::Storage::{Git, Large};
    let files = [("empty.git", Git, &b""[..]), ("empty.lfs", Large, b"")];
    scene.hub.commit("org/empty", &files);
    let files = files.map(|(name, ..)| WantedFile::new(name));
    let snapshot = pull("org/empty", "main", &files, &scene.config, &mut |_| {}).unwrap();
    for file in &snapshot.files {
        assert_eq!(fs::read(&file.path).unwrap(), b"");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named_and_says_what_to_do() {
    let scene = Scene::new(300_000);
    fs::create_dir_all(scene.at("blobs")).unwrap();
    // The device that is always full.
    std::os::unix::fs::symlink("/dev/full", scene.large_part()).unwrap();
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(
        matches!(error, HubError::DiskFull { .. }),
        "{}",
        told(&error)
    );
    assert!(error.to_string().contains("free some space"), "{error}");
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let mut scene = Scene::new(1000);
    let file = scene.side_folder().join("a file");
    fs::write(&file, "").unwrap();
    scene.config.cache = file.join("cache");
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::Disk { .. }), "{error}");
    assert!(error.to_string().contains("a file/cache"), "{error}");
}
