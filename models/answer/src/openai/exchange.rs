//! One request and its answer's bytes, given up within milliseconds when
//! nobody waits any more.
//!
//! A thread of its own sends and reads, since a blocked read cannot look at a
//! flag. Whoever asked waits in short steps, and closes the connection under
//! that thread when it is time; so the server sees that nobody listens, and
//! the thread ends.
//!
//! The HTTP library writes the bytes it sends to the `log` facade at its trace
//! level, the key among them: a program that uses this crate must not pass
//! those records on. Up to the debug level there is no key in them.

use std::fs;
use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use quire_model::{Call, Stop};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

use super::config::{BadConfig, OpenAiConfig};

const USER_AGENT: &str = concat!("quire/", env!("CARGO_PKG_VERSION"));

/// How long a cancelled call may go on.
pub(super) const STEP: Duration = Duration::from_millis(20);

/// Pieces that may wait for whoever asked before the reading thread does.
const QUEUED: usize = 64;

/// What arrives of an answer.
pub(super) enum Part {
    /// Status and headers.
    Head(Head),
    /// Bytes of the body.
    Bytes(Vec<u8>),
    /// The body is complete.
    End,
}

pub(super) struct Head {
    pub(super) status: u16,
    /// In lower case, without parameters.
    pub(super) content_type: String,
    pub(super) retry_after: Option<String>,
}

/// Why nothing more arrives.
pub(super) enum Halt {
    /// Nobody waits any more.
    Stopped(Stop),
    /// The time for the whole answer is up.
    TimeIsUp,
    /// The server was silent for too long.
    Silent,
    /// The connection was not made, or broke.
    Broken(io::Error),
    /// TLS failed.
    Tls(io::Error),
}

/// A request under way; dropping it closes its connection.
pub(super) struct Exchange {
    agent: Option<Agent>,
    parts: Receiver<Result<Part, ureq::Error>>,
}

/// What every connection of a client shares.
pub(super) fn settings(config: &OpenAiConfig) -> Result<ureq::config::Config, BadConfig> {
    let proxy = match &config.proxy {
        // The cause would show the address, password and all.
        Some(address) => Some(Proxy::new(address.expose()).map_err(|_| BadConfig::Proxy)?),
        None => None,
    };
    Ok(Agent::config_builder()
        // A key must not follow a redirect to another host.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .accept_encoding("identity")
        .user_agent(USER_AGENT)
        .timeout_resolve(Some(config.connect_timeout))
        .timeout_connect(Some(config.connect_timeout))
        .timeout_per_read(Some(config.silence_timeout))
        .proxy(proxy)
        .tls_config(tls_of(config)?)
        .build())
}

impl Exchange {
    /// Sends a request. Each has a connection of its own: a reused one may
    /// have died unnoticed, and closing it must hurt nobody else.
    pub(super) fn start(
        settings: &ureq::config::Config,
        address: &str,
        bearer: Option<String>,
        body: Vec<u8>,
    ) -> io::Result<Self> {
        let agent = settings.new_agent();
        let (sender, parts) = sync_channel(QUEUED);
        let mut request = agent
            .post(address)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream, application/json");
        if let Some(bearer) = bearer {
            request = request.header("authorization", bearer);
        }
        thread::Builder::new()
            .name("answer-model".to_owned())
            .spawn(move || {
                if let Err(error) = receive(request, &body, &sender) {
                    // Whoever asked may be gone.
                    let _ = sender.send(Err(error));
                }
            })?;
        Ok(Self {
            agent: Some(agent),
            parts,
        })
    }

    /// Waits for the next part, for as long as it is wanted.
    pub(super) fn next(&self, call: &Call, time_is_up: Instant) -> Result<Part, Halt> {
        loop {
            if let Some(stop) = call.stop() {
                return Err(Halt::Stopped(stop));
            }
            let now = Instant::now();
            if now >= time_is_up {
                return Err(Halt::TimeIsUp);
            }
            let end = call.deadline().map_or(time_is_up, |at| at.min(time_is_up));
            let step = STEP.min(end.saturating_duration_since(now));
            match self.parts.recv_timeout(step) {
                Ok(Ok(part)) => return Ok(part),
                Ok(Err(error)) => return Err(halt_of(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the reading thread ended early";
                    return Err(Halt::Broken(io::Error::other(message)));
                }
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

fn receive(
    request: ureq::RequestBuilder<ureq::typestate::WithBody>,
    body: &[u8],
    sender: &SyncSender<Result<Part, ureq::Error>>,
) -> Result<(), ureq::Error> {
    let answer = request.send(body)?;
    let header = |name: &str| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.trim().to_owned())
    };
    let content_type = header("content-type").unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default();
    let head = Head {
        status: answer.status().as_u16(),
        content_type: content_type.trim().to_ascii_lowercase(),
        retry_after: header("retry-after"),
    };
    if sender.send(Ok(Part::Head(head))).is_err() {
        return Ok(());
    }
    let mut reader = answer.into_body().into_reader();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let part = match read {
            0 => Part::End,
            read => Part::Bytes(buffer[..read].to_vec()),
        };
        if sender.send(Ok(part)).is_err() || read == 0 {
            return Ok(());
        }
    }
}

fn halt_of(error: ureq::Error) -> Halt {
    use ureq::Timeout;
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => Halt::Broken(io::Error::new(
            io::ErrorKind::TimedOut,
            "no connection in time",
        )),
        ureq::Error::Timeout(_) => Halt::Silent,
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => Halt::Tls(error.into_io()),
        ureq::Error::Io(source) => match source.downcast::<ureq::Error>() {
            Ok(inner) => halt_of(inner),
            // rustls reports what the other side did wrong this way.
            Err(source) if source.kind() == io::ErrorKind::InvalidData => Halt::Tls(source),
            Err(source) => Halt::Broken(source),
        },
        error => Halt::Broken(error.into_io()),
    }
}

fn tls_of(config: &OpenAiConfig) -> Result<TlsConfig, BadConfig> {
    let Some(file) = &config.ca_bundle else {
        return Ok(TlsConfig::default());
    };
    let bad = |source| BadConfig::Certificates {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::config::Secret;

    #[test]
    fn a_proxy_that_is_none_is_refused_without_showing_it() {
        let mut config = OpenAiConfig::new("http://h", "m");
        config.proxy = Secret::parse("gopher://me:sesame@proxy").unwrap();
        let error = settings(&config).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("sesame"), "{error}");
        config.proxy = Secret::parse("http://me:sesame@proxy:3128").unwrap();
        assert!(settings(&config).is_ok());
    }

    #[test]
    fn a_bundle_without_certificates_is_refused_by_name() {
        let mut config = OpenAiConfig::new("http://h", "m");
        config.ca_bundle = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into());
        let error = settings(&config).err().unwrap().to_string();
        assert!(error.contains("Cargo.toml"), "{error}");
    }
}
