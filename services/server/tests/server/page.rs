//! The page's files, as a browser asks for them.

use crate::client::{Answer, request};
use crate::support::{Server, quick};

fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut connection = server.connect();
    connection.send(request(method, path, headers, b""));
    if method == "HEAD" {
        return connection.head();
    }
    connection.answer()
}

#[test]
fn the_page_comes_with_a_policy_that_lets_nothing_else_in() {
    let server = Server::start(quick());
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/base.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
    }
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let server = Server::start(quick());
    let whole = server.get("/page/main.js");
    let tag = whole.header("etag").unwrap();
    assert_eq!(tag.len(), 66, "{tag}");
    assert_ne!(server.get("/").header("etag"), Some(tag));
    for known in [tag.to_owned(), format!("\"other\", W/{tag}")] {
        let answer = ask(
            &server,
            "GET",
            "/page/main.js",
            &[("if-none-match", &known)],
        );
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{known}");
        assert_eq!(answer.header("etag"), Some(tag));
    }
    let changed = ask(
        &server,
        "GET",
        "/page/main.js",
        &[("if-none-match", "\"other\"")],
    );
    assert_eq!((changed.status, &changed.body), (200, &whole.body));
}

#[test]
fn a_head_of_the_page_tells_its_length_and_sends_none_of_it() {
    let server = Server::start(quick());
    let whole = server.get("/");
    let head = ask(&server, "HEAD", "/", &[]);
    assert_eq!(head.status, 200);
    let length = whole.body.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert_eq!(head.header("etag"), whole.header("etag"));
}

#[test]
fn the_page_has_no_other_files() {
    let server = Server::start(quick());
    for path in [
        "/page/nothing.js",
        "/page/..%2fkeys.rs",
        "/page/index.html",
        "/page/",
    ] {
        let answer = server.get(path);
        assert_eq!(
            (answer.status, &*answer.code()),
            (404, "no_route"),
            "{path}"
        );
    }
    let put = ask(&server, "PUT", "/", &[]);
    assert_eq!(put.status, 405);
}
