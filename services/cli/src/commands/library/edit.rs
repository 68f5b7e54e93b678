//! Changing libraries.

use std::path::PathBuf;

use anyhow::{Result, bail};
use quire_corpus::{BookId, ReadOptions};
use quire_engine::{LibraryEdit, edit_library, title_of};
use quire_index::{LibraryError, NamedLibrary, Recipe, Store, StoreError, Subject};
use quire_indexer::Indexer;
use serde::Serialize;

use super::{LibraryEntry, said_of_edit};
use crate::Ending;
use crate::args::LibraryEditArgs;
use crate::commands::index::Indexed;
use crate::context::Context;
use crate::loader::Loader;
use crate::output::print_json;

#[derive(Serialize)]
struct Document {
    library: LibraryEntry,
}

/// What may stand for a book.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// An indexed book, or a file that becomes one.
    FilesToo,
    /// A book that the library has, or an indexed one.
    Held,
}

pub fn create(context: &mut Context, args: LibraryEditArgs) -> Result<Ending> {
    edit(context, args, Given::FilesToo, |books| {
        LibraryEdit::Create(books)
    })
}

pub fn add(context: &mut Context, args: LibraryEditArgs) -> Result<Ending> {
    edit(context, args, Given::FilesToo, |books| {
        LibraryEdit::Add(books)
    })
}

pub fn remove(context: &mut Context, args: LibraryEditArgs) -> Result<Ending> {
    edit(context, args, Given::Held, |books| {
        LibraryEdit::Remove(books)
    })
}

fn edit(
    context: &mut Context,
    args: LibraryEditArgs,
    given: Given,
    edit: impl Fn(&[BookId]) -> LibraryEdit<'_>,
) -> Result<Ending> {
    let cut = context.settings.cut(&args.cut)?;
    let models = context.settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let store = context.store()?;
    // Said before hours of indexing rather than after them.
    let before = checked(&store, &args, edit(&[]))?;

    let mut books = Vec::new();
    let mut paths = Vec::new();
    for book in &args.books {
        let path = PathBuf::from(book);
        if given == Given::FilesToo && path.exists() {
            paths.push(path);
        } else if let (Given::Held, Some(held)) = (given, held(before.as_ref(), book)) {
            books.push(held);
        } else {
            books.push(indexed(&store, &recipe, book, given)?);
        }
    }
    if !paths.is_empty() {
        let indexer = Indexer {
            store: &store,
            recipe: &recipe,
            read: ReadOptions::default(),
            models: &loader,
        };
        let indexed = Indexed::of(&indexer, &paths, args.json);
        if !indexed.is_complete() {
            bail!(
                "library {} is as it was: not all of its books could be indexed, as is said above",
                args.name
            );
        }
        books.extend(indexed.books());
    }
    let edited = edit_library(&store, &recipe, &args.name, edit(&books))?;
    if args.json {
        print_json(&Document {
            library: LibraryEntry::of(&edited),
        })?;
    } else {
        println!("{}", said_of_edit(&edited));
    }
    Ok(Ending::Done)
}

/// The library as it is, if the edit fits it.
fn checked(
    store: &Store,
    args: &LibraryEditArgs,
    edit: LibraryEdit<'_>,
) -> Result<Option<NamedLibrary>> {
    let before = store.library(&args.name)?;
    match (edit, &before) {
        (LibraryEdit::Create(_), Some(_)) => Err(LibraryError::Exists(args.name.clone()).into()),
        (LibraryEdit::Add(_) | LibraryEdit::Remove(_), None) => {
            Err(LibraryError::Unknown(args.name.clone()).into())
        }
        _ => Ok(before),
    }
}

/// The one book of the library whose id begins so, indexed or not.
fn held(library: Option<&NamedLibrary>, given: &str) -> Option<BookId> {
    let digits = given.to_ascii_lowercase();
    let mut held = library?.books.iter().copied();
    let only = held.find(|book| digits.len() >= 4 && book.to_string().starts_with(&digits))?;
    let ambiguous = held.any(|book| book.to_string().starts_with(&digits));
    (!ambiguous).then_some(only)
}

/// The indexed book that is meant, by its id or its title.
fn indexed(store: &Store, recipe: &Recipe, given: &str, how: Given) -> Result<BookId> {
    match store.resolve(given) {
        Ok(book) => return Ok(book),
        Err(StoreError::NotAPrefix { .. } | StoreError::Unknown { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let mut titled = Vec::new();
    for found in store.artifacts()? {
        if let (Subject::Book(book), Ok(artifact)) = (found.key.subject, &found.artifact)
            && found.key.recipe == recipe.key()
            && title_of(artifact) == given
        {
            titled.push(book);
        }
    }
    match titled[..] {
        [book] => Ok(book),
        [] if how == Given::FilesToo => bail!(
            "'{given}' is no file, and no indexed book has such an id or title; `quire books` \
             lists them"
        ),
        [] => bail!("no indexed book has the id or title '{given}'; `quire books` lists them"),
        _ => bail!(
            "{} books have the title '{given}': {}; give an id",
            titled.len(),
            titled
                .iter()
                .map(BookId::short)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}
