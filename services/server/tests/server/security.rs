//! Who may ask.

use quire_server::{Key, Keys, Parts, Role, Service, ServiceConfig, StartError};
use serde_json::json;

use crate::client::request;
use crate::models::models;
use crate::support::{Server, a_recipe, quick};

const READER: &str = "Bearer the-readers-secret";
const BOSS: &str = "Bearer the-bosss-secret";

fn keyed() -> ServiceConfig {
    ServiceConfig {
        keys: Keys::new(vec![
            Key::new("reader", Role::Read, "the-readers-secret"),
            Key::new("boss", Role::Admin, "the-bosss-secret"),
        ]),
        ..quick()
    }
}

#[test]
fn with_keys_every_route_that_tells_of_books_or_queries_needs_one_that_allows_it() {
    let server = Server::start(keyed());
    let ask = |method: &str, path: &str, key: Option<&str>| {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("host", "quire.example"),
        ];
        headers.extend(key.map(|key| ("authorization", key)));
        let body = json!({"question": "which lamp"}).to_string();
        server.ask(request(method, path, &headers, body.as_bytes()))
    };
    for (method, path) in [
        ("POST", "/v1/search"),
        ("GET", "/v1/books"),
        ("GET", "/v1/jobs"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
    ] {
        for wrong in [None, Some("Bearer x"), Some("Basic the-bosss-secret")] {
            let answer = ask(method, path, wrong);
            assert_eq!(
                (answer.status, &*answer.code()),
                (401, "unauthorized"),
                "{path}"
            );
            assert!(
                answer
                    .header("www-authenticate")
                    .unwrap()
                    .starts_with("Bearer")
            );
        }
        for right in [READER, BOSS] {
            assert_eq!(ask(method, path, Some(right)).status, 200, "{path}");
        }
    }
    // What is nowhere is not told to strangers.
    assert_eq!(ask("GET", "/nothing", None).status, 401);
    for open in ["/healthz", "/readyz", "/", "/page/main.js"] {
        assert_eq!(ask("GET", open, None).status, 200);
    }
    for (method, path) in [
        ("DELETE", "/v1/books/0000"),
        ("POST", "/v1/books?name=a.txt"),
    ] {
        let answer = ask(method, path, Some(READER));
        assert_eq!((answer.status, &*answer.code()), (403, "forbidden"));
        assert_ne!(ask(method, path, Some(BOSS)).status, 403);
    }
}

#[test]
fn without_keys_no_foreign_page_in_a_browser_gets_in() {
    let server = Server::start(quick());
    let ask = |headers: &[(&str, &str)]| server.ask(request("GET", "/v1/books", headers, b""));
    let rebound = ask(&[("host", "evil.example:7700")]);
    assert_eq!((rebound.status, &*rebound.code()), (403, "host_refused"));
    let foreign = ask(&[
        ("host", "localhost:7700"),
        ("origin", "http://evil.example"),
    ]);
    assert_eq!((foreign.status, &*foreign.code()), (403, "origin_refused"));
    let own = ask(&[
        ("host", "localhost:7700"),
        ("origin", "http://localhost:7700"),
    ]);
    assert_eq!(own.status, 200);
    assert_eq!(own.header("access-control-allow-origin"), None);
}

#[test]
fn without_keys_the_service_does_not_listen_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = quire_index::Store::open(folder.path()).unwrap();
    let parts = || {
        Parts::new(
            models(&std::sync::Arc::default()),
            store.clone(),
            a_recipe(),
        )
    };
    let everywhere = "0.0.0.0:7700".parse().unwrap();
    let open = Service::start(quick(), parts()).unwrap();
    let refused = open.check_address(everywhere);
    assert!(matches!(refused, Err(StartError::KeysNeeded { .. })));
    open.check_address("[::1]:7700".parse().unwrap()).unwrap();
    drop(open);
    let keyed = Service::start(keyed(), parts()).unwrap();
    keyed.check_address(everywhere).unwrap();
}

#[test]
fn two_services_do_not_share_one_data_folder() {
    let server = Server::start(quick());
    let parts = Parts::new(
        models(&std::sync::Arc::default()),
        server.store.clone(),
        a_recipe(),
    );
    let Err(error) = Service::start(quick(), parts) else {
        panic!("a second service started");
    };
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("another process"), "{cause}");
    assert_eq!(
        server.search(&json!({"question": "which lamp"})).status,
        200
    );
}
