//! The address under load.

use crate::BenchError;

/// A server reached by plain HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
    base: String,
}

impl Target {
    /// Reads `http://HOST[:PORT][/BASE]`.
    ///
    /// # Errors
    /// When it is another scheme, names a user, or has no host or a wrong port.
    pub fn parse(url: &str) -> Result<Self, BenchError> {
        let wrong = |why| BenchError::Url {
            // What stands before an @ may be a password.
            url: match url.rsplit_once('@') {
                Some((_, rest)) => format!("...@{rest}"),
                None => url.to_owned(),
            },
            why,
        };
        if url.starts_with("https://") {
            return Err(wrong(
                "https is not spoken here; measure behind the TLS proxy, at its http:// address",
            ));
        }
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| wrong("it must begin with http://"))?;
        let (authority, base) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(wrong("a key belongs in the environment variable QUIRE_KEY"));
        }
        let plain = |c: char| c.is_ascii_graphic() && c != '?' && c != '#';
        if !base.chars().all(plain) {
            return Err(wrong("its path may hold no query and no spaces"));
        }
        // In [::1]:8080 the colons of the address are not the port's.
        let host_end = authority.rfind(']').map_or(0, |at| at + 1);
        let (host, port) = match authority[host_end..].rfind(':') {
            Some(at) => {
                let port = authority[host_end + at + 1..].parse();
                let port = port.map_err(|_| wrong("its port is not a number up to 65535"))?;
                (&authority[..host_end + at], port)
            }
            None => (authority, 80),
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_[]:%".contains(c);
        if host.is_empty() || !host.chars().all(allowed) {
            return Err(wrong("it names no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            base: base.trim_end_matches('/').to_owned(),
        })
    }

    /// The address again.
    pub fn url(&self) -> String {
        format!("http://{}:{}{}", self.host, self.port, self.base)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The path of an endpoint.
    pub(crate) fn path(&self, endpoint: &str) -> String {
        format!("{}{endpoint}", self.base)
    }

    /// The host as the resolver wants it: without the brackets of IPv6.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let plain = Target::parse("http://127.0.0.1:8080").unwrap();
        assert_eq!((plain.host(), plain.port()), ("127.0.0.1", 8080));
        assert_eq!(plain.path("/v1/search"), "/v1/search");
        let six = Target::parse("http://[::1]:9/quire/").unwrap();
        assert_eq!((six.host(), six.port()), ("::1", 9));
        assert_eq!(six.path("/healthz"), "/quire/healthz");
        assert_eq!(six.authority(), "[::1]:9");
        assert_eq!(Target::parse("http://books").unwrap().port(), 80);
    }

    #[test]
    fn what_cannot_be_loaded_says_why_and_hides_a_password() {
        let said = |url: &str| Target::parse(url).unwrap_err().to_string();
        assert!(said("https://books").contains("https is not spoken here"));
        assert!(said("books:80").contains("must begin with http://"));
        assert!(said("http://:80").contains("names no host"));
        assert!(said("http://books:99999").contains("port"));
        assert!(said("http://books/a?b=1").contains("no query"));
        let secret = said("http://me:sesame@books");
        assert!(
            secret.contains("QUIRE_KEY") && !secret.contains("sesame"),
            "{secret}"
        );
    }
}
