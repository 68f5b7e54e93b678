//! The catalogue: what each model is, where its files come from, and which
//! models make a profile.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use quire_model::{Blend, Fusion, Pooling, RerankMethod, Weights};
use serde::{Deserialize, Serialize};

use crate::ensemble::LateWeight;

/// The catalogue that is built into quire.
const EMBEDDED: &str = include_str!("../../catalogue.toml");

/// Every model quire knows, and the profiles made of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// By name.
    pub profiles: BTreeMap<String, Profile>,
    /// By name.
    pub models: BTreeMap<String, ModelSpec>,
}

/// An embedder and the reranker that goes with it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// One line for people.
    pub summary: String,
    /// Embeds passages and questions.
    pub embedder: EmbedderChoice,
    /// Scores the fused candidates.
    pub reranker: RerankerChoice,
    /// How the retrievers' ranks are fused [default: the published formula].
    #[serde(default)]
    pub fusion: Fusion,
    /// How the reranker's scores are blended with theirs [default: by its
    /// method].
    pub blend: Option<Blend>,
    /// How many fused candidates are reranked unless asked for otherwise
    /// [default: 20].
    pub rerank: Option<usize>,
}

impl Profile {
    /// How its stages are weighed.
    pub fn weights(&self) -> Weights {
        let method = self.reranker.method;
        Weights {
            fusion: self.fusion,
            blend: self.blend.unwrap_or_else(|| Blend::of(method)),
        }
    }
}

/// Which model embeds, at which precision unless asked for another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedderChoice {
    /// A model of the catalogue.
    pub model: String,
    /// The default precision.
    pub precision: Precision,
}

/// Which model reranks, and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerankerChoice {
    /// A model of the catalogue.
    pub model: String,
    /// The default precision.
    pub precision: Precision,
    /// Late interaction needs an embedder, a cross-encoder and an ensemble need
    /// a cross-encoder.
    pub method: RerankMethod,
    /// What late interaction, by the profile's embedder, counts in an ensemble.
    pub late: Option<LateWeight>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The catalogue's name of it; its key in the file.
    #[serde(skip)]
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// The licence of the weights, as an SPDX expression.
    pub licence: String,
    /// Tokens the model reads at most, prefix and special tokens included.
    pub max_tokens: usize,
    /// Transformer layers.
    pub layers: usize,
    /// Attention heads in a layer.
    pub heads: usize,
    /// The token that fills a text up to its padded length.
    pub pad_id: u32,
    /// The graph's output: the first of these names that the graph has.
    /// Token vectors for an embedder, logits for a cross-encoder.
    pub output: Vec<String>,
    /// Set when the model embeds.
    pub embedder: Option<EmbedderSpec>,
    /// Set when the model scores pairs.
    pub cross_encoder: Option<CrossEncoderSpec>,
    /// The files of each precision there is.
    pub files: BTreeMap<Precision, FileSet>,
}

/// What an embedder does to its texts and its token vectors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedderSpec {
    /// Values in a vector.
    pub dims: usize,
    /// How token vectors become one; the result is scaled to unit length.
    pub pooling: Pooling,
    /// Put before a question.
    pub question_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
}

/// What a cross-encoder does: nothing beyond reading pairs, so far.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossEncoderSpec {}

/// How exactly a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats throughout: the reference.
    Fp32,
    /// Weights and the inputs of matrix products as 8-bit integers.
    Int8,
}

/// The files of a model at one precision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Where they come from.
    pub source: Source,
    /// The ONNX graph.
    pub graph: FileSpec,
    /// The weights beside it, if they are not inside it.
    #[serde(default)]
    pub data: Vec<FileSpec>,
    /// The `tokenizer.json`.
    pub tokenizer: FileSpec,
    /// Whether texts may share a batch.
    #[serde(default)]
    pub batch: BatchMates,
}

impl FileSet {
    /// Every file: graph, data, tokenizer.
    pub fn all(&self) -> impl Iterator<Item = &FileSpec> {
        std::iter::once(&self.graph)
            .chain(&self.data)
            .chain(std::iter::once(&self.tokenizer))
    }
}

/// Where files come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Source {
    /// A repository of the model hub.
    Hub {
        /// `owner/name`.
        hub: String,
        /// A branch, tag or commit.
        revision: String,
    },
    /// Made on this machine by `scripts/setup.sh`.
    Built {
        /// The folder below `QUIRE_HOME/models`.
        built: PathBuf,
        /// What it was made from.
        revision: String,
    },
}

impl Source {
    /// The revision of the files.
    pub fn revision(&self) -> &str {
        match self {
            Self::Hub { revision, .. } | Self::Built { revision, .. } => revision,
        }
    }
}

/// One file of a source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// Below the source's root.
    pub path: String,
    /// 64 hexadecimal digits, where known beforehand.
    pub sha256: Option<String>,
}

/// Whether texts may share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchMates {
    /// A text's result does not depend on its batch: texts of one padded
    /// length are run together.
    #[default]
    Any,
    /// It does: every text is run alone, without padding.
    Single,
}

/// What is wrong with a catalogue, or with what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The file cannot be read.
    #[error("cannot read the model catalogue {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The text is not a catalogue.
    #[error("the model catalogue {origin} is not valid")]
    Parse {
        /// A path, or `built into quire`.
        origin: String,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// An entry contradicts itself or names something that is not there.
    #[error("the model catalogue {origin} is not valid: {what}")]
    Entry {
        /// A path, or `built into quire`.
        origin: String,
        /// Which entry, and what about it.
        what: String,
    },
    /// No such profile.
    #[error("there is no profile '{name}'; there are: {known}")]
    Profile {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No such model.
    #[error("there is no model '{name}' in the catalogue; there are: {known}")]
    Model {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The model does not come in that precision.
    #[error("the model {model} has no files of precision {precision}; it has: {known}")]
    Precision {
        /// The model.
        model: String,
        /// The precision asked for.
        precision: Precision,
        /// The precisions there are.
        known: String,
    },
}

impl Catalogue {
    /// The catalogue that is built into quire.
    ///
    /// # Errors
    /// Never for a build that passed its tests.
    pub fn embedded() -> Result<Self, CatalogueError> {
        Self::parse(EMBEDDED, "built into quire")
    }

    /// A catalogue in a file of the same form.
    ///
    /// # Errors
    /// When the file cannot be read or is not a valid catalogue.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        let text = std::fs::read_to_string(path).map_err(|source| CatalogueError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, origin: &str) -> Result<Self, CatalogueError> {
        let mut catalogue: Self = toml::from_str(text).map_err(|source| CatalogueError::Parse {
            origin: origin.to_owned(),
            source: Box::new(source),
        })?;
        for (name, model) in &mut catalogue.models {
            name.clone_into(&mut model.name);
        }
        catalogue.check().map_err(|what| CatalogueError::Entry {
            origin: origin.to_owned(),
            what,
        })?;
        Ok(catalogue)
    }

    /// The profile of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn profile(&self, name: &str) -> Result<&Profile, CatalogueError> {
        self.profiles
            .get(name)
            .ok_or_else(|| CatalogueError::Profile {
                name: name.to_owned(),
                known: listed(self.profiles.keys()),
            })
    }

    /// The model of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn model(&self, name: &str) -> Result<&ModelSpec, CatalogueError> {
        self.models.get(name).ok_or_else(|| CatalogueError::Model {
            name: name.to_owned(),
            known: listed(self.models.keys()),
        })
    }

    fn check(&self) -> Result<(), String> {
        for (name, model) in &self.models {
            model
                .check()
                .map_err(|what| format!("model {name}: {what}"))?;
        }
        for (name, profile) in &self.profiles {
            self.check_profile(profile)
                .map_err(|what| format!("profile {name}: {what}"))?;
        }
        Ok(())
    }

    fn check_profile(&self, profile: &Profile) -> Result<(), String> {
        let find = |name: &str, precision: Precision| {
            let model = self.model(name).map_err(|error| error.to_string())?;
            model.files(precision).map_err(|error| error.to_string())?;
            Ok::<_, String>(model)
        };
        let embedder = find(&profile.embedder.model, profile.embedder.precision)?;
        if embedder.embedder.is_none() {
            return Err(format!("{} does not embed", embedder.name));
        }
        let reranker = find(&profile.reranker.model, profile.reranker.precision)?;
        let able = match profile.reranker.method {
            RerankMethod::LateInteraction => reranker.embedder.is_some(),
            RerankMethod::CrossEncoder | RerankMethod::Ensemble => reranker.cross_encoder.is_some(),
        };
        if !able {
            return Err(format!("{} cannot rerank by that method", reranker.name));
        }
        let of_ensemble = profile.reranker.method == RerankMethod::Ensemble;
        match profile.reranker.late {
            None if of_ensemble => {
                return Err("an ensemble needs `late`, the weight of late interaction".to_owned());
            }
            Some(_) if !of_ensemble => {
                return Err(
                    "`late` is the weight in an ensemble: no other method has one".to_owned(),
                );
            }
            Some(late) if !(late.weight.is_finite() && late.shift.is_finite()) => {
                return Err("the numbers of `late` must be finite".to_owned());
            }
            _ => {}
        }
        let Weights { fusion, blend } = profile.weights();
        fusion.check().map_err(|error| error.to_string())?;
        blend.check().map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl ModelSpec {
    /// The files of a precision.
    ///
    /// # Errors
    /// When the model does not come in it.
    pub fn files(&self, precision: Precision) -> Result<&FileSet, CatalogueError> {
        self.files
            .get(&precision)
            .ok_or_else(|| CatalogueError::Precision {
                model: self.name.clone(),
                precision,
                known: listed(self.files.keys()),
            })
    }

    fn check(&self) -> Result<(), String> {
        if self.embedder.is_some() == self.cross_encoder.is_some() {
            return Err("give either `embedder` or `cross_encoder`".to_owned());
        }
        if self.max_tokens < 8 {
            return Err("`max_tokens` must be at least 8".to_owned());
        }
        if self.output.is_empty() || self.files.is_empty() {
            return Err("`output` and `files` must not be empty".to_owned());
        }
        if self.embedder.as_ref().is_some_and(|spec| spec.dims == 0) {
            return Err("`dims` must not be 0".to_owned());
        }
        for file in self.files.values().flat_map(FileSet::all) {
            let path = Path::new(&file.path);
            if path
                .components()
                .any(|part| !matches!(part, std::path::Component::Normal(_)))
            {
                return Err(format!("'{}' leaves its source's folder", file.path));
            }
            let hex = |digest: &String| {
                digest.len() == 64
                    && digest
                        .bytes()
                        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            };
            if !file.sha256.as_ref().is_none_or(hex) {
                return Err(format!(
                    "the sha256 of '{}' is not 64 hex digits",
                    file.path
                ));
            }
        }
        Ok(())
    }
}

fn listed<T: ToString>(names: impl Iterator<Item = T>) -> String {
    names
        .map(|name| name.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fp32 => "fp32",
            Self::Int8 => "int8",
        })
    }
}

/// A precision nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a precision; there are: fp32, int8")]
pub struct ParsePrecisionError(String);

impl FromStr for Precision {
    type Err = ParsePrecisionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "fp32" => Ok(Self::Fp32),
            "int8" => Ok(Self::Int8),
            other => Err(ParsePrecisionError(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(from: &str, to: &str) -> String {
        assert!(EMBEDDED.contains(from), "{from}");
        let error = Catalogue::parse(&EMBEDDED.replacen(from, to, 1), "a test").unwrap_err();
        match error {
            CatalogueError::Parse { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn the_embedded_catalogue_has_its_profiles_and_their_models() {
        let catalogue = Catalogue::embedded().unwrap();
        let small = catalogue.profile("small").unwrap();
        let e5 = catalogue.model(&small.embedder.model).unwrap();
        assert_eq!(e5.name, "multilingual-e5-small");
        assert_eq!(e5.embedder.as_ref().unwrap().passage_prefix, "passage: ");
        let bge = catalogue.model("bge-m3").unwrap();
        assert_eq!(bge.embedder.as_ref().unwrap().pooling, Pooling::Cls);
        let int8 = bge.files(Precision::Int8).unwrap();
        assert_eq!(int8.batch, BatchMates::Single);
        let fp32 = bge.files(Precision::Fp32).unwrap();
        let paths: Vec<&str> = fp32.all().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "onnx/model.onnx",
                "onnx/model.onnx_data",
                "onnx/tokenizer.json"
            ]
        );
        assert_eq!(fp32.source.revision(), "main");
    }

    #[test]
    fn the_small_models_digests_are_those_that_setup_checks() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/models/small.sha256");
        let listed = std::fs::read_to_string(path).unwrap();
        let listed: BTreeMap<&str, &str> = listed
            .lines()
            .map(|line| line.split_once("  ").unwrap())
            .map(|(digest, name)| (name, digest))
            .collect();
        let catalogue = Catalogue::embedded().unwrap();
        let built = ["multilingual-e5-small", "quire-reranker-small"]
            .map(|name| catalogue.model(name).unwrap());
        for file in built
            .iter()
            .flat_map(|model| model.files.values())
            .flat_map(FileSet::all)
        {
            assert_eq!(
                file.sha256.as_deref(),
                listed.get(file.path.as_str()).copied(),
                "{}",
                file.path
            );
        }
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let catalogue = Catalogue::embedded().unwrap();
        let error = catalogue.profile("large").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no profile 'large'; there are: bge-m3, small, small-cross, small-ensemble, small-late"
        );
        let error = catalogue.model("bge").unwrap_err().to_string();
        assert!(error.contains("bge-reranker-base"), "{error}");
        let reranker = catalogue.model("bge-reranker-v2-m3").unwrap();
        let error = reranker.files(Precision::Int8).unwrap_err().to_string();
        assert!(error.ends_with("it has: fp32"), "{error}");
    }

    #[test]
    fn a_wrong_entry_is_refused_and_named() {
        let error = changed("cross_encoder = {}", "");
        assert!(error.contains("model quire-reranker-small"), "{error}");
        let error = changed("onnx/model.onnx\"", "../model.onnx\"");
        assert!(error.contains("leaves its source's folder"), "{error}");
        let error = changed(
            "{ path = \"model.onnx\" }",
            "{ path = \"model.onnx\", sha256 = \"AB\" }",
        );
        assert!(error.contains("64 hex digits"), "{error}");
        let error = changed(
            "method = \"late_interaction\"",
            "method = \"cross_encoder\"",
        );
        assert!(error.contains("profile small"), "{error}");
        let error = changed("method = \"ensemble\"", "method = \"cross_encoder\"");
        assert!(error.contains("no other method has one"), "{error}");
        let error = changed(", late = {", ", blend = {");
        assert!(error.contains("blend"), "{error}");
        let error = changed("licence", "license");
        assert!(error.contains("license"), "{error}");
    }

    #[test]
    fn a_catalogue_file_is_read_like_the_embedded_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.toml");
        assert!(matches!(
            Catalogue::read(&path),
            Err(CatalogueError::Read { .. })
        ));
        std::fs::write(&path, EMBEDDED).unwrap();
        assert_eq!(
            Catalogue::read(&path).unwrap(),
            Catalogue::embedded().unwrap()
        );
    }

    #[test]
    fn precisions_are_read_as_they_are_written() {
        for precision in [Precision::Fp32, Precision::Int8] {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        assert!("int4".parse::<Precision>().is_err());
    }
}
