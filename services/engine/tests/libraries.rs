//! Libraries by name, while they change.

#![allow(clippy::unwrap_used)] // A test may.
#![allow(dead_code)] // Of the fakes, other tests use more.

mod fakes;

use std::thread;

use fakes::*;
use quire_corpus::BookId;
use quire_engine::{Budgets, EngineError, LibraryEdit, Shares, View, edit_library, search, verify};
use quire_index::{LibraryName, Store};

const QUESTION: &str = "which lamp stood in room7";

fn name() -> LibraryName {
    "lamps".parse().unwrap()
}

/// Books of rooms with lamps of these colours, indexed.
fn books(fixture: &Fixture, colours: &[&str]) -> Vec<BookId> {
    let books = colours.iter().map(|colour| {
        let book = book(&format!("{colour}.txt"), &rooms(colour, 20));
        fixture.build(&book, &good()).unwrap();
        book.id
    });
    books.collect()
}

fn edit(store: &Store, edit: LibraryEdit<'_>) -> Result<u64, EngineError> {
    let edited = edit_library(store, &a_recipe(), &name(), edit)?;
    Ok(edited.library.version)
}

fn open(store: &Store) -> View {
    View::open_named(store, &name(), &a_recipe()).unwrap()
}

#[test]
fn a_query_that_began_on_the_old_library_ends_on_it() {
    let fixture = Fixture::new();
    let ids = books(&fixture, &["green", "red", "blue"]);
    edit(&fixture.store, LibraryEdit::Create(&ids[..2])).unwrap();
    let old = open(&fixture.store);
    let ask = |view: &View| search(view, &good(), QUESTION, &Budgets::default()).unwrap();
    let before = ask(&old);
    edit(&fixture.store, LibraryEdit::Add(&ids[2..])).unwrap();
    // The old artifact is gone from the disk, and still answers.
    assert_eq!(fixture.store.artifacts().unwrap().len(), 4);
    assert_eq!(ask(&old).hits, before.hits);
    let new = open(&fixture.store);
    assert_eq!((old.books().count(), new.books().count()), (2, 3));
    let shares = Shares::of(&ask(&new).trace, 10);
    assert_eq!(shares.books.len(), 3);
    let counted: usize = shares.books.iter().map(|book| book.reranked.passages).sum();
    assert_eq!(counted, 10);
    for found in fixture.store.artifacts().unwrap() {
        assert_eq!(verify(&fixture.store, &found).unwrap(), []);
    }
}

#[test]
fn of_edits_at_once_none_is_lost() {
    let fixture = Fixture::new();
    let ids = books(&fixture, &["green", "red", "blue", "black", "white"]);
    edit(&fixture.store, LibraryEdit::Create(&ids[..1])).unwrap();
    thread::scope(|scope| {
        for id in &ids[1..] {
            let store = &fixture.store;
            scope.spawn(move || edit(store, LibraryEdit::Add(&[*id])).unwrap());
        }
    });
    let library = fixture.store.library(&name()).unwrap().unwrap();
    assert_eq!((library.version, library.books.len()), (5, 5));
    assert_eq!(open(&fixture.store).books().count(), 5);
    // Of the sets on the way there, nothing is left.
    assert_eq!(fixture.store.artifacts().unwrap().len(), 6);
}

#[test]
fn a_library_whose_book_cannot_be_had_stays_as_it_was() {
    let fixture = Fixture::new();
    let ids = books(&fixture, &["green"]);
    edit(&fixture.store, LibraryEdit::Create(&ids)).unwrap();
    let before = fixture.store.library(&name()).unwrap();
    let absent = BookId::of_text("never indexed");
    let error = edit(&fixture.store, LibraryEdit::Add(&[absent])).unwrap_err();
    assert!(matches!(error, EngineError::NotIndexed { book, .. } if book == absent));
    assert_eq!(fixture.store.library(&name()).unwrap(), before);
    assert_eq!(fixture.store.artifacts().unwrap().len(), 2);
}
