//! A server on 127.0.0.1 that speaks the hub's protocol, for tests.
//!
//! Two ports, as the real hub has two hosts: the hub itself, which names
//! commits and hashes, and a content host that large files are redirected to.
//! Faults can be scripted; every request is recorded.
//!
//! It panics where a test would: on a port that cannot be opened, on a
//! poisoned lock.

mod wire;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::config::{HubConfig, RetryPolicy};
use wire::{Listening, Reply, Request};

/// Where the hub keeps a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In git: named by its git blob hash, sent by the hub after a relative
    /// redirect.
    Git,
    /// In large file storage: named by its SHA-256, sent by the content host.
    Large,
}

/// Who may read a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// Who sends this token; others are told that it is gated.
    Gated(String),
    /// Who sends this token; others are told that it does not exist.
    Private(String),
}

/// Which requests a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// `HEAD` requests to the hub.
    Facts,
    /// `GET` requests to the hub.
    Hub,
    /// `GET` requests to the content host.
    Content,
}

/// What goes wrong in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Another status, with these headers and no body.
    Status(u16, Vec<(String, String)>),
    /// The right answer with these headers set to other values.
    Headers(Vec<(String, String)>),
    /// The connection closes after this many bytes of the body.
    CutAfter(usize),
    /// Nothing more comes after this many bytes, for this long.
    StallAfter(usize, Duration),
    /// The body comes in pieces of this many bytes with this pause between.
    Slow(usize, Duration),
    /// The last byte of the body is another one.
    Corrupt,
    /// The whole file is sent whatever range was asked for.
    IgnoreRange,
}

/// A scripted failure.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    point: Point,
    times: usize,
    act: Act,
}

/// One of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The hub.
    Hub,
    /// The host of large files.
    Content,
}

/// A request that arrived, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Where it arrived.
    pub server: Server,
    /// `HEAD` or `GET`.
    pub method: String,
    /// Path and query as they were sent.
    pub path: String,
    /// Headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// The answer's status.
    pub status: u16,
    /// Bytes of body that the answer was to carry before any cut.
    pub body_bytes: usize,
}

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct FakeHub {
    state: Arc<State>,
    hub: Listening,
    content: Listening,
}

#[derive(Debug, Clone)]
struct Entry {
    storage: Storage,
    content: Arc<Vec<u8>>,
}

#[derive(Debug)]
struct RepoState {
    access: Access,
    main: String,
    commits: BTreeMap<String, BTreeMap<String, Entry>>,
}

#[derive(Debug, Default)]
struct State {
    repos: Mutex<BTreeMap<String, RepoState>>,
    faults: Mutex<Vec<Fault>>,
    seen: Mutex<Vec<Seen>>,
}

impl FakeHub {
    /// Starts both servers on free ports.
    #[expect(clippy::new_without_default, reason = "it opens ports")]
    pub fn new() -> Self {
        let state = Arc::new(State::default());
        let for_content = Arc::clone(&state);
        let content = Listening::start(move |request| for_content.at_content(request));
        let content_url = content.url();
        let for_hub = Arc::clone(&state);
        let hub = Listening::start(move |request| for_hub.at_hub(request, &content_url));
        Self {
            state,
            hub,
            content,
        }
    }

    /// The hub's address, for `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        self.hub.url()
    }

    /// The content host's address.
    pub fn content_endpoint(&self) -> String {
        self.content.url()
    }

    /// Settings that use this hub and a cache, and wait milliseconds where
    /// the real ones wait seconds.
    pub fn config(&self, cache: &Path) -> HubConfig {
        HubConfig {
            endpoint: self.endpoint(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(5),
            retry: RetryPolicy {
                tries: 4,
                first_wait: Duration::from_millis(5),
                longest_wait: Duration::from_secs(5),
            },
            ..HubConfig::new(cache)
        }
    }

    /// Adds a commit with exactly these files, lets `main` stand for it, and
    /// returns it. Makes the repository if there is none.
    pub fn commit(&self, repo: &str, files: &[(&str, Storage, &[u8])]) -> String {
        let mut entries = BTreeMap::new();
        let mut tree = String::from(repo);
        for (path, storage, content) in files {
            let _ = write!(tree, "\n{path} {}", git_blob(content));
            let content = Arc::new(content.to_vec());
            let storage = *storage;
            entries.insert((*path).to_owned(), Entry { storage, content });
        }
        let commit = hex(&Sha1::digest(tree.as_bytes()));
        let mut repos = lock(&self.state.repos);
        let repo = repos.entry(repo.to_owned()).or_insert_with(|| RepoState {
            access: Access::Open,
            main: String::new(),
            commits: BTreeMap::new(),
        });
        repo.main.clone_from(&commit);
        repo.commits.insert(commit.clone(), entries);
        commit
    }

    /// Sets who may read a repository that was made.
    pub fn set_access(&self, repo: &str, access: Access) {
        if let Some(repo) = lock(&self.state.repos).get_mut(repo) {
            repo.access = access;
        }
    }

    /// Lets the next `times` requests at a point go wrong. Faults at the same
    /// point strike in the order they were added.
    pub fn fault(&self, point: Point, times: usize, act: Act) {
        lock(&self.state.faults).push(Fault { point, times, act });
    }

    /// The requests so far, in the order they arrived.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state.seen).clone()
    }

    /// The requests for bytes of large files so far.
    pub fn content_requests(&self) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|seen| seen.server == Server::Content && seen.method == "GET");
        seen
    }
}

impl State {
    fn at_hub(&self, request: &Request, content_url: &str) -> Reply {
        let point = match request.method.as_str() {
            "HEAD" => Point::Facts,
            _ => Point::Hub,
        };
        let answer = self
            .hub_answer(request, content_url)
            .unwrap_or_else(|refusal| refusal);
        self.finish(Server::Hub, point, request, answer)
    }

    fn hub_answer(&self, request: &Request, content_url: &str) -> Result<Reply, Reply> {
        let path = request.path.split('?').next().unwrap_or_default();
        // Small files are sent from here after the redirect below.
        let (path, is_second) = match path.strip_prefix("/api/resolve-cache/models/") {
            Some(rest) => (rest, true),
            None => (path.trim_start_matches('/'), false),
        };
        let (name, rest) = path
            .split_once("/resolve/")
            .ok_or_else(|| Reply::status(404))?;
        let (revision, file) = rest.split_once('/').ok_or_else(|| Reply::status(404))?;
        let (revision, file) = (unescape(revision), unescape(file));

        let repos = lock(&self.repos);
        let bearer = request.headers.get("authorization");
        let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let repo = repos.get(name).ok_or_else(|| no_repo(token))?;
        match &repo.access {
            Access::Gated(wanted) if token != Some(wanted) => {
                let status = if token.is_none() { 401 } else { 403 };
                return Err(Reply::error(status, "GatedRepo"));
            }
            Access::Private(wanted) if token != Some(wanted) => return Err(no_repo(token)),
            _ => {}
        }
        let commit = match revision.as_str() {
            "main" => &repo.main,
            other => other,
        };
        let files = repo
            .commits
            .get(commit)
            .ok_or_else(|| Reply::error(404, "RevisionNotFound"))?;
        let entry = files
            .get(&file)
            .ok_or_else(|| Reply::error(404, "EntryNotFound").with("X-Repo-Commit", commit))?;

        let reply = match entry.storage {
            Storage::Large => {
                let hash = hex(&Sha256::digest(entry.content.as_slice()));
                Reply::status(302)
                    .with(
                        "Location",
                        &format!("{content_url}/{hash}?Signature=secret"),
                    )
                    .with("ETag", "\"of-the-redirect\"")
                    .with("X-Linked-Etag", &format!("\"{hash}\""))
                    .with("X-Linked-Size", &entry.content.len().to_string())
            }
            Storage::Git if !is_second => Reply::status(307).with(
                "Location",
                &format!("/api/resolve-cache/models/{name}/resolve/{commit}/{file}"),
            ),
            Storage::Git => Reply::file(&entry.content, request.range_start())
                .with("ETag", &format!("\"{}\"", git_blob(&entry.content))),
        };
        Ok(reply.with("X-Repo-Commit", commit))
    }

    fn at_content(&self, request: &Request) -> Reply {
        let name = request.path.trim_start_matches('/');
        let name = name.split('?').next().unwrap_or_default();
        let content = self.large_file(name);
        let reply = match &content {
            Some(content) => Reply::file(content, request.range_start()),
            None => Reply::status(403),
        };
        self.finish(Server::Content, Point::Content, request, reply)
    }

    fn large_file(&self, hash: &str) -> Option<Arc<Vec<u8>>> {
        let repos = lock(&self.repos);
        let files = repos
            .values()
            .flat_map(|repo| repo.commits.values())
            .flat_map(|files| files.values());
        files
            .filter(|entry| entry.storage == Storage::Large)
            .find(|entry| hex(&Sha256::digest(entry.content.as_slice())) == hash)
            .map(|entry| Arc::clone(&entry.content))
    }

    /// Applies a fault, if one is due, and records the request.
    fn finish(&self, server: Server, point: Point, request: &Request, reply: Reply) -> Reply {
        let reply = match self.due(point) {
            Some(act) => reply.spoilt(act),
            None => reply,
        };
        let is_head = request.method == "HEAD";
        lock(&self.seen).push(Seen {
            server,
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.clone(),
            status: reply.status,
            body_bytes: if is_head { 0 } else { reply.sent_bytes() },
        });
        reply
    }

    fn due(&self, point: Point) -> Option<Act> {
        let mut faults = lock(&self.faults);
        let fault = faults
            .iter_mut()
            .find(|fault| fault.point == point && fault.times > 0)?;
        fault.times -= 1;
        Some(fault.act.clone())
    }
}

/// As the hub does, so that nobody learns which private names exist.
fn no_repo(token: Option<&str>) -> Reply {
    Reply::error(if token.is_none() { 401 } else { 404 }, "RepoNotFound")
}

/// A git blob's hash: SHA-1 of `blob LENGTH\0` and the content.
pub fn git_blob(content: &[u8]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", content.len()));
    hasher.update(content);
    hex(&hasher.finalize())
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let code = match byte {
            b'%' => rest.next().zip(rest.next()),
            _ => None,
        };
        let decoded = code.and_then(|(high, low)| {
            let digits = [high, low];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        });
        bytes.push(decoded.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
