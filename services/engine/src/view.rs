//! An artifact opened for searching.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quire_bm25::Bm25Index;
use quire_corpus::{BookId, ChunkId};
use quire_dense::DenseIndex;
use quire_index::{
    ArtifactDir, BookArtifact, Passage, PassageIds, RRF_K, Ranking, Recipe, RecipeKey, Store,
    guarded,
};

use crate::build::{DENSE, LEXICAL, tool};
use crate::recipe::room_for_passage;
use crate::trace::Fingerprint;
use crate::{Blend, Budgets, EngineError, Models, library};

type Failure = Box<dyn Error + Send + Sync>;

/// One book or several, opened: both views, texts and passages. Every file was
/// checked against its manifest when it was opened.
pub struct View {
    name: String,
    recipe: RecipeKey,
    folders: Vec<PathBuf>,
    lexical: Bm25Index,
    dense: DenseIndex,
    books: BTreeMap<BookId, OpenBook>,
}

struct OpenBook {
    artifact: BookArtifact,
    title: String,
}

impl View {
    /// Opens the books' artifacts under a recipe. For several books, the
    /// artifact of their set is opened, and first built from theirs, without
    /// embedding, if it is not there.
    ///
    /// # Errors
    /// When no book is named, one is not indexed under the recipe, or a file
    /// is missing or damaged.
    pub fn open(store: &Store, books: &[BookId], recipe: &Recipe) -> Result<Self, EngineError> {
        let key = recipe.key();
        let mut opened = BTreeMap::new();
        for &book in books {
            let artifact = store
                .find(book, key)?
                .ok_or(EngineError::NotIndexed { book, recipe: key })?;
            opened.insert(book, artifact);
        }
        let searched = match opened.values().next() {
            None => return Err(EngineError::NoBooks),
            Some(only) if opened.len() == 1 => only.clone(),
            Some(_) => library::open_or_build(store, &opened, recipe)?,
        };
        Self::of_artifact(&searched, &opened)
    }

    fn of_artifact(
        searched: &ArtifactDir,
        books: &BTreeMap<BookId, ArtifactDir>,
    ) -> Result<Self, EngineError> {
        searched.check()?;
        let mut open = BTreeMap::new();
        let mut folders = vec![searched.path().to_owned()];
        for (&book, dir) in books {
            let artifact = BookArtifact::open(dir)?;
            if dir.path() != searched.path() {
                folders.push(dir.path().to_owned());
            }
            open.insert(
                book,
                OpenBook {
                    artifact,
                    title: title_of(dir),
                },
            );
        }
        let counts = open
            .iter()
            .map(|(&book, open)| (book, open.artifact.table().len() as u32));
        let ids = Arc::new(PassageIds::of_books(counts));
        let recipe = &searched.manifest().recipe;
        let open_failed = |source: Failure| EngineError::Open {
            path: searched.path().to_owned(),
            source,
        };
        let lexical = Bm25Index::open(
            &searched.path().join(LEXICAL),
            Arc::clone(&ids),
            &recipe.analyzer,
        )
        .map_err(|error| open_failed(error.into()))?;
        let dense = DenseIndex::open(&searched.path().join(DENSE), ids, &recipe.vectors.graph)
            .map_err(|error| open_failed(error.into()))?;
        Ok(Self {
            name: searched.key().subject.to_string(),
            recipe: searched.key().recipe,
            folders,
            lexical,
            dense,
            books: open,
        })
    }

    /// The books, ascending, with their titles.
    pub fn books(&self) -> impl Iterator<Item = (BookId, &str)> {
        self.books
            .iter()
            .map(|(&book, open)| (book, open.title.as_str()))
    }

    /// The title of a book of the view.
    pub fn title(&self, book: BookId) -> Option<&str> {
        self.books.get(&book).map(|open| open.title.as_str())
    }

    /// A passage with its text.
    ///
    /// # Errors
    /// When it is not in the view, or its file changed since it was opened.
    pub fn passage(&self, chunk: ChunkId) -> Result<Passage, EngineError> {
        let open = self
            .books
            .get(&chunk.book)
            .ok_or(EngineError::NoPassage(chunk))?;
        Ok(open.artifact.passage(chunk.ordinal)?)
    }

    /// Where the question's terms stand in a text, as byte ranges.
    pub fn highlight(&self, question: &str, text: &str) -> Vec<std::ops::Range<usize>> {
        quire_bm25::highlight(question, text)
    }

    pub(crate) fn tokens(&self, chunk: ChunkId) -> u32 {
        let open = self.books.get(&chunk.book);
        open.and_then(|open| open.artifact.table().get(chunk.ordinal))
            .map_or(0, |p| p.tokens)
    }

    /// Whether the embedder read only the passage's beginning: its tokens did
    /// not fit beside prefix and special tokens.
    pub(crate) fn embedding_truncated(&self, models: &Models, chunk: ChunkId) -> bool {
        let info = models.embedder.info();
        let prefix = models
            .tokenizer
            .token_ends(&info.passage_prefix)
            .map_or(0, |ends| ends.len());
        self.tokens(chunk) as usize > room_for_passage(info, prefix)
    }

    pub(crate) fn lexical(&self, question: &str, limit: usize) -> Result<Ranking, Failure> {
        self.guard(|| self.lexical.search(question, limit))
    }

    pub(crate) fn lexical_scores(
        &self,
        question: &str,
        chunks: &[ChunkId],
    ) -> Result<Vec<f64>, Failure> {
        self.guard(|| self.lexical.scores(question, chunks))
    }

    pub(crate) fn dense(&self, question: &[f32], budgets: &Budgets) -> Result<Ranking, Failure> {
        self.guard(|| self.dense.search(question, budgets.dense, budgets.dense_ef))
    }

    pub(crate) fn dense_scores(
        &self,
        question: &[f32],
        chunks: &[ChunkId],
    ) -> Result<Vec<f64>, Failure> {
        self.guard(|| self.dense.scores(question, chunks))
    }

    /// Runs a reader of mapped files. Its result counts only if the files are
    /// still what they were when they were opened.
    fn guard<T, E: Into<Failure>>(
        &self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, Failure> {
        let folders: Vec<&Path> = self.folders.iter().map(PathBuf::as_path).collect();
        guarded(&folders, read)?.map_err(Into::into)
    }

    pub(crate) fn fingerprint(&self, models: &Models, budgets: &Budgets) -> Fingerprint {
        let embedder = models.embedder.info();
        let reranker = models.reranker.info();
        Fingerprint {
            version: tool(),
            artifact: self.name.clone(),
            recipe: self.recipe.to_string(),
            embedder: format!(
                "{}@{} {} {}",
                embedder.name, embedder.revision, embedder.precision, embedder.digest
            ),
            reranker: format!(
                "{}@{} {} {}",
                reranker.name, reranker.revision, reranker.precision, reranker.digest
            ),
            method: reranker.method,
            blend: Blend::of(reranker.method),
            rrf_k: RRF_K,
            budgets: budgets.clone(),
            device: models.device.clone(),
        }
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
