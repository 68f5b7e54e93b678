//! Bringing files of one commit into the cache.

use std::path::PathBuf;
use std::time::Duration;

use tracing::info;

use crate::cache::{RepoCache, length_of};
use crate::cached::check_pin;
use crate::config::HubConfig;
use crate::error::HubError;
use crate::fetch::{Job, Listener, persist};
use crate::hub::{Hub, Remote, Target};
use crate::names::{Commit, Repo, Revision, WantedFile};

/// What happens during a pull, as it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The file is in the cache already.
    Cached {
        /// The file.
        file: &'a str,
        /// Its length.
        bytes: u64,
    },
    /// Another process fetches the file; this one waits for it.
    Waiting {
        /// The file.
        file: &'a str,
    },
    /// Bytes arrived. Comes often; show it as often as suits.
    Progress {
        /// The file.
        file: &'a str,
        /// Bytes in the cache so far, those of earlier pulls included.
        done: u64,
        /// Length of the file, where the hub says it.
        total: Option<u64>,
    },
    /// All bytes are there and are being hashed.
    Verifying {
        /// The file.
        file: &'a str,
    },
    /// Something failed that may pass.
    Retrying {
        /// The file.
        file: &'a str,
        /// Wait until the next try.
        wait: Duration,
        /// What failed, in a few words.
        reason: &'a str,
    },
    /// The file is verified and in its place.
    Fetched {
        /// The file.
        file: &'a str,
        /// Its length.
        bytes: u64,
    },
}

/// The files of one pull, all of the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit, 40 hexadecimal digits.
    pub commit: String,
    /// The folder that holds the files under their own names.
    pub folder: PathBuf,
    /// The files, in the order they were asked for.
    pub files: Vec<PulledFile>,
}

/// One file of a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledFile {
    /// Path inside the repository.
    pub name: String,
    /// Path in the cache.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a file of a pull came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was in the cache.
    Cache,
    /// It was fetched.
    Hub {
        /// Bytes received in this pull: less than the length where an earlier
        /// pull had begun, more where the server made it start over.
        received: u64,
    },
}

/// Brings files of a repository into the cache and returns where they are.
///
/// `repo` is `ORG/NAME`; `revision` a branch, a tag or a commit. A file that
/// the cache has for the revision's commit is not fetched again, and with a
/// full commit and all files there the network is not used. What a broken
/// pull fetched is kept and continued. Every fetched file is checked against
/// the hash that the hub names it by, and against the caller's own if given.
/// The name of the revision is recorded last, when all files are in place.
///
/// # Errors
/// [`HubError`] names what is wrong and what to do. Files that were complete
/// before the error stay in the cache.
pub fn pull(
    repo: &str,
    revision: &str,
    files: &[WantedFile],
    config: &HubConfig,
    listener: &mut dyn FnMut(Event<'_>),
) -> Result<Snapshot, HubError> {
    let repo = Repo::parse(repo)?;
    let revision = Revision::parse(revision)?;
    files.iter().try_for_each(WantedFile::check)?;
    let Some(first) = files.first() else {
        let repo = repo.to_string();
        return Err(HubError::NothingWanted { repo });
    };
    let source = Source {
        cache: RepoCache::new(&config.cache, &repo),
        hub: Hub::new(config)?,
        repo,
        revision,
        config,
    };
    let commit = source.commit(first, listener)?;
    let mut pulled = Vec::with_capacity(files.len());
    for file in files {
        pulled.push(source.bring(&commit, file, listener)?);
    }
    source.record(&commit)?;
    Ok(Snapshot {
        folder: source.cache.snapshot(&commit),
        commit: commit.to_string(),
        files: pulled,
    })
}

/// One repository at one revision, in the cache and on the hub.
struct Source<'a> {
    repo: Repo,
    revision: Revision,
    cache: RepoCache,
    hub: Hub,
    config: &'a HubConfig,
}

impl Source<'_> {
    /// The commit that all files of the pull are taken from. The hub tells it
    /// along with a file.
    fn commit(&self, file: &WantedFile, listener: Listener<'_>) -> Result<Commit, HubError> {
        if let Revision::Commit(commit) = &self.revision {
            return Ok(commit.clone());
        }
        if self.config.offline {
            let known = self.cache.commit_of(&self.revision);
            return known.ok_or_else(|| self.offline(file));
        }
        let remote = self.describe(self.revision.as_str(), file, listener)?;
        Ok(remote.commit)
    }

    /// One file of that commit, from the cache or else the hub.
    fn bring(
        &self,
        commit: &Commit,
        file: &WantedFile,
        listener: Listener<'_>,
    ) -> Result<PulledFile, HubError> {
        if let Some(path) = self.cache.find(commit, &file.path) {
            check_pin(&self.cache, &self.repo, &path, file)?;
            return Ok(arrived(file, path, None, listener));
        }
        if self.config.offline {
            return Err(self.offline(file));
        }
        let remote = self.describe(commit.as_str(), file, listener)?;
        if remote.commit != *commit {
            let other = remote.commit;
            let fault = format!("asked for commit {commit}, it answers with {other}");
            return Err(self.hub.out_of_protocol(&fault));
        }
        let job = Job {
            hub: &self.hub,
            cache: &self.cache,
            target: self.target(commit.as_str(), file),
            file,
            remote: &remote,
            retry: self.config.retry,
        };
        let received = job.run(listener)?;
        let path = self.cache.snapshot(commit).join(&file.path);
        Ok(arrived(file, path, received, listener))
    }

    /// Notes which commit the revision stands for now.
    fn record(&self, commit: &Commit) -> Result<(), HubError> {
        match &self.revision {
            Revision::Ref(name) => self.cache.write_ref(name, commit),
            Revision::Commit(_) => Ok(()),
        }
    }

    fn describe(
        &self,
        revision: &str,
        file: &WantedFile,
        listener: Listener<'_>,
    ) -> Result<Remote, HubError> {
        let target = self.target(revision, file);
        persist(self.config.retry, &file.path, listener, |_, _| {
            self.hub.describe(target)
        })
    }

    fn target<'a>(&'a self, revision: &'a str, file: &'a WantedFile) -> Target<'a> {
        Target {
            repo: &self.repo,
            revision,
            path: &file.path,
        }
    }

    fn offline(&self, file: &WantedFile) -> HubError {
        HubError::Offline {
            repo: self.repo.to_string(),
            revision: self.revision.as_str().to_owned(),
            file: file.path.clone(),
            cache: self.config.cache.clone(),
        }
    }
}

fn arrived(
    file: &WantedFile,
    path: PathBuf,
    received: Option<u64>,
    listener: Listener<'_>,
) -> PulledFile {
    let bytes = length_of(&path);
    let name = file.path.as_str();
    let origin = match received {
        Some(received) => {
            info!(file = name, bytes, received, "model file fetched");
            listener(Event::Fetched { file: name, bytes });
            Origin::Hub { received }
        }
        None => {
            listener(Event::Cached { file: name, bytes });
            Origin::Cache
        }
    };
    PulledFile {
        name: name.to_owned(),
        path,
        bytes,
        origin,
    }
}
