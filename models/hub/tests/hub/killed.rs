//! Processes: one that is killed in the middle, two at once.

use std::env;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::{LARGE, REPO, Scene};
use quire_hub::fake::{Act, Point};
use quire_hub::{HubConfig, Origin, WantedFile, pull};

/// Run by the tests below as a process of its own, configured as a user would.
#[test]
#[ignore = "the child process of the other tests in this file"]
fn pull_as_a_child_process() {
    let config = HubConfig::from_env(|name| env::var(name).ok()).unwrap();
    let files = [WantedFile::new(LARGE)];
    pull(REPO, "main", &files, &config, &mut |_| {}).unwrap();
}

fn start_child(scene: &Scene) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::pull_as_a_child_process"])
        .env_clear()
        .env("HF_HUB_CACHE", &scene.config.cache)
        .env("HF_HOME", scene.side_folder())
        .env("HF_ENDPOINT", scene.hub.endpoint())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_pull_is_continued_by_the_next() {
    let scene = Scene::new(2_000_000);
    let slow = Act::Slow(50_000, Duration::from_millis(20));
    scene.hub.fault(Point::Content, 1, slow);
    let mut child = start_child(&scene);
    let deadline = Instant::now() + Duration::from_secs(30);
    while fs::metadata(scene.large_part()).map_or(0, |facts| facts.len()) < 300_000 {
        assert!(Instant::now() < deadline, "the child fetches nothing");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = fs::metadata(scene.large_part()).unwrap().len();
    assert!(kept < 2_000_000, "the child was done before it was killed");
    assert!(!scene.large_blob().exists());

    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    let received = 2_000_000 - kept;
    assert_eq!(snapshot.files[0].origin, Origin::Hub { received });
    let requests = scene.hub.content_requests();
    assert_eq!(requests[1].headers["range"], format!("bytes={kept}-"));
}

#[test]
fn two_processes_fetch_a_file_once() {
    let scene = Scene::new(500_000);
    let slow = Act::Slow(50_000, Duration::from_millis(20));
    scene.hub.fault(Point::Content, 2, slow);
    let children = [start_child(&scene), start_child(&scene)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(scene.hub.content_requests().len(), 1);
    assert_eq!(fs::read(scene.large_blob()).unwrap(), scene.large);
}
