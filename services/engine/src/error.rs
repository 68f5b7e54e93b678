//! What can go wrong between a question or a book and its result.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use quire_corpus::{BookId, ChunkId};
use quire_index::{LibraryName, RecipeKey};
use quire_model::{ModelError, Stop};

use crate::BudgetError;

/// A stage of a query or of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageName {
    /// BM25.
    Lexical,
    /// Embedding the question.
    Embed,
    /// The dense view.
    Dense,
    /// Reranking.
    Rerank,
    /// Putting the evidence together.
    Assemble,
    /// Cutting a book into passages.
    Cut,
    /// Building the BM25 index.
    BuildLexical,
    /// Embedding the passages.
    EmbedPassages,
    /// Writing vectors and graph.
    BuildDense,
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lexical => "lexical",
            Self::Embed => "embed",
            Self::Dense => "dense",
            Self::Rerank => "rerank",
            Self::Assemble => "evidence",
            Self::Cut => "cut",
            Self::BuildLexical => "lexical indexing",
            Self::EmbedPassages => "passage embedding",
            Self::BuildDense => "dense indexing",
        })
    }
}

/// Why a book was not built or a question not answered.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nothing was asked.
    #[error("the question is empty: type what you want to know")]
    EmptyQuestion,
    /// A budget is out of range.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A stage failed, and with it the query or the build.
    #[error("the {stage} stage failed")]
    Stage {
        /// Which one.
        stage: StageName,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A stage was not run, or not to its end: nobody waits for it any more,
    /// or too much is waiting already. Nothing is wrong with it.
    #[error("the {stage} stage was not run: {stop}")]
    Stopped {
        /// Which one.
        stage: StageName,
        /// Why.
        stop: Stop,
    },
    /// The book has no artifact under this recipe.
    #[error("book {book} is not indexed under recipe {recipe}; run `quire index` on its file")]
    NotIndexed {
        /// The book.
        book: BookId,
        /// The recipe that was asked for.
        recipe: RecipeKey,
    },
    /// The book to take out of a library is not in it.
    #[error("book {} is not in library '{name}'; `quire library show {name}` lists its books", book.short())]
    NotInLibrary {
        /// The library.
        name: LibraryName,
        /// The book.
        book: BookId,
    },
    /// A library by its name cannot be found or changed.
    #[error(transparent)]
    Library(#[from] quire_index::LibraryError),
    /// No book at all was named or is indexed.
    #[error("there is no book to search; run `quire index PATH` first")]
    NoBooks,
    /// An artifact's view cannot be opened.
    #[error("cannot open the index in {}; run `quire verify`", path.display())]
    Open {
        /// The artifact's folder.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A passage that is not in the view.
    #[error("there is no passage {0}")]
    NoPassage(ChunkId),
    /// All of the text is left out of the passages.
    #[error("book {0} has no text to cut into passages")]
    NothingToIndex(BookId),
    /// Models could not be loaded.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] quire_index::StoreError),
    /// An artifact is damaged.
    #[error(transparent)]
    Artifact(#[from] quire_index::ArtifactError),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] quire_index::IoError),
}

impl EngineError {
    pub(crate) fn stage(stage: StageName, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        let stop = source.downcast_ref::<ModelError>();
        match stop.and_then(ModelError::stop) {
            Some(stop) => Self::Stopped { stage, stop },
            None => Self::Stage { stage, source },
        }
    }
}
