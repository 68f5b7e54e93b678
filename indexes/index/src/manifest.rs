//! The manifest beside every artifact: what is in it and how it came to be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use quire_corpus::BookId;
use serde::{Deserialize, Serialize};

use crate::digest::{from_hex, sha256};
use crate::{ArtifactKey, IoError, Kind, LibraryId, Machine, Recipe, Subject};

/// The version of the manifest's own form.
pub const SCHEMA: u32 = 1;

/// The manifest's name in an artifact's folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// A file that says it is longer than this is no manifest.
const LONGEST: u64 = 256 << 20;

/// What is in an artifact and how it came to be.
///
/// Everything but `build` and `source` is decided by the books and the
/// recipe, and so is the same in every build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Whether the artifact is of one book or a set.
    pub kind: Kind,
    /// The books, ascending.
    pub books: Vec<BookId>,
    /// The key of `recipe`, as the artifact's folder is named.
    pub recipe_key: String,
    /// All that decides the content besides the text.
    pub recipe: Recipe,
    /// Every file of the artifact but the manifest, by path. Filled in when
    /// the artifact is committed.
    pub files: Vec<FileEntry>,
    /// How much is in it.
    pub counts: Counts,
    /// The reranker in use when it was built; it decides nothing in it.
    pub reranker: Option<RerankerRecord>,
    /// How it was built.
    pub build: Build,
    /// Where the text came from; `None` for a library.
    pub source: Option<SourceRecord>,
}

/// One file of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Below the artifact's folder, with `/` between its parts.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, 64 hexadecimal digits.
    pub sha256: String,
}

/// How much is in an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Passages.
    pub passages: u64,
    /// Tokens of all passages, as cutting counted them.
    pub tokens: u64,
    /// Bytes of canonical text, of all books.
    pub text_bytes: u64,
    /// Where the passages of a book start and end in its text, in bytes;
    /// `None` for a library and for a book without passages.
    pub body: Option<(u64, u64)>,
    /// Chapters, of all books.
    pub chapters: u64,
    /// Terms of the lexical view, repeats included.
    pub terms: u64,
}

/// A reranker, as a manifest records it: see the model crate's
/// `RerankerInfo`, whose fields these are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerankerRecord {
    /// The catalogue's name of the model.
    pub name: String,
    /// The source's revision of its files.
    pub revision: String,
    /// SHA-256 over the digests of every file that is loaded.
    pub digest: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// `cross_encoder`, `late_interaction` or `ensemble`.
    pub method: String,
    /// Tokens it reads at most.
    pub max_tokens: usize,
}

/// How an artifact was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Name and version of the tool.
    pub tool: String,
    /// When, by RFC 3339 in UTC: see [`crate::rfc3339`].
    pub started: String,
    /// Seconds each stage took, by the stage's name.
    pub seconds: BTreeMap<String, f64>,
    /// Tokens the embedder read, prefixes and special tokens included; less
    /// than all when a build was resumed.
    pub embedded_tokens: u64,
    /// Those tokens a second of the embedding stage; `None` if it had none.
    pub tokens_per_second: Option<f64>,
    /// On which machine.
    pub machine: Machine,
    /// On which device the embedder ran, such as `cpu` or `cuda:0`.
    pub device: String,
}

/// Where a book's text came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    /// The file as it was given; `None` for standard input.
    pub path: Option<String>,
    /// The title it states.
    pub title: Option<String>,
    /// The authors it states.
    pub author: Option<String>,
    /// Such as `txt` or `epub`.
    pub format: String,
    /// The encoding's name.
    pub encoding: String,
    /// How the encoding was found, such as `utf-8 throughout` or `--encoding`.
    pub how: String,
    /// From 0, a guess, to 1, certain.
    pub confidence: f64,
    /// Byte sequences that could not be decoded.
    pub malformed: u64,
    /// What was reported about the source, a sentence each.
    pub problems: Vec<String>,
}

/// Why a manifest is not to be trusted.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// There is none.
    #[error("{} is missing: the folder is no artifact", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file is no JSON, or not a manifest's.
    #[error("{} is not a manifest of quire", path.display())]
    NotAManifest {
        /// The file.
        path: PathBuf,
        /// Where it goes wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The file is far longer than a manifest.
    #[error("{} is not a manifest of quire: it is {bytes} bytes long", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// Another version of the tool wrote it.
    #[error(
        "{} has schema version {found}, this quire reads {SCHEMA}: use {} quire, or index the book again",
        path.display(),
        if *found > u64::from(SCHEMA) { "a newer" } else { "an older" }
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: u64,
    },
    /// The checksum in it does not match the rest of it.
    #[error("{} is damaged or was edited: its checksum does not match", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
    },
    /// The recipe's key is not the key written beside it.
    #[error(
        "{} has a recipe of another version of quire: its key here is {found}, not {written}",
        path.display()
    )]
    ForeignRecipe {
        /// The file.
        path: PathBuf,
        /// The key in the file.
        written: String,
        /// The key of the recipe in the file.
        found: String,
    },
    /// Its parts contradict each other.
    #[error("{} is not sound: {what}", path.display())]
    Unsound {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        what: String,
    },
}

/// The file's outer form. The checksum is the SHA-256 of the manifest as
/// compact JSON, so white space may change and nothing else.
#[derive(Serialize, Deserialize)]
struct Signed<M> {
    schema: u32,
    sha256: String,
    manifest: M,
}

impl Manifest {
    /// A manifest of a book, without files. Set `reranker` and `source` where
    /// there are such.
    pub fn of_book(book: BookId, recipe: Recipe, counts: Counts, build: Build) -> Self {
        Self::new(Kind::Book, vec![book], recipe, counts, build)
    }

    /// A manifest of a library, without files. The order of books and
    /// repetitions do not matter.
    pub fn of_library(books: &[BookId], recipe: Recipe, counts: Counts, build: Build) -> Self {
        let mut books = books.to_vec();
        books.sort_unstable();
        books.dedup();
        Self::new(Kind::Library, books, recipe, counts, build)
    }

    fn new(kind: Kind, books: Vec<BookId>, recipe: Recipe, counts: Counts, build: Build) -> Self {
        Self {
            kind,
            books,
            recipe_key: recipe.key().to_string(),
            recipe,
            files: Vec::new(),
            counts,
            reranker: None,
            build,
            source: None,
        }
    }

    /// The key of the artifact it describes.
    pub fn key(&self) -> ArtifactKey {
        let subject = match (self.kind, self.books.first()) {
            (Kind::Book, Some(book)) => Subject::Book(*book),
            _ => Subject::Library(LibraryId::of_books(&self.books)),
        };
        ArtifactKey {
            subject,
            recipe: self.recipe.key(),
        }
    }

    /// The entry of a file, by its path in the artifact.
    pub fn file(&self, path: &str) -> Option<&FileEntry> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Reads a manifest and proves that it is whole.
    ///
    /// # Errors
    /// When there is none, when it is damaged, from another version or not a
    /// manifest at all, or when its parts contradict each other.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let length = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(ManifestError::Missing {
                    path: path.to_owned(),
                });
            }
            metadata => metadata.map_err(IoError::of("inspect", path))?.len(),
        };
        if length > LONGEST {
            return Err(ManifestError::TooLong {
                path: path.to_owned(),
                bytes: length,
            });
        }
        let json = fs::read(path).map_err(IoError::of("read", path))?;
        Self::of_json(&json, path)
    }

    fn of_json(json: &[u8], path: &Path) -> Result<Self, ManifestError> {
        let foreign = |source| ManifestError::NotAManifest {
            path: path.to_owned(),
            source,
        };
        // The version first: another version's fields may be anything.
        let any: serde_json::Value = serde_json::from_slice(json).map_err(foreign)?;
        if let Some(found) = any.get("schema").and_then(serde_json::Value::as_u64)
            && found != u64::from(SCHEMA)
        {
            return Err(ManifestError::Schema {
                path: path.to_owned(),
                found,
            });
        }
        let signed: Signed<Self> = serde_json::from_slice(json).map_err(foreign)?;
        let manifest = signed.manifest;
        let compact = serde_json::to_vec(&manifest).map_err(foreign)?;
        if sha256(&compact) != signed.sha256 {
            // A field this version does not know may be why: tell that first.
            manifest.check_recipe(path)?;
            return Err(ManifestError::Checksum {
                path: path.to_owned(),
            });
        }
        manifest.check(path)?;
        Ok(manifest)
    }

    fn check_recipe(&self, path: &Path) -> Result<(), ManifestError> {
        let found = self.recipe.key().to_string();
        if found == self.recipe_key {
            return Ok(());
        }
        Err(ManifestError::ForeignRecipe {
            path: path.to_owned(),
            written: self.recipe_key.clone(),
            found,
        })
    }

    /// Proves that the parts agree with each other.
    fn check(&self, path: &Path) -> Result<(), ManifestError> {
        self.check_recipe(path)?;
        let unsound = |what: String| {
            Err(ManifestError::Unsound {
                path: path.to_owned(),
                what,
            })
        };
        if !self.books.is_sorted_by(|a, b| a < b) {
            return unsound("its books are not in ascending order".into());
        }
        match self.kind {
            Kind::Book if self.books.len() != 1 => {
                return unsound(format!("a book's artifact of {} books", self.books.len()));
            }
            Kind::Library if self.books.is_empty() => {
                return unsound("a library of no books".into());
            }
            _ => {}
        }
        if !self.files.is_sorted_by(|a, b| a.path < b.path) {
            return unsound("its files are not in ascending order".into());
        }
        for file in &self.files {
            if !stays_inside(&file.path) {
                return unsound(format!("'{}' is no path inside the artifact", file.path));
            }
            if from_hex::<32>(&file.sha256).is_none() {
                return unsound(format!("'{}' is no SHA-256", file.sha256));
            }
        }
        if let Some((start, end)) = self.counts.body
            && (start >= end || end > self.counts.text_bytes)
        {
            return unsound(format!("a body from {start} to {end}"));
        }
        let speeds = self
            .build
            .seconds
            .values()
            .chain(&self.build.tokens_per_second);
        let confidence = self.source.as_ref().map(|source| &source.confidence);
        if !speeds.chain(confidence).all(|number| number.is_finite()) {
            return unsound("a number in it is not finite".into());
        }
        Ok(())
    }

    /// Writes the manifest to `path` so that either all of it is there or
    /// nothing: first to `beside`, on the same file system, then renamed.
    pub(crate) fn write(&self, path: &Path, beside: &Path) -> Result<(), ManifestError> {
        self.check(path)?;
        let compact = serde_json::to_vec(self).expect("a manifest is plain data");
        let signed = Signed {
            schema: SCHEMA,
            sha256: sha256(&compact),
            manifest: self,
        };
        let mut json = serde_json::to_vec_pretty(&signed).expect("a manifest is plain data");
        json.push(b'\n');
        fs::File::create(beside)
            .and_then(|mut file| {
                file.write_all(&json)?;
                file.sync_all()
            })
            .map_err(IoError::of("write", beside))?;
        fs::rename(beside, path).map_err(IoError::of("write", path))?;
        Ok(())
    }
}

/// Whether a path names something below the folder it is joined to, in one
/// way only.
fn stays_inside(path: &str) -> bool {
    let parts = Path::new(path).components();
    let normal: Option<Vec<&str>> = parts
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    normal.is_some_and(|parts| !parts.is_empty() && parts.join("/") == path)
        && !path.contains('\\')
        && path != MANIFEST_FILE
}

#[cfg(test)]
mod tests;
