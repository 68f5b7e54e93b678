//! The models the settings ask for: found and identified at once, loaded when
//! first needed.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use quire_engine::{CutSettings, ModelSource, Models, recipe};
use quire_hub::{HubConfig, find_cached};
use quire_index::Recipe;
use quire_model::{
    Call, EmbedderInfo, ModelError, RerankMethod, RerankScore, Reranker, RerankerInfo, Weights,
};
use quire_onnx::{
    Catalogue, CrossEncoder, Device, DigestCache, Ensemble, FileSpec, LateInteraction, LateWeight,
    LoadError, ModelFiles, ModelSpec, ModelStats, OnnxEmbedder, OnnxModel, Precision, Runtime,
    SessionOptions, Source, built_file, cpu_features, embedder_info, reranker_info,
};

use crate::home::Home;
use crate::settings::ModelSettings;

/// One model of the profile.
#[derive(Clone)]
struct Chosen {
    spec: ModelSpec,
    precision: Precision,
    files: ModelFiles,
    options: SessionOptions,
    digests: DigestCache,
}

impl Chosen {
    fn load(&self, runtime: &Runtime) -> Result<Arc<OnnxModel>, LoadError> {
        let Self {
            spec,
            precision,
            files,
            options,
            digests,
        } = self;
        OnnxModel::load(runtime, spec, *precision, files, digests, options)
    }
}

/// A reranker of its own, loaded when it first scores: indexing needs none.
struct LoadedWhenUsed {
    info: RerankerInfo,
    load: Box<dyn Fn() -> Result<Arc<dyn Reranker>, LoadError> + Send + Sync>,
    loaded: Mutex<Option<Arc<dyn Reranker>>>,
}

impl LoadedWhenUsed {
    fn loaded(&self) -> Result<Arc<dyn Reranker>, ModelError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reranker) = &*loaded {
            return Ok(Arc::clone(reranker));
        }
        let reranker = (self.load)().map_err(|error| ModelError::new(&self.info.name, error))?;
        Ok(Arc::clone(loaded.insert(reranker)))
    }
}

impl Reranker for LoadedWhenUsed {
    fn info(&self) -> &RerankerInfo {
        &self.info
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        self.loaded()?.rerank(question, passages, call)
    }

    fn rerank_until(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
        budget: Instant,
    ) -> Result<Vec<RerankScore>, ModelError> {
        self.loaded()?
            .rerank_until(question, passages, call, budget)
    }
}

/// The profile's models.
pub struct Loader {
    embedder: Chosen,
    reranker: Chosen,
    method: RerankMethod,
    late: Option<LateWeight>,
    weights: Weights,
    info: EmbedderInfo,
    tokenizer: String,
    library: PathBuf,
    rerank_cache: usize,
    loaded: Mutex<Option<Models>>,
    /// The models that are loaded, for their figures.
    running: Running,
}

/// Models by their role, in the order they were loaded.
type Running = Arc<Mutex<Vec<(&'static str, Arc<OnnxModel>)>>>;

impl Loader {
    /// Finds the files of the profile and reads what identifies them.
    pub fn new(home: &Home, settings: &ModelSettings) -> Result<Self> {
        let catalogue = catalogue(settings.catalogue.as_ref())?;
        let profile = catalogue.profile(&settings.profile)?;
        let precision = settings
            .precision
            .as_deref()
            .map(Precision::from_str)
            .transpose()?;
        let digests = DigestCache::in_folder(home.root.join("cache").join("digests"));
        let device: Device = settings.device.parse()?;
        // Only models of the hub need its cache.
        let hub = HubConfig::from_env(|name| std::env::var(name).ok()).ok();
        let choose = |model: &str, default: Precision| -> Result<Chosen> {
            let spec = catalogue.model(model)?.clone();
            // The precision asked for is the embedder's; a reranker that does
            // not come in it keeps its own.
            let precision = precision
                .filter(|p| spec.files.contains_key(p))
                .unwrap_or(default);
            let files = ModelFiles::locate(&spec, precision, &mut |source, file| {
                locate(home, hub.as_ref(), source, file)
            })?;
            let options = session_options(device, settings.threads, &files);
            Ok(Chosen {
                spec,
                precision,
                files,
                options,
                digests: digests.clone(),
            })
        };
        let embedder_spec = catalogue.model(&profile.embedder.model)?;
        if let Some(precision) = precision {
            embedder_spec.files(precision)?;
        }
        let embedder = choose(&profile.embedder.model, profile.embedder.precision)?;
        let reranker = choose(&profile.reranker.model, profile.reranker.precision)?;
        let identity = embedder
            .files
            .identify(&embedder.spec, embedder.precision, &digests)?;
        let weights = profile.weights();
        Ok(Self {
            info: embedder_info(&embedder.spec, embedder.precision, &identity)?,
            tokenizer: identity.tokenizer,
            method: profile.reranker.method,
            late: profile.reranker.late,
            weights: Weights {
                fusion: settings.fusion.unwrap_or(weights.fusion),
                blend: settings.blend.unwrap_or(weights.blend),
            },
            library: home.runtime_library(),
            rerank_cache: settings.rerank_cache << 20,
            embedder,
            reranker,
            loaded: Mutex::new(None),
            running: Running::default(),
        })
    }

    /// What each model of the profile has done, by its role.
    pub fn stats(&self) -> Vec<(String, ModelStats)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let roles = ["embedder", "reranker"].into_iter();
        let roles = roles.filter(|role| *role == "embedder" || !self.same_model());
        roles
            .map(|role| {
                let model = running.iter().find(|(loaded, _)| *loaded == role);
                let stats = model.map(|(_, model)| model.stats());
                (role.to_owned(), stats.unwrap_or_default())
            })
            .collect()
    }

    /// The recipe these models and a way of cutting make.
    pub fn recipe(&self, cut: &CutSettings) -> Result<Recipe> {
        Ok(recipe(cut, &self.info, &self.tokenizer)?)
    }

    fn load(&self) -> Result<Models> {
        let runtime = Runtime::load(&self.library)?;
        let embedding = self.embedder.load(&runtime)?;
        note(&self.running, "embedder", &embedding);
        let reranker: Arc<dyn Reranker> = match self.late {
            _ if self.same_model() => Arc::new(self.late_interaction(Arc::clone(&embedding))?),
            None => Arc::new(self.reranker_when_used(runtime, self.method)?),
            Some(late) => Arc::new(Ensemble::new(
                Arc::new(self.reranker_when_used(runtime, RerankMethod::CrossEncoder)?),
                Arc::new(self.late_interaction(Arc::clone(&embedding))?),
                late,
            )),
        };
        let choice = embedding.device();
        tracing::info!(device = %choice.device, reason = choice.reason, "models loaded");
        Ok(Models {
            tokenizer: embedding.tokenizer(),
            device: format!("{} ({}), {}", choice.device, choice.reason, cpu_features()),
            embedder: Arc::new(OnnxEmbedder::new(embedding)?),
            reranker,
            weights: self.weights,
        })
    }

    /// Whether late interaction is to use the embedder that is loaded anyway.
    fn same_model(&self) -> bool {
        self.method == RerankMethod::LateInteraction
            && self.embedder.spec.name == self.reranker.spec.name
            && self.embedder.precision == self.reranker.precision
    }

    fn late_interaction(&self, model: Arc<OnnxModel>) -> Result<LateInteraction, LoadError> {
        Ok(LateInteraction::new(model)?.remembering(self.rerank_cache))
    }

    fn reranker_when_used(&self, runtime: Runtime, method: RerankMethod) -> Result<LoadedWhenUsed> {
        let Chosen {
            spec,
            precision,
            files,
            digests,
            ..
        } = &self.reranker;
        let identity = files.identify(spec, *precision, digests)?;
        let (chosen, bytes) = (self.reranker.clone(), self.rerank_cache);
        let running = Arc::clone(&self.running);
        let load = move || -> Result<Arc<dyn Reranker>, LoadError> {
            let model = chosen.load(&runtime)?;
            note(&running, "reranker", &model);
            Ok(match method {
                RerankMethod::LateInteraction => {
                    Arc::new(LateInteraction::new(model)?.remembering(bytes))
                }
                RerankMethod::CrossEncoder | RerankMethod::Ensemble => {
                    Arc::new(CrossEncoder::new(model)?)
                }
            })
        };
        Ok(LoadedWhenUsed {
            info: reranker_info(spec, *precision, &identity, method)?,
            load: Box::new(load),
            loaded: Mutex::new(None),
        })
    }
}

impl ModelSource for Loader {
    fn models(&self) -> Result<Models, ModelError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = &*loaded {
            return Ok(models.clone());
        }
        let models = self
            .load()
            .map_err(|error| ModelError::new(&self.embedder.spec.name, error))?;
        Ok(loaded.insert(models).clone())
    }
}

fn note(running: &Running, role: &'static str, model: &Arc<OnnxModel>) {
    let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
    running.push((role, Arc::clone(model)));
}

/// A session for each thread where the weights are small enough to be copied:
/// that is faster than one session of several threads, and its vectors are the
/// same. A large model has one session.
fn session_options(device: Device, threads: usize, files: &ModelFiles) -> SessionOptions {
    const SMALL: u64 = 512 << 20;
    let bytes: u64 = std::iter::once(&files.graph)
        .chain(&files.data)
        .filter_map(|path| path.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    let one = SessionOptions {
        threads,
        ..SessionOptions::new(device)
    };
    if bytes <= SMALL {
        one.one_thread_each()
    } else {
        one
    }
}

/// The catalogue in use: the one named, or the built-in one.
pub fn catalogue(path: Option<&PathBuf>) -> Result<Catalogue> {
    Ok(match path {
        Some(path) => Catalogue::read(path)?,
        None => Catalogue::embedded()?,
    })
}

/// Where a source's file lies on this machine, if it does.
pub fn locate(
    home: &Home,
    hub: Option<&HubConfig>,
    source: &Source,
    file: &FileSpec,
) -> Option<PathBuf> {
    match source {
        Source::Built { .. } => built_file(&home.root, source, file),
        Source::Hub {
            hub: repository,
            revision,
        } => find_cached(hub?, repository, revision, &file.path),
    }
}
