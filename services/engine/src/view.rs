//! Books opened for searching.

mod open_book;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quire_bm25::Bm25Index;
use quire_corpus::{BookId, ChunkId};
use quire_dense::DenseIndex;
use quire_index::{
    LibraryError, LibraryId, LibraryName, Passage, PassageIds, Ranking, Recipe, RecipeKey, Store,
    Subject, guarded,
};

use self::open_book::Views;
pub use self::open_book::{OpenBook, title_of};
use crate::build::tool;
use crate::recipe::room_for_passage;
use crate::trace::Fingerprint;
use crate::{Budgets, EngineError, Models, StageName, library};

type Failure = Box<dyn Error + Send + Sync>;

/// What a query searches: one book or several.
pub struct View {
    name: String,
    recipe: RecipeKey,
    folders: Vec<PathBuf>,
    lexical: Bm25Index,
    dense: Dense,
    books: BTreeMap<BookId, Arc<OpenBook>>,
}

/// Where the vectors are.
enum Dense {
    /// With each book.
    OfBooks,
    /// In the artifact of a library.
    OfLibrary(DenseIndex),
}

impl View {
    /// Opens the books' artifacts under a recipe, to be searched as one.
    ///
    /// # Errors
    /// When no book is named, one is not indexed under the recipe, or a file
    /// is missing or damaged.
    pub fn open(store: &Store, books: &[BookId], recipe: &Recipe) -> Result<Self, EngineError> {
        let books = books
            .iter()
            .map(|&book| OpenBook::open(store, book, recipe));
        Self::of_books(books.collect::<Result<_, _>>()?)
    }

    /// Opened books searched as one. BM25's statistics are those of all their
    /// passages, and vectors are compared wherever they lie, so every score is
    /// that of a library's artifact over the same books; nothing is built for
    /// it. A book that is given twice counts once.
    ///
    /// # Errors
    /// When no book is given, or they were made by different recipes.
    pub fn of_books(books: Vec<Arc<OpenBook>>) -> Result<Self, EngineError> {
        let books = by_id(books);
        let name = match books.values().next() {
            None => return Err(EngineError::NoBooks),
            Some(only) if books.len() == 1 => only.dir.key().subject.to_string(),
            Some(_) => format!("books/{}", LibraryId::of_books(&ids(&books))),
        };
        let indexes: Vec<&Bm25Index> = books.values().map(|book| &book.views.lexical).collect();
        let lexical = Bm25Index::together(passage_ids(&books), &indexes)
            .map_err(|error| EngineError::stage(StageName::Lexical, error))?;
        Self::new(name, lexical, Dense::OfBooks, books)
    }

    /// The books' library artifact, put together from theirs without
    /// embedding if it is not there yet. Scores are those of
    /// [`open`](Self::open), found faster in a large library: by one index,
    /// and above the recipe's number of passages by a graph, which may miss a
    /// passage.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and when the store refuses.
    pub fn open_library(
        store: &Store,
        books: &[BookId],
        recipe: &Recipe,
    ) -> Result<Self, EngineError> {
        let books = books
            .iter()
            .map(|&book| OpenBook::open(store, book, recipe));
        Self::library_of(store, books.collect::<Result<_, _>>()?, recipe)
    }

    /// [`open_library`](Self::open_library) over books that are open.
    ///
    /// # Errors
    /// When no book is given, and those of `open_library`.
    pub fn library_of(
        store: &Store,
        books: Vec<Arc<OpenBook>>,
        recipe: &Recipe,
    ) -> Result<Self, EngineError> {
        let books = by_id(books);
        if books.is_empty() {
            return Err(EngineError::NoBooks);
        }
        let dirs = books.values().map(|book| (book.id, book.dir.clone()));
        let library = library::open_or_build(store, &dirs.collect(), recipe)?;
        library.check()?;
        let views = Views::open(&library, PassageIds::clone(&passage_ids(&books)))?;
        let name = library.key().subject.to_string();
        let mut view = Self::new(name, views.lexical, Dense::OfLibrary(views.dense), books)?;
        view.folders.push(library.path().to_owned());
        Ok(view)
    }

    /// The library of that name.
    ///
    /// # Errors
    /// When there is none, and those of [`open_library`](Self::open_library).
    pub fn open_named(
        store: &Store,
        name: &LibraryName,
        recipe: &Recipe,
    ) -> Result<Self, EngineError> {
        loop {
            let library = store.library(name)?;
            let Some(library) = library else {
                return Err(LibraryError::Unknown(name.clone()).into());
            };
            match Self::open_library(store, &library.books, recipe) {
                // An artifact goes when its library changes, perhaps while it
                // is being opened.
                Err(_) if store.library(name)?.as_ref() != Some(&library) => {}
                opened => return opened,
            }
        }
    }

    /// The books as a recorded query searched them: by their library's
    /// artifact if it had that, or else together.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_recorded(
        store: &Store,
        books: &[BookId],
        recipe: &Recipe,
        recorded: &Fingerprint,
    ) -> Result<Self, EngineError> {
        let library = Subject::from(LibraryId::of_books(books)).to_string();
        if recorded.artifact == library {
            Self::open_library(store, books, recipe)
        } else {
            Self::open(store, books, recipe)
        }
    }

    fn new(
        name: String,
        lexical: Bm25Index,
        dense: Dense,
        books: BTreeMap<BookId, Arc<OpenBook>>,
    ) -> Result<Self, EngineError> {
        let recipe = books
            .values()
            .next()
            .ok_or(EngineError::NoBooks)?
            .dir
            .key()
            .recipe;
        let folders = books.values().map(|book| book.dir.path().to_owned());
        Ok(Self {
            name,
            recipe,
            folders: folders.collect(),
            lexical,
            dense,
            books,
        })
    }

    /// The books, ascending, with their titles.
    pub fn books(&self) -> impl Iterator<Item = (BookId, &str)> {
        let books = self.books.iter();
        books.map(|(&id, book)| (id, book.title.as_str()))
    }

    /// The title of a book of the view.
    pub fn title(&self, book: BookId) -> Option<&str> {
        self.books.get(&book).map(|book| book.title.as_str())
    }

    /// A passage with its text.
    ///
    /// # Errors
    /// When it is not in the view, or its file changed since it was opened.
    pub fn passage(&self, chunk: ChunkId) -> Result<Passage, EngineError> {
        let book = self.books.get(&chunk.book);
        book.ok_or(EngineError::NoPassage(chunk))?
            .passage(chunk.ordinal)
    }

    pub(crate) fn tokens(&self, chunk: ChunkId) -> u32 {
        let book = self.books.get(&chunk.book);
        book.and_then(|book| book.artifact.table().get(chunk.ordinal))
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
        let Budgets {
            dense, dense_ef, ..
        } = *budgets;
        self.guard(|| -> Result<Ranking, Failure> {
            let Dense::OfLibrary(library) = &self.dense else {
                let mut hits = Vec::new();
                for book in self.books.values() {
                    let found = book.views.dense.search(question, dense, dense_ef)?;
                    hits.extend_from_slice(found.hits());
                }
                let mut best = Ranking::by_score(hits)?;
                best.truncate(dense);
                return Ok(best);
            };
            Ok(library.search(question, dense, dense_ef)?)
        })
    }

    pub(crate) fn dense_scores(
        &self,
        question: &[f32],
        chunks: &[ChunkId],
    ) -> Result<Vec<f64>, Failure> {
        self.guard(|| -> Result<Vec<f64>, Failure> {
            let mut scores = Vec::with_capacity(chunks.len());
            for &chunk in chunks {
                let book = self.books.get(&chunk.book);
                let dense = match &self.dense {
                    Dense::OfLibrary(library) => library,
                    Dense::OfBooks => &book.ok_or(EngineError::NoPassage(chunk))?.views.dense,
                };
                scores.extend(dense.scores(question, &[chunk])?);
            }
            Ok(scores)
        })
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

    /// All that a search's result depends on besides the question.
    pub fn fingerprint(&self, models: &Models, budgets: &Budgets) -> Fingerprint {
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
            fusion: models.weights.fusion,
            blend: models.weights.blend,
            budgets: budgets.clone(),
            device: models.device.clone(),
        }
    }
}

fn by_id(books: Vec<Arc<OpenBook>>) -> BTreeMap<BookId, Arc<OpenBook>> {
    books.into_iter().map(|book| (book.id, book)).collect()
}

fn ids(books: &BTreeMap<BookId, Arc<OpenBook>>) -> Vec<BookId> {
    books.keys().copied().collect()
}

fn passage_ids(books: &BTreeMap<BookId, Arc<OpenBook>>) -> Arc<PassageIds> {
    let counts = books.iter();
    let counts = counts.map(|(&id, book)| (id, book.artifact.table().len() as u32));
    Arc::new(PassageIds::of_books(counts))
}
