//! What is searched, opened when it is needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use quire_engine::{EngineError, OpenBook, View};
use quire_index::Store;

use super::plan::Plan;

/// The views of a run's scopes. A view is closed when its last question is
/// done; its books stay open, which costs their mappings.
pub(super) struct Views<'a> {
    plan: &'a Plan,
    store: &'a Store,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// By cut and the book's place.
    books: BTreeMap<(usize, usize), Arc<OpenBook>>,
    /// By scope, with the questions that are still to come.
    views: BTreeMap<usize, (Arc<View>, usize)>,
}

impl<'a> Views<'a> {
    pub(super) fn new(plan: &'a Plan, store: &'a Store) -> Self {
        Self {
            plan,
            store,
            open: Mutex::default(),
        }
    }

    /// A book under a cut.
    pub(super) fn book(&self, cut: usize, book: usize) -> Result<Arc<OpenBook>, EngineError> {
        self.book_in(&mut self.lock(), cut, book)
    }

    /// The view of a scope, of which `questions` are to be asked in all.
    pub(super) fn view(&self, scope: usize, questions: usize) -> Result<Arc<View>, EngineError> {
        let mut open = self.lock();
        if let Some((view, _)) = open.views.get(&scope) {
            return Ok(Arc::clone(view));
        }
        let wanted = &self.plan.scopes[scope];
        let books = wanted.books.iter();
        let books = books.map(|&book| self.book_in(&mut open, wanted.cut, book));
        let books = books.collect::<Result<Vec<_>, _>>()?;
        let view = Arc::new(View::of_books(books)?);
        open.views.insert(scope, (Arc::clone(&view), questions));
        Ok(view)
    }

    /// A question of a scope is done.
    pub(super) fn done(&self, scope: usize) {
        let mut open = self.lock();
        if let Some((_, left)) = open.views.get_mut(&scope) {
            *left -= 1;
            if *left == 0 {
                open.views.remove(&scope);
            }
        }
    }

    fn book_in(
        &self,
        open: &mut Open,
        cut: usize,
        book: usize,
    ) -> Result<Arc<OpenBook>, EngineError> {
        if let Some(open) = open.books.get(&(cut, book)) {
            return Ok(Arc::clone(open));
        }
        let (id, recipe) = (self.plan.books[book].id, &self.plan.cuts[cut].recipe);
        let opened = OpenBook::open(self.store, id, recipe)?;
        open.books.insert((cut, book), Arc::clone(&opened));
        Ok(opened)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        // Nothing panics while it holds this lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
