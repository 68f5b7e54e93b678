//! The recipe that settings and models make.

use quire_corpus::CUT_VERSION;
use quire_index::{CutRecipe, EmbedderRecipe, GraphRecipe, Recipe, VectorRecipe};
use quire_model::{EmbedderInfo, Pooling};

/// The version of the artifact's file formats. Higher when old artifacts can
/// no longer be read.
const FORMAT: u32 = 1;

/// Special tokens a model adds around a passage.
const SPECIAL_TOKENS: usize = 2;

/// Above this many passages the exact scan gives way to a graph: see
/// docs/notes-vectors.md.
const GRAPH: GraphRecipe = GraphRecipe {
    above: 50_000,
    connections: 16,
    ef_construction: 200,
};

/// How books are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutSettings {
    /// Tokens in a passage at most.
    pub max_tokens: usize,
    /// Whether front and back matter is cut as well.
    pub keep_boilerplate: bool,
}

impl Default for CutSettings {
    fn default() -> Self {
        Self {
            max_tokens: 256,
            keep_boilerplate: false,
        }
    }
}

/// Settings that no recipe can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// A passage of that length would be truncated by the embedder.
    #[error(
        "passages of {max_tokens} tokens do not fit the embedder {embedder}, which reads \
         {most} of a passage; ask for {most} or fewer"
    )]
    PassageTooLong {
        /// What was asked for.
        max_tokens: usize,
        /// The model.
        embedder: String,
        /// What it reads, less prefix and special tokens.
        most: usize,
    },
    /// Passages must hold something.
    #[error("passages of {0} tokens hold no sentence; ask for 16 or more")]
    PassageTooShort(usize),
}

/// Tokens of a passage that fit the embedder beside its special tokens and a
/// prefix of `prefix_tokens`.
pub(crate) fn room_for_passage(embedder: &EmbedderInfo, prefix_tokens: usize) -> usize {
    embedder
        .max_tokens
        .saturating_sub(SPECIAL_TOKENS + prefix_tokens)
}

/// The recipe of an artifact made with these settings and this embedder, whose
/// tokenizer file has the SHA-256 `tokenizer`.
///
/// # Errors
/// When passages of the length asked for would be truncated, or could hold
/// nothing.
pub fn recipe(
    cut: &CutSettings,
    embedder: &EmbedderInfo,
    tokenizer: &str,
) -> Result<Recipe, RecipeError> {
    // A prefix such as "passage: " is two or three tokens; a word may be as
    // many tokens as it has characters, so this bound always holds.
    let most = room_for_passage(embedder, embedder.passage_prefix.chars().count());
    if cut.max_tokens > most {
        return Err(RecipeError::PassageTooLong {
            max_tokens: cut.max_tokens,
            embedder: embedder.name.clone(),
            most,
        });
    }
    if cut.max_tokens < 16 {
        return Err(RecipeError::PassageTooShort(cut.max_tokens));
    }
    Ok(Recipe {
        format: FORMAT,
        cut: CutRecipe {
            version: CUT_VERSION,
            max_tokens: cut.max_tokens,
            keep_boilerplate: cut.keep_boilerplate,
            tokenizer: tokenizer.to_owned(),
        },
        analyzer: quire_bm25::recipe(),
        embedder: EmbedderRecipe {
            name: embedder.name.clone(),
            revision: embedder.revision.clone(),
            digest: embedder.digest.clone(),
            precision: embedder.precision.clone(),
            pooling: match embedder.pooling {
                Pooling::Cls => "cls".to_owned(),
                Pooling::Mean => "mean".to_owned(),
            },
            passage_prefix: embedder.passage_prefix.clone(),
            max_tokens: embedder.max_tokens,
            dims: embedder.dims,
        },
        vectors: VectorRecipe {
            encoding: "f32".to_owned(),
            graph: GRAPH,
        },
    })
}

/// The recipe for passages that are given instead of cut: no cutting rules.
pub fn given_passages(recipe: Recipe) -> Recipe {
    Recipe {
        cut: CutRecipe {
            version: 0,
            max_tokens: 0,
            ..recipe.cut
        },
        ..recipe
    }
}
