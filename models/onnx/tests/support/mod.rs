//! What every test of real models needs: the library, the small model, and
//! models of the same graph with random weights.

#![allow(dead_code)] // Each test binary uses its own part of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use quire_onnx::{
    Catalogue, Device, DigestCache, LoadError, ModelFiles, ModelSpec, OnnxModel, Precision,
    Runtime, SessionOptions, built_file,
};
use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where `scripts/setup.sh` puts the library and the models.
pub fn home() -> PathBuf {
    let home =
        std::env::var_os("QUIRE_HOME").map_or_else(|| workspace().join(".quire"), PathBuf::from);
    assert!(
        home.join("runtime").is_dir() && home.join("models/small").is_dir(),
        "run scripts/setup.sh first: there is no runtime and no small model in {}",
        home.display()
    );
    home
}

pub fn library() -> PathBuf {
    let runtime = home().join("runtime");
    ["libonnxruntime.so", "libonnxruntime.dylib"]
        .map(|name| runtime.join(name))
        .into_iter()
        .find(|path| path.is_file())
        .expect("run scripts/setup.sh first: there is no library in the runtime folder")
}

pub fn runtime() -> Runtime {
    Runtime::load(&library()).unwrap()
}

/// One worker with one thread on the processor.
pub fn plain() -> SessionOptions {
    SessionOptions {
        workers: 1,
        threads: 1,
        ..SessionOptions::new(Device::Cpu)
    }
}

pub fn small(precision: Precision, options: &SessionOptions) -> Arc<OnnxModel> {
    built("multilingual-e5-small", precision, options)
}

/// A model that `scripts/setup.sh` builds.
pub fn built(name: &str, precision: Precision, options: &SessionOptions) -> Arc<OnnxModel> {
    let catalogue = Catalogue::embedded().unwrap();
    let spec = catalogue.model(name).unwrap();
    let files = ModelFiles::locate(spec, precision, &mut |source, file| {
        built_file(&home(), source, file)
    })
    .unwrap();
    OnnxModel::load(
        &runtime(),
        spec,
        precision,
        &files,
        &DigestCache::none(),
        options,
    )
    .unwrap()
}

/// A model with random weights, in a folder of its own.
pub struct RandomModel {
    pub folder: tempfile::TempDir,
    kind: &'static str,
    pub spec: ModelSpec,
}

pub struct Sizes {
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub max_tokens: usize,
}

pub const TINY: Sizes = Sizes {
    layers: 2,
    hidden: 64,
    heads: 4,
    max_tokens: 512,
};

impl RandomModel {
    /// With BGE-M3's graph and pooling.
    pub fn embedder(sizes: &Sizes) -> Self {
        let role = format!(
            "embedder = {{ dims = {}, pooling = \"cls\", question_prefix = \"\", passage_prefix = \"\" }}",
            sizes.hidden
        );
        Self::make("embedder", sizes, &role)
    }

    /// With the graph of BGE's rerankers.
    pub fn cross_encoder(sizes: &Sizes) -> Self {
        Self::make("cross-encoder", sizes, "cross_encoder = {}")
    }

    fn make(kind: &'static str, sizes: &Sizes, role: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_model(folder.path(), kind, sizes, &[]);
        let spec = Self::spec(sizes, role);
        Self { folder, kind, spec }
    }

    fn spec(sizes: &Sizes, role: &str) -> ModelSpec {
        let mut text = String::new();
        write!(
            text,
            r#"
            [profiles]
            [models.random]
            summary = "random weights"
            licence = "MIT"
            max_tokens = {max_tokens}
            layers = {layers}
            heads = {heads}
            pad_id = 1
            output = ["token_embeddings", "last_hidden_state", "logits"]
            {role}
            [models.random.files.fp32]
            source = {{ built = "random", revision = "seed 0" }}
            graph = {{ path = "model.onnx" }}
            data = [{{ path = "model.onnx_data" }}]
            tokenizer = {{ path = "tokenizer.json" }}
            "#,
            max_tokens = sizes.max_tokens,
            layers = sizes.layers,
            heads = sizes.heads,
        )
        .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Catalogue::read(file.path())
            .unwrap()
            .model("random")
            .unwrap()
            .clone()
    }

    pub fn files(&self) -> ModelFiles {
        ModelFiles::locate(&self.spec, Precision::Fp32, &mut |_, file| {
            Some(self.folder.path().join(&file.path))
        })
        .unwrap()
    }

    pub fn try_load(&self, options: &SessionOptions) -> Result<Arc<OnnxModel>, LoadError> {
        OnnxModel::load(
            &runtime(),
            &self.spec,
            Precision::Fp32,
            &self.files(),
            &DigestCache::none(),
            options,
        )
    }

    pub fn load(&self, options: &SessionOptions) -> Arc<OnnxModel> {
        self.try_load(options).unwrap()
    }

    /// The tokenizer, used without anything of this crate.
    pub fn plain_tokenizer(&self) -> tokenizers::Tokenizer {
        tokenizers::Tokenizer::from_file(self.folder.path().join("tokenizer.json")).unwrap()
    }

    /// The model's output for each text by the independent forward pass in
    /// numpy: one row of numbers a text.
    pub fn oracle(&self, output: &str, texts: &[Vec<u32>]) -> Vec<Value> {
        let ids = serde_json::to_string(texts).unwrap();
        let folder = self.folder.path().to_str().unwrap();
        let printed = script(
            "numpy_xlmr.py",
            &[folder, self.kind, "--tokens", "--ids", &ids],
        );
        let outputs: Value = serde_json::from_str(&printed).unwrap();
        outputs[output].as_array().unwrap().clone()
    }
}

/// Writes a model with random weights into a folder.
pub fn write_model(folder: &Path, kind: &str, sizes: &Sizes, more: &[&str]) {
    let numbers = [
        ("--layers", sizes.layers),
        ("--hidden", sizes.hidden),
        ("--heads", sizes.heads),
        ("--ffn", 2 * sizes.hidden),
        ("--positions", sizes.max_tokens + 2),
    ]
    .map(|(flag, number)| (flag, number.to_string()));
    let mut arguments = vec![kind, "--out", folder.to_str().unwrap()];
    for (flag, number) in &numbers {
        arguments.extend([*flag, number.as_str()]);
    }
    arguments.extend(more);
    script("random_xlmr.py", &arguments);
}

/// A row of numbers.
pub fn numbers(row: &Value) -> Vec<f64> {
    row.as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap())
        .collect()
}

/// Runs one of the model scripts in the environment that setup made.
fn script(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(home().join("venv/bin/python"))
        .arg(workspace().join("scripts/models").join(name))
        .args(arguments)
        .output()
        .expect("run scripts/setup.sh first: its Python environment does not run");
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
