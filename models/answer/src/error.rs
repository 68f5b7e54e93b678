//! Everything that can go wrong, each with what to do about it.

use std::io;
use std::time::Duration;

use quire_model::{ModelError, Stop};

use crate::choice::NotAChoice;

/// Why there is no answer. No message holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The request cannot be answered by any model.
    #[error("the question cannot be put to an answer model: {rule}")]
    BadRequest {
        /// What is expected.
        rule: &'static str,
    },
    /// The server wants a key, or another one.
    #[error("{host} refuses the key (status {status}{detail}): {remedy}")]
    Unauthorized {
        /// The server.
        host: String,
        /// 401 or 403.
        status: u16,
        /// What the server said, or nothing.
        detail: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The server does not serve the model.
    #[error(
        "{host} has no model '{model}'{detail}: name one that the server lists at its /models, or load this one there"
    )]
    ModelNotFound {
        /// The server.
        host: String,
        /// The model asked for.
        model: String,
        /// What the server said, or nothing.
        detail: String,
    },
    /// Prompt and completion do not fit the model.
    #[error(
        "the prompt is too long for {model} at {host}{detail}: lower the evidence token budget or the most tokens of an answer, or serve the model with a longer context"
    )]
    ContextTooLong {
        /// The server.
        host: String,
        /// The model asked for.
        model: String,
        /// What the server said, or nothing.
        detail: String,
    },
    /// Too many requests, or the account is used up.
    #[error("{host} limits the rate of requests{detail} (tried {attempts} times): {remedy}")]
    RateLimited {
        /// The server.
        host: String,
        /// What the server said, or nothing.
        detail: String,
        /// How long it asked to wait.
        retry_after: Option<Duration>,
        /// Requests made.
        attempts: u32,
        /// What to do.
        remedy: &'static str,
    },
    /// The server said that it cannot answer.
    #[error(
        "{host} keeps failing ({fault}, tried {attempts} times): look at the server's log, or ask again later"
    )]
    ServerFails {
        /// The server.
        host: String,
        /// The status and what the server said.
        fault: String,
        /// How long it asked to wait.
        retry_after: Option<Duration>,
        /// Requests made.
        attempts: u32,
        /// What arrived before.
        raw: String,
    },
    /// No connection, or one that broke.
    #[error(
        "cannot get an answer from {host} (tried {attempts} times): check that the server runs and that its base URL is right"
    )]
    Unreachable {
        /// The server.
        host: String,
        /// Requests made.
        attempts: u32,
        /// What arrived before.
        raw: String,
        /// The last failure.
        #[source]
        source: io::Error,
    },
    /// TLS failed: a certificate that is not trusted, or no TLS at all.
    #[error(
        "no trusted connection to {host}: name its certificates in a CA bundle, or write http:// for a server without TLS"
    )]
    Tls {
        /// The server.
        host: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The server took longer than the client waits.
    #[error(
        "{host} gave no whole answer within {} s ({what}): raise the answer model's timeout, or use a faster model", .limit.as_secs_f32()
    )]
    Timeout {
        /// The server.
        host: String,
        /// Which limit it was.
        what: &'static str,
        /// How long that is.
        limit: Duration,
        /// What arrived before.
        raw: String,
    },
    /// Nobody waits any more.
    #[error("the answer was given up: {stop}")]
    Stopped {
        /// Why.
        stop: Stop,
        /// What arrived before.
        raw: String,
    },
    /// What came is not the protocol.
    #[error(
        "{host} does not answer as a chat completions server ({fault}): check the base URL, and whether a proxy or a login page stands between"
    )]
    Malformed {
        /// The server.
        host: String,
        /// What is wrong.
        fault: String,
        /// What arrived before.
        raw: String,
    },
    /// The server does not accept the request.
    #[error(
        "{host} does not accept the request (status {status}{detail}): check the base URL and the answer model's extra parameters"
    )]
    Rejected {
        /// The server.
        host: String,
        /// The status.
        status: u16,
        /// What the server said, or nothing.
        detail: String,
    },
    /// The model, or a filter before or after it, would not answer.
    #[error("{model} at {host} refuses to answer{detail}: ask otherwise, or use another model")]
    Refused {
        /// The server.
        host: String,
        /// The model asked for.
        model: String,
        /// What it said, or nothing.
        detail: String,
        /// What arrived.
        raw: String,
    },
    /// The completion holds no answer text.
    #[error(
        "{model} gave an empty answer (it ended for: {finish_reason}): if that is 'length', raise the most tokens of an answer; a model that reasons needs more"
    )]
    Empty {
        /// The model asked for.
        model: String,
        /// Why the completion ended.
        finish_reason: String,
        /// What arrived.
        raw: String,
    },
    /// The completion is not one option's letter.
    #[error(
        "{model} did not choose one option (it ended for: {finish_reason}): use a model that follows the prompt"
    )]
    NotAChoice {
        /// The model asked for.
        model: String,
        /// Why the completion ended.
        finish_reason: String,
        /// What arrived.
        raw: String,
        /// What is wrong with it.
        #[source]
        source: NotAChoice,
    },
    /// The extractive reader's own model failed.
    #[error("the extractive reader could not read the evidence")]
    Reader(#[source] ModelError),
}

impl AnswerError {
    /// Why the call ended, if nothing failed.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            Self::Stopped { stop, .. } => Some(*stop),
            Self::Reader(error) => error.stop(),
            _ => None,
        }
    }

    /// How long the server asked to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::ServerFails { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// The same error with what was received until it happened.
    pub(crate) fn with_received(mut self, received: String) -> Self {
        match &mut self {
            Self::ServerFails { raw, .. }
            | Self::Unreachable { raw, .. }
            | Self::Timeout { raw, .. }
            | Self::Stopped { raw, .. }
            | Self::Malformed { raw, .. }
            | Self::Refused { raw, .. }
            | Self::Empty { raw, .. }
            | Self::NotAChoice { raw, .. } => *raw = received,
            _ => {}
        }
        self
    }

    /// What was received of the completion, reasoning included.
    pub fn raw(&self) -> &str {
        match self {
            Self::ServerFails { raw, .. }
            | Self::Unreachable { raw, .. }
            | Self::Timeout { raw, .. }
            | Self::Stopped { raw, .. }
            | Self::Malformed { raw, .. }
            | Self::Refused { raw, .. }
            | Self::Empty { raw, .. }
            | Self::NotAChoice { raw, .. } => raw,
            _ => "",
        }
    }
}

/// A foreign text made fit for one line of a message.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let text = text.trim();
    let mut shown: String = text
        .chars()
        .take(longest)
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_is_cut_and_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb\r\nc ", 20), "a\u{fffd}[2Jb  c");
        assert_eq!(printable("abc", 3), "abc");
        assert_eq!(printable("abcd", 3), "abc…");
    }
}
