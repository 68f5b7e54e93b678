//! What both views share: rankings and their fusion, the recipe that keys an
//! artifact, its manifest, and the store that holds artifacts on disk.

mod fuse;
mod passage_ids;
mod ranking;
mod recipe;

pub use fuse::{RRF_K, fuse};
pub use passage_ids::PassageIds;
pub use ranking::{Hit, Ranking, RankingError};
pub use recipe::{
    AnalyzerRecipe, CutRecipe, EmbedderRecipe, GraphRecipe, Recipe, RecipeKey, VectorRecipe,
};
