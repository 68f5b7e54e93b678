//! The zip archive of an EPUB, read in memory and within limits.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use unicode_normalization::UnicodeNormalization;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::read::{Limits, ReadError};

/// Why an entry was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum EntryError {
    #[error("missing from the archive")]
    Missing,
    #[error("damaged in the archive ({0})")]
    Damaged(String),
    #[error("larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("grows to more than {limit} times its compressed size")]
    Bomb { limit: u64 },
    /// The archive as a whole asks for too much.
    #[error(transparent)]
    Excessive(Box<ReadError>),
}

/// Small entries may compress as well as they like, in bytes.
const RATIO_APPLIES_FROM: u64 = 1 << 20;

/// An archive and how much has been decompressed of it.
pub(super) struct Archive<'a> {
    name: &'a str,
    zip: ZipArchive<Cursor<&'a [u8]>>,
    limits: Limits,
    spent: u64,
    exact: HashMap<String, usize>,
    /// By [`folded`] name, for references in another case or normal form;
    /// `None` when several entries share it.
    folded: HashMap<String, Option<usize>>,
}

impl<'a> Archive<'a> {
    /// Opens the archive of the EPUB `name`.
    ///
    /// # Errors
    /// When it is no zip archive or has too many entries.
    pub(super) fn open(name: &'a str, bytes: &'a [u8], limits: Limits) -> Result<Self, ReadError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|source| ReadError::Archive {
            name: name.to_owned(),
            source,
        })?;
        if zip.len() > limits.max_entries {
            return Err(ReadError::Excessive {
                name: name.to_owned(),
                what: format!("{} archive entries", zip.len()),
                limit: limits.max_entries as u64,
            });
        }
        let mut exact = HashMap::new();
        let mut folded_names = HashMap::new();
        for (index, raw) in zip.file_names_raw().enumerate() {
            // Many tools write UTF-8 and do not say so.
            let path = String::from_utf8_lossy(raw).replace('\\', "/");
            folded_names
                .entry(folded(&path))
                .and_modify(|known| *known = None)
                .or_insert(Some(index));
            exact.insert(path, index);
        }
        Ok(Self {
            name,
            zip,
            limits,
            spent: 0,
            exact,
            folded: folded_names,
        })
    }

    /// The name of the EPUB.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Whether there is an entry of this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    fn find(&self, path: &str) -> Option<usize> {
        let exact = self.exact.get(path).copied();
        exact.or_else(|| self.folded.get(&folded(path)).copied().flatten())
    }

    /// The path of the only entry with this extension.
    pub(super) fn only_with_extension(&self, extension: &str) -> Option<String> {
        let mut paths = self.exact.keys().filter(|path| {
            path.rsplit_once('.')
                .is_some_and(|(_, own)| own.eq_ignore_ascii_case(extension))
        });
        let only = paths.next().cloned();
        only.filter(|_| paths.next().is_none())
    }

    /// Decompresses an entry and checks its checksum.
    pub(super) fn read(&mut self, path: &str) -> Result<Vec<u8>, EntryError> {
        let index = self.find(path).ok_or(EntryError::Missing)?;
        let damaged = |error: ZipError| match error {
            ZipError::UnsupportedArchive(what) => EntryError::Damaged(what.to_owned()),
            error => EntryError::Damaged(error.to_string()),
        };
        let left = self.limits.max_total_bytes.saturating_sub(self.spent);
        let entry = self.zip.by_index(index).map_err(damaged)?;
        let ratio = self.limits.max_compression_ratio;
        let grown = entry
            .compressed_size()
            .saturating_mul(ratio)
            .max(RATIO_APPLIES_FROM);
        let limit = self.limits.max_entry_bytes.min(grown).min(left);
        let mut bytes = Vec::new();
        // The sizes that the archive states may be false, so what comes out
        // is counted instead.
        let read = entry.take(limit + 1).read_to_end(&mut bytes);
        self.spent = self.spent.saturating_add(bytes.len() as u64);
        if bytes.len() as u64 > limit {
            return Err(if limit == left {
                EntryError::Excessive(Box::new(ReadError::Excessive {
                    name: self.name.to_owned(),
                    what: "more decompressed bytes".to_owned(),
                    limit: self.limits.max_total_bytes,
                }))
            } else if limit == grown {
                EntryError::Bomb { limit: ratio }
            } else {
                EntryError::TooLarge { limit }
            });
        }
        match read {
            Ok(_) => Ok(bytes),
            Err(error) => Err(EntryError::Damaged(error.to_string())),
        }
    }
}

fn folded(path: &str) -> String {
    path.nfc().collect::<String>().to_lowercase()
}
