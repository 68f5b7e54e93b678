//! Models from the hub: a local server speaks its protocol and serves a tiny
//! model of BGE-M3's graph with random weights, which then indexes and answers.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::path::Path;
use std::process::Command;

use quire_hub::fake::{Access, Act, FakeHub, Point, Storage};
use quire_tests::{Quire, Ran, root, sample};

const CATALOGUE: &str = r#"
[profiles.small]
summary = "a tiny model with random weights"
embedder = { model = "tiny", precision = "fp32" }
reranker = { model = "tiny-reranker", precision = "fp32", method = "cross_encoder" }

[models.tiny]
summary = "BGE-M3's graph, tiny, random weights"
licence = "MIT"
max_tokens = 1024
layers = 2
heads = 4
pad_id = 1
output = ["token_embeddings"]
embedder = { dims = 64, pooling = "cls", question_prefix = "", passage_prefix = "" }

[models.tiny.files.fp32]
source = { hub = "quire-tests/tiny", revision = "main" }
graph = { path = "onnx/model.onnx" }
data = [{ path = "onnx/model.onnx_data" }]
tokenizer = { path = "onnx/tokenizer.json" }

[models.tiny-reranker]
summary = "a cross-encoder of the same kind"
licence = "MIT"
max_tokens = 1024
layers = 2
heads = 4
pad_id = 1
output = ["logits"]
cross_encoder = {}

[models.tiny-reranker.files.fp32]
source = { hub = "quire-tests/tiny-reranker", revision = "main" }
graph = { path = "model.onnx" }
data = [{ path = "model.onnx_data" }]
tokenizer = { path = "tokenizer.json" }
"#;

struct Tiny {
    quire: Quire,
    hub: FakeHub,
}

impl Tiny {
    /// A hub that serves both models.
    fn new() -> Self {
        let quire = Quire::new();
        fs::write(quire.data().join("catalogue.toml"), CATALOGUE).unwrap();
        let hub = FakeHub::new();
        for (kind, repository, folder) in [
            ("embedder", "quire-tests/tiny", "onnx/"),
            ("cross-encoder", "quire-tests/tiny-reranker", ""),
        ] {
            let out = quire.data().join(kind);
            random_model(kind, &out);
            let files = ["model.onnx", "model.onnx_data", "tokenizer.json"];
            let contents = files.map(|file| fs::read(out.join(file)).unwrap());
            let names = files.map(|file| format!("{folder}{file}"));
            let entries: Vec<(&str, Storage, &[u8])> = names
                .iter()
                .zip(&contents)
                .map(|(name, bytes)| {
                    let large = name.ends_with("_data");
                    let storage = if large { Storage::Large } else { Storage::Git };
                    (name.as_str(), storage, bytes.as_slice())
                })
                .collect();
            hub.commit(repository, &entries);
        }
        Self { quire, hub }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.quire.command(args);
        command
            .env("QUIRE_CATALOGUE", self.quire.data().join("catalogue.toml"))
            .env("HF_HUB_CACHE", self.quire.data().join("hub"))
            .env("HF_ENDPOINT", self.hub.endpoint())
            .env("NO_PROXY", "127.0.0.1");
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }
}

fn random_model(kind: &str, out: &Path) {
    let status = Command::new(root().join(".quire/venv/bin/python"))
        .arg(root().join("scripts/models/random_xlmr.py"))
        .args([
            kind, "--layers", "2", "--hidden", "64", "--heads", "4", "--ffn", "128",
        ])
        .args(["--vocab", "600", "--positions", "1026", "--out"])
        .arg(out)
        .stdout(std::process::Stdio::null())
        .status()
        .expect("run scripts/setup.sh first");
    assert!(status.success());
}

#[test]
fn a_profile_is_pulled_indexed_with_and_searched_with_its_cross_encoder() {
    let tiny = Tiny::new();
    let book = sample().join("the-wet-ledger.txt");
    let book = book.to_str().unwrap();

    // Nothing is here yet: the error names the command, offline and not.
    let early = tiny.run(&["index", book]);
    assert_eq!(early.code, 1);
    assert!(
        early.stderr.contains("quire models pull"),
        "{}",
        early.stderr
    );
    let offline = Ran::of(
        tiny.command(&["models", "pull", "small"])
            .env("HF_HUB_OFFLINE", "1"),
    );
    assert_eq!(offline.code, 1);
    assert!(
        offline.stderr.contains("HF_HUB_OFFLINE"),
        "{}",
        offline.stderr
    );

    // The connection breaks in the middle of the weights; the pull goes on.
    tiny.hub.fault(Point::Content, 1, Act::CutAfter(1_000));
    let pulled = tiny.run(&["models", "pull", "small", "--json"]);
    assert_eq!(pulled.code, 0, "{}", pulled.stderr);
    assert_eq!(pulled.json()["files"].as_array().unwrap().len(), 6);
    let verified = tiny.run(&["models", "verify", "--json"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    let again = tiny.run(&["models", "pull", "small"]);
    assert!(again.stderr.contains("in the cache"), "{}", again.stderr);

    let indexed = tiny.run(&["index", book]);
    assert_eq!(indexed.code, 0, "{}", indexed.stderr);
    let found = tiny
        .run(&["search", "--rerank", "6", "--json", "Who keeps the ferry?"])
        .json();
    let stage = &found["trace"]["reranked"];
    assert_eq!(stage["method"], "cross_encoder");
    let scores: Vec<f64> = stage["scores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|score| score.as_f64().unwrap())
        .collect();
    assert_eq!(scores.len(), 6);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(
        scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );

    // A flipped byte in the cache is found, named, and mended by another pull.
    let weights = fs::canonicalize(
        fs::read_dir(
            tiny.quire
                .data()
                .join("hub/models--quire-tests--tiny/snapshots"),
        )
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("onnx/model.onnx_data"),
    )
    .unwrap();
    let mut bytes = fs::read(&weights).unwrap();
    bytes[5_000] ^= 1;
    fs::write(&weights, bytes).unwrap();
    let verified = tiny.run(&["models", "verify"]);
    assert_eq!(verified.code, 3, "{}", verified.stdout);
    assert!(verified.stdout.contains("damaged"), "{}", verified.stdout);
}

#[test]
fn a_gated_model_says_what_to_do_and_never_shows_the_token() {
    let tiny = Tiny::new();
    tiny.hub.set_access(
        "quire-tests/tiny",
        Access::Gated("hf_rightTokenOfTheTest".to_owned()),
    );
    let refused = Ran::of(
        tiny.command(&["models", "pull", "small"])
            .env("HF_TOKEN", "hf_wrongTokenOfTheTest"),
    );
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("accept its licence"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("wrongToken"), "{}", refused.stderr);
    let granted = Ran::of(
        tiny.command(&["models", "pull", "small"])
            .env("HF_TOKEN", "hf_rightTokenOfTheTest"),
    );
    assert_eq!(granted.code, 0, "{}", granted.stderr);
    assert!(!format!("{granted:?}").contains("rightToken"));
}
