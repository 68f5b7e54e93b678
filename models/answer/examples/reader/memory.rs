//! An embedder that remembers, so that a change of the reader is measured in
//! seconds.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use quire_model::{Call, Embedder, EmbedderInfo, Embedding, ModelError, Role};

type Vectors = HashMap<String, Vec<f32>>;

/// Remembers the vectors of texts, and keeps them in a file.
pub(crate) struct Remembering {
    embedder: Arc<dyn Embedder>,
    file: PathBuf,
    known: Mutex<Vectors>,
}

impl Remembering {
    /// What the file holds is known already. Nobody else may know it under
    /// another model's name: the file is one model's.
    pub(crate) fn open(
        embedder: Arc<dyn Embedder>,
        file: PathBuf,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let known = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vectors::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            embedder,
            file,
            known: Mutex::new(known),
        })
    }

    /// Writes the file.
    pub(crate) fn keep(&self) -> Result<(), Box<dyn std::error::Error>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fs::write(&self.file, serde_json::to_vec(&*known)?)?)
    }
}

impl Embedder for Remembering {
    fn info(&self) -> &EmbedderInfo {
        self.embedder.info()
    }

    fn embed(&self, texts: &[&str], role: Role, call: &Call) -> Result<Vec<Embedding>, ModelError> {
        let key = |text: &str| format!("{role:?} {text}");
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |text: &&str| !known.contains_key(&key(text));
        let new: Vec<&str> = texts.iter().copied().filter(is_new).collect();
        if !new.is_empty() {
            let found = self.embedder.embed(&new, role, call)?;
            for (text, embedding) in new.iter().zip(found) {
                known.insert(key(text), embedding.vector);
            }
        }
        let remembered = |text: &&str| Embedding {
            vector: known[&key(text)].clone(),
            tokens: 0,
            truncated: false,
        };
        Ok(texts.iter().map(remembered).collect())
    }
}
