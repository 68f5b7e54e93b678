//! Names that become parts of paths and addresses, checked before they do.
//!
//! A repository, a revision and a file name come from the user; a commit and
//! an etag come from the server. None may lead out of the cache.

use std::fmt;

use crate::error::HubError;

/// A repository of the hub, `ORG/NAME` or `NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repo(String);

impl Repo {
    pub(crate) fn parse(name: &str) -> Result<Self, HubError> {
        let refuse = |rule| Err(HubError::bad_name("repository", name, rule));
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 2 {
            return refuse("expected ORG/NAME");
        }
        for part in parts {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if part.is_empty() || part.len() > 96 || !part.chars().all(plain) {
                return refuse("each part is 1 to 96 letters, digits, '-', '_' or '.'");
            }
            if part.starts_with(['-', '.']) || part.ends_with(['-', '.']) {
                return refuse("no part begins or ends with '-' or '.'");
            }
            // '--' joins the parts in the cache's folder name.
            if part.contains("--") || part.contains("..") {
                return refuse("'--' and '..' are not allowed");
            }
        }
        Ok(Self(name.to_owned()))
    }

    /// The repository's folder in the cache.
    pub(crate) fn folder(&self) -> String {
        format!("models--{}", self.0.replace('/', "--"))
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A full commit hash: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit(String);

impl Commit {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        is_hex(text, 40).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the caller asks for: a commit, or a name that stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Revision {
    Commit(Commit),
    /// A branch, a tag or a short hash; may hold slashes, as `refs/pr/1` does.
    Ref(String),
}

impl Revision {
    pub(crate) fn parse(text: &str) -> Result<Self, HubError> {
        if let Some(commit) = Commit::parse(text) {
            return Ok(Self::Commit(commit));
        }
        check_relative("revision", text)?;
        Ok(Self::Ref(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Commit(commit) => commit.as_str(),
            Self::Ref(name) => name,
        }
    }
}

/// A file to pull, and its digest where the caller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFile {
    /// Path inside the repository, with `/` between its parts.
    pub path: String,
    /// SHA-256 that the content must have, 64 lower-case hexadecimal digits.
    /// `None` trusts the hash the hub itself gives.
    pub sha256: Option<String>,
}

impl WantedFile {
    /// A file checked against the hub's own hash.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            sha256: None,
        }
    }

    /// A file that must have this SHA-256 whatever the hub says.
    pub fn pinned(path: impl Into<String>, sha256: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            sha256: Some(sha256.into()),
        }
    }

    pub(crate) fn check(&self) -> Result<(), HubError> {
        check_relative("file name", &self.path)?;
        match &self.sha256 {
            Some(pin) if !is_hex(pin, 64) => Err(HubError::bad_name(
                "SHA-256",
                pin,
                "expected 64 lower-case hexadecimal digits",
            )),
            _ => Ok(()),
        }
    }
}

/// The name of a blob: the etag the hub gives a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobName(String);

impl BlobName {
    /// Reads an `ETag` header's value, quotes and weakness mark removed.
    /// `None` when it could not be the name of a file.
    pub(crate) fn from_etag(etag: &str) -> Option<Self> {
        let bare = etag.strip_prefix("W/").unwrap_or(etag);
        let bare = bare
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(bare);
        Self::parse(bare)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let fits = (1..=128).contains(&name.len()) && name.chars().all(plain);
        fits.then(|| Self(name.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `text` is exactly `digits` lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Refuses what could leave the folder it is joined to.
fn check_relative(what: &'static str, path: &str) -> Result<(), HubError> {
    let refuse = |rule| Err(HubError::bad_name(what, path, rule));
    if path.len() > 1024 {
        return refuse("longer than 1,024 bytes");
    }
    // A colon or a backslash means a drive or a separator on some systems.
    if path
        .chars()
        .any(|c| c.is_control() || matches!(c, '\\' | ':'))
    {
        return refuse("control characters, '\\' and ':' are not allowed");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refuse("expected a relative path without empty, '.' or '..' parts");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_repository_has_one_or_two_plain_parts() {
        let repo = Repo::parse("BAAI/bge-m3").unwrap();
        assert_eq!(repo.folder(), "models--BAAI--bge-m3");
        assert_eq!(Repo::parse("gpt2").unwrap().folder(), "models--gpt2");
        for wrong in [
            "", "/", "a/", "/a", "a/b/c", "a b", "../x", "a/..", "a--b/c", "a/-b", "é/x", "a/.b",
        ] {
            assert!(Repo::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_revision_is_a_commit_only_in_full() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert!(matches!(
            Revision::parse(commit).unwrap(),
            Revision::Commit(_)
        ));
        for name in ["main", "refs/pr/1", "0123456", &commit.to_uppercase()] {
            assert!(matches!(Revision::parse(name).unwrap(), Revision::Ref(_)));
        }
        for wrong in ["", "../main", "/main", "a//b", "a\nb", "..", "c:d"] {
            assert!(Revision::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_etag_loses_its_quotes_and_may_not_be_a_path() {
        let named = |etag| BlobName::from_etag(etag).map(|blob| blob.0);
        assert_eq!(named("\"abc\""), Some("abc".into()));
        assert_eq!(named("W/\"abc\""), Some("abc".into()));
        assert_eq!(named("abc"), Some("abc".into()));
        for wrong in ["", "\"\"", "../x", "\"a/b\"", "a.lock", "..", "a\0b"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_pin_is_a_whole_sha256() {
        assert!(WantedFile::pinned("a", "ab".repeat(32)).check().is_ok());
        assert!(WantedFile::pinned("a", "AB".repeat(32)).check().is_err());
        assert!(WantedFile::pinned("a", "ab").check().is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_file_name_stays_inside_its_folder(path in "[./a\\\\:é\n]{0,8}") {
            if WantedFile::new(path.clone()).check().is_ok() {
                let mut parts = Path::new(&path).components();
                prop_assert!(parts.all(|part| matches!(part, Component::Normal(_))));
                prop_assert!(!path.is_empty());
            }
        }

        #[test]
        fn an_accepted_etag_is_one_plain_file_name(etag in "[W/\".a0\\\\-]{0,8}") {
            if let Some(blob) = BlobName::from_etag(&etag) {
                prop_assert!(blob.0.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' ));
                prop_assert_eq!(Path::new(blob.as_str()).components().count(), 1);
            }
        }
    }
}
