//! Listing, showing and removing libraries.

use std::collections::BTreeMap;

use anyhow::Result;
use quire_corpus::BookId;
use quire_engine::title_of;
use quire_index::{
    ArtifactDir, Counts, LibraryError, LibraryId, LibraryName, NamedLibrary, Store, Subject,
};
use serde::Serialize;

use crate::args::{LibraryListArgs, LibraryRmArgs, LibraryShowArgs};
use crate::context::Context;
use crate::output::{Style, grouped, print_json, print_table, printable_line};
use crate::{Ending, one_line};

#[derive(Serialize)]
struct ListDocument {
    libraries: Vec<Entry>,
    damaged: Vec<Damaged>,
}

#[derive(Serialize)]
struct Entry {
    name: LibraryName,
    version: u64,
    id: String,
    books: Vec<BookId>,
    /// One for each recipe it was put together under.
    artifacts: Vec<Artifact>,
}

#[derive(Serialize)]
struct Artifact {
    recipe: String,
    counts: Counts,
    bytes: u64,
    built: String,
}

#[derive(Serialize)]
struct Damaged {
    name: LibraryName,
    error: String,
}

#[derive(Serialize)]
struct ShowDocument {
    library: Entry,
    books: Vec<Book>,
}

#[derive(Serialize)]
struct Book {
    book: BookId,
    /// `None` where the book is not indexed or damaged.
    title: Option<String>,
    passages: Option<u64>,
}

#[derive(Serialize)]
struct RmDocument {
    removed: Vec<LibraryName>,
}

/// Every artifact that can be opened, by what it is of.
struct Artifacts {
    libraries: BTreeMap<LibraryId, Vec<ArtifactDir>>,
    books: BTreeMap<BookId, ArtifactDir>,
}

impl Artifacts {
    fn of(store: &Store) -> Result<Self> {
        let mut all = Self {
            libraries: BTreeMap::new(),
            books: BTreeMap::new(),
        };
        for found in store.artifacts()? {
            let Ok(artifact) = found.artifact else {
                continue;
            };
            match found.key.subject {
                Subject::Library(id) => all.libraries.entry(id).or_default().push(artifact),
                Subject::Book(id) => drop(all.books.insert(id, artifact)),
            }
        }
        Ok(all)
    }

    fn entry(&self, library: &NamedLibrary) -> Entry {
        let artifacts = self.libraries.get(&library.id()).into_iter().flatten();
        Entry {
            name: library.name.clone(),
            version: library.version,
            id: library.id().to_string(),
            books: library.books.clone(),
            artifacts: artifacts.map(artifact).collect(),
        }
    }

    fn book(&self, book: BookId) -> Book {
        let artifact = self.books.get(&book);
        Book {
            book,
            title: artifact.map(title_of),
            passages: artifact.map(|artifact| artifact.manifest().counts.passages),
        }
    }
}

fn artifact(artifact: &ArtifactDir) -> Artifact {
    let manifest = artifact.manifest();
    Artifact {
        recipe: manifest.recipe_key.clone(),
        counts: manifest.counts.clone(),
        bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        built: manifest.build.started.clone(),
    }
}

pub fn list(context: &Context, args: &LibraryListArgs) -> Result<Ending> {
    let store = context.store()?;
    let artifacts = Artifacts::of(&store)?;
    let mut document = ListDocument {
        libraries: Vec::new(),
        damaged: Vec::new(),
    };
    for (name, found) in store.libraries()? {
        match found {
            Ok(library) => document.libraries.push(artifacts.entry(&library)),
            Err(error) => document.damaged.push(Damaged {
                name,
                error: one_line(&error),
            }),
        }
    }
    if args.json {
        print_json(&document)?;
    } else if document.libraries.is_empty() && document.damaged.is_empty() {
        println!("there is no library in {}", context.data().display());
    } else {
        let rows: Vec<Vec<String>> = document.libraries.iter().map(row).collect();
        print_table(
            &["library", "books", "passages", "tokens", "recipes"],
            &rows,
        )?;
    }
    if document.damaged.is_empty() {
        return Ok(Ending::Done);
    }
    if !args.json {
        for damaged in &document.damaged {
            eprintln!("{}", printable_line(&damaged.error));
        }
    }
    Ok(Ending::Partly)
}

fn row(entry: &Entry) -> Vec<String> {
    let counts = entry.artifacts.first().map(|artifact| &artifact.counts);
    let count =
        |of: fn(&Counts) -> u64| counts.map_or("-".to_owned(), |counts| grouped(of(counts)));
    let recipes = entry.artifacts.iter().map(|artifact| &artifact.recipe[..8]);
    vec![
        entry.name.to_string(),
        grouped(entry.books.len() as u64),
        count(|counts| counts.passages),
        count(|counts| counts.tokens),
        recipes.collect::<Vec<_>>().join(" "),
    ]
}

pub fn show(context: &Context, args: &LibraryShowArgs) -> Result<Ending> {
    let store = context.store()?;
    let library = store.library(&args.name)?;
    let library = library.ok_or_else(|| LibraryError::Unknown(args.name.clone()))?;
    let artifacts = Artifacts::of(&store)?;
    let document = ShowDocument {
        library: artifacts.entry(&library),
        books: library.books.iter().map(|&id| artifacts.book(id)).collect(),
    };
    if args.json {
        print_json(&document)?;
        return Ok(Ending::Done);
    }
    let entry = &document.library;
    println!(
        "{}",
        context.output.paint(Style::Heading, entry.name.as_str())
    );
    println!("version {}, set {}", entry.version, library.id().short());
    for artifact in &entry.artifacts {
        println!(
            "recipe {}: {} passages, {} bytes, put together {}",
            &artifact.recipe[..8],
            grouped(artifact.counts.passages),
            grouped(artifact.bytes),
            artifact.built
        );
    }
    println!();
    let rows: Vec<Vec<String>> = document.books.iter().map(book_row).collect();
    print_table(&["book", "passages", "title"], &rows)?;
    Ok(Ending::Done)
}

fn book_row(book: &Book) -> Vec<String> {
    let title = book.title.as_deref().map(printable_line);
    vec![
        book.book.short(),
        book.passages.map_or("-".to_owned(), grouped),
        title.unwrap_or_else(|| "(not indexed)".to_owned()),
    ]
}

pub fn rm(context: &Context, args: LibraryRmArgs) -> Result<Ending> {
    let store = context.store()?;
    let mut document = RmDocument {
        removed: Vec::new(),
    };
    for name in args.names {
        store.remove_library(&name)?;
        if !args.json {
            println!("removed library {name}; its books stay indexed");
        }
        document.removed.push(name);
    }
    if args.json {
        print_json(&document)?;
    }
    Ok(Ending::Done)
}
