//! When to try again, and when to give up.

use std::io;
use std::time::{Duration, SystemTime};

use crate::config::RetryPolicy;
use crate::error::HubError;

/// A try that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Trying again would not help.
    Final(HubError),
    /// It may pass.
    Passing(Trouble),
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Self::Final(error)
    }
}

/// A failure that may pass.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The network failed before or in an answer.
    Network { host: String, source: io::Error },
    /// The server said it cannot answer now.
    Server {
        host: String,
        status: u16,
        detail: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
        has_token: bool,
    },
}

impl Trouble {
    /// The trouble in a few words.
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Network { host, source } => format!("{host}: {source}"),
            Self::Server {
                host,
                status,
                detail,
                ..
            } => format!("{host}: status {status}{detail}"),
        }
    }

    fn into_error(self, tries: u32) -> HubError {
        match self {
            Self::Network { host, source } => HubError::Unreachable {
                host,
                tries,
                source,
            },
            Self::Server {
                host,
                status: 429,
                wait,
                has_token,
                ..
            } => HubError::RateLimited {
                host,
                wait,
                remedy: if has_token {
                    "pull again later"
                } else {
                    "set HF_TOKEN for a higher limit, or pull again later"
                },
            },
            Self::Server {
                host,
                status,
                detail,
                ..
            } => HubError::ServerFails {
                host,
                status,
                detail,
                tries,
            },
        }
    }
}

/// Counts the failures in a row of one piece of work.
pub(crate) struct Patience {
    policy: RetryPolicy,
    failures: u32,
}

impl Patience {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            failures: 0,
        }
    }

    /// Forgets the failures so far: something new arrived since.
    pub(crate) fn renew(&mut self) {
        self.failures = 0;
    }

    /// How long to wait before the next try and what the trouble was.
    ///
    /// # Errors
    /// When patience is used up, or the server asks for a longer wait than
    /// the policy allows.
    pub(crate) fn after(&mut self, trouble: Trouble) -> Result<(Duration, String), HubError> {
        self.failures += 1;
        let asked = match &trouble {
            Trouble::Server { wait, .. } => *wait,
            Trouble::Network { .. } => None,
        };
        let too_long = asked.is_some_and(|wait| wait > self.policy.longest_wait);
        if self.failures >= self.policy.tries || too_long {
            return Err(trouble.into_error(self.failures));
        }
        let doublings = (self.failures - 1).min(16);
        let backoff = (self.policy.first_wait * 2_u32.pow(doublings)).min(self.policy.longest_wait);
        Ok((asked.unwrap_or(backoff), trouble.summary()))
    }
}

/// Whether a status says "not now" rather than "no".
pub(crate) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The wait that an answer asks for: a `Retry-After` header in seconds or as
/// a date (RFC 9110, section 10.2.3), else the seconds after `t=` in a
/// `RateLimit` header, which the public hub sends.
pub(crate) fn asked_wait(
    retry_after: Option<&str>,
    rate_limit: Option<&str>,
    now: SystemTime,
) -> Option<Duration> {
    if let Some(value) = retry_after.map(str::trim) {
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        if let Ok(date) = httpdate::parse_http_date(value) {
            return Some(date.duration_since(now).unwrap_or_default());
        }
    }
    rate_limit?
        .split([';', ','])
        .find_map(|part| part.trim().strip_prefix("t="))
        .and_then(|seconds| seconds.parse().ok())
        .map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> RetryPolicy {
        RetryPolicy {
            tries: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(3),
        }
    }

    fn server(status: u16, wait: Option<u64>) -> Trouble {
        Trouble::Server {
            host: "hub".into(),
            status,
            detail: String::new(),
            wait: wait.map(Duration::from_secs),
            has_token: false,
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end_after_the_last_try() {
        let mut patience = Patience::new(policy());
        for seconds in [1, 2, 3] {
            let (wait, _) = patience.after(server(503, None)).unwrap();
            assert_eq!(wait, Duration::from_secs(seconds));
        }
        let error = patience.after(server(503, None)).unwrap_err();
        assert!(error.to_string().contains("tried 4 times"), "{error}");
    }

    #[test]
    fn progress_renews_patience() {
        let mut patience = Patience::new(policy());
        for _ in 0..20 {
            assert!(patience.after(server(503, None)).is_ok());
            patience.renew();
        }
    }

    #[test]
    fn the_servers_wait_is_kept_unless_it_is_too_long() {
        let mut patience = Patience::new(policy());
        let (wait, _) = patience.after(server(429, Some(2))).unwrap();
        assert_eq!(wait, Duration::from_secs(2));
        let error = patience.after(server(429, Some(3600))).unwrap_err();
        let shown = error.to_string();
        assert!(
            shown.contains("3600 s") && shown.contains("HF_TOKEN"),
            "{shown}"
        );
    }

    #[test]
    fn a_wait_is_read_in_each_of_its_forms() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let seconds =
            |retry, limit| asked_wait(retry, limit, now).map(|wait: Duration| wait.as_secs());
        assert_eq!(seconds(Some("7"), None), Some(7));
        assert_eq!(
            seconds(Some("Sun, 06 Nov 1994 08:49:47 GMT"), None),
            Some(10)
        );
        assert_eq!(
            seconds(Some("Sun, 06 Nov 1994 08:00:00 GMT"), None),
            Some(0)
        );
        assert_eq!(seconds(None, Some("\"resolvers\";r=0;t=55")), Some(55));
        assert_eq!(seconds(Some("soon"), None), None);
        assert_eq!(seconds(None, None), None);
    }
}
