//! What both views share: rankings and their fusion, the recipe that keys an
//! artifact, its manifest, and the store that holds artifacts on disk.

mod artifact;
mod book;
#[cfg(unix)]
mod bus;
#[cfg(not(unix))]
#[path = "bus_none.rs"]
mod bus;
mod digest;
mod fuse;
mod io_error;
mod key;
mod lock;
mod machine;
mod manifest;
mod mapped;
mod named;
mod passage_ids;
mod passages;
mod ranking;
mod recipe;
mod resume;
mod staging;
mod stamp;
mod store;
#[cfg(test)]
mod testing;
mod verify;

pub use artifact::{ArtifactDir, ArtifactError, Damage};
pub use book::{BookArtifact, Passage};
pub use fuse::{RRF_K, fuse};
pub use io_error::IoError;
pub use key::{ArtifactKey, Kind, LibraryId, ParseLibraryIdError, Subject};
pub use machine::{Machine, rfc3339};
pub use manifest::{
    Build, Counts, FileEntry, MANIFEST_FILE, Manifest, ManifestError, RerankerRecord, SCHEMA,
    SourceRecord,
};
pub use mapped::{FaultWatch, MapError, Mapped, MappingFault, guarded};
pub use named::{
    FoundLibrary, LibraryError, LibraryName, NamedLibrary, ParseLibraryNameError, Pointed,
};
pub use passage_ids::PassageIds;
pub use passages::{
    CHAPTERS_FILE, ChapterRecord, PASSAGES_FILE, PassageError, PassageRecord, PassageTable,
    TEXT_FILE,
};
pub use ranking::{Hit, Ranking, RankingError};
pub use recipe::{
    AnalyzerRecipe, CutRecipe, EmbedderRecipe, GraphRecipe, ParseRecipeKeyError, Recipe, RecipeKey,
    VectorRecipe,
};
pub use resume::{LoggedEmbedding, ResumeError, ResumeLog};
pub use staging::Staging;
pub use store::{Begin, Found, Store, StoreError};
pub use verify::{Finding, Severity};
