//! A model's files on this machine, and what identifies them.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::catalogue::{CatalogueError, FileSet, FileSpec, ModelSpec, Precision, Source};
use crate::digest::{DigestCache, DigestError, hex};

/// Where a model's files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The ONNX graph. Its external data lies beside it.
    pub graph: PathBuf,
    /// The external data, in the catalogue's order.
    pub data: Vec<PathBuf>,
    /// The `tokenizer.json`.
    pub tokenizer: PathBuf,
}

/// What identifies the files that are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// SHA-256 over the digests of graph, data and tokenizer, in that order.
    pub model: String,
    /// SHA-256 of the tokenizer's file.
    pub tokenizer: String,
}

/// Why a model's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The catalogue has no such files.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A file is not there.
    #[error("the model {model} lacks its file {file}; get it with: {remedy}")]
    Missing {
        /// The model.
        model: String,
        /// The file, as the catalogue names it.
        file: String,
        /// A command.
        remedy: String,
    },
    /// A file's content is not the one the catalogue pins.
    #[error(
        "the file {} of the model {model} has the SHA-256 {found}, not {expected}; \
         delete it and get it again with: {remedy}",
        path.display()
    )]
    Digest {
        /// The model.
        model: String,
        /// The file.
        path: PathBuf,
        /// What its content hashes to.
        found: String,
        /// What the catalogue says.
        expected: String,
        /// A command.
        remedy: String,
    },
    /// A file cannot be read.
    #[error("cannot identify the model {model}")]
    Read {
        /// The model.
        model: String,
        /// Which file, and why.
        #[source]
        source: DigestError,
    },
}

impl ModelFiles {
    /// Finds a model's files. `find` says where a source's file lies on this
    /// machine, if it does: a folder for built models, the hub's cache for
    /// the others.
    ///
    /// # Errors
    /// When a file is missing; the error names the command that gets it.
    pub fn locate(
        model: &ModelSpec,
        precision: Precision,
        find: &mut dyn FnMut(&Source, &FileSpec) -> Option<PathBuf>,
    ) -> Result<Self, FilesError> {
        let set = model.files(precision)?;
        let mut locate = |file: &FileSpec| {
            find(&set.source, file)
                .filter(|path| path.is_file())
                .ok_or_else(|| FilesError::Missing {
                    model: model.name.clone(),
                    file: file.path.clone(),
                    remedy: remedy(model, &set.source),
                })
        };
        Ok(Self {
            graph: locate(&set.graph)?,
            data: set.data.iter().map(&mut locate).collect::<Result<_, _>>()?,
            tokenizer: locate(&set.tokenizer)?,
        })
    }

    /// Reads what identifies the files, and checks it against the catalogue
    /// where that pins a digest.
    ///
    /// # Errors
    /// When a file cannot be read or is not the pinned one.
    pub fn identify(
        &self,
        model: &ModelSpec,
        precision: Precision,
        digests: &DigestCache,
    ) -> Result<Identity, FilesError> {
        let set = model.files(precision)?;
        let mut all = Sha256::new();
        let mut tokenizer = String::new();
        for (path, file) in self.paths().zip(set.all()) {
            let found = digests.sha256(path).map_err(|source| FilesError::Read {
                model: model.name.clone(),
                source,
            })?;
            check(model, set, path, file, &found)?;
            all.update(found.as_bytes());
            // The tokenizer comes last.
            tokenizer = found;
        }
        Ok(Identity {
            model: hex(&all.finalize()),
            tokenizer,
        })
    }

    /// Graph, data, tokenizer: the order of [`FileSet::all`].
    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.graph)
            .chain(&self.data)
            .chain(std::iter::once(&self.tokenizer))
            .map(PathBuf::as_path)
    }
}

/// For [`ModelFiles::locate`]: where `scripts/setup.sh` puts the file of a
/// built model below `home`; `None` for a file of the hub.
pub fn built_file(home: &Path, source: &Source, file: &FileSpec) -> Option<PathBuf> {
    match source {
        Source::Built { built, .. } => Some(home.join("models").join(built).join(&file.path)),
        Source::Hub { .. } => None,
    }
}

fn check(
    model: &ModelSpec,
    set: &FileSet,
    path: &Path,
    file: &FileSpec,
    found: &str,
) -> Result<(), FilesError> {
    match &file.sha256 {
        Some(expected) if expected != found => Err(FilesError::Digest {
            model: model.name.clone(),
            path: path.to_owned(),
            found: found.to_owned(),
            expected: expected.clone(),
            remedy: remedy(model, &set.source),
        }),
        _ => Ok(()),
    }
}

/// The command that gets the files.
fn remedy(model: &ModelSpec, source: &Source) -> String {
    match source {
        Source::Built { .. } => "scripts/setup.sh".to_owned(),
        Source::Hub { .. } => format!("quire models pull {}", model.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    /// A home with the small model's files, each holding its own name.
    fn home() -> (tempfile::TempDir, ModelSpec) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("models/small");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["model_int8.onnx", "tokenizer.json"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        let mut model = Catalogue::embedded()
            .unwrap()
            .model("multilingual-e5-small")
            .unwrap()
            .clone();
        for file in model.files.values_mut() {
            file.graph.sha256 = None;
            file.tokenizer.sha256 = None;
        }
        (home, model)
    }

    #[test]
    fn a_missing_file_is_named_with_the_command_that_gets_it() {
        let (home, model) = home();
        let mut find = |source: &Source, file: &FileSpec| built_file(home.path(), source, file);
        let error = ModelFiles::locate(&model, Precision::Fp32, &mut find).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model multilingual-e5-small lacks its file model_fp32.onnx; \
             get it with: scripts/setup.sh"
        );
        let bge = Catalogue::embedded().unwrap();
        let bge = bge.model("bge-m3").unwrap();
        let error = ModelFiles::locate(bge, Precision::Fp32, &mut find).unwrap_err();
        assert!(
            error.to_string().ends_with("quire models pull bge-m3"),
            "{error}"
        );
    }

    #[test]
    fn a_models_identity_is_that_of_every_file() {
        let (home, model) = home();
        let mut find = |source: &Source, file: &FileSpec| built_file(home.path(), source, file);
        let files = ModelFiles::locate(&model, Precision::Int8, &mut find).unwrap();
        let digests = DigestCache::none();
        let identity = files.identify(&model, Precision::Int8, &digests).unwrap();
        assert_eq!(identity.tokenizer, hex(&Sha256::digest("tokenizer.json")));
        std::fs::write(&files.graph, "another graph").unwrap();
        let other = files.identify(&model, Precision::Int8, &digests).unwrap();
        assert_ne!(identity.model, other.model);
        assert_eq!(identity.tokenizer, other.tokenizer);
    }

    #[test]
    fn a_file_that_is_not_the_pinned_one_is_refused() {
        let (home, mut model) = home();
        let set = model.files.get_mut(&Precision::Int8).unwrap();
        set.graph.sha256 = Some(hex(&Sha256::digest("model_int8.onnx")));
        let mut find = |source: &Source, file: &FileSpec| built_file(home.path(), source, file);
        let files = ModelFiles::locate(&model, Precision::Int8, &mut find).unwrap();
        let digests = DigestCache::none();
        files.identify(&model, Precision::Int8, &digests).unwrap();
        std::fs::write(&files.graph, "damaged").unwrap();
        let error = files
            .identify(&model, Precision::Int8, &digests)
            .unwrap_err()
            .to_string();
        assert!(error.contains("model_int8.onnx"), "{error}");
        assert!(error.ends_with("scripts/setup.sh"), "{error}");
    }
}
