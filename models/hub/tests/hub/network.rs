//! Failures that may pass: waiting, trying again, giving up.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use quire_hub::fake::{Act, FakeHub, Point};
use quire_hub::{Event, HubError, WantedFile, pull};

use crate::scene::{LARGE, REPO, Scene, headers, told};

#[test]
fn too_many_requests_are_answered_by_waiting_as_long_as_asked() {
    let scene = Scene::new(1000);
    let busy = Act::Status(429, headers(&[("Retry-After", "1")]));
    scene.hub.fault(Point::Facts, 1, busy.clone());
    scene.hub.fault(Point::Content, 1, busy);
    let begin = Instant::now();
    let mut waits = Vec::new();
    let files = [WantedFile::new(LARGE)];
    pull(REPO, "main", &files, &scene.config, &mut |event| {
        if let Event::Retrying { wait, .. } = event {
            waits.push(wait);
        }
    })
    .unwrap();
    assert_eq!(waits, [Duration::from_secs(1); 2]);
    assert!(begin.elapsed() >= Duration::from_secs(2));
}

#[test]
fn a_wait_beyond_patience_is_not_waited() {
    let scene = Scene::new(1000);
    let busy = Act::Status(429, headers(&[("Retry-After", "3600")]));
    scene.hub.fault(Point::Facts, 1, busy);
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::RateLimited { .. }), "{error}");
    assert!(error.to_string().contains("3600 s"), "{error}");
}

#[test]
fn a_storm_of_server_errors_ends_with_the_last_status() {
    for (point, file) in [(Point::Facts, LARGE), (Point::Content, LARGE)] {
        let scene = Scene::new(1000);
        scene.hub.fault(point, 99, Act::Status(503, Vec::new()));
        let error = scene.pull(&[file]).unwrap_err();
        let HubError::ServerFails { status, tries, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((status, tries), (503, 4));
    }
}

#[test]
fn a_server_error_that_passes_is_not_noticed() {
    let scene = Scene::new(1000);
    for (point, status) in [
        (Point::Facts, 500),
        (Point::Facts, 502),
        (Point::Hub, 504),
        // A signed address that has expired: the next try gets a new one.
        (Point::Content, 403),
    ] {
        scene.hub.fault(point, 1, Act::Status(status, Vec::new()));
    }
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let mut scene = Scene::new(300_000);
    scene.config.read_timeout = Duration::from_millis(200);
    let silence = Act::StallAfter(100_000, Duration::from_secs(20));
    scene.hub.fault(Point::Content, 1, silence);
    let begin = Instant::now();
    let snapshot = scene.pull(&[LARGE]).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(fs::read(&snapshot.files[0].path).unwrap(), scene.large);
    assert_eq!(
        scene.hub.content_requests()[1].headers["range"],
        "bytes=100000-"
    );
}

#[test]
fn without_a_server_the_error_speaks_of_the_network() {
    let scene = Scene::new(1000);
    let mut config = scene.config.clone();
    config.endpoint = {
        let gone = FakeHub::new();
        gone.endpoint()
    };
    let files = [WantedFile::new(LARGE)];
    let error = pull(REPO, "main", &files, &config, &mut |_| {}).unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    let told = told(&error);
    assert!(
        told.contains("network") && told.contains("HF_HUB_OFFLINE") && told.contains("refused"),
        "{told}"
    );
}

#[test]
fn a_server_without_tls_is_not_taken_for_one_with_it() {
    let mut scene = Scene::new(1000);
    scene.config.endpoint = scene.hub.endpoint().replace("http:", "https:");
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::Tls { .. }), "{}", told(&error));
    assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
}

#[test]
fn the_proxy_is_used_except_for_the_hosts_that_need_none() {
    let mut scene = Scene::new(1000);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    scene.config.proxy = Some(format!("http://{}", proxy.local_addr().unwrap()));
    scene.config.retry.tries = 1;
    let asked = thread::spawn(move || {
        let (mut stream, _) = proxy.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        stream.write_all(b"HTTP/1.1 502 No\r\n\r\n").unwrap();
        line
    });
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    let host = scene.hub.endpoint().replace("http://", "");
    let line = asked.join().unwrap();
    assert!(line.starts_with(&format!("CONNECT {host} ")), "{line}");
    assert_eq!(scene.hub.seen(), []);

    scene.config.no_proxy = vec!["127.0.0.1".to_owned()];
    assert!(scene.pull(&[LARGE]).is_ok());
}
