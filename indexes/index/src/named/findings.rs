//! What is wrong with the names of libraries.

use std::collections::BTreeSet;
use std::path::PathBuf;

use quire_corpus::BookId;

use super::{ENDING, LOCK_FILE, LibraryName, NamedLibrary};
use crate::io_error::entries;
use crate::verify::foreign;
use crate::{Finding, IoError, LibraryError, Severity, Store};

/// How the files end that are about to replace a name's.
pub(super) const BESIDE: &str = ".new";

impl Store {
    /// Everything wrong with the names: files that are damaged or do not
    /// belong, and books that a library has and that are not indexed.
    pub(crate) fn name_findings(&self) -> Result<Vec<Finding>, IoError> {
        let indexed: BTreeSet<BookId> = self.books()?.into_iter().collect();
        let mut findings = Vec::new();
        for entry in entries(&self.names())? {
            let file = entry.file_name();
            let file = file.to_string_lossy();
            let name = |ending| file.strip_suffix(ending)?.parse::<LibraryName>().ok();
            if let Some(name) = name(ENDING) {
                match self.library(&name) {
                    Ok(None) => {}
                    Ok(Some(library)) => {
                        findings.extend(missing(&library, &indexed, entry.path()));
                    }
                    Err(error) => findings.push(damaged(&name, &error, entry.path())),
                }
            } else if name(BESIDE).is_some() {
                findings.push(Finding {
                    severity: Severity::Note,
                    path: entry.path(),
                    what: "is left from a change of a library that was stopped".to_owned(),
                    remedy: "nothing: the next change replaces it".to_owned(),
                });
            } else if file != LOCK_FILE {
                findings.push(foreign(entry.path()));
            }
        }
        Ok(findings)
    }
}

fn damaged(name: &LibraryName, error: &LibraryError, path: PathBuf) -> Finding {
    let what = match error {
        LibraryError::Damaged { what, .. } => format!("is damaged: {what}"),
        other => other.to_string(),
    };
    Finding {
        severity: Severity::Error,
        path,
        what,
        remedy: format!("`quire library rm {name}` and create it again; its books are unharmed"),
    }
}

fn missing(
    library: &NamedLibrary,
    indexed: &BTreeSet<BookId>,
    path: PathBuf,
) -> impl Iterator<Item = Finding> {
    let missing = library.books.iter().filter(|book| !indexed.contains(book));
    missing.map(move |book| Finding {
        severity: Severity::Error,
        path: path.clone(),
        what: format!("has book {}, which is not indexed", book.short()),
        remedy: format!(
            "index the book again, or `quire library remove {} {}`",
            library.name,
            book.short()
        ),
    })
}
