//! Transfers that break, and bytes that earlier pulls left.

use std::fs;

use quire_hub::fake::{Act, Point};
use quire_hub::{HubError, Origin};

use crate::scene::{LARGE, Scene, headers};

#[test]
fn a_cut_transfer_goes_on_where_it_stopped() {
    let scene = Scene::new(500_000);
    scene.hub.fault(Point::Content, 1, Act::CutAfter(200_000));
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    let requests = scene.hub.content_requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].headers.get("range"), None);
    assert_eq!(requests[1].headers["range"], "bytes=200000-");
    let sent: usize = requests.iter().map(|seen| seen.body_bytes).sum();
    assert_eq!(sent, scene.large.len(), "no byte is fetched twice");
}

#[test]
fn a_pull_that_gave_up_is_continued_by_the_next() {
    let scene = Scene::new(500_000);
    // Small steps are no progress, so patience ends.
    scene.hub.fault(Point::Content, 4, Act::CutAfter(10_000));
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(
        matches!(error, HubError::Unreachable { tries: 4, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("what was fetched is kept"));
    assert_eq!(fs::metadata(scene.large_part()).unwrap().len(), 40_000);
    assert!(!scene.at("refs/main").exists());

    let snapshot = scene.pull(&[LARGE]).unwrap();
    let received = 460_000;
    assert_eq!(snapshot.files[0].origin, Origin::Hub { received });
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
}

#[test]
fn a_transfer_that_moves_on_is_never_given_up() {
    let scene = Scene::new(1_000_000);
    scene.hub.fault(Point::Content, 9, Act::CutAfter(100_000));
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(scene.hub.content_requests().len(), 10);
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
}

#[test]
fn a_server_that_ignores_ranges_sends_the_file_anew() {
    let scene = Scene::new(300_000);
    scene.hub.fault(Point::Content, 1, Act::CutAfter(100_000));
    scene.hub.fault(Point::Content, 1, Act::IgnoreRange);
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    let received = 400_000;
    assert_eq!(snapshot.files[0].origin, Origin::Hub { received });
}

#[test]
fn a_refused_range_starts_over() {
    let scene = Scene::new(300_000);
    scene.hub.fault(Point::Content, 1, Act::CutAfter(100_000));
    let refusal = Act::Status(416, headers(&[("Content-Range", "bytes */300000")]));
    scene.hub.fault(Point::Content, 1, refusal);
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    assert_eq!(scene.hub.content_requests()[2].headers.get("range"), None);
}

#[test]
fn a_part_from_another_place_than_asked_for_starts_over() {
    let scene = Scene::new(300_000);
    scene.hub.fault(Point::Content, 1, Act::CutAfter(100_000));
    let moved = Act::Headers(headers(&[("Content-Range", "bytes 7-299999/300000")]));
    scene.hub.fault(Point::Content, 1, moved);
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
}

#[test]
fn whole_bytes_left_by_a_killed_pull_are_only_verified() {
    let scene = Scene::new(1000);
    scene.pull(&[LARGE]).unwrap();
    fs::rename(scene.large_blob(), scene.large_part()).unwrap();
    let requests = scene.hub.content_requests().len();
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    assert_eq!(scene.hub.content_requests().len(), requests);
}

#[test]
fn damaged_bytes_of_an_earlier_pull_are_thrown_away() {
    for left in [vec![0; 50_000], vec![0; 300_000], vec![0; 400_000]] {
        let scene = Scene::new(300_000);
        fs::create_dir_all(scene.at("blobs")).unwrap();
        fs::write(scene.large_part(), &left).unwrap();
        let snapshot = scene.pull(&[LARGE]).unwrap();
        assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    }
}
