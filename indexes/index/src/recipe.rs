//! All that decides an artifact's content besides the text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The second half of an artifact's key. Two artifacts of one book with equal
/// recipes hold the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The version of the artifact's file formats.
    pub format: u32,
    /// How the book is cut.
    pub cut: CutRecipe,
    /// How text becomes terms, and how terms score.
    pub analyzer: AnalyzerRecipe,
    /// Which model embeds.
    pub embedder: EmbedderRecipe,
    /// How vectors are kept and searched.
    pub vectors: VectorRecipe,
}

/// How the book is cut into passages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutRecipe {
    /// The version of the cutting rules.
    pub version: u32,
    /// Tokens in a passage at most, by the embedder's tokenizer, without
    /// prefix and special tokens.
    pub max_tokens: usize,
    /// Whether front and back matter (licence, colophon) is cut as well.
    pub keep_boilerplate: bool,
    /// SHA-256 of the tokenizer file that counts the tokens.
    pub tokenizer: String,
}

/// How text becomes terms, and how terms score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnalyzerRecipe {
    /// The analyzer and its version, such as `mixed/1`.
    pub name: String,
    /// BM25's term frequency saturation.
    pub k1: f64,
    /// BM25's length normalization.
    pub b: f64,
}

/// Which model embeds: see the model crate's `EmbedderInfo`, whose fields
/// these are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderRecipe {
    /// The catalogue's name of the model.
    pub name: String,
    /// The source's revision of its files.
    pub revision: String,
    /// SHA-256 over the digests of every file that is loaded.
    pub digest: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// `cls` or `mean`.
    pub pooling: String,
    /// Put before a passage.
    pub passage_prefix: String,
    /// Tokens read of a passage at most.
    pub max_tokens: usize,
    /// Values in a vector.
    pub dims: usize,
}

/// How vectors are kept and searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorRecipe {
    /// How a value is stored: `f32`.
    pub encoding: String,
    /// When and how a graph is built.
    pub graph: GraphRecipe,
}

/// When and how an HNSW graph is built (Malkov and Yashunin 2018).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphRecipe {
    /// Passages above which a graph is built; below, the scan is exact.
    pub above: usize,
    /// Connections a node, `M`.
    pub connections: usize,
    /// Candidates while building, `efConstruction`.
    pub ef_construction: usize,
}

impl Recipe {
    /// The hash of everything in the recipe.
    pub fn key(&self) -> RecipeKey {
        let json = serde_json::to_vec(self).expect("a recipe is plain data");
        let digest: [u8; 32] = Sha256::digest(&json).into();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        RecipeKey(key)
    }
}

/// The first 128 bits of the SHA-256 of a recipe's JSON. Written as 32
/// lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecipeKey([u8; 16]);

/// Not 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a recipe key: expected 32 hexadecimal digits")]
pub struct ParseRecipeKeyError(String);

impl FromStr for RecipeKey {
    type Err = ParseRecipeKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        crate::digest::from_hex(text)
            .map(Self)
            .ok_or_else(|| ParseRecipeKeyError(text.to_owned()))
    }
}

impl fmt::Display for RecipeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::digest::to_hex(&self.0))
    }
}

impl fmt::Debug for RecipeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecipeKey({self})")
    }
}
