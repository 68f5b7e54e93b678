//! `/`, a page to ask with, and the files it is made of under `/page`. They
//! are part of the binary, hold no data, and load nothing from elsewhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use sha2::{Digest, Sha256};

use crate::problem::{Code, Problem};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page runs its own scripts and styles and talks to its own service. No
/// script can make markup of text: what a book holds stays text.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'",
);

/// A file of the page, ready to be sent.
struct File {
    kind: &'static str,
    bytes: &'static [u8],
    /// Its SHA-256, quoted, as an entity tag.
    tag: String,
}

impl File {
    fn new(kind: &'static str, bytes: &'static [u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            kind,
            bytes,
            tag: format!("\"{digits}\""),
        }
    }
}

/// Files of `src/page` by name, with their kinds.
macro_rules! files {
    ($($name:literal $kind:expr;)*) => {
        BTreeMap::from([$(
            ($name, File::new($kind, include_bytes!(concat!("../page/", $name)))),
        )*])
    };
}

static INDEX: LazyLock<File> = LazyLock::new(|| {
    File::new(
        "text/html; charset=utf-8",
        include_bytes!("../page/index.html"),
    )
});

static FILES: LazyLock<BTreeMap<&str, File>> = LazyLock::new(|| {
    files! {
        "icon.svg" "image/svg+xml";
        "base.css" STYLE;
        "ask.css" STYLE;
        "evidence.css" STYLE;
        "books.css" STYLE;
        "theme.js" SCRIPT;
        "main.js" SCRIPT;
        "answer.js" SCRIPT;
        "api.js" SCRIPT;
        "ask.js" SCRIPT;
        "books.js" SCRIPT;
        "dom.js" SCRIPT;
        "evidence.js" SCRIPT;
        "key.js" SCRIPT;
        "library.js" SCRIPT;
        "options.js" SCRIPT;
        "problem.js" SCRIPT;
        "ranks.js" SCRIPT;
        "reader.js" SCRIPT;
        "scope.js" SCRIPT;
        "scope-libraries.js" SCRIPT;
        "settings.js" SCRIPT;
        "shares.js" SCRIPT;
        "strings.js" SCRIPT;
        "strings-en.js" SCRIPT;
        "strings-zh.js" SCRIPT;
        "switches.js" SCRIPT;
        "text.js" SCRIPT;
        "timing.js" SCRIPT;
        "upload.js" SCRIPT;
        "welcome.js" SCRIPT;
    }
});

/// A page to ask with, to see the evidence, and to add books.
#[utoipa::path(get, path = "/", operation_id = "get_page", tag = "service", security(()),
    responses(
        (status = 200, description = "HTML", body = String, content_type = "text/html"),
        (status = 304, description = "It is what If-None-Match names"),
    ))]
pub(crate) async fn index(headers: HeaderMap) -> Response {
    served(&INDEX, &headers)
}

/// A file of that page.
#[utoipa::path(get, path = "/page/{file}", operation_id = "get_page_file", tag = "service", security(()),
    params(("file" = String, Path, description = "The file's name, such as main.js")),
    responses(
        (status = 200, description = "The file", body = String, content_type = "text/javascript"),
        (status = 304, description = "It is what If-None-Match names"),
        (status = 404, description = "no_route", body = crate::wire::ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn file(
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let file = FILES.get(name.as_str());
    let file = file.ok_or_else(|| Problem::new(Code::NoRoute, "The page has no such file."))?;
    Ok(served(file, &headers))
}

fn served(file: &File, request: &HeaderMap) -> Response {
    let is_known = request
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| names(known, &file.tag));
    let mut response = if is_known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(Body::from(file.bytes))
    };
    let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
    set(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    // Asked for each time, sent only when it has changed: scripts of one page
    // are never of two versions.
    set(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        set(header::ETAG, tag);
    }
    response
}

/// Whether an `If-None-Match` names the tag: a list, weak tags among them, or
/// everything.
fn names(known: &str, tag: &str) -> bool {
    let mut known = known.split(',').map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path as Folder;

    fn source(name: &str) -> String {
        let folder = Folder::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        fs::read_to_string(folder.join(name)).unwrap()
    }

    fn scripts() -> Vec<(&'static str, String)> {
        let scripts = FILES.keys().filter(|name| name.ends_with(".js"));
        scripts.map(|name| (*name, source(name))).collect()
    }

    /// What stands between `before` and `after`, wherever it does.
    fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
        let pieces = text.split(before).skip(1);
        pieces
            .filter_map(|piece| Some(piece.split_once(after)?.0))
            .collect()
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Folder::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let there: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "index.html")
            .collect();
        let served: BTreeSet<String> = FILES.keys().map(|name| (*name).to_owned()).collect();
        assert_eq!(served, there);
    }

    #[test]
    fn whatever_a_file_of_the_page_loads_is_a_file_of_the_page() {
        let mut loaded = between(include_str!("../page/index.html"), "\"/page/", "\"");
        let scripts = scripts();
        for (_, text) in &scripts {
            loaded.extend(between(text, "from './", "'"));
        }
        assert!(loaded.len() > 50, "{loaded:?}");
        for name in loaded {
            assert!(FILES.contains_key(name), "{name}");
        }
    }

    #[test]
    fn no_script_makes_markup_or_code_of_text() {
        for (name, text) in scripts() {
            for maker in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "setHTML",
                "document.write",
                "eval(",
                "Function(",
                "srcdoc",
                "javascript:",
            ] {
                assert!(!text.contains(maker), "{name} has {maker}");
            }
        }
    }

    #[test]
    fn both_languages_have_every_string_and_every_string_is_filled_alike() {
        let strings = |name: &str| -> BTreeMap<String, BTreeSet<String>> {
            let text = source(name);
            let lines = text.lines().filter_map(|line| {
                let (key, value) = line.strip_prefix("  '")?.split_once("': '")?;
                let filled = between(value, "{", "}").into_iter().map(str::to_owned);
                Some((key.to_owned(), filled.collect()))
            });
            lines.collect()
        };
        let (english, chinese) = (strings("strings-en.js"), strings("strings-zh.js"));
        assert!(english.len() > 150, "{}", english.len());
        assert_eq!(english, chinese);
        let index = source("index.html");
        for said in [
            "data-say=\"",
            "data-say-label=\"",
            "data-say-placeholder=\"",
        ] {
            for key in between(&index, said, "\"") {
                assert!(english.contains_key(key), "{key}");
            }
        }
    }

    #[test]
    fn a_tag_is_found_in_a_list() {
        for known in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(names(known, "\"a\""), "{known}");
        }
        for other in ["", "a", "\"b\"", "\"ab\""] {
            assert!(!names(other, "\"a\""), "{other}");
        }
    }
}
