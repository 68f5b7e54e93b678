//! Everything that can go wrong, each with what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a file is not in the cache, or not as it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A name given by the caller is not one the hub or the cache can have.
    #[error("the {what} '{name}' is not usable: {rule}")]
    BadName {
        /// What kind of name it is.
        what: &'static str,
        /// The name, escaped and cut short.
        name: String,
        /// What is expected.
        rule: &'static str,
    },
    /// No file was asked for.
    #[error("no file of {repo} was named: name at least one")]
    NothingWanted {
        /// The repository.
        repo: String,
    },
    /// The environment names no folder to keep models in.
    #[error("no folder for the model cache is known: set HF_HOME to a folder you can write to")]
    NoCacheFolder,
    /// The endpoint is not an address.
    #[error(
        "HF_ENDPOINT is not a usable address: expected http:// or https:// and a host, without user name or password"
    )]
    BadEndpoint,
    /// The token holds characters that no token has.
    #[error(
        "the hub token holds white space or other characters that no token has: correct HF_TOKEN or the token file"
    )]
    BadToken,
    /// The token file exists and cannot be read.
    #[error("cannot read the hub token in {file}: mend its permissions or set HF_TOKEN", file = .file.display())]
    TokenFile {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The proxy setting cannot be used. The value may hold a password and is
    /// not shown.
    #[error(
        "the proxy setting is not usable: expected http://HOST:PORT, https://, socks4:// or socks5:// in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
    )]
    BadProxy,
    /// The certificate bundle cannot be used.
    #[error(
        "cannot use the certificates in {file}: SSL_CERT_FILE must name a PEM file that holds at least one", file = .file.display()
    )]
    BadCertificates {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },

    /// Offline, and a file is not in the cache.
    #[error(
        "{file} of {repo} ({revision}) is not in the cache {cache} and HF_HUB_OFFLINE forbids the network: unset HF_HUB_OFFLINE and pull again, or copy the model into the cache", cache = .cache.display()
    )]
    Offline {
        /// The repository.
        repo: String,
        /// The revision asked for.
        revision: String,
        /// The file.
        file: String,
        /// The cache's folder.
        cache: PathBuf,
    },
    /// A file to verify is not in the cache.
    #[error("{file} of {repo} ({revision}) is not in the cache {cache}: pull the model", cache = .cache.display())]
    NotCached {
        /// The repository.
        repo: String,
        /// The revision asked for.
        revision: String,
        /// The file.
        file: String,
        /// The cache's folder.
        cache: PathBuf,
    },

    /// The licence must be accepted first.
    #[error("{repo} is gated: accept its licence on {page}, then {remedy}")]
    Gated {
        /// The repository.
        repo: String,
        /// Its page, where the licence is accepted.
        page: String,
        /// What to do about the token.
        remedy: &'static str,
    },
    /// The hub refuses the token.
    #[error(
        "{host} does not accept the token: set HF_TOKEN, or the token file, to a valid one with read access, or remove it for public models"
    )]
    TokenRefused {
        /// The hub.
        host: String,
    },
    /// The hub refuses access for a reason of its own.
    #[error("{host} refuses access to {repo} (status {status}{detail}): {remedy}")]
    Denied {
        /// The hub.
        host: String,
        /// The repository.
        repo: String,
        /// 401 or 403.
        status: u16,
        /// What the server said, or nothing.
        detail: String,
        /// What to do.
        remedy: &'static str,
    },
    /// No such repository, or a private one.
    #[error("{host} has no repository {repo}: check the name; if it is private, {remedy}")]
    RepoNotFound {
        /// The hub.
        host: String,
        /// The repository.
        repo: String,
        /// What to do about the token.
        remedy: &'static str,
    },
    /// No such branch, tag or commit.
    #[error("{repo} has no revision '{revision}': check the name, or use 'main'")]
    RevisionNotFound {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
    },
    /// No such file.
    #[error("{repo} ({revision}) has no file {file}: check the name and the revision")]
    FileNotFound {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
        /// The file.
        file: String,
    },

    /// The server's answer is not the hub's protocol.
    #[error(
        "{host} does not answer as a model hub ({fault}): check HF_ENDPOINT, and whether a proxy or a login page stands between"
    )]
    NotAHub {
        /// The server.
        host: String,
        /// What is wrong with the answer.
        fault: String,
    },
    /// A redirect that must not be followed.
    #[error("{from} redirects to {to}, which is not followed: expected an https:// address")]
    BadRedirect {
        /// The redirecting address, without its query.
        from: String,
        /// Its target, without its query.
        to: String,
    },
    /// TLS failed: a certificate that is not trusted, or no TLS at all.
    #[error(
        "no trusted connection to {host}: behind a proxy that opens TLS, set SSL_CERT_FILE to its certificates"
    )]
    Tls {
        /// The server.
        host: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No connection, or none that lasts.
    #[error(
        "cannot reach {host} (tried {tries} times): check the network and the proxy, then pull again; what was fetched is kept. HF_HUB_OFFLINE=1 uses only the cache"
    )]
    Unreachable {
        /// The server.
        host: String,
        /// Tries in a row that failed.
        tries: u32,
        /// The last failure.
        #[source]
        source: io::Error,
    },
    /// The server fails again and again.
    #[error(
        "{host} keeps failing (status {status}{detail}, tried {tries} times): pull again later; what was fetched is kept"
    )]
    ServerFails {
        /// The server.
        host: String,
        /// The last status.
        status: u16,
        /// What the server said, or nothing.
        detail: String,
        /// Tries in a row that failed.
        tries: u32,
    },
    /// Too many requests.
    #[error("{host} limits the rate of requests{wait}: {remedy}; what was fetched is kept", wait = .wait.map(|wait| format!(" for {} s", wait.as_secs())).unwrap_or_default())]
    RateLimited {
        /// The server.
        host: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
        /// What to do.
        remedy: &'static str,
    },
    /// A status that has no place in the protocol.
    #[error("{url} answers with status {status}{detail}: check HF_ENDPOINT and the file's name")]
    Status {
        /// The address, without its query.
        url: String,
        /// The status.
        status: u16,
        /// What the server said, or nothing.
        detail: String,
    },

    /// The content is not what its hash says. The fetched bytes were removed.
    #[error(
        "{file} of {repo} arrived damaged and was removed (expected {expected}, got {found}): pull again; if it happens twice, a proxy or the hub alters the file"
    )]
    Damaged {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
        /// The hash it must have, with its kind.
        expected: String,
        /// The hash it has.
        found: String,
    },
    /// The hub's file is not the one the caller pinned.
    #[error(
        "{file} of {repo} is not the pinned file (expected SHA-256 {expected}, found {found}): the repository has changed; pin its new digest or an older revision"
    )]
    PinDiffers {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
        /// The pinned SHA-256.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// The hub names no hash that the content could be checked against.
    #[error(
        "{file} of {repo} cannot be verified: '{etag}' is not a SHA-256 or a git hash; pin the file's SHA-256"
    )]
    Unverifiable {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
        /// The etag.
        etag: String,
    },
    /// A file in the cache is not what its name says.
    #[error(
        "{file} of {repo} is damaged in the cache (expected {expected}, found {found}): remove {blob} and pull again", blob = .blob.display()
    )]
    CacheDamaged {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
        /// The hash it must have, with its kind.
        expected: String,
        /// The hash it has.
        found: String,
        /// The blob to remove.
        blob: PathBuf,
    },

    /// No space is left.
    #[error(
        "the disk that holds {path} is full: free some space, or set HF_HOME to a larger disk, and pull again; what was fetched is kept", path = .path.display()
    )]
    DiskFull {
        /// What was being written.
        path: PathBuf,
        /// The system's word for it.
        #[source]
        source: io::Error,
    },
    /// The cache cannot be read or written.
    #[error("cannot {action} {path}: check that you may, or set HF_HOME to a folder you own", path = .path.display())]
    Disk {
        /// What was tried, a verb.
        action: &'static str,
        /// With which path.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl HubError {
    pub(crate) fn bad_name(what: &'static str, name: &str, rule: &'static str) -> Self {
        Self::BadName {
            what,
            name: printable(name, 100),
            rule,
        }
    }

    /// Turns a failure of the file system into the error that names its
    /// remedy.
    pub(crate) fn disk(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source }
            }
            _ => Self::Disk {
                action,
                path,
                source,
            },
        }
    }
}

/// A foreign text made fit for one line of a message.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let shown: String = text
        .chars()
        .take(longest)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(longest).is_some() {
        format!("{shown}…")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_used_up_quota_say_so() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let error = HubError::disk("write", "/cache/x")(kind.into());
            assert!(matches!(error, HubError::DiskFull { .. }));
            assert!(error.to_string().contains("/cache/x is full"), "{error}");
        }
        let error = HubError::disk("write", "/cache/x")(io::ErrorKind::PermissionDenied.into());
        assert!(
            error.to_string().starts_with("cannot write /cache/x"),
            "{error}"
        );
    }

    #[test]
    fn a_foreign_text_is_cut_and_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb", 20), "a\u{fffd}[2Jb");
        assert_eq!(printable("abc", 3), "abc");
        assert_eq!(printable("abcd", 3), "abc…");
    }
}
