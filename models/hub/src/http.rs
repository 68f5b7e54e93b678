//! Single requests: proxy, certificates, timeouts, the token, and what can be
//! read from any answer.

use std::fs;
use std::io::{self, Read};

use ureq::http::{HeaderMap, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Proxy};

use crate::config::{HubConfig, Token};
use crate::error::HubError;
use crate::retry::{Failure, Trouble};
use crate::url;

const USER_AGENT: &str = concat!("quire/", env!("CARGO_PKG_VERSION"));

/// Sends requests; follows no redirect by itself.
pub(crate) struct Http {
    agent: Agent,
    /// The address that the token may be sent to.
    endpoint: String,
    token: Option<Token>,
}

/// A body being received.
pub(crate) struct Stream {
    host: String,
    /// Length of the whole file, where the answer says it.
    pub(crate) file_bytes: Option<u64>,
    body: Box<dyn Read>,
}

impl Stream {
    /// Reads as `Read` does; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.body.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.broken(source)),
                Ok(read) => return Ok(read),
            }
        }
    }

    /// The failure of a body that ends before the file does.
    pub(crate) fn cut_short(&self) -> Failure {
        let message = "the connection was closed before the end of the file";
        self.broken(io::Error::new(io::ErrorKind::UnexpectedEof, message))
    }

    fn broken(&self, source: io::Error) -> Failure {
        Failure::Passing(Trouble::Network {
            host: self.host.clone(),
            source,
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Ask {
    /// The headers alone.
    Facts,
    /// The bytes from this one on.
    Bytes(u64),
}

impl Http {
    pub(crate) fn new(config: &HubConfig) -> Result<Self, HubError> {
        let agent = Agent::config_builder()
            // Redirects are followed here, so that the token stays at home.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // A compressed body would have another length and other ranges.
            .accept_encoding("identity")
            .user_agent(USER_AGENT)
            .timeout_connect(Some(config.connect_timeout))
            .timeout_per_read(Some(config.read_timeout))
            .proxy(proxy_of(config)?)
            .tls_config(tls_of(config)?)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            endpoint: config.endpoint.clone(),
            token: config.token.clone(),
        })
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Sends one request and returns the answer's head, whatever its status.
    pub(crate) fn ask(&self, at: &str, ask: Ask) -> Result<Response<Body>, Failure> {
        let mut request = match ask {
            Ask::Facts => self.agent.head(at),
            Ask::Bytes(_) => self.agent.get(at),
        };
        if let Ask::Bytes(start @ 1..) = ask {
            request = request.header("range", format!("bytes={start}-"));
        }
        if let Some(token) = &self.token
            && url::same_origin(at, &self.endpoint)
        {
            request = request.header("authorization", token.bearer());
        }
        request.call().map_err(|error| failure_of(at, error))
    }
}

fn proxy_of(config: &HubConfig) -> Result<Option<Proxy>, HubError> {
    let Some(address) = &config.proxy else {
        return Ok(None);
    };
    // The cause would show the address, password and all.
    let parsed = Proxy::new(address).map_err(|_| HubError::BadProxy)?;
    let mut builder = Proxy::builder(parsed.protocol())
        .host(parsed.host())
        .port(parsed.port())
        .resolve_target(parsed.resolve_target());
    if let Some(name) = parsed.username() {
        builder = builder.username(name);
    }
    if let Some(password) = parsed.password() {
        builder = builder.password(password);
    }
    for host in &config.no_proxy {
        builder = builder.no_proxy(host);
    }
    let proxy = builder.build().map_err(|_| HubError::BadProxy)?;
    Ok(Some(proxy))
}

fn tls_of(config: &HubConfig) -> Result<TlsConfig, HubError> {
    let Some(file) = &config.ca_bundle else {
        return Ok(TlsConfig::default());
    };
    let bad = |source| HubError::BadCertificates {
        file: file.clone(),
        source,
    };
    let pem = fs::read(file).map_err(bad)?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| bad(e.into_io()))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(bad(io::Error::other("it holds no certificate")));
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .build())
}

pub(crate) fn stream(at: &str, answer: Response<Body>, file_bytes: Option<u64>) -> Stream {
    Stream {
        host: url::host(at).to_owned(),
        file_bytes,
        body: Box::new(answer.into_body().into_reader()),
    }
}

pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    header(headers, "content-encoding").is_some_and(|coding| coding != "identity")
}

pub(crate) fn redirect(at: &str, answer: &Response<Body>) -> Result<Option<String>, HubError> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = header(answer.headers(), "location")
        .ok_or_else(|| not_a_hub(at, "a redirect leads nowhere"))?;
    url::follow(at, location).map(Some)
}

/// What a `Content-Range` header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first byte that is sent; `None` when none is.
    pub(crate) start: Option<u64>,
    /// Length of the whole file, where said.
    pub(crate) bytes: Option<u64>,
}

/// Reads `bytes 5-9/10`, `bytes 5-9/*` and `bytes */10` (RFC 9110, section
/// 14.4).
pub(crate) fn parse_range(value: &str) -> Option<Range> {
    let (range, bytes) = value.strip_prefix("bytes ")?.split_once('/')?;
    let start = match range {
        "*" => None,
        range => Some(range.split_once('-')?.0.parse().ok()?),
    };
    let bytes = match bytes {
        "*" => None,
        bytes => Some(bytes.parse().ok()?),
    };
    Some(Range { start, bytes })
}

pub(crate) fn not_a_hub(at: &str, fault: &str) -> HubError {
    HubError::NotAHub {
        host: url::host(at).to_owned(),
        fault: fault.to_owned(),
    }
}

fn failure_of(at: &str, error: ureq::Error) -> Failure {
    let host = url::host(at).to_owned();
    let encrypted = at.starts_with("https://");
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            not_a_hub(at, "it gives an address that is none").into()
        }
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => HubError::Tls {
            host,
            source: error.into_io(),
        }
        .into(),
        // rustls reports what the other side did wrong this way.
        ureq::Error::Io(source) if encrypted && source.kind() == io::ErrorKind::InvalidData => {
            HubError::Tls { host, source }.into()
        }
        error => Failure::Passing(Trouble::Network {
            host,
            source: error.into_io(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_in_its_three_forms() {
        let range = |start, bytes| Some(Range { start, bytes });
        assert_eq!(parse_range("bytes 5-9/10"), range(Some(5), Some(10)));
        assert_eq!(parse_range("bytes 5-9/*"), range(Some(5), None));
        assert_eq!(parse_range("bytes */10"), range(None, Some(10)));
        for wrong in ["", "bytes", "bytes 5/10", "lines 5-9/10", "bytes x-9/10"] {
            assert_eq!(parse_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_proxy_that_is_none_is_refused_without_showing_it() {
        let mut config = HubConfig::new("/cache");
        config.proxy = Some("gopher://me:secret@proxy".to_owned());
        let error = Http::new(&config).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        config.proxy = Some("http://me:secret@proxy:3128".to_owned());
        config.no_proxy = vec!["127.0.0.1".to_owned()];
        assert!(Http::new(&config).is_ok());
    }

    #[test]
    fn a_bundle_without_certificates_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut config = HubConfig::new("/cache");
        config.ca_bundle = Some(file.path().to_owned());
        let error = Http::new(&config).err().unwrap().to_string();
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}
