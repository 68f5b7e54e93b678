//! Models on ONNX Runtime: the catalogue, sessions, tokenizers, batches and
//! pooling. The only crate that names `ort`.
//!
//! [`Runtime::load`] loads the library, [`Catalogue`] says what a model is,
//! [`ModelFiles::locate`] finds its files, [`OnnxModel::load`] opens it and
//! proves that it runs. On top of a loaded model stand [`OnnxEmbedder`],
//! [`LateInteraction`] and [`CrossEncoder`], and on both [`Ensemble`]. All calls of a model, from
//! whatever thread, share its queue and its runs.

mod batch;
mod caller;
mod catalogue;
mod cross_encoder;
mod device;
mod digest;
mod embedder;
mod ensemble;
mod feed;
mod files;
mod handoff;
mod lanes;
mod late_interaction;
mod max_sim;
mod model;
mod pool;
mod queue;
mod rerank;
mod run;
mod runtime;
mod session;
mod stats;
mod text;
mod token_cache;
mod worker;

pub use catalogue::{
    BatchMates, Catalogue, CatalogueError, CrossEncoderSpec, EmbedderChoice, EmbedderSpec, FileSet,
    FileSpec, ModelSpec, ParsePrecisionError, Precision, Profile, RerankerChoice, Source,
};
pub use cross_encoder::CrossEncoder;
pub use device::{Device, DeviceChoice, DeviceError, ParseDeviceError};
pub use digest::{DigestCache, DigestError};
pub use embedder::{OnnxEmbedder, embedder_info};
pub use ensemble::{Ensemble, LateWeight};
pub use files::{FilesError, Identity, ModelFiles, built_file};
pub use late_interaction::LateInteraction;
pub use model::{LoadError, OnnxModel};
pub use pool::NoDirection;
pub use rerank::reranker_info;
pub use run::RunError;
pub use runtime::{Runtime, RuntimeError, cpu_features};
pub use session::{SessionError, SessionOptions};
pub use stats::{BATCH_BOUNDS, Histogram, LaneStats, ModelStats, WAIT_BOUNDS};
pub use text::{TextTokenizer, TokenizerError};
