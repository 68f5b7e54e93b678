//! One book, opened.

use std::path::Path;
use std::sync::Arc;

use quire_bm25::Bm25Index;
use quire_corpus::BookId;
use quire_dense::DenseIndex;
use quire_index::{
    ArtifactDir, BookArtifact, ChapterRecord, Manifest, Passage, PassageIds, Recipe, Store,
};

use super::Failure;
use crate::EngineError;
use crate::build::{DENSE, LEXICAL};

/// One book, opened: both views, text and passages. Every file was checked
/// against its manifest when it was opened. To be shared by any number of
/// [`View`](super::View)s.
pub struct OpenBook {
    pub(super) id: BookId,
    pub(super) title: String,
    pub(super) dir: ArtifactDir,
    pub(super) artifact: BookArtifact,
    pub(super) views: Views,
}

/// Both views of one artifact, over the same passages.
pub(super) struct Views {
    pub(super) lexical: Bm25Index,
    pub(super) dense: DenseIndex,
}

impl Views {
    pub(super) fn open(artifact: &ArtifactDir, passages: PassageIds) -> Result<Self, EngineError> {
        let failed = |source: Failure| EngineError::Open {
            path: artifact.path().to_owned(),
            source,
        };
        let passages = Arc::new(passages);
        let recipe = &artifact.manifest().recipe;
        let folder = |name| artifact.path().join(name);
        let lexical = Bm25Index::open(&folder(LEXICAL), passages.clone(), &recipe.analyzer);
        let dense = DenseIndex::open(&folder(DENSE), passages, &recipe.vectors.graph);
        Ok(Self {
            lexical: lexical.map_err(|error| failed(error.into()))?,
            dense: dense.map_err(|error| failed(error.into()))?,
        })
    }
}

impl OpenBook {
    /// Opens a book's artifact under a recipe.
    ///
    /// # Errors
    /// When the book is not indexed under the recipe, or a file is missing or
    /// damaged.
    pub fn open(store: &Store, book: BookId, recipe: &Recipe) -> Result<Arc<Self>, EngineError> {
        let recipe = recipe.key();
        let dir = store
            .find(book, recipe)?
            .ok_or(EngineError::NotIndexed { book, recipe })?;
        dir.check()?;
        let artifact = BookArtifact::open(&dir)?;
        let passages = PassageIds::of_books([(book, artifact.table().len() as u32)]);
        Ok(Arc::new(Self {
            id: book,
            title: title_of(&dir),
            views: Views::open(&dir, passages)?,
            artifact,
            dir,
        }))
    }

    /// The book.
    pub fn id(&self) -> BookId {
        self.id
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How many passages it has.
    pub fn passages(&self) -> usize {
        self.artifact.table().len()
    }

    /// Its chapters, in order.
    pub fn chapters(&self) -> &[ChapterRecord] {
        self.artifact.chapters()
    }

    /// A passage with its text.
    ///
    /// # Errors
    /// When the book has no such passage, or its file changed since it was
    /// opened.
    pub fn passage(&self, ordinal: u32) -> Result<Passage, EngineError> {
        Ok(self.artifact.passage(ordinal)?)
    }

    /// How it was made.
    pub fn manifest(&self) -> &Manifest {
        self.dir.manifest()
    }
}

/// The title of a book, or else the name of its file.
pub fn title_of(artifact: &ArtifactDir) -> String {
    let source = artifact.manifest().source.as_ref();
    let title = source.and_then(|source| source.title.clone());
    let file = || {
        let path = Path::new(source?.path.as_deref()?);
        Some(path.file_stem()?.to_string_lossy().into_owned())
    };
    title
        .or_else(file)
        .unwrap_or_else(|| artifact.key().subject.to_string())
}
