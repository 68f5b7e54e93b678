//! The hub's protocol: which content a file is, and its bytes.

use ureq::Body;
use ureq::http::Response;

use crate::config::HubConfig;
use crate::error::HubError;
use crate::http::{
    Ask, Http, Range, Stream, header, is_encoded, not_a_hub, parse_range, redirect, stream,
};
use crate::names::{BlobName, Commit, Repo};
use crate::refusal::refusal;
use crate::retry::Failure;
use crate::url;

const MAX_REDIRECTS: usize = 10;

/// The hub, as one pull talks to it.
pub(crate) struct Hub {
    http: Http,
    endpoint: String,
}

/// One file at one revision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) revision: &'a str,
    pub(crate) path: &'a str,
}

/// What the hub says of a file.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) commit: Commit,
    pub(crate) blob: BlobName,
    /// Length in bytes, where the hub says it.
    pub(crate) bytes: Option<u64>,
}

/// The answer to a request for a file's bytes.
pub(crate) enum Content {
    /// All bytes, from the first.
    Whole(Stream),
    /// Bytes from `start` on.
    Rest { start: u64, stream: Stream },
    /// The file has no byte at the start asked for; its length, where said.
    NothingThere { bytes: Option<u64> },
}

impl Hub {
    /// Prepares the connection; nothing is sent yet.
    ///
    /// # Errors
    /// When the proxy or the certificates of the configuration are unusable.
    pub(crate) fn new(config: &HubConfig) -> Result<Self, HubError> {
        Ok(Self {
            http: Http::new(config)?,
            endpoint: config.endpoint.clone(),
        })
    }

    /// Asks which commit and content a file is.
    pub(crate) fn describe(&self, target: Target<'_>) -> Result<Remote, Failure> {
        let mut at = self.address(target);
        let mut commit = None;
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.http.ask(&at, Ask::Facts)?;
            let headers = answer.headers();
            if let Some(text) = header(headers, "x-repo-commit") {
                let parsed = Commit::parse(text);
                commit = Some(parsed.ok_or_else(|| not_a_hub(&at, "its commit is no git hash"))?);
            }
            let next = redirect(&at, &answer)?;
            let etag = header(headers, "x-linked-etag").or_else(|| header(headers, "etag"));
            if let Some(next) = next {
                // The redirect to the host of large files is itself the
                // answer: the hash and length in it are the file's.
                let leaves = !url::same_origin(&at, &next);
                if !(leaves && commit.is_some() && etag.is_some()) {
                    at = next;
                    continue;
                }
            } else if !answer.status().is_success() {
                return Err(self.refusal(target, &at, &answer));
            }
            let commit = commit.ok_or_else(|| not_a_hub(&at, "its answer names no commit"))?;
            let etag = etag.ok_or_else(|| not_a_hub(&at, "its answer has no etag"))?;
            let blob = BlobName::from_etag(etag)
                .ok_or_else(|| not_a_hub(&at, "its etag cannot name a file"))?;
            let length = header(headers, "x-linked-size").or_else(|| {
                let own = answer.status().is_success() && !is_encoded(headers);
                own.then(|| header(headers, "content-length")).flatten()
            });
            return Ok(Remote {
                commit,
                blob,
                bytes: length.and_then(|text| text.parse().ok()),
            });
        }
        Err(not_a_hub(&at, "it redirects without end").into())
    }

    /// Asks for a file's bytes from `start` on.
    pub(crate) fn fetch(&self, target: Target<'_>, start: u64) -> Result<Content, Failure> {
        let mut at = self.address(target);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.http.ask(&at, Ask::Bytes(start))?;
            if let Some(next) = redirect(&at, &answer)? {
                at = next;
                continue;
            }
            return self.content(target, &at, answer, start);
        }
        Err(not_a_hub(&at, "it redirects without end").into())
    }

    fn content(
        &self,
        target: Target<'_>,
        at: &str,
        answer: Response<Body>,
        start: u64,
    ) -> Result<Content, Failure> {
        let range = header(answer.headers(), "content-range").and_then(parse_range);
        match answer.status().as_u16() {
            206 => {
                let Some(Range {
                    start: Some(start),
                    bytes,
                }) = range
                else {
                    return Err(not_a_hub(at, "a part of the file has no place in it").into());
                };
                let stream = stream(at, answer, bytes);
                Ok(Content::Rest { start, stream })
            }
            416 if start > 0 => Ok(Content::NothingThere {
                bytes: range.and_then(|range| range.bytes),
            }),
            200 if is_encoded(answer.headers()) => {
                Err(not_a_hub(at, "it compresses the file though asked not to").into())
            }
            200 => {
                let bytes = answer.body().content_length();
                Ok(Content::Whole(stream(at, answer, bytes)))
            }
            _ => Err(self.refusal(target, at, &answer)),
        }
    }

    /// The error of an answer that is not the protocol's.
    pub(crate) fn out_of_protocol(&self, fault: &str) -> HubError {
        not_a_hub(&self.endpoint, fault)
    }

    fn address(&self, target: Target<'_>) -> String {
        url::resolve(&self.endpoint, target.repo, target.revision, target.path)
    }

    fn refusal(&self, target: Target<'_>, at: &str, answer: &Response<Body>) -> Failure {
        refusal(&self.endpoint, self.http.has_token(), target, at, answer)
    }
}
