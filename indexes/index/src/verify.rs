//! What is wrong with what lies in the store, and how to mend it.
//!
//! Checks all that is common to every artifact. What is special to a view
//! (vectors, terms) is checked by the crate that owns the view.

use std::path::PathBuf;

use crate::artifact::{Contents, Stamped, remedy};
use crate::io_error::entries;
use crate::manifest::MANIFEST_FILE;
use crate::passages::{PASSAGES_FILE, TEXT_FILE};
use crate::store::{LOCK, TRASH};
use crate::{
    ArtifactDir, ArtifactError, ArtifactKey, BookArtifact, Counts, Found, IoError, Kind, Store,
    Subject,
};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Something is there that should not be; answers are not affected.
    Warning,
    /// The artifact cannot be used as it is.
    Error,
}

/// Something a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder it is about.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// The finding an error amounts to: its message and its causes.
    fn of_error(error: &ArtifactError, path: PathBuf, remedy: &str) -> Self {
        let (path, what) = match error {
            ArtifactError::Damaged { path, damage, .. } => (path.clone(), damage.to_string()),
            ArtifactError::Manifest { source, .. } => (path, with_causes(source)),
            ArtifactError::Elsewhere { found, .. } => {
                (path, format!("holds the artifact of {found}"))
            }
            ArtifactError::Io(error) => (error.path.clone(), with_causes(error)),
            ArtifactError::Fault(_) | ArtifactError::NoSuchPassage { .. } => {
                (path, error.to_string())
            }
        };
        Self {
            severity: Severity::Error,
            path,
            what,
            remedy: remedy.to_owned(),
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    message
}

impl Store {
    /// Everything wrong with one artifact, as far as every artifact has it:
    /// the manifest and whether it fits its place, every file's length and
    /// SHA-256 (read in full), files that do not belong, the text against the
    /// book's id, the passages against the text, and all counts that can be
    /// counted here. A library's books must be there too.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn verify(&self, found: &Found) -> Result<Vec<Finding>, IoError> {
        let artifact = match &found.artifact {
            Ok(artifact) => artifact,
            Err(error) => {
                let remedy = remedy(found.key.subject, None, &found.path);
                let manifest = found.path.join(MANIFEST_FILE);
                return Ok(vec![Finding::of_error(error, manifest, &remedy)]);
            }
        };
        let mut findings: Vec<Finding> = artifact
            .damages(Stamped::Ignored)
            .iter()
            .map(|error| Finding::of_error(error, artifact.path().to_owned(), &artifact.remedy()))
            .collect();
        findings.extend(unlisted(artifact)?);
        // Damaged files make everything that follows fail as well.
        if findings
            .iter()
            .all(|found| found.severity < Severity::Error)
        {
            match artifact.key().subject {
                Subject::Book(_) => findings.extend(verify_book(artifact)),
                Subject::Library(_) => findings.extend(self.verify_library(artifact)),
            }
        }
        Ok(findings)
    }

    /// What lies in the store's folders and is no artifact: foreign files,
    /// which queries ignore, unfinished builds, what a killed removal left,
    /// and names of libraries that cannot be used.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn strangers(&self) -> Result<Vec<Finding>, IoError> {
        let mut findings = Vec::new();
        for kind in [Kind::Book, Kind::Library] {
            for subject in entries(&self.root().join(kind.folder()))? {
                let name = subject.file_name();
                let known = name
                    .to_str()
                    .and_then(|name| Subject::of_folder(kind, name));
                if known.is_none() || !subject.path().is_dir() {
                    findings.push(foreign(subject.path()));
                    continue;
                }
                for recipe in entries(&subject.path())? {
                    let name = recipe.file_name();
                    let named_by_key = name
                        .to_str()
                        .is_some_and(|name| name.parse::<crate::RecipeKey>().is_ok());
                    if !named_by_key || !recipe.path().is_dir() {
                        findings.push(foreign(recipe.path()));
                    }
                }
            }
        }
        for entry in entries(&self.root().join("staging"))? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let note = |what: String, remedy: &str| Finding {
                severity: Severity::Note,
                path: entry.path(),
                what,
                remedy: remedy.to_owned(),
            };
            if name.starts_with(TRASH) {
                findings.push(note(
                    "is left from a removal that was stopped".into(),
                    "nothing: the next `quire index` or `quire rm` removes it",
                ));
            } else if let Some(key) = ArtifactKey::of_staging_name(&name) {
                let remedy = match key.subject.kind() {
                    Kind::Book => {
                        "index the same source again to finish it, or `quire rm` the book"
                    }
                    Kind::Library => {
                        "nothing: whoever next needs a library of these books finishes it"
                    }
                };
                findings.push(note(format!("is an unfinished build of {key}"), remedy));
            } else if name
                .strip_suffix(LOCK)
                .and_then(ArtifactKey::of_staging_name)
                .is_none()
            {
                findings.push(foreign(entry.path()));
            }
        }
        findings.extend(self.name_findings()?);
        Ok(findings)
    }

    fn verify_library(&self, library: &ArtifactDir) -> Vec<Finding> {
        let error = |what: String| Finding {
            severity: Severity::Error,
            path: library.path().to_owned(),
            what,
            remedy: library.remedy(),
        };
        let mut findings = Vec::new();
        let mut sums = Counts {
            terms: library.manifest().counts.terms,
            ..Counts::default()
        };
        for book in &library.manifest().books {
            match self.find(*book, library.key().recipe) {
                Ok(Some(book)) => {
                    let counts = &book.manifest().counts;
                    sums.passages += counts.passages;
                    sums.tokens += counts.tokens;
                    sums.text_bytes += counts.text_bytes;
                    sums.chapters += counts.chapters;
                }
                Ok(None) => findings.push(error(format!(
                    "holds book {}, which has no artifact of the same recipe",
                    book.short()
                ))),
                Err(cause) => findings.push(error(format!(
                    "holds book {}, whose artifact cannot be opened: {cause}",
                    book.short()
                ))),
            }
        }
        if findings.is_empty() && sums != library.manifest().counts {
            findings.push(error(format!(
                "its manifest counts {:?}, its books have {sums:?}",
                library.manifest().counts
            )));
        }
        findings
    }
}

fn verify_book(artifact: &ArtifactDir) -> Vec<Finding> {
    let remedy = artifact.remedy();
    let book = match BookArtifact::open(artifact) {
        Ok(book) => book,
        Err(error) => {
            let path = artifact.path().to_owned();
            return vec![Finding::of_error(&error, path, &remedy)];
        }
    };
    let (counts, table) = (&artifact.manifest().counts, book.table());
    let text_bytes = artifact
        .manifest()
        .file(TEXT_FILE)
        .map_or(0, |file| file.bytes);
    let body = |body: Option<(u64, u64)>| match body {
        Some((start, end)) => format!("{start}..{end}"),
        None => "none".to_owned(),
    };
    let compared = [
        (
            "passages",
            counts.passages.to_string(),
            table.len().to_string(),
        ),
        (
            "tokens",
            counts.tokens.to_string(),
            table.tokens().to_string(),
        ),
        (
            "bytes of text",
            counts.text_bytes.to_string(),
            text_bytes.to_string(),
        ),
        ("body", body(counts.body), body(table.body())),
        (
            "chapters",
            counts.chapters.to_string(),
            table.chapters().len().to_string(),
        ),
    ];
    compared
        .into_iter()
        .filter(|(_, written, counted)| written != counted)
        .map(|(of, written, counted)| Finding {
            severity: Severity::Error,
            path: artifact.file(PASSAGES_FILE),
            what: format!("{of}: the manifest says {written}, its files have {counted}"),
            remedy: remedy.clone(),
        })
        .collect()
}

/// What lies in an artifact's folder and is not in its manifest.
fn unlisted(artifact: &ArtifactDir) -> Result<Vec<Finding>, IoError> {
    let contents = Contents::of(artifact.path())?;
    let strangers = contents
        .files
        .iter()
        .filter(|path| *path != MANIFEST_FILE && artifact.manifest().file(path).is_none());
    Ok(strangers
        .chain(&contents.odd)
        .map(|path| foreign(artifact.file(path)))
        .collect())
}

pub(crate) fn foreign(path: PathBuf) -> Finding {
    Finding {
        severity: Severity::Warning,
        path,
        what: "does not belong to the store; it is ignored".to_owned(),
        remedy: "move it elsewhere".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, TEXT, begin, commit, key, manifest, recipe, write_files};
    use crate::{CHAPTERS_FILE, Manifest};
    use std::fs;

    fn findings(store: &Store) -> Vec<Finding> {
        let found = store.artifacts().unwrap();
        found
            .iter()
            .flat_map(|found| store.verify(found).unwrap())
            .collect()
    }

    #[test]
    fn a_whole_artifact_gives_no_finding() {
        let (_folder, store) = testing::store();
        commit(&store, TEXT, recipe());
        assert_eq!(findings(&store), []);
    }

    #[test]
    fn every_damaged_file_is_named_with_what_is_wrong_and_what_mends_it() {
        type Harm = fn(&std::path::Path);
        let harms: [(Harm, &str); 5] = [
            (|path| fs::remove_file(path).unwrap(), "is missing"),
            (|path| fs::write(path, "").unwrap(), "is 0 bytes long, not"),
            (
                |path| {
                    let mut bytes = fs::read(path).unwrap();
                    bytes[1] ^= 1;
                    fs::write(path, bytes).unwrap();
                },
                "SHA-256",
            ),
            (
                |path| {
                    let grown = [fs::read(path).unwrap(), vec![0]].concat();
                    fs::write(path, grown).unwrap();
                },
                "bytes long, not",
            ),
            (
                |path| {
                    fs::remove_file(path).unwrap();
                    fs::create_dir(path).unwrap();
                },
                "not a regular file",
            ),
        ];
        for file in [
            "bm25/meta.json",
            CHAPTERS_FILE,
            PASSAGES_FILE,
            TEXT_FILE,
            "vectors.bin",
        ] {
            for (harm, expected) in harms {
                let (_folder, store) = testing::store();
                let artifact = commit(&store, TEXT, recipe());
                harm(&artifact.file(file));
                let findings = findings(&store);
                assert_eq!(findings.len(), 1, "{findings:?}");
                assert_eq!(findings[0].path, artifact.file(file));
                assert!(findings[0].what.contains(expected), "{findings:?}");
                assert!(findings[0].remedy.contains("quire rm"), "{findings:?}");
                assert!(artifact.check().is_err());
            }
        }
    }

    #[test]
    fn a_damaged_manifest_is_named_with_its_cause() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        fs::write(artifact.file(MANIFEST_FILE), "{").unwrap();
        let findings = findings(&store);
        assert_eq!(findings[0].path, artifact.file(MANIFEST_FILE));
        assert!(findings[0].what.contains("EOF"), "{findings:?}");
    }

    #[test]
    fn a_file_that_does_not_belong_is_a_warning() {
        let (_folder, store) = testing::store();
        let artifact = commit(&store, TEXT, recipe());
        fs::write(artifact.file("bm25/extra"), "").unwrap();
        let findings = findings(&store);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(findings[0].path, artifact.file("bm25/extra"));
    }

    #[test]
    fn counts_that_are_not_those_of_the_files_are_found() {
        let (_folder, store) = testing::store();
        let staging = begin(&store, key(TEXT));
        write_files(&staging, TEXT);
        let mut wrong = manifest(TEXT, recipe());
        wrong.counts.passages += 1;
        wrong.counts.body = Some((0, 1));
        staging.commit(wrong).unwrap();
        let what: Vec<String> = findings(&store).into_iter().map(|f| f.what).collect();
        assert_eq!(
            what,
            [
                "passages: the manifest says 3, its files have 2".to_owned(),
                format!(
                    "body: the manifest says 0..1, its files have 0..{}",
                    TEXT.len() - 7
                ),
            ]
        );
    }

    #[test]
    fn a_library_whose_book_is_gone_is_found() {
        let (_folder, store) = testing::store();
        let book = commit(&store, TEXT, recipe());
        let mut counts = book.manifest().counts.clone();
        counts.body = None;
        counts.terms = 99;
        let manifest =
            Manifest::of_library(&book.manifest().books, recipe(), counts, testing::build());
        let staging = begin(&store, manifest.key());
        staging.write("vectors.bin", &[1]).unwrap();
        staging.commit(manifest).unwrap();
        assert_eq!(findings(&store), []);
        fs::remove_dir_all(book.path()).unwrap();
        let findings = findings(&store);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("no artifact of the same recipe"));
    }
}
