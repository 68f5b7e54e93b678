//! The books and libraries that are open. A thread of its own opens what is new on disk and
//! lets go of what is gone; a query keeps what it began with.

mod libraries;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quire_corpus::BookId;
use quire_engine::{EngineError, OpenBook, View};
use quire_index::{ArtifactKey, IoError, LibraryName, Recipe, Store, StoreError};

pub use self::libraries::{LibraryStanding, OpenLibrary};
use self::state::{Place, Stamp, State};

use crate::problem::{Code, Problem, chain};
use crate::telemetry::Metrics;
use crate::wire::{self, LeftOut};

/// Views kept, the least recently used go first.
const VIEWS: usize = 64;

/// The open books.
pub struct Shelf {
    shared: Arc<Shared>,
    poke: SyncSender<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    store: Store,
    recipe: Recipe,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    /// Held while a library is opened.
    opening_libraries: Mutex<()>,
}

/// Whether a book can be searched.
#[derive(Clone)]
pub enum Standing {
    /// It is open.
    Open(Arc<OpenBook>),
    /// It cannot be opened; why, is in the log.
    Damaged,
}

/// What a query searches.
pub struct Scope {
    books: Vec<Arc<OpenBook>>,
    /// The library that these are the books of, if it was that which was named.
    library: Option<(LibraryName, Arc<View>)>,
    /// Books that it would have searched, were they whole.
    pub left_out: Vec<LeftOut>,
}

impl Shelf {
    /// Opens the books of a recipe in the background, and looks again after
    /// each `interval`.
    ///
    /// # Errors
    /// When the operating system starts no thread.
    pub fn start(
        store: Store,
        recipe: Recipe,
        interval: Duration,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            store,
            recipe,
            metrics,
            state: Mutex::default(),
            opening_libraries: Mutex::default(),
        });
        // One pending poke stands for any number.
        let (poke, pokes) = mpsc::sync_channel(1);
        let looker = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("shelf".to_owned())
            .spawn(move || {
                while !lock(&looker.state).closed {
                    looker.look();
                    if pokes.recv_timeout(interval) == Err(RecvTimeoutError::Disconnected) {
                        break;
                    }
                }
            })?;
        Ok(Self {
            shared,
            poke,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Looks at the disk soon.
    pub fn poke(&self) {
        match self.poke.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    /// Opens a book that was just indexed, on this thread.
    pub fn shelve(&self, id: BookId) {
        let path = self.shared.artifact_path(id);
        if let Ok(metadata) = std::fs::metadata(path) {
            self.shared.renew(id, Stamp::of(&metadata));
            self.shared.count();
        }
    }

    /// Ends the thread. What queries hold stays open until they let go.
    pub fn close(&self) {
        lock(&self.shared.state).closed = true;
        self.poke();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Whether the disk was looked at to the end, and why the last look failed.
    ///
    /// # Errors
    /// With what is the matter, for people.
    pub fn ready(&self) -> Result<usize, String> {
        let state = lock(&self.shared.state);
        if !state.looked {
            return Err("the books are being opened".to_owned());
        }
        if state.failed.is_some() {
            return Err("the folder of the books cannot be listed".to_owned());
        }
        Ok(state.open().count())
    }

    /// Every book, ascending.
    pub fn books(&self) -> Vec<(BookId, Standing)> {
        let state = lock(&self.shared.state);
        let places = state.places.iter();
        places
            .map(|(&id, place)| (id, place.book.clone()))
            .collect()
    }

    /// The one book whose id is or begins with `given`.
    ///
    /// # Errors
    /// When `given` is no such beginning, or none or several begin so.
    pub fn find(&self, given: &str) -> Result<(BookId, Standing), Problem> {
        let state = lock(&self.shared.state);
        let id = state.resolve(given)?;
        let place = &state.places[&id];
        Ok((id, place.book.clone()))
    }

    /// The one open book whose id is or begins with `given`.
    ///
    /// # Errors
    /// Those of [`find`](Self::find), and when the book is damaged.
    pub fn open_book(&self, given: &str) -> Result<Arc<OpenBook>, Problem> {
        match self.find(given)? {
            (_, Standing::Open(book)) => Ok(book),
            (id, Standing::Damaged) => Err(damaged(id)),
        }
    }

    /// What is named, or all books that are open.
    ///
    /// # Errors
    /// When the library or a book is not there or damaged, or there is no book
    /// at all.
    pub fn scope(&self, named: Option<&wire::Scope>) -> Result<Scope, Problem> {
        let named = match named {
            Some(wire::Scope::Library(name)) => return self.scope_of_library(name),
            Some(wire::Scope::Books(books)) => Some(books),
            None => None,
        };
        let state = lock(&self.shared.state);
        let Some(named) = named else {
            if !state.looked {
                let detail = "The books are being opened.";
                return Err(Problem::new(Code::NotReady, detail));
            }
            let broken = state.places.iter();
            let broken = broken.filter(|(_, place)| matches!(place.book, Standing::Damaged));
            return Ok(Scope {
                books: state.open().cloned().collect(),
                library: None,
                left_out: broken
                    .map(|(&book, _)| LeftOut {
                        book,
                        reason: "its index is damaged".to_owned(),
                    })
                    .collect(),
            });
        };
        let mut books = BTreeMap::new();
        for given in named {
            let id = match state.resolve(given) {
                Err(problem) if problem.code() == Code::UnknownBook && !state.looked => {
                    let detail = "The books are being opened.";
                    return Err(Problem::new(Code::NotReady, detail));
                }
                resolved => resolved?,
            };
            match &state.places[&id].book {
                Standing::Open(book) => books.insert(id, Arc::clone(book)),
                Standing::Damaged => return Err(damaged(id)),
            };
        }
        Ok(Scope {
            books: books.into_values().collect(),
            library: None,
            left_out: Vec::new(),
        })
    }

    /// The view of a scope. Takes processor time where none is kept, so it is
    /// for a query's thread.
    ///
    /// # Errors
    /// When there is no book, or a file is damaged.
    pub fn view(&self, scope: &Scope) -> Result<Arc<View>, EngineError> {
        if let Some((_, view)) = &scope.library {
            return Ok(Arc::clone(view));
        }
        let ids: Vec<BookId> = scope.books.iter().map(|book| book.id()).collect();
        let mut state = lock(&self.shared.state);
        state.uses += 1;
        let now = state.uses;
        if state.holds(&scope.books)
            && let Some((view, used)) = state.views.get_mut(&ids)
        {
            *used = now;
            return Ok(Arc::clone(view));
        }
        drop(state);
        let view = Arc::new(View::of_books(scope.books.clone())?);
        let mut state = lock(&self.shared.state);
        // Not kept if a book was replaced meanwhile.
        if state.holds(&scope.books) {
            if state.views.len() >= VIEWS {
                let oldest = state.views.iter().min_by_key(|(_, (_, used))| *used);
                if let Some(oldest) = oldest.map(|(ids, _)| ids.clone()) {
                    state.views.remove(&oldest);
                }
            }
            state.views.insert(ids, (Arc::clone(&view), now));
        }
        Ok(view)
    }

    /// Opens the books of a scope again soon: a stage that reads their files
    /// failed. One that is damaged now is then known to be.
    pub fn suspect(&self, scope: &Scope) {
        let mut state = lock(&self.shared.state);
        for book in &scope.books {
            if let Some(place) = state.places.get_mut(&book.id()) {
                place.stamp = Stamp::UNKNOWN;
            }
        }
        if let Some((name, _)) = &scope.library
            && let Some(place) = state.libraries.get_mut(name)
        {
            place.stamp = Some(Stamp::UNKNOWN);
        }
        drop(state);
        self.poke();
    }

    /// Deletes a book: from the shelf first, then from the disk. For a thread
    /// that may wait.
    ///
    /// # Errors
    /// When a library has it; when it is being indexed or the disk refuses, and
    /// the book is then back on the shelf soon.
    pub fn delete(&self, id: BookId) -> Result<usize, StoreError> {
        // Here as well, so that a book that stays never leaves the shelf.
        self.shared.store.check_in_no_library(id)?;
        {
            let mut state = lock(&self.shared.state);
            state.withdrawn.insert(id);
            state.take(id);
        }
        let removed = self.shared.store.remove(id);
        lock(&self.shared.state).withdrawn.remove(&id);
        self.poke();
        Ok(removed?.len())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Makes the shelf what the disk is.
    fn look(&self) {
        let looked = self.look_at_books().and_then(|()| self.look_at_libraries());
        let mut state = lock(&self.state);
        match looked {
            Ok(()) => {
                state.looked = true;
                state.failed = None;
            }
            Err(error) => {
                let error = chain(&error);
                if state.failed.as_ref() != Some(&error) {
                    tracing::error!(error, "the books cannot be listed");
                }
                state.failed = Some(error);
                return;
            }
        }
        drop(state);
        self.count();
    }

    fn look_at_books(&self) -> Result<(), IoError> {
        let found = self.found()?;
        let gone: Vec<BookId> = {
            let state = lock(&self.state);
            let books = state.places.keys();
            books
                .filter(|id| !found.contains_key(id))
                .copied()
                .collect()
        };
        for id in gone {
            lock(&self.state).take(id);
            tracing::info!(book = %id, "book gone");
        }
        for (id, stamp) in found {
            self.renew(id, stamp);
        }
        Ok(())
    }

    /// Opens a book unless it is open as it is on disk.
    fn renew(&self, id: BookId, stamp: Stamp) {
        {
            let state = lock(&self.state);
            let place = state.places.get(&id);
            if state.closed
                || state.withdrawn.contains(&id)
                || place.is_some_and(|place| place.stamp == stamp)
            {
                return;
            }
        }
        let Some(book) = self.open(id) else { return };
        let mut state = lock(&self.state);
        if !state.withdrawn.contains(&id) {
            state.take(id);
            state.places.insert(id, Place { stamp, book });
        }
    }

    fn count(&self) {
        let state = lock(&self.state);
        let (open, all) = (state.open().count(), state.places.len());
        self.metrics.books(open, all - open);
    }

    /// What lies on disk under the recipe. No manifest is read.
    fn found(&self) -> Result<BTreeMap<BookId, Stamp>, IoError> {
        let mut found = BTreeMap::new();
        for id in self.store.books()? {
            let path = self.artifact_path(id);
            // Another recipe's, or removed since it was listed.
            let Ok(metadata) = std::fs::metadata(path) else {
                continue;
            };
            found.insert(id, Stamp::of(&metadata));
        }
        Ok(found)
    }

    fn artifact_path(&self, id: BookId) -> PathBuf {
        let key = ArtifactKey::new(id, self.recipe.key());
        self.store.path_of(key)
    }

    /// Opens a book; none if it is gone by now.
    fn open(&self, id: BookId) -> Option<Standing> {
        match OpenBook::open(&self.store, id, &self.recipe) {
            Ok(book) => {
                tracing::info!(book = %id, passages = book.passages(), "book open");
                Some(Standing::Open(book))
            }
            Err(EngineError::NotIndexed { .. }) => None,
            Err(error) => {
                // A deletion may have met the opening half-way.
                if !self.artifact_path(id).exists() {
                    return None;
                }
                tracing::error!(book = %id, error = chain(&error), "book cannot be opened");
                Some(Standing::Damaged)
            }
        }
    }
}

fn damaged(id: BookId) -> Problem {
    Problem::new(
        Code::DamagedBook,
        format!("The index of book {id} is damaged."),
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The state is whole between any two of its changes.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
