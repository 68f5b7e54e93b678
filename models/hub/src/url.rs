//! The few operations on addresses that the hub's protocol needs.

use crate::error::HubError;
use crate::names::Repo;

/// The address of a file at a revision.
pub(crate) fn resolve(endpoint: &str, repo: &Repo, revision: &str, path: &str) -> String {
    // A revision is one part of the address, so its own slashes are escaped.
    let revision = escape(revision, "");
    let path = escape(path, "/");
    format!("{endpoint}/{repo}/resolve/{revision}/{path}")
}

/// Where a `Location` header leads from `base`.
///
/// # Errors
/// When it leads from an encrypted address to an unencrypted one, or to no
/// HTTP address at all.
pub(crate) fn follow(base: &str, location: &str) -> Result<String, HubError> {
    let scheme = base.split(':').next().unwrap_or_default();
    let host_end = host_end(base);
    let target = if has_scheme(location) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{}{location}", &base[..host_end])
    } else {
        let path_end = base.find(['?', '#']).unwrap_or(base.len());
        let folder_end = base[host_end..path_end]
            .rfind('/')
            .map_or(host_end, |slash| host_end + slash);
        format!("{}/{location}", &base[..folder_end])
    };
    let secure = target.starts_with("https://");
    if secure || (target.starts_with("http://") && scheme == "http") {
        return Ok(target);
    }
    Err(HubError::BadRedirect {
        from: without_query(base).to_owned(),
        to: without_query(&target).to_owned(),
    })
}

/// Whether two addresses have the same scheme, host and port.
pub(crate) fn same_origin(a: &str, b: &str) -> bool {
    origin(a) == origin(b)
}

/// The host and port of an address, to name in a message.
pub(crate) fn host(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let authority = &url[start..host_end(url)];
    authority.rsplit('@').next().unwrap_or(authority)
}

/// The address without its query, which may hold a signature.
pub(crate) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

fn has_scheme(location: &str) -> bool {
    location.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn host_end(url: &str) -> usize {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| start + at)
}

fn origin(url: &str) -> (String, String) {
    let scheme = url.split(':').next().unwrap_or_default();
    let host = host(url).to_ascii_lowercase();
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(default_port).unwrap_or(&host).to_owned();
    (scheme.to_owned(), host)
}

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3) and
/// those in `keep`.
fn escape(text: &str, keep: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || keep.contains(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_address_escapes_all_but_the_slashes_of_its_path() {
        let repo = Repo::parse("org/name").unwrap();
        assert_eq!(
            resolve("http://hub", &repo, "refs/pr/1", "a b/ü.bin"),
            "http://hub/org/name/resolve/refs%2Fpr%2F1/a%20b/%C3%BC.bin"
        );
    }

    #[test]
    fn a_location_is_read_as_a_browser_would() {
        let base = "https://hub/a/b?x=/y";
        for (location, target) in [
            ("https://cdn/x?sig=1", "https://cdn/x?sig=1"),
            ("//cdn/x", "https://cdn/x"),
            ("/c?d", "https://hub/c?d"),
            ("c", "https://hub/a/c"),
        ] {
            assert_eq!(follow(base, location).unwrap(), target);
        }
        assert_eq!(follow("http://hub", "c").unwrap(), "http://hub/c");
    }

    #[test]
    fn a_redirect_may_not_leave_encryption_or_http() {
        assert!(follow("https://hub/a", "http://hub/a").is_err());
        assert!(follow("http://hub/a", "file:///etc/passwd").is_err());
        let error = follow("https://hub/a", "http://cdn/a?sig=secret").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert!(same_origin("https://Hub/a", "https://hub:443/b?c"));
        assert!(!same_origin("https://hub/a", "http://hub/a"));
        assert!(!same_origin("http://hub:1/a", "http://hub:2/a"));
        assert!(!same_origin("https://hub/a", "https://hub.evil/a"));
        assert!(!same_origin("https://hub/a", "https://hub@evil/a"));
    }
}
