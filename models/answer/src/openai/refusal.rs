//! What a server's failures mean.

use std::io;
use std::time::{Duration, SystemTime};

use super::client::Server;
use super::exchange::{Halt, Head};
use super::retry::{asked_wait, may_pass};
use super::wire::ServerError;
use crate::error::{AnswerError, printable};

/// A try that failed.
pub(super) enum Failure {
    /// Trying again would not help.
    Final(AnswerError),
    /// It may pass.
    Passing(Trouble),
}

/// A failure that may pass.
pub(super) enum Trouble {
    /// No connection, or one that broke.
    Network(io::Error),
    /// The stream ended before the completion did.
    CutShort,
    /// The server said that it cannot answer now.
    Server {
        status: u16,
        detail: String,
        asked: Option<Duration>,
    },
}

impl Trouble {
    /// How long the server asks to wait.
    pub(super) fn asked(&self) -> Option<Duration> {
        match self {
            Self::Server { asked, .. } => *asked,
            _ => None,
        }
    }

    /// The trouble in a few words.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::Network(source) => source.to_string(),
            Self::CutShort => "the stream ended early".to_owned(),
            Self::Server { status, detail, .. } => format!("status {status}{detail}"),
        }
    }

    pub(super) fn into_error(self, server: &Server, attempts: u32) -> AnswerError {
        let host = server.host.clone();
        let fault = self.summary();
        match self {
            Self::Network(source) => AnswerError::Unreachable {
                host,
                attempts,
                raw: String::new(),
                source,
            },
            Self::CutShort => malformed(server, "the stream ended before the answer did"),
            Self::Server {
                status: 429,
                detail,
                asked,
            } => AnswerError::RateLimited {
                host,
                detail,
                retry_after: asked,
                attempts,
                remedy: "ask again later, or ask less at once",
            },
            Self::Server { asked, .. } => AnswerError::ServerFails {
                host,
                fault,
                retry_after: asked,
                attempts,
                raw: String::new(),
            },
        }
    }
}

/// What the end of an exchange means.
pub(super) fn halted(server: &Server, halt: Halt) -> Failure {
    let timeout = |what, limit| {
        Failure::Final(AnswerError::Timeout {
            host: server.host.clone(),
            what,
            limit,
            raw: String::new(),
        })
    };
    match halt {
        Halt::Broken(source) => Failure::Passing(Trouble::Network(source)),
        Halt::TimeIsUp => timeout("the time for a whole answer", server.total_timeout),
        Halt::Silent => timeout("the time without a byte", server.silence_timeout),
        Halt::Stopped(stop) => Failure::Final(AnswerError::Stopped {
            stop,
            raw: String::new(),
        }),
        Halt::Tls(source) => Failure::Final(AnswerError::Tls {
            host: server.host.clone(),
            source,
        }),
    }
}

/// What a status outside 200 to 299 means.
pub(super) fn refused(server: &Server, head: &Head, body: &str) -> Failure {
    let asked = head
        .retry_after
        .as_deref()
        .and_then(|value| asked_wait(value, SystemTime::now()));
    meaning(server, head.status, &ServerError::parse(body), asked)
}

/// What an error within a stream means; without a status of its own it may
/// pass.
pub(super) fn refused_midway(server: &Server, error: &ServerError) -> Failure {
    meaning(server, error.status.unwrap_or(500), error, None)
}

pub(super) fn malformed(server: &Server, fault: impl Into<String>) -> AnswerError {
    AnswerError::Malformed {
        host: server.host.clone(),
        fault: fault.into(),
        raw: String::new(),
    }
}

fn meaning(server: &Server, status: u16, error: &ServerError, asked: Option<Duration>) -> Failure {
    let host = server.host.clone();
    let model = server.model.clone();
    let detail = server.detail(&error.message);
    let message = error.message.to_lowercase();
    let coded = |codes: &[&str]| {
        let known = |code: &String| codes.contains(&code.as_str());
        error.codes.iter().any(known)
    };

    if is_too_long(status, error, &message) {
        return Failure::Final(AnswerError::ContextTooLong {
            host,
            model,
            detail,
        });
    }
    if coded(&["insufficient_quota"]) {
        return Failure::Final(AnswerError::RateLimited {
            host,
            detail,
            retry_after: asked,
            attempts: 1,
            remedy: "the account has nothing left: look at its plan and billing",
        });
    }
    let names_the_model = message.contains("model") && !message.contains("<html");
    let no_model = coded(&["model_not_found"])
        || (matches!(status, 400 | 404)
            && names_the_model
            && ["not found", "not exist", "no such", "unknown"]
                .iter()
                .any(|words| message.contains(words)));
    if no_model {
        return Failure::Final(AnswerError::ModelNotFound {
            host,
            model,
            detail,
        });
    }
    if coded(&["content_filter", "content_policy_violation"]) {
        return Failure::Final(AnswerError::Refused {
            host,
            model,
            detail,
            raw: String::new(),
        });
    }
    if matches!(status, 401 | 403) {
        return Failure::Final(AnswerError::Unauthorized {
            host,
            status,
            detail,
            remedy: if server.has_key {
                "give a valid key that may use the model"
            } else {
                "it wants a key, and none is set"
            },
        });
    }
    if may_pass(status) {
        return Failure::Passing(Trouble::Server {
            status,
            detail,
            asked,
        });
    }
    Failure::Final(AnswerError::Rejected {
        host,
        status,
        detail,
    })
}

/// Whether a failure says that the prompt does not fit, in one of the words of
/// the servers there are.
fn is_too_long(status: u16, error: &ServerError, message: &str) -> bool {
    const CODES: &[&str] = &["context_length_exceeded", "exceed_context_size_error"];
    const WORDS: &[&str] = &[
        "context length",
        "context_length",
        "context size",
        "context window",
        "max_model_len",
        "maximum model length",
        "prompt is too long",
        "too many tokens",
    ];
    let coded = error
        .codes
        .iter()
        .any(|code| CODES.contains(&code.as_str()));
    let said = WORDS.iter().any(|words| message.contains(words));
    coded || status == 413 || (matches!(status, 400 | 422 | 500) && said)
}

impl Server {
    /// A server's message as the end of a sentence, without the key.
    pub(super) fn detail(&self, message: &str) -> String {
        let message = match &self.key {
            Some(key) => key.hidden_in(message),
            None => message.to_owned(),
        };
        match printable(&message, 300) {
            shown if shown.is_empty() => shown,
            shown => format!(": {shown}"),
        }
    }
}
