//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use quire_corpus::ChunkId;
use quire_index::RankingError;
use tantivy::TantivyError;

/// Why a lexical index was not built, opened, searched or found sound.
#[derive(Debug, thiserror::Error)]
pub enum Bm25Error {
    /// The folder to build into holds files.
    #[error("cannot build a lexical index in {}: the folder is not empty", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// More passages than a row number can hold.
    #[error(
        "cannot index {passages} passages: an artifact holds at most {}",
        u32::MAX
    )]
    TooMany {
        /// How many were given.
        passages: usize,
    },
    /// The folder cannot be written.
    #[error("cannot write the lexical index in {}", dir.display())]
    Write {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The segment cannot be built.
    #[error("cannot build the lexical index in {}", dir.display())]
    Build {
        /// The folder.
        dir: PathBuf,
        /// What tantivy said.
        #[source]
        source: Box<TantivyError>,
    },
    /// The files cannot be read, or not as an index.
    #[error("cannot open the lexical index in {}; if it is damaged, index the book again", dir.display())]
    Open {
        /// The folder.
        dir: PathBuf,
        /// What tantivy said.
        #[source]
        source: Box<TantivyError>,
    },
    /// The index was written by another program, or another version of this one.
    #[error("the lexical index in {} is not one this version reads: {detail}; index the book again", dir.display())]
    Foreign {
        /// The folder.
        dir: PathBuf,
        /// In what it differs.
        detail: String,
    },
    /// The index holds another number of passages than the artifact.
    #[error("the lexical index in {} holds {found} passages, but the artifact has {expected}; index the book again", dir.display())]
    RowCount {
        /// The folder.
        dir: PathBuf,
        /// Passages in the index.
        found: u32,
        /// Passages in the artifact.
        expected: usize,
    },
    /// The bytes are not those that were written.
    #[error("the lexical index in {} is damaged: {detail}; index the book again", dir.display())]
    Damaged {
        /// The folder.
        dir: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The recipe names an analyzer that this version does not have.
    #[error(
        "the recipe's analyzer '{name}' is unknown: this version has '{}'",
        crate::analyzer::NAME
    )]
    UnknownAnalyzer {
        /// The name.
        name: String,
    },
    /// A parameter of the formula is out of range.
    #[error(
        "the recipe's k1 = {k1} and b = {b} make no BM25: k1 must be finite and at least 0, b from 0 to 1"
    )]
    Parameters {
        /// Term frequency saturation.
        k1: f64,
        /// Length normalization.
        b: f64,
    },
    /// A score was asked for a passage that is not in the artifact.
    #[error("passage {0} is not in this index")]
    UnknownPassage(ChunkId),
    /// Indexes that cannot be searched as one.
    #[error("these indexes do not make up the passages, or differ in their recipe")]
    NotTogether,
    /// Scores that make no ranking: a defect of this crate.
    #[error("the lexical scores make no ranking")]
    Ranking(#[from] RankingError),
}

impl Bm25Error {
    pub(crate) fn build(dir: &Path, source: TantivyError) -> Self {
        Self::Build {
            dir: dir.to_owned(),
            source: Box::new(source),
        }
    }
}
