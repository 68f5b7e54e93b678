//! What the hub's refusals mean.

use std::time::SystemTime;

use ureq::Body;
use ureq::http::Response;

use crate::error::{HubError, printable};
use crate::http::header;
use crate::hub::Target;
use crate::retry::{Failure, Trouble, asked_wait, may_pass};
use crate::url;

/// What a status outside 200 to 399 means.
pub(crate) fn refusal(
    endpoint: &str,
    has_token: bool,
    target: Target<'_>,
    at: &str,
    answer: &Response<Body>,
) -> Failure {
    let status = answer.status().as_u16();
    let headers = answer.headers();
    let code = header(headers, "x-error-code").unwrap_or_default();
    let message = header(headers, "x-error-message").unwrap_or_default();
    let detail = match message {
        "" => String::new(),
        message => format!(": {}", printable(message, 200)),
    };
    let host = url::host(at).to_owned();
    let repo = target.repo.to_string();

    // A signed address expires; the next try asks for a new one.
    let expired = status == 403 && !url::same_origin(at, endpoint);
    if may_pass(status) || expired {
        // The rate's headers come with every answer and matter in one.
        let rate_limit = header(headers, "ratelimit").filter(|_| status == 429);
        let retry_after = header(headers, "retry-after");
        return Failure::Passing(Trouble::Server {
            host,
            status,
            detail,
            wait: asked_wait(retry_after, rate_limit, SystemTime::now()),
            has_token,
        });
    }
    let error = match (status, code) {
        (_, "GatedRepo") => HubError::Gated {
            page: format!("{}/{repo}", endpoint),
            repo,
            remedy: if has_token {
                "pull again with a token of the account that accepted it"
            } else {
                "set HF_TOKEN to a token of the account that accepted it and pull again"
            },
        },
        (_, "RevisionNotFound") => HubError::RevisionNotFound {
            repo,
            revision: target.revision.to_owned(),
        },
        (_, "EntryNotFound") => HubError::FileNotFound {
            repo,
            revision: target.revision.to_owned(),
            file: target.path.to_owned(),
        },
        (401, _) if has_token && (code.is_empty() || message.contains("credentials")) => {
            HubError::TokenRefused { host }
        }
        (_, "RepoNotFound") => HubError::RepoNotFound {
            host,
            repo,
            remedy: if has_token {
                "use a token that may read it"
            } else {
                "set HF_TOKEN to a token that may read it"
            },
        },
        (401 | 403, _) => HubError::Denied {
            host,
            repo,
            status,
            detail,
            remedy: if has_token {
                "use a token that may read it"
            } else {
                "set HF_TOKEN to a token that may read it"
            },
        },
        _ => HubError::Status {
            url: url::without_query(at).to_owned(),
            status,
            detail,
        },
    };
    Failure::Final(error)
}
