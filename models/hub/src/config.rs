//! Where the hub is, where its cache is, and how patient to be.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::HubError;

/// The public hub, asked when `HF_ENDPOINT` names no other.
pub const PUBLIC_HUB: &str = "https://huggingface.co";

/// All settings of a pull, as plain values.
#[derive(Clone)]
pub struct HubConfig {
    /// The cache's folder; it need not exist yet.
    pub cache: PathBuf,
    /// The hub's address, `http://` or `https://`, without a slash at its end.
    pub endpoint: String,
    /// Sent to the endpoint's own host and port, never to another.
    pub token: Option<Token>,
    /// Use only the cache.
    pub offline: bool,
    /// Address of a proxy: `http://`, `https://`, `socks4://` or `socks5://`.
    /// May hold a password, so it is never printed.
    pub proxy: Option<String>,
    /// Hosts reached without the proxy, such as `localhost` or `.example.com`.
    pub no_proxy: Vec<String>,
    /// A file of PEM certificates to trust in place of the built-in ones.
    pub ca_bundle: Option<PathBuf>,
    /// Longest wait for a connection, TLS included.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes, in an answer's head or its body.
    pub read_timeout: Duration,
    /// What to do when the network or the server fails.
    pub retry: RetryPolicy,
}

/// How often and how long to try again after a failure that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in a row, the first included, that may bring nothing new.
    pub tries: u32,
    /// Wait after the first failure; doubled after each further one.
    pub first_wait: Duration,
    /// Longest wait. A server that asks for more is not waited for.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 5,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
        }
    }
}

/// A secret that proves who asks. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Reads a token, white space around it removed; `None` when nothing is
    /// left.
    ///
    /// # Errors
    /// When it holds a character that no token has. The message does not show
    /// the token.
    pub fn parse(text: &str) -> Result<Option<Self>, HubError> {
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(HubError::BadToken);
        }
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    /// The value of an `Authorization` header.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl HubConfig {
    /// The public hub with a cache at the given folder, no token, no proxy.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            endpoint: PUBLIC_HUB.to_owned(),
            token: None,
            offline: false,
            proxy: None,
            no_proxy: Vec::new(),
            ca_bundle: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            retry: RetryPolicy::default(),
        }
    }

    /// Reads the variables that all tools of the hub share. `lookup` gives a
    /// variable's value; an empty one counts as unset. Also reads the token
    /// file, once.
    ///
    /// - Cache: `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `hub` below
    ///   the home of the tools. That home: `HF_HOME`, else `huggingface` below
    ///   `XDG_CACHE_HOME`, else `~/.cache/huggingface`.
    /// - Endpoint: `HF_ENDPOINT`, else [`PUBLIC_HUB`].
    /// - Token: `HF_TOKEN`, else `HUGGING_FACE_HUB_TOKEN`, else the file
    ///   `HF_TOKEN_PATH`, else the file `token` in the home of the tools.
    /// - Offline: `HF_HUB_OFFLINE` is `1`, `on`, `yes` or `true`.
    /// - Proxy: `HTTPS_PROXY` or `HTTP_PROXY` by the endpoint's scheme, else
    ///   `ALL_PROXY`; exceptions in `NO_PROXY`; lower-case names too.
    /// - Certificates: `SSL_CERT_FILE`.
    ///
    /// # Errors
    /// When no home folder is known, the endpoint is not an address, or the
    /// token is malformed or its file cannot be read.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let value = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let first = |names: &[&str]| names.iter().find_map(|name| value(name));
        let folder = |name: &str| value(name).map(|path| expand_home(&path, value("HOME")));

        let home = folder("HF_HOME")
            .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| value("HOME").map(|home| PathBuf::from(home).join(".cache/huggingface")));
        let cache = folder("HF_HUB_CACHE")
            .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| home.as_ref().map(|home| home.join("hub")))
            .ok_or(HubError::NoCacheFolder)?;

        let token = match first(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
            Some(token) => Token::parse(&token)?,
            None => match folder("HF_TOKEN_PATH").or_else(|| Some(home?.join("token"))) {
                Some(file) => read_token(file)?,
                None => None,
            },
        };
        let endpoint = read_endpoint(value("HF_ENDPOINT"))?;
        let proxy = if endpoint.starts_with("https:") {
            first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
        } else {
            first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
        };
        let no_proxy = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();

        Ok(Self {
            endpoint,
            token,
            offline: value("HF_HUB_OFFLINE").is_some_and(|value| is_true(&value)),
            proxy,
            no_proxy: no_proxy
                .split(',')
                .map(|host| host.trim().to_owned())
                .filter(|host| !host.is_empty())
                .collect(),
            ca_bundle: folder("SSL_CERT_FILE"),
            ..Self::new(cache)
        })
    }
}

impl fmt::Debug for HubConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubConfig")
            .field("cache", &self.cache)
            .field("endpoint", &self.endpoint)
            .field("token", &self.token)
            .field("offline", &self.offline)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"].contains(&value.trim().to_ascii_lowercase().as_str())
}

fn expand_home(path: &str, home: Option<String>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

fn read_token(file: PathBuf) -> Result<Option<Token>, HubError> {
    match fs::read_to_string(&file) {
        Ok(text) => Token::parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(HubError::TokenFile { file, source }),
    }
}

fn read_endpoint(value: Option<String>) -> Result<String, HubError> {
    let Some(value) = value else {
        return Ok(PUBLIC_HUB.to_owned());
    };
    let endpoint = value.trim().trim_end_matches('/');
    let host = endpoint
        .strip_prefix("https://")
        .or_else(|| endpoint.strip_prefix("http://"));
    match host {
        // A password in the address would end up in messages.
        Some(host) if !host.is_empty() && !host.contains(['@', ' ']) => Ok(endpoint.to_owned()),
        _ => Err(HubError::BadEndpoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Result<HubConfig, HubError> {
        HubConfig::from_env(|name| {
            let found = variables.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn the_cache_is_found_by_the_tools_order_of_precedence() {
        let mut variables = vec![("HOME", "/home/ann")];
        let mut expect = |added: Option<(&'static str, &'static str)>, cache: &str| {
            variables.extend(added);
            assert_eq!(config(&variables).unwrap().cache, PathBuf::from(cache));
        };
        expect(None, "/home/ann/.cache/huggingface/hub");
        expect(Some(("XDG_CACHE_HOME", "/xdg")), "/xdg/huggingface/hub");
        expect(Some(("HF_HOME", "~/hf")), "/home/ann/hf/hub");
        expect(Some(("HUGGINGFACE_HUB_CACHE", "/old")), "/old");
        expect(Some(("HF_HUB_CACHE", "/cache")), "/cache");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let config = config(&[("HOME", "/h"), ("HF_HOME", ""), ("HF_ENDPOINT", " ")]).unwrap();
        assert_eq!(config.cache, PathBuf::from("/h/.cache/huggingface/hub"));
        assert_eq!(config.endpoint, PUBLIC_HUB);
    }

    #[test]
    fn without_any_home_the_error_names_the_variable_to_set() {
        let error = config(&[]).unwrap_err();
        assert!(error.to_string().contains("HF_HOME"), "{error}");
    }

    #[test]
    fn the_token_of_the_environment_wins_over_the_file() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("token"), "hf_file\n").unwrap();
        let home = home.path().to_str().unwrap();
        let token = |variables: &[_]| config(variables).unwrap().token.map(|t| t.bearer());
        assert_eq!(
            token(&[("HF_HOME", home)]),
            Some("Bearer hf_file".to_owned())
        );
        assert_eq!(
            token(&[("HF_HOME", home), ("HF_TOKEN", " hf_env ")]),
            Some("Bearer hf_env".to_owned())
        );
        assert_eq!(token(&[("HF_HOME", "/nowhere")]), None);
    }

    #[test]
    fn a_token_that_could_break_a_header_is_refused_and_not_shown() {
        let error = config(&[("HOME", "/h"), ("HF_TOKEN", "hf_se\ncret")]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hf_se"));
    }

    #[test]
    fn a_config_never_prints_its_secrets() {
        let config = config(&[
            ("HOME", "/h"),
            ("HF_TOKEN", "secret"),
            ("HTTPS_PROXY", "http://me:secret@proxy"),
        ])
        .unwrap();
        assert!(config.token.is_some() && config.proxy.is_some());
        assert!(!format!("{config:?}").contains("secret"));
    }

    #[test]
    fn offline_follows_the_tools_words_for_true() {
        for (value, offline) in [("1", true), ("YES", true), ("true", true), ("0", false)] {
            let config = config(&[("HOME", "/h"), ("HF_HUB_OFFLINE", value)]).unwrap();
            assert_eq!(config.offline, offline, "{value}");
        }
    }

    #[test]
    fn the_endpoint_is_an_address_without_a_slash_at_its_end() {
        let endpoint = |value| config(&[("HOME", "/h"), ("HF_ENDPOINT", value)]);
        assert_eq!(endpoint("http://hub/").unwrap().endpoint, "http://hub");
        for wrong in [
            "hub.example",
            "ftp://hub",
            "https://",
            "https://me:secret@hub",
        ] {
            let error = endpoint(wrong).unwrap_err().to_string();
            assert!(error.contains("HF_ENDPOINT"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_proxy_follows_the_endpoints_scheme() {
        let both = [
            ("HOME", "/h"),
            ("HTTPS_PROXY", "http://secure:1"),
            ("HTTP_PROXY", "http://plain:1"),
            ("NO_PROXY", "localhost, .example.com,"),
        ];
        let secure = config(&both).unwrap();
        assert_eq!(secure.proxy.as_deref(), Some("http://secure:1"));
        assert_eq!(secure.no_proxy, ["localhost", ".example.com"]);
        let plain = config(&[&both[..], &[("HF_ENDPOINT", "http://hub")]].concat()).unwrap();
        assert_eq!(plain.proxy.as_deref(), Some("http://plain:1"));
    }
}
