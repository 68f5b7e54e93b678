//! Settings of the client. Nothing here reads the environment: whoever starts
//! the program does, once, and keeps the key in a [`Secret`].

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::price::PriceTable;

/// A key that proves who asks. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Reads a key, white space around it removed; `None` when nothing is
    /// left.
    ///
    /// # Errors
    /// When it holds a character that no key has. The message does not show
    /// the key.
    pub fn parse(text: &str) -> Result<Option<Self>, BadConfig> {
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(BadConfig::Key);
        }
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    /// The value of an `Authorization` header.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// A server's text without the key, which some servers repeat.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// How often to try, and how long to wait between tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests made in all, the first included; at least 1.
    pub attempts: u32,
    /// Most to wait before the second try; doubled after each further one.
    /// Each wait is drawn evenly from zero up to that, so that clients that
    /// failed together do not come back together.
    pub first_wait: Duration,
    /// Longest wait. A server that asks for more is not waited for.
    pub longest_wait: Duration,
    /// Decides the waits that are drawn; `None` draws others in every
    /// process.
    pub seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            seed: None,
        }
    }
}

/// How to reach a server and what to send.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// Address of the API, with or without `/v1` at its end.
    pub base_url: String,
    /// The model, as the server knows it.
    pub model: String,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// Sampling temperature; `None` leaves it out, as some hosted models
    /// demand.
    pub temperature: Option<f64>,
    /// Sampling seed; `None` leaves it out.
    pub seed: Option<u64>,
    /// Most tokens of a completion, reasoning included.
    pub max_tokens: u32,
    /// Whether to ask for the completion piece by piece.
    pub stream: bool,
    /// Members to add to the request's JSON, which replace those of the same
    /// name; `null` removes one. Such as `{"max_tokens": null,
    /// "max_completion_tokens": 512}`.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// Longest time to wait for a connection.
    pub connect_timeout: Duration,
    /// Longest time without a byte from the server, the time until its first
    /// included.
    pub silence_timeout: Duration,
    /// Longest time for an answer, all tries and waits included.
    pub total_timeout: Duration,
    /// When to try again.
    pub retry: RetryPolicy,
    /// What tokens cost, to tell an answer's price.
    pub prices: Option<PriceTable>,
    /// A proxy, such as `http://HOST:PORT` or `socks5://HOST:PORT`. May hold a
    /// password, and is never shown.
    pub proxy: Option<ProxyAddress>,
    /// A PEM file of the certificates to trust instead of the built-in ones.
    pub ca_bundle: Option<PathBuf>,
}

/// A proxy's address. Never printed, since it may hold a password.
pub type ProxyAddress = Secret;

impl OpenAiConfig {
    /// A model at an address: no key, temperature 0, seed 0, 1024 tokens,
    /// streaming, 10 s to connect, 60 s of silence, 180 s in all.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            temperature: Some(0.0),
            seed: Some(0),
            max_tokens: 1024,
            stream: true,
            extra: serde_json::Map::new(),
            connect_timeout: Duration::from_secs(10),
            silence_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(180),
            retry: RetryPolicy::default(),
            prices: None,
            proxy: None,
            ca_bundle: None,
        }
    }
}

/// Settings that cannot be used. No message holds a key or a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadConfig {
    /// The address is none, or holds what must not be shown.
    #[error(
        "the answer model's base URL is not usable: expected http:// or https://, a host and an optional path, without user name, password or query"
    )]
    BaseUrl,
    /// The model has no name.
    #[error("no answer model is named: give the name under which the server knows it")]
    NoModel,
    /// The key holds characters that no key has.
    #[error(
        "the answer model's key holds white space or other characters that no key has: correct the variable it comes from"
    )]
    Key,
    /// A number is out of its range.
    #[error("the answer model's {what} is not usable: expected {rule}")]
    Number {
        /// Which one.
        what: &'static str,
        /// What is expected.
        rule: &'static str,
    },
    /// The proxy cannot be used.
    #[error(
        "the answer model's proxy is not usable: expected http://HOST:PORT, https://, socks4:// or socks5://"
    )]
    Proxy,
    /// The certificate bundle cannot be used.
    #[error("cannot use the certificates in {file}: name a PEM file that holds at least one", file = .file.display())]
    Certificates {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Host and port, as in the address.
    pub(super) host: String,
    /// The address of the chat completions.
    pub(super) chat: String,
}

impl Endpoint {
    pub(super) fn parse(base_url: &str) -> Result<Self, BadConfig> {
        let base = base_url.trim();
        let (scheme, rest) = base.split_once("://").ok_or(BadConfig::BaseUrl)?;
        let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        // A password or a key in the address would end up in messages.
        let plain = rest
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#'));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !known || !plain || host.is_empty() || host.starts_with(':') {
            return Err(BadConfig::BaseUrl);
        }
        let path = path.trim_matches('/');
        let path = path.strip_suffix("chat/completions").unwrap_or(path);
        let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if !segments.iter().any(|segment| is_version(segment)) {
            segments.push("v1");
        }
        let scheme = scheme.to_ascii_lowercase();
        let path = segments.join("/");
        Ok(Self {
            host: host.to_owned(),
            chat: format!("{scheme}://{host}/{path}/chat/completions"),
        })
    }
}

/// Whether a part of a path is an API's version, such as `v1` or `v1beta`.
fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or_default();
    digits.starts_with(|c: char| c.is_ascii_digit())
}

impl OpenAiConfig {
    /// # Errors
    /// When a number is out of its range.
    pub(super) fn check(&self) -> Result<(), BadConfig> {
        let number = |what, rule| Err(BadConfig::Number { what, rule });
        if self.model.trim().is_empty() {
            return Err(BadConfig::NoModel);
        }
        if self.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return number("temperature", "0 to 2");
        }
        if self.max_tokens == 0 {
            return number("most tokens of an answer", "at least 1");
        }
        if self.retry.attempts == 0 {
            return number("number of tries", "at least 1");
        }
        for timeout in [
            self.connect_timeout,
            self.silence_timeout,
            self.total_timeout,
        ] {
            if timeout.is_zero() || timeout > Duration::from_secs(86_400) {
                return number("timeout", "more than nothing and at most a day");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_added_where_the_address_has_none() {
        for (base, chat) in [
            ("http://h:8000", "http://h:8000/v1/chat/completions"),
            ("http://h:8000/", "http://h:8000/v1/chat/completions"),
            ("http://h:8000/v1", "http://h:8000/v1/chat/completions"),
            ("HTTPS://h/v1/", "https://h/v1/chat/completions"),
            ("https://h/llm", "https://h/llm/v1/chat/completions"),
            (
                "https://h/v1beta/openai",
                "https://h/v1beta/openai/chat/completions",
            ),
            (
                "https://h/v1/chat/completions",
                "https://h/v1/chat/completions",
            ),
        ] {
            assert_eq!(Endpoint::parse(base).unwrap().chat, chat, "{base}");
        }
    }

    #[test]
    fn an_address_that_is_none_or_holds_a_secret_is_refused_without_showing_it() {
        for base in [
            "",
            "localhost:8000",
            "ftp://h",
            "http://",
            "http://:80",
            "http://me:sesame@h",
            "http://h/v1?key=sesame",
            "http://h /v1",
        ] {
            let error = Endpoint::parse(base).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sesame"), "{base}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let mut config = OpenAiConfig::new("http://h", "m");
        config.key = Secret::parse(" sk-sesame\n").unwrap();
        config.proxy = Secret::parse("http://me:sesame@proxy").unwrap();
        let key = config.key.clone().unwrap();
        assert_eq!(key.bearer(), "Bearer sk-sesame");
        assert!(!format!("{config:?} {key} {key:?}").contains("sesame"));
        assert_eq!(key.hidden_in("no sk-sesame!"), "no [key]!");
        let error = Secret::parse("sk-ses ame").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ame!"), "{error}");
        assert_eq!(Secret::parse(" ").unwrap(), None);
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let fault = |change: fn(&mut OpenAiConfig)| {
            let mut config = OpenAiConfig::new("http://h", "m");
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert!(fault(|c| c.temperature = Some(f64::NAN)).contains("temperature"));
        assert!(fault(|c| c.max_tokens = 0).contains("tokens"));
        assert!(fault(|c| c.retry.attempts = 0).contains("tries"));
        assert!(fault(|c| c.total_timeout = Duration::ZERO).contains("timeout"));
        assert!(fault(|c| c.model = " ".into()).contains("name"));
    }
}
