//! Finding and checking what the cache has, without a network.

use std::path::{Path, PathBuf};

use crate::cache::{RepoCache, length_of};
use crate::config::HubConfig;
use crate::digest::{Checksum, sha256_of};
use crate::error::HubError;
use crate::names::{Repo, Revision, WantedFile};

/// A file of the cache whose content was hashed and is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFile {
    /// Path in the cache.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content where that was computed: for files in large
    /// file storage and pinned ones.
    pub sha256: Option<String>,
}

/// The path of a file in the cache, if it is there. Uses no network and
/// hashes nothing. A name that cannot be in the cache is not there.
pub fn find_cached(config: &HubConfig, repo: &str, revision: &str, file: &str) -> Option<PathBuf> {
    let repo = Repo::parse(repo).ok()?;
    let revision = Revision::parse(revision).ok()?;
    WantedFile::new(file).check().ok()?;
    let cache = RepoCache::new(&config.cache, &repo);
    cache.find(&cache.commit_of(&revision)?, file)
}

/// Hashes a cached file again and compares it with the hash that names its
/// blob, and with the caller's digest if given. Uses no network.
///
/// # Errors
/// When the file is not in the cache, is damaged, or has no hash to compare
/// with.
pub fn verify_cached(
    config: &HubConfig,
    repo: &str,
    revision: &str,
    file: &WantedFile,
) -> Result<CachedFile, HubError> {
    let repo = Repo::parse(repo)?;
    let revision = Revision::parse(revision)?;
    file.check()?;
    let cache = RepoCache::new(&config.cache, &repo);
    let found = cache.commit_of(&revision);
    let Some(path) = found.and_then(|commit| cache.find(&commit, &file.path)) else {
        return Err(HubError::NotCached {
            repo: repo.to_string(),
            revision: revision.as_str().to_owned(),
            file: file.path.clone(),
            cache: config.cache.clone(),
        });
    };
    let blob = cache.blob_of(&path);
    let named = blob.as_ref().and_then(Checksum::of_blob);
    let pinned = file.sha256.clone().map(Checksum::Sha256);
    if named.is_none() && pinned.is_none() {
        return Err(HubError::Unverifiable {
            repo: repo.to_string(),
            file: file.path.clone(),
            etag: blob.map_or_else(|| "none".to_owned(), |blob| blob.as_str().to_owned()),
        });
    }
    let mut sha256 = None;
    for expected in [named, pinned].into_iter().flatten() {
        if sha256.as_deref() == Some(expected.digits()) {
            continue;
        }
        let found = expected
            .of_file_like_this(&path)
            .map_err(HubError::disk("read", &path))?;
        if found != expected {
            return Err(HubError::CacheDamaged {
                repo: repo.to_string(),
                file: file.path.clone(),
                expected: expected.to_string(),
                found: found.digits().to_owned(),
                blob: blob.map_or(path, |blob| cache.blob(&blob)),
            });
        }
        if let Checksum::Sha256(digits) = found {
            sha256 = Some(digits);
        }
    }
    Ok(CachedFile {
        bytes: length_of(&path),
        path,
        sha256,
    })
}

/// Compares a cached file with the caller's digest, if there is one.
pub(crate) fn check_pin(
    cache: &RepoCache,
    repo: &Repo,
    path: &Path,
    file: &WantedFile,
) -> Result<(), HubError> {
    let Some(pin) = &file.sha256 else {
        return Ok(());
    };
    // A blob named by its SHA-256 is compared by that name, so that gigabytes
    // need not be read to start a pull.
    let found = match cache.blob_of(path).as_ref().and_then(Checksum::of_blob) {
        Some(Checksum::Sha256(digits)) => digits,
        _ => sha256_of(path).map_err(HubError::disk("read", path))?,
    };
    if found == *pin {
        return Ok(());
    }
    Err(HubError::PinDiffers {
        repo: repo.to_string(),
        file: file.path.clone(),
        expected: pin.clone(),
        found,
    })
}
