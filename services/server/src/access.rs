//! Who may ask what. With keys, whoever shows one; without, this machine alone,
//! and no other site's page through a browser on it.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{Method, Version, header};

use crate::dialects::Dialect;
use crate::keys::{Keys, Role};
use crate::problem::{Code, Problem};

/// Whether a route answers without a key, and while the service stops. The
/// page and its files hold no data; it asks for a key itself.
pub(crate) fn is_open(method: &Method, route: &str) -> bool {
    let looks = matches!(*method, Method::GET | Method::HEAD);
    looks && matches!(route, "/healthz" | "/readyz" | "/" | "/page/{file}")
}

/// What a request needs.
fn needed(method: &Method, route: &str) -> Role {
    match (method, route) {
        (&Method::POST, "/v1/search" | "/v1/answer" | "/mcp") => Role::Read,
        // Other services' APIs are there to ask by.
        (&Method::POST, _) if Dialect::of(method, route) != Dialect::Quire => Role::Read,
        (&Method::GET | &Method::HEAD | &Method::OPTIONS, _) => Role::Read,
        _ => Role::Admin,
    }
}

/// Lets a request in, and gives its key's name.
///
/// # Errors
/// When it shows no key that allows it; without keys, when it comes through a
/// browser from another site's page.
pub(crate) fn admit(
    keys: &Keys,
    route: &str,
    request: &Request,
) -> Result<Option<String>, Problem> {
    if keys.is_empty() {
        local(request)?;
        return Ok(None);
    }
    if is_open(request.method(), route) {
        return Ok(None);
    }
    let shown = request.headers().get(header::AUTHORIZATION);
    let secret = shown.and_then(|shown| {
        let (scheme, secret) = shown.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    let Some(secret) = secret else {
        return Err(Problem::new(Code::Unauthorized, "No bearer key was sent."));
    };
    let Some(key) = keys.find(secret) else {
        return Err(Problem::new(
            Code::Unauthorized,
            "This key is not known here.",
        ));
    };
    if key.role < needed(request.method(), route) {
        return Err(Problem::new(
            Code::Forbidden,
            "This key may only ask and look.",
        ));
    }
    Ok(Some(key.name.clone()))
}

/// A browser on this machine can be led here by a foreign page: under a foreign
/// name that resolves to loopback (DNS rebinding), or across origins.
fn local(request: &Request) -> Result<(), Problem> {
    let header = |name| {
        let value = request.headers().get(name)?;
        Some(value.to_str().unwrap_or("not readable"))
    };
    let hosts = [
        header(header::HOST),
        request
            .uri()
            .authority()
            .map(|authority| authority.as_str()),
    ];
    let mut named = hosts.iter().flatten().peekable();
    // HTTP/1.0, as some probes speak it and no browser does, needs no Host.
    let needs_name = request.version() != Version::HTTP_10;
    let unnamed = named.peek().is_none() && needs_name;
    if unnamed || !named.all(|host| is_loopback(host)) {
        let detail = "The request's Host is not a name of this machine.";
        return Err(Problem::new(Code::HostRefused, detail));
    }
    if let Some(origin) = header(header::ORIGIN) {
        let site = origin.strip_prefix("http://");
        let site = site.or_else(|| origin.strip_prefix("https://"));
        let same = site.is_some() && site == header(header::HOST);
        if !same {
            let detail = "The request's Origin is another site.";
            return Err(Problem::new(Code::OriginRefused, detail));
        }
    }
    Ok(())
}

/// Whether a host, with or without a port, is a name of this machine alone.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;
    use axum::body::Body;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().method(method).uri("/v1/books");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    fn refused(keys: &Keys, method: &str, headers: &[(&str, &str)]) -> Option<Code> {
        let admitted = admit(keys, "/v1/books", &request(method, headers));
        admitted.err().map(|problem| problem.code())
    }

    #[test]
    fn without_keys_only_names_of_this_machine_are_answered() {
        let none = Keys::default();
        for host in [
            "localhost",
            "LOCALHOST:7700",
            "127.0.0.1:7700",
            "[::1]:7700",
            "127.3.2.1",
        ] {
            assert_eq!(refused(&none, "GET", &[("host", host)]), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7700",
            "10.0.0.1",
            "[::2]",
            "",
        ] {
            let code = Some(Code::HostRefused);
            assert_eq!(refused(&none, "GET", &[("host", host)]), code, "{host}");
        }
        assert_eq!(refused(&none, "GET", &[]), Some(Code::HostRefused));
    }

    #[test]
    fn without_keys_no_other_sites_page_is_answered() {
        let none = Keys::default();
        let with = |origin| {
            let headers = [("host", "localhost:7700"), ("origin", origin)];
            refused(&none, "POST", &headers)
        };
        assert_eq!(with("http://localhost:7700"), None);
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:1",
            "localhost:7700",
        ] {
            assert_eq!(with(origin), Some(Code::OriginRefused), "{origin}");
        }
    }

    #[test]
    fn a_key_opens_what_its_role_allows() {
        let keys = Keys::new(vec![
            Key::new("reader", Role::Read, "the reader's secret"),
            Key::new("boss", Role::Admin, "the boss's secret"),
        ]);
        let ask = |method, key: &str| refused(&keys, method, &[("authorization", key)]);
        assert_eq!(ask("GET", "Bearer the reader's secret"), None);
        assert_eq!(ask("POST", "bearer the boss's secret"), None);
        assert_eq!(
            ask("POST", "Bearer the reader's secret"),
            Some(Code::Forbidden)
        );
        assert_eq!(
            ask("DELETE", "Bearer the reader's secret"),
            Some(Code::Forbidden)
        );
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer x",
            "Basic the boss's secret",
        ] {
            assert_eq!(ask("GET", wrong), Some(Code::Unauthorized), "{wrong}");
        }
        assert_eq!(refused(&keys, "GET", &[]), Some(Code::Unauthorized));
        for open in ["/healthz", "/", "/page/{file}"] {
            assert!(admit(&keys, open, &request("GET", &[])).is_ok(), "{open}");
            // Another service's clients post to some of these.
            assert!(admit(&keys, open, &request("POST", &[])).is_err(), "{open}");
        }
        assert!(admit(&keys, "/metrics", &request("GET", &[])).is_err());
    }

    #[test]
    fn other_services_apis_are_asked_with_a_key_that_may_ask() {
        for route in ["/v1/embeddings", "/v2/rerank", "/embed", "/"] {
            assert_eq!(needed(&Method::POST, route), Role::Read, "{route}");
        }
        assert_eq!(needed(&Method::POST, "/v1/books"), Role::Admin);
        assert_eq!(needed(&Method::PUT, "/"), Role::Admin);
    }
}
