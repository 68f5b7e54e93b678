//! `quire library`

mod edit;
mod look;

use anyhow::Result;
use quire_corpus::BookId;
use quire_engine::EditedLibrary;
use quire_index::LibraryName;
use serde::Serialize;

use crate::Ending;
use crate::args::LibraryCommand;
use crate::context::Context;
use crate::output::grouped;

pub fn run(context: &mut Context, command: LibraryCommand) -> Result<Ending> {
    match command {
        LibraryCommand::Create(args) => edit::create(context, args),
        LibraryCommand::Add(args) => edit::add(context, args),
        LibraryCommand::Remove(args) => edit::remove(context, args),
        LibraryCommand::List(args) => look::list(context, &args),
        LibraryCommand::Show(args) => look::show(context, &args),
        LibraryCommand::Rm(args) => look::rm(context, args),
    }
}

/// A library after an edit, as JSON.
#[derive(Serialize)]
pub(super) struct LibraryEntry {
    name: LibraryName,
    version: u64,
    /// The id of the set of books.
    id: String,
    recipe: String,
    books: Vec<BookId>,
    passages: u64,
    tokens: u64,
    /// Whether the edit changed anything.
    changed: bool,
}

impl LibraryEntry {
    pub(super) fn of(edited: &EditedLibrary) -> Self {
        let manifest = edited.artifact.manifest();
        Self {
            name: edited.library.name.clone(),
            version: edited.library.version,
            id: edited.library.id().to_string(),
            recipe: manifest.recipe_key.clone(),
            books: edited.library.books.clone(),
            passages: manifest.counts.passages,
            tokens: manifest.counts.tokens,
            changed: edited.changed,
        }
    }
}

/// A library after an edit, a line.
pub(super) fn said_of_edit(edited: &EditedLibrary) -> String {
    let counts = &edited.artifact.manifest().counts;
    format!(
        "library {} {}: {}, {} passages",
        edited.library.name,
        if edited.changed {
            "has now"
        } else {
            "had already"
        },
        books(edited.library.books.len()),
        grouped(counts.passages),
    )
}

/// How many books.
fn books(count: usize) -> String {
    match count {
        1 => "1 book".to_owned(),
        count => format!("{} books", grouped(count as u64)),
    }
}
