//! A fake hub with one model on it, and a fresh cache.

use std::path::PathBuf;

use quire_hub::fake::{FakeHub, Storage};
use quire_hub::{HubConfig, HubError, Snapshot, WantedFile, pull};

pub const REPO: &str = "org/model";
pub const LARGE: &str = "onnx/model.onnx_data";
pub const SMALL: &str = "config.json";
pub const SMALL_CONTENT: &[u8] = b"{\"dims\": 384}\n";

pub struct Scene {
    pub hub: FakeHub,
    pub config: HubConfig,
    pub large: Vec<u8>,
    pub commit: String,
    folder: tempfile::TempDir,
}

impl Scene {
    /// A hub whose large file has this many bytes.
    pub fn new(large_bytes: usize) -> Self {
        let hub = FakeHub::new();
        let folder = tempfile::tempdir().unwrap();
        // No two places look alike, so a piece out of place is seen.
        let large: Vec<u8> = (0..large_bytes as u32)
            .map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let files = [
            (LARGE, Storage::Large, large.as_slice()),
            (SMALL, Storage::Git, SMALL_CONTENT),
        ];
        let commit = hub.commit(REPO, &files);
        Self {
            config: hub.config(&folder.path().join("hub")),
            hub,
            large,
            commit,
            folder,
        }
    }

    pub fn pull(&self, files: &[&str]) -> Result<Snapshot, HubError> {
        let files: Vec<_> = files.iter().map(|file| WantedFile::new(*file)).collect();
        pull(REPO, "main", &files, &self.config, &mut |_| {})
    }

    /// A path in the model's folder of the cache.
    pub fn at(&self, path: &str) -> PathBuf {
        self.config.cache.join("models--org--model").join(path)
    }

    pub fn large_blob(&self) -> PathBuf {
        self.at("blobs").join(quire_hub::fake::sha256(&self.large))
    }

    pub fn large_part(&self) -> PathBuf {
        self.large_blob().with_extension("incomplete")
    }

    /// An empty folder beside the cache.
    pub fn side_folder(&self) -> PathBuf {
        let side = self.folder.path().join("side");
        std::fs::create_dir_all(&side).unwrap();
        side
    }
}

/// Headers as a fault takes them.
pub fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// The message and all its causes, as a user would see them.
pub fn told(error: &HubError) -> String {
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        told.push_str(&format!(": {error}"));
        cause = error.source();
    }
    told
}
