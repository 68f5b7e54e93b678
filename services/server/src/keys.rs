//! The keys clients show, and the file they are kept in.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A secret of fewer characters can be guessed.
const SHORTEST_SECRET: usize = 16;

/// What a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Asking and looking.
    Read,
    /// That, and adding and removing books.
    Admin,
}

/// One key. Only the secret's digest is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Whose it is, for the log.
    pub name: String,
    /// What it allows.
    pub role: Role,
    digest: [u8; 32],
}

impl Key {
    /// A key of that secret.
    pub fn new(name: impl Into<String>, role: Role, secret: &str) -> Self {
        Self {
            name: name.into(),
            role,
            digest: Sha256::digest(secret.as_bytes()).into(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} {:?})", self.name, self.role)
    }
}

/// Every key the service knows; none at all means that no key is asked for.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

/// Why a file of keys cannot be used. Never says what a secret is.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The operating system refused.
    #[error("cannot read the key file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others on this machine may read it.
    #[error(
        "others on this machine may read or write the key file {}; run `chmod 600` on it",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// A line is something else.
    #[error("line {line} of the key file is not 'ROLE NAME SECRET' with the role read or admin")]
    Line {
        /// From 1.
        line: usize,
    },
    /// A secret that can be guessed.
    #[error(
        "the secret in line {line} of the key file has fewer than {SHORTEST_SECRET} characters; \
         take a longer one"
    )]
    Short {
        /// From 1.
        line: usize,
    },
    /// Two keys of one name, or of one secret.
    #[error("line {line} of the key file repeats the name or the secret of an earlier line")]
    Repeated {
        /// From 1.
        line: usize,
    },
    /// There is no key in it.
    #[error("the key file has no key in it; write lines of 'ROLE NAME SECRET'")]
    Empty,
}

impl Keys {
    /// These keys.
    pub fn new(keys: Vec<Key>) -> Self {
        Self(keys)
    }

    /// Whether no key is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a file of keys: lines `ROLE NAME SECRET`, where the role is
    /// `read` or `admin`, and comments after `#` at a line's beginning.
    ///
    /// # Errors
    /// When it cannot be read, others on this machine may read it, or a line
    /// is something else.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let failed = |source| KeyFileError::Read {
            path: path.to_owned(),
            source,
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(KeyFileError::Exposed {
                    path: path.to_owned(),
                });
            }
        }
        Self::parse(&fs::read_to_string(path).map_err(failed)?)
    }

    /// The keys that a file's text lists.
    ///
    /// # Errors
    /// When a line is something else, or there is no key.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        let mut keys: Vec<Key> = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = content.split_whitespace().collect();
            let [role, name, secret] = words[..] else {
                return Err(KeyFileError::Line { line });
            };
            let role = match role {
                "read" => Role::Read,
                "admin" => Role::Admin,
                _ => return Err(KeyFileError::Line { line }),
            };
            if secret.chars().count() < SHORTEST_SECRET {
                return Err(KeyFileError::Short { line });
            }
            let key = Key::new(name, role, secret);
            if keys
                .iter()
                .any(|other| other.name == key.name || other.digest == key.digest)
            {
                return Err(KeyFileError::Repeated { line });
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err(KeyFileError::Empty);
        }
        Ok(Self(keys))
    }

    /// The key of that secret. Takes equally long whether or not there is one,
    /// and whichever it is.
    pub fn find(&self, secret: &str) -> Option<&Key> {
        let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let mut found = None;
        for key in &self.0 {
            if bool::from(key.digest.ct_eq(&digest)) {
                found = Some(key);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# who may ask\n\nread reader  abcdefghijklmnop\nadmin boss ABCDEFGHIJKLMNOP\n";

    #[test]
    fn a_key_is_found_by_its_secret_alone() {
        let keys = Keys::parse(FILE).unwrap();
        assert_eq!(keys.find("abcdefghijklmnop").unwrap().role, Role::Read);
        assert_eq!(keys.find("ABCDEFGHIJKLMNOP").unwrap().name, "boss");
        for wrong in ["", "abcdefghijklmno", "reader", "abcdefghijklmnoP"] {
            assert!(keys.find(wrong).is_none(), "{wrong}");
        }
        assert!(Role::Read < Role::Admin);
    }

    #[test]
    fn an_error_names_the_line_and_never_the_secret() {
        for (text, said) in [
            ("", "no key"),
            ("read a", "line 1"),
            ("# x\nroot a abcdefghijklmnop", "line 2"),
            ("read a tooshort", "fewer than 16"),
            (
                "read a abcdefghijklmnop\nread a abcdefghijklmnoq",
                "repeats",
            ),
            (
                "read a abcdefghijklmnop\nread b abcdefghijklmnop",
                "repeats",
            ),
        ] {
            let error = Keys::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(
                !error.contains("abcdef") && !error.contains("tooshort"),
                "{error}"
            );
        }
        let shown = format!("{:?}", Keys::parse(FILE).unwrap());
        assert!(
            !shown.contains("abcdef") && shown.contains("reader"),
            "{shown}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, FILE).unwrap();
        for (mode, usable) in [
            (0o600, true),
            (0o640, false),
            (0o604, false),
            (0o622, false),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Keys::read(&path).is_ok(), usable, "{mode:o}");
        }
    }
}
