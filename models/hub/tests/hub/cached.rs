//! What the cache has, found and checked without a network.

use std::fs;

use crate::scene::{LARGE, REPO, SMALL, SMALL_CONTENT, Scene};
use quire_hub::fake::sha256;
use quire_hub::{HubError, Origin, WantedFile, find_cached, verify_cached};

#[test]
fn offline_a_cached_model_is_found_without_a_request() {
    let mut scene = Scene::new(1000);
    let online = scene.pull(&[LARGE, SMALL]).unwrap();
    let requests = scene.hub.seen().len();
    scene.config.offline = true;
    let offline = scene.pull(&[LARGE, SMALL]).unwrap();
    assert_eq!(scene.hub.seen().len(), requests);
    assert_eq!(offline.commit, online.commit);
    assert_eq!(offline.folder, online.folder);
    assert!(
        offline
            .files
            .iter()
            .all(|file| file.origin == Origin::Cache)
    );
}

#[test]
fn offline_an_absent_file_is_named_with_the_remedy() {
    let mut scene = Scene::new(1000);
    scene.config.offline = true;
    let error = scene.pull(&[LARGE]).unwrap_err().to_string();
    assert!(
        error.contains(LARGE) && error.contains("unset HF_HUB_OFFLINE"),
        "{error}"
    );

    scene.config.offline = false;
    scene.pull(&[LARGE]).unwrap();
    scene.config.offline = true;
    let error = scene.pull(&[LARGE, SMALL]).unwrap_err();
    assert!(
        matches!(&error, HubError::Offline { file, .. } if file == SMALL),
        "{error}"
    );
}

#[test]
fn a_file_is_found_by_branch_and_by_commit() {
    let scene = Scene::new(1000);
    let find = |revision: &str, file: &str| find_cached(&scene.config, REPO, revision, file);
    assert_eq!(find("main", LARGE), None);
    let snapshot = scene.pull(&[LARGE]).unwrap();
    let path = Some(snapshot.files[0].path.clone());
    assert_eq!(find("main", LARGE), path);
    assert_eq!(find(&scene.commit, LARGE), path);
    assert_eq!(find("other", LARGE), None);
    assert_eq!(find("main", SMALL), None);
    assert_eq!(find("main", "../../refs/main"), None);
    fs::remove_file(scene.large_blob()).unwrap();
    assert_eq!(find("main", LARGE), None, "a link to nothing");
}

#[test]
fn a_sound_file_verifies_and_tells_its_digest() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE, SMALL]).unwrap();
    let verify = |file: WantedFile| verify_cached(&scene.config, REPO, "main", &file);
    let large = verify(WantedFile::new(LARGE)).unwrap();
    assert_eq!(large.bytes, 1000);
    assert_eq!(large.sha256, Some(sha256(&scene.large)));
    let small = verify(WantedFile::new(SMALL)).unwrap();
    assert_eq!(small.sha256, None);
    let pin = sha256(SMALL_CONTENT);
    let small = verify(WantedFile::pinned(SMALL, pin.clone())).unwrap();
    assert_eq!(small.sha256, Some(pin));
}

#[test]
fn a_damaged_file_is_named_with_the_blob_to_remove_and_pulled_again() {
    for file in [LARGE, SMALL] {
        let scene = Scene::new(1000);
        let snapshot = scene.pull(&[file]).unwrap();
        let path = &snapshot.files[0].path;
        let sound = fs::read(path).unwrap();
        let mut content = sound.clone();
        content[3] ^= 4;
        fs::write(path, &content).unwrap();
        let wanted = WantedFile::new(file);
        let verify = || verify_cached(&scene.config, REPO, "main", &wanted);
        let error = verify().unwrap_err();
        let HubError::CacheDamaged { blob, .. } = &error else {
            panic!("{error}");
        };
        assert!(error.to_string().contains(blob.to_str().unwrap()));
        // What the message says to do works.
        fs::remove_file(blob).unwrap();
        scene.pull(&[file]).unwrap();
        assert!(verify().is_ok());
        assert_eq!(fs::read(path).unwrap(), sound);
    }
}

#[test]
fn a_file_that_is_not_the_pinned_one_does_not_verify() {
    let scene = Scene::new(1000);
    scene.pull(&[SMALL]).unwrap();
    let other = WantedFile::pinned(SMALL, sha256(b"other"));
    let error = verify_cached(&scene.config, REPO, "main", &other).unwrap_err();
    assert!(matches!(error, HubError::CacheDamaged { .. }), "{error}");
}

#[test]
fn verifying_what_is_absent_says_to_pull() {
    let scene = Scene::new(1000);
    let wanted = WantedFile::new(LARGE);
    let error = verify_cached(&scene.config, REPO, "main", &wanted).unwrap_err();
    assert!(matches!(error, HubError::NotCached { .. }), "{error}");
    assert!(error.to_string().contains("pull the model"), "{error}");
}

#[test]
fn a_blob_of_the_wrong_length_is_fetched_again() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE]).unwrap();
    fs::write(scene.large_blob(), "short").unwrap();
    // Another commit asks for the same blob.
    use quire_hub::fake::Storage::Large;
    scene.hub.commit(REPO, &[("renamed", Large, &scene.large)]);
    let snapshot = scene.pull(&["renamed"]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
}
