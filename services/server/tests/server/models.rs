//! Models made of arithmetic, whose every delay and failure a test chooses.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use quire_engine::Models;
use quire_model::{
    Call, Embedder, EmbedderInfo, Embedding, ModelError, Pooling, RerankMethod, RerankScore,
    Reranker, RerankerInfo, Role, Stop, Tokenizer, Weights,
};

const DIMS: usize = 64;

/// What a test may do to the models while they run.
#[derive(Default)]
pub struct Controls {
    /// Calls of the reranker by queries so far.
    pub reranked: AtomicUsize,
    /// Questions embedded so far.
    pub embedded: AtomicUsize,
    /// The reranker panics.
    pub panics: AtomicBool,
    /// The reranker says that its queue is full.
    pub full: AtomicBool,
    /// The embedder fails, with a path in its message.
    pub broken: AtomicBool,
    /// Each passage the reranker scores takes so many milliseconds.
    pub slow_ms: AtomicU64,
    gate: Mutex<Gate>,
    moved: Condvar,
}

#[derive(Default)]
struct Gate {
    shut: bool,
    inside: usize,
}

impl Controls {
    /// From now on the reranker waits.
    pub fn shut(&self) {
        self.gate.lock().unwrap().shut = true;
    }

    /// The reranker goes on.
    pub fn open(&self) {
        self.gate.lock().unwrap().shut = false;
        self.moved.notify_all();
    }

    /// Waits until so many queries wait in the reranker.
    pub fn wait_inside(&self, count: usize) {
        let gate = self.gate.lock().unwrap();
        let few = |gate: &mut Gate| gate.inside < count;
        let waited = self
            .moved
            .wait_timeout_while(gate, Duration::from_secs(20), few);
        let (gate, _) = waited.unwrap();
        assert!(gate.inside >= count, "{} of {count} arrived", gate.inside);
    }

    fn pass(&self) {
        let mut gate = self.gate.lock().unwrap();
        gate.inside += 1;
        self.moved.notify_all();
        gate = self.moved.wait_while(gate, |gate| gate.shut).unwrap();
        gate.inside -= 1;
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// A text's vector counts its words, hashed into [`DIMS`] places.
struct WordCounts(EmbedderInfo, Arc<Controls>);

impl Embedder for WordCounts {
    fn info(&self) -> &EmbedderInfo {
        &self.0
    }

    fn embed(&self, texts: &[&str], role: Role, call: &Call) -> Result<Vec<Embedding>, ModelError> {
        if let Some(stop) = call.stop() {
            return Err(ModelError::new("word-counts", stop));
        }
        if role == Role::Question {
            self.1.embedded.fetch_add(1, Ordering::SeqCst);
        }
        if self.1.broken.load(Ordering::SeqCst) {
            return Err(ModelError::new("word-counts", "/secret/model.onnx is gone"));
        }
        let embed = |text: &&str| {
            let mut vector = vec![0.01f32; DIMS];
            for word in words(text) {
                let hash = word
                    .bytes()
                    .fold(7usize, |h, b| h.wrapping_mul(31) + usize::from(b));
                vector[hash % DIMS] += 1.0;
            }
            let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|v| *v /= length);
            Embedding {
                vector,
                tokens: 3,
                truncated: false,
            }
        };
        Ok(texts.iter().map(embed).collect())
    }
}

/// One token a word.
struct Words;

impl Tokenizer for Words {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, ModelError> {
        let start = text.as_ptr() as usize;
        Ok(text
            .split_whitespace()
            .map(|word| word.as_ptr() as usize - start + word.len())
            .collect())
    }
}

/// The share of the question's words that a passage holds.
struct SharedWords(RerankerInfo, Arc<Controls>);

impl Reranker for SharedWords {
    fn info(&self) -> &RerankerInfo {
        &self.0
    }

    fn rerank(
        &self,
        question: &str,
        passages: &[&str],
        call: &Call,
    ) -> Result<Vec<RerankScore>, ModelError> {
        // The proof of readiness is no query.
        if question != passages[0] {
            self.1.reranked.fetch_add(1, Ordering::SeqCst);
            self.1.pass();
        }
        assert!(!self.1.panics.load(Ordering::SeqCst), "told to panic");
        if self.1.full.load(Ordering::SeqCst) {
            return Err(ModelError::new("shared-words", Stop::QueueFull));
        }
        let each = Duration::from_millis(self.1.slow_ms.load(Ordering::SeqCst));
        let asked: Vec<String> = words(question).collect();
        let mut scores = Vec::new();
        for passage in passages {
            std::thread::sleep(each);
            if let Some(stop) = call.stop() {
                return Err(ModelError::new("shared-words", stop));
            }
            let held: Vec<String> = words(passage).collect();
            let shared = asked.iter().filter(|word| held.contains(word)).count();
            scores.push(RerankScore {
                score: shared as f32 / asked.len().max(1) as f32,
                tokens: 5,
                truncated: false,
            });
        }
        Ok(scores)
    }
}

pub fn embedder_info() -> EmbedderInfo {
    EmbedderInfo {
        name: "word-counts".to_owned(),
        revision: "1".to_owned(),
        digest: "0".repeat(64),
        precision: "fp32".to_owned(),
        pooling: Pooling::Mean,
        question_prefix: String::new(),
        passage_prefix: String::new(),
        dims: DIMS,
        max_tokens: 64,
    }
}

pub fn models(controls: &Arc<Controls>) -> Models {
    let reranker = RerankerInfo {
        name: "shared-words".to_owned(),
        revision: "1".to_owned(),
        digest: "1".repeat(64),
        precision: "fp32".to_owned(),
        method: RerankMethod::CrossEncoder,
        max_tokens: 64,
    };
    Models {
        embedder: Arc::new(WordCounts(embedder_info(), Arc::clone(controls))),
        tokenizer: Arc::new(Words),
        reranker: Arc::new(SharedWords(reranker, Arc::clone(controls))),
        weights: Weights::of(RerankMethod::CrossEncoder),
        device: "none".to_owned(),
    }
}
