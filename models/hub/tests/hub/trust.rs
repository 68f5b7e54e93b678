//! What a server may not do: alter a file, choose a path, get the token.

use std::fs;

use quire_hub::fake::{Act, FakeHub, Point, Server, sha256};
use quire_hub::{HubError, Token, WantedFile, pull};

use crate::scene::{LARGE, REPO, SMALL, SMALL_CONTENT, Scene, headers};

#[test]
fn altered_content_is_removed_and_named() {
    for (point, file) in [(Point::Content, LARGE), (Point::Hub, SMALL)] {
        let scene = Scene::new(1000);
        if point == Point::Hub {
            // The first answer of the two is the redirect, which has no body.
            scene.hub.fault(point, 2, Act::Corrupt);
        } else {
            scene.hub.fault(point, 1, Act::Corrupt);
        }
        let error = scene.pull(&[file]).unwrap_err();
        assert!(matches!(error, HubError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(file), "{error}");
        let left = fs::read_dir(scene.at("blobs")).unwrap().count();
        assert_eq!(left, 0, "nothing of a damaged file stays");
        assert!(!scene.at("snapshots").exists());
        assert!(scene.pull(&[file]).is_ok());
    }
}

#[test]
fn a_length_that_is_not_the_promised_one_is_damage() {
    let scene = Scene::new(1000);
    let promise = Act::Headers(headers(&[("X-Linked-Size", "999")]));
    scene.hub.fault(Point::Facts, 2, promise);
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("999 bytes"), "{error}");
    assert!(!scene.large_part().exists());
}

#[test]
fn a_file_whose_length_is_not_told_is_still_verified() {
    let scene = Scene::new(1000);
    let silent = Act::Headers(headers(&[("X-Linked-Size", "unknown")]));
    scene.hub.fault(Point::Facts, 2, silent);
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(snapshot.files[0].bytes, 1000);
}

#[test]
fn a_pinned_file_must_be_that_file() {
    let scene = Scene::new(1000);
    let run = |file: &str, pin: String| {
        let files = [WantedFile::pinned(file, pin)];
        pull(REPO, "main", &files, &scene.config, &mut |_| {})
    };
    let other = sha256(b"other");
    for file in [LARGE, SMALL] {
        let error = run(file, other.clone()).unwrap_err();
        assert!(matches!(error, HubError::PinDiffers { .. }), "{error}");
    }
    let content_requests = scene.hub.content_requests().len();
    assert_eq!(content_requests, 0, "a wrong promise is not even fetched");
    assert!(run(LARGE, sha256(&scene.large)).is_ok());
    assert!(run(SMALL, sha256(SMALL_CONTENT)).is_ok());
    // In the cache now, and compared all the same.
    for file in [LARGE, SMALL] {
        assert!(run(file, other.clone()).is_err());
    }
    assert!(run(SMALL, sha256(SMALL_CONTENT)).is_ok());
}

#[test]
fn a_hash_that_is_none_needs_a_pin() {
    let scene = Scene::new(1000);
    let weak = || Act::Headers(headers(&[("X-Linked-Etag", "W/\"abc-1\"")]));
    scene.hub.fault(Point::Facts, 2, weak());
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::Unverifiable { .. }), "{error}");

    scene.hub.fault(Point::Facts, 2, weak());
    let files = [WantedFile::pinned(LARGE, sha256(&scene.large))];
    assert!(pull(REPO, "main", &files, &scene.config, &mut |_| {}).is_ok());
    assert!(scene.at("blobs/abc-1").exists());
}

#[test]
fn a_server_cannot_choose_a_path_in_the_file_system() {
    for (name, value) in [
        ("X-Linked-Etag", "\"../../../escaped\""),
        ("X-Repo-Commit", "../../../../escaped"),
        ("X-Repo-Commit", "main"),
    ] {
        let scene = Scene::new(1000);
        scene
            .hub
            .fault(Point::Facts, 9, Act::Headers(headers(&[(name, value)])));
        let error = scene.pull(&[LARGE]).unwrap_err();
        assert!(matches!(error, HubError::NotAHub { .. }), "{error}");
        assert!(!scene.config.cache.exists(), "nothing was written");
    }
}

#[test]
fn names_that_lead_out_of_the_cache_are_refused_before_any_request() {
    let scene = Scene::new(1000);
    for (repo, revision, file) in [
        ("../x", "main", "a"),
        (REPO, "../../x", "a"),
        (REPO, "main", "../a"),
        (REPO, "main", "/etc/passwd"),
    ] {
        let files = [WantedFile::new(file)];
        let error = pull(repo, revision, &files, &scene.config, &mut |_| {}).unwrap_err();
        assert!(matches!(error, HubError::BadName { .. }), "{error}");
    }
    let error = scene.pull(&[]).unwrap_err();
    assert!(matches!(error, HubError::NothingWanted { .. }), "{error}");
    assert_eq!(scene.hub.seen(), []);
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let mut scene = Scene::new(200_000);
    scene.config.token = Token::parse("hf_secret").unwrap();
    scene.hub.fault(Point::Content, 1, Act::CutAfter(100_000));
    scene.pull(&[LARGE, SMALL]).unwrap();
    let seen = scene.hub.seen();
    for request in &seen {
        let token = request.headers.get("authorization");
        match request.server {
            Server::Hub => assert_eq!(token.unwrap(), "Bearer hf_secret"),
            Server::Content => assert_eq!(token, None),
        }
    }
    for server in [Server::Hub, Server::Content] {
        assert!(seen.iter().any(|request| request.server == server));
    }
}

#[test]
fn a_mirror_that_redirects_to_another_hub_works_and_keeps_the_token() {
    let scene = Scene::new(1000);
    let mirror = FakeHub::new();
    let path = format!("/{REPO}/resolve/main/{LARGE}");
    let pinned = path.replace("main", &scene.commit);
    let to = |point, path: &str| {
        let target = format!("{}{path}", scene.hub.endpoint());
        mirror.fault(
            point,
            1,
            Act::Status(307, headers(&[("Location", &target)])),
        );
    };
    to(Point::Facts, &path);
    to(Point::Facts, &pinned);
    to(Point::Hub, &pinned);
    let mut config = scene.config.clone();
    config.endpoint = mirror.endpoint();
    config.token = Token::parse("hf_secret").unwrap();
    let files = [WantedFile::new(LARGE)];
    let snapshot = pull(REPO, "main", &files, &config, &mut |_| {}).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    let seen = scene.hub.seen();
    assert!(!seen.is_empty());
    assert!(
        seen.iter()
            .all(|seen| !seen.headers.contains_key("authorization"))
    );
}

#[test]
fn no_event_and_no_error_shows_a_signed_address() {
    let scene = Scene::new(1000);
    scene
        .hub
        .fault(Point::Content, 1, Act::Status(503, Vec::new()));
    scene
        .hub
        .fault(Point::Content, 1, Act::Status(410, Vec::new()));
    let mut events = String::new();
    let files = [WantedFile::new(LARGE)];
    let error = pull(REPO, "main", &files, &scene.config, &mut |event| {
        events.push_str(&format!("{event:?}\n"));
    })
    .unwrap_err();
    assert!(
        matches!(error, HubError::Status { status: 410, .. }),
        "{error}"
    );
    assert!(events.contains("503"), "{events}");
    assert!(!format!("{events}{error:?}").contains("Signature"));
}
