//! What a run of `quire eval` is: its plan, its indexes and what decides its
//! results.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use quire_answer::ModelKind;
use quire_engine::{
    Budgets, CutSettings, ModelRecord, Models, OpenBook, View, build, build_given, given_passages,
};
use quire_eval::run::{Answering, BookEntry, Cut, Identity, IndexEntry, Over, Plan, SetEntry};
use quire_eval::set::EvalSet;
use quire_index::Store;

use super::vary::Varied;
use crate::loader::Loader;
use crate::progress::BookProgress;

/// The plan of a run, without scopes.
pub fn plan(
    sets: Vec<EvalSet>,
    varied: &Varied,
    cut: &CutSettings,
    loader: &Loader,
    budgets: Budgets,
) -> Result<Plan> {
    let mut books: Vec<BookEntry> = Vec::new();
    let mut places = Vec::new();
    for set in &sets {
        let of_set = set.books.iter().map(|book| {
            let entry = BookEntry {
                id: book.source.id,
                title: book.title.clone(),
                passages: book.given.as_ref().map(|given| given.names.clone()),
            };
            let known = books.iter().position(|other| *other == entry);
            known.unwrap_or_else(|| {
                books.push(entry);
                books.len() - 1
            })
        });
        places.push(of_set.collect());
    }
    let mut cuts = Vec::new();
    if sets.iter().any(EvalSet::is_given) {
        cuts.push(Cut {
            name: "given".to_owned(),
            recipe: given_passages(loader.recipe(cut)?),
            is_given: true,
        });
    }
    if !sets.iter().all(EvalSet::is_given) {
        for &max_tokens in &varied.max_tokens {
            let cut = CutSettings {
                max_tokens,
                ..cut.clone()
            };
            cuts.push(Cut {
                name: format!("{max_tokens} tokens"),
                recipe: loader.recipe(&cut)?,
                is_given: false,
            });
        }
    }
    for arm in varied.arms() {
        let budgets = Budgets {
            evidence_passages: arm.evidence_passages,
            evidence_tokens: arm.evidence_tokens,
            ..budgets.clone()
        };
        budgets.check()?;
    }
    Ok(Plan {
        sets,
        books,
        places,
        cuts,
        scopes: Vec::new(),
        arms: varied.arms(),
        budgets,
    })
}

/// Builds what is not there, and tells what each artifact took when it was
/// built.
pub fn index(plan: &Plan, store: &Store, loader: &Loader) -> Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    for (set, places) in plan.sets.iter().zip(&plan.places) {
        for cut in plan
            .cuts
            .iter()
            .filter(|cut| cut.is_given == set.is_given())
        {
            for (book, &place) in set.books.iter().zip(places) {
                let progress = BookProgress::new(&book.title);
                let built = match &book.given {
                    Some(given) => build_given(
                        store,
                        &book.source,
                        &given.passages,
                        &cut.recipe,
                        loader,
                        &progress,
                    ),
                    None => build(store, &book.source, &cut.recipe, loader, &progress),
                };
                progress.finish();
                built.with_context(|| format!("cannot index {}", book.title))?;
                let opened = OpenBook::open(store, book.source.id, &cut.recipe)?;
                entries.push(IndexEntry::of(&cut.name, place, opened.manifest()));
            }
        }
    }
    Ok(entries)
}

pub fn identity(
    plan: &Plan,
    store: &Store,
    models: &Models,
    answering: Option<&Answering>,
    over: Over,
    seeds: Vec<u64>,
) -> Result<Identity> {
    let mut search = BTreeMap::new();
    for scope in &plan.scopes {
        let cut = &plan.cuts[scope.cut];
        if search.contains_key(&cut.name) {
            continue;
        }
        let book = plan.books[scope.books[0]].id;
        let view = View::open(store, &[book], &cut.recipe)?;
        let mut fingerprint = view.fingerprint(models, &plan.budgets);
        fingerprint.artifact.clear();
        search.insert(cut.name.clone(), fingerprint);
    }
    let sets = plan.sets.iter().map(|set| SetEntry {
        name: set.name.clone(),
        format: set.format.to_string(),
        digest: set.digest.clone(),
        books: set.books.len(),
        questions: set.questions.len(),
        blank: set.blank,
    });
    let model = answering.and_then(|answering| answering.models.values().next());
    let prompts = answering
        .filter(|_| model.is_some_and(|model| model.info().kind == ModelKind::OpenAi))
        .map(|answering| {
            let prompts = answering.prompts.all();
            prompts.map(|prompt| (prompt.name().to_owned(), prompt.digest().to_owned()))
        });
    Ok(Identity {
        sets: sets.collect(),
        over,
        seeds,
        search,
        arms: plan.arms.clone(),
        answer_model: model.map(|model| ModelRecord {
            seed: None,
            ..ModelRecord::from(model.info())
        }),
        prompts: prompts.into_iter().flatten().collect(),
        may_abstain: answering.is_some_and(|answering| answering.may_abstain),
    })
}

/// The text of a passage, from books that are opened once.
pub fn passages<'a>(
    plan: &'a Plan,
    store: &'a Store,
) -> impl FnMut(usize, usize, u32) -> Result<String> + 'a {
    let mut open: BTreeMap<(usize, usize), Arc<OpenBook>> = BTreeMap::new();
    move |cut, book, ordinal| {
        let book = match open.entry((cut, book)) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => {
                let opened = OpenBook::open(store, plan.books[book].id, &plan.cuts[cut].recipe)?;
                place.insert(opened)
            }
        };
        Ok(book.passage(ordinal)?.text)
    }
}
