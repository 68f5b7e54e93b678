//! What a question is asked of.

use anyhow::Result;
use quire_corpus::BookId;
use quire_engine::View;
use quire_index::{LibraryName, Recipe, Store};

use super::search::all_books;
use crate::args::ScopeArgs;
use crate::context::Context;

/// What is searched.
pub enum Scope {
    /// These books together.
    Books(Vec<BookId>),
    /// A library.
    Library(LibraryName),
}

impl Scope {
    /// What the command line says: some books, a library, or else every book
    /// of the recipe.
    pub fn read(
        context: &Context,
        store: &Store,
        recipe: &Recipe,
        args: ScopeArgs,
    ) -> Result<Self> {
        if let Some(library) = args.library {
            return Ok(Self::Library(library));
        }
        let named = context.books(store, &args.book)?;
        Ok(Self::Books(if named.is_empty() {
            all_books(store, recipe)?
        } else {
            named
        }))
    }

    /// Opens it.
    pub fn open(&self, store: &Store, recipe: &Recipe) -> Result<View> {
        Ok(match self {
            Self::Books(books) => View::open(store, books, recipe)?,
            Self::Library(name) => View::open_named(store, name, recipe)?,
        })
    }
}
