//! Asking every question that was not yet asked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use quire_corpus::BookId;
use quire_engine::{EngineError, Models, search};
use quire_index::Store;

use super::RunError;
use super::answer::{Answering, Asking, Patience};
use super::log::RunLog;
use super::plan::Plan;
use super::record::{Found, Key};
use super::views::Views;
use crate::support::{BookPassages, Supporting};

/// Hears how far a run is.
pub trait Progress: Sync {
    /// So many questions are still to be asked, of so many in all.
    fn begin(&self, left: usize, all: usize);
    /// One more is done.
    fn done(&self);
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Questions asked now.
    pub asked: usize,
    /// Questions an earlier process had asked.
    pub before: usize,
}

/// One question, over one scope, and in which ways it is still to be answered.
struct Item {
    key: Key,
    ways: Vec<(usize, u64)>,
}

/// Asks what the log does not have yet, and writes it there.
///
/// Everything in the log is as if one process had asked it: a search is a
/// function of the question and the run's identity, and a question that was
/// answered is not put to the model again.
///
/// # Errors
/// When a search fails, the log cannot be written, or the answer model fails
/// for good. What was done by then is in the log.
pub fn execute(
    plan: &Plan,
    store: &Store,
    models: &Models,
    answering: Option<&Answering>,
    log: &RunLog,
    progress: &dyn Progress,
) -> Result<Done, RunError> {
    let items = pending(plan, log);
    let all: usize = plan.scopes.iter().map(|scope| scope.questions.len()).sum();
    progress.begin(items.len(), all);
    let views = Views::new(plan, store);
    let support = supporting(plan, &views, &items)?;
    let mut left: BTreeMap<usize, usize> = BTreeMap::new();
    for item in &items {
        *left.entry(item.key.scope).or_default() += 1;
    }
    let work = Work {
        plan,
        models,
        answering,
        log,
        views,
        support,
        left,
        patience: Patience::default(),
        places: (0..)
            .zip(&plan.books)
            .map(|(place, book)| (book.id, place))
            .collect(),
    };

    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let at_once = answering.map_or_else(cores, |answering| answering.at_once.max(1));
    thread::scope(|threads| {
        for _ in 0..at_once.min(items.len()) {
            threads.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work.ask(item) {
                        // The others end after the question they are at.
                        next.store(items.len(), Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                        return;
                    }
                    progress.done();
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(Done {
            asked: items.len(),
            before: all - items.len(),
        }),
    }
}

/// Searches are computed here: more at once would wait for each other.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn pending(plan: &Plan, log: &RunLog) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, scope) in plan.scopes.iter().enumerate() {
        for &(set, question) in &scope.questions {
            let key = Key {
                scope: number,
                set,
                question,
            };
            let answered = log.answered(key);
            let arms = 0..plan.arms.len();
            let ways = arms.flat_map(|arm| scope.seeds.iter().map(move |&seed| (arm, seed)));
            // An answer that nobody can score is not asked for.
            let scored = !plan.sets[set].questions[question].gold.texts().is_empty();
            let ways = ways.filter(|way| scored && !answered.contains(way));
            let ways: Vec<_> = ways.collect();
            if !ways.is_empty() || !log.has_found(key) {
                items.push(Item { key, ways });
            }
        }
    }
    items
}

/// The supporting passages by cut, set and question.
type Support = BTreeMap<(usize, usize, usize), Supporting>;

/// What supports the answers, book after book: the texts of one book are held
/// at a time.
fn supporting(plan: &Plan, views: &Views<'_>, items: &[Item]) -> Result<Support, EngineError> {
    let mut asked: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for Item { key, .. } in items {
        let cut = plan.scopes[key.scope].cut;
        let book = plan.book_of(key.set, key.question);
        let questions = asked.entry((cut, book)).or_default();
        questions.push((key.set, key.question));
    }
    let mut support = Support::new();
    for ((cut, book), questions) in asked {
        let passages = BookPassages::of(&*views.book(cut, book)?)?;
        for (set, question) in questions {
            support.entry((cut, set, question)).or_insert_with(|| {
                let question = &plan.sets[set].questions[question];
                let text = &plan.sets[set].books[question.book].source.text;
                passages.supporting(question, text)
            });
        }
    }
    Ok(support)
}

struct Work<'a> {
    plan: &'a Plan,
    models: &'a Models,
    answering: Option<&'a Answering>,
    log: &'a RunLog,
    views: Views<'a>,
    support: Support,
    left: BTreeMap<usize, usize>,
    patience: Patience,
    places: BTreeMap<BookId, usize>,
}

impl Work<'_> {
    fn ask(&self, item: &Item) -> Result<(), RunError> {
        let key = item.key;
        let scope = &self.plan.scopes[key.scope];
        let question = &self.plan.sets[key.set].questions[key.question];
        let view = self.views.view(key.scope, self.left[&key.scope])?;
        let found = search(&view, self.models, &question.text, &self.plan.budgets)?;
        let place = |book: BookId| self.places[&book];
        if !self.log.has_found(key) {
            let support = &self.support[&(scope.cut, key.set, key.question)];
            let own = self.plan.book_of(key.set, key.question);
            self.log
                .add_found(Found::new(key, &found, support, own, &place))?;
        }
        if let Some(answering) = self.answering {
            let asking = Asking {
                key,
                question,
                view: &view,
                models: self.models,
                budgets: &self.plan.budgets,
                place: &place,
            };
            for &(arm, seed) in &item.ways {
                let way = (arm, &self.plan.arms[arm]);
                let (answered, heard) =
                    asking.answer(answering, &self.patience, found.clone(), way, seed)?;
                self.log.add_answered(answered)?;
                heard?;
            }
        }
        self.views.done(key.scope);
        Ok(())
    }
}
