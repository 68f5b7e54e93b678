//! `quire books`

use anyhow::Result;
use quire_corpus::BookId;
use quire_engine::title_of;
use quire_index::{Counts, SourceRecord, Subject};
use serde::Serialize;

use crate::Ending;
use crate::args::BooksArgs;
use crate::context::Context;
use crate::output::{grouped, print_json, print_table};

#[derive(Serialize)]
struct Document {
    books: Vec<Entry>,
    damaged: Vec<Damaged>,
}

#[derive(Serialize)]
struct Entry {
    book: BookId,
    title: String,
    recipe: String,
    embedder: String,
    precision: String,
    counts: Counts,
    bytes: u64,
    indexed: String,
    source: Option<SourceRecord>,
}

#[derive(Serialize)]
struct Damaged {
    path: String,
    error: String,
}

pub fn run(context: &Context, args: BooksArgs) -> Result<Ending> {
    let mut document = Document {
        books: Vec::new(),
        damaged: Vec::new(),
    };
    for found in context.store()?.artifacts()? {
        let Subject::Book(book) = found.key.subject else {
            continue;
        };
        match found.artifact {
            Ok(artifact) => {
                let manifest = artifact.manifest();
                document.books.push(Entry {
                    book,
                    title: title_of(&artifact),
                    recipe: found.key.recipe.to_string(),
                    embedder: manifest.recipe.embedder.name.clone(),
                    precision: manifest.recipe.embedder.precision.clone(),
                    counts: manifest.counts.clone(),
                    bytes: manifest.files.iter().map(|file| file.bytes).sum(),
                    indexed: manifest.build.started.clone(),
                    source: manifest.source.clone(),
                });
            }
            Err(error) => document.damaged.push(Damaged {
                path: found.path.display().to_string(),
                error: error.to_string(),
            }),
        }
    }
    let ending = if document.damaged.is_empty() {
        Ending::Done
    } else {
        Ending::Partly
    };
    if args.json {
        print_json(&document)?;
        return Ok(ending);
    }
    if document.books.is_empty() {
        println!("no book is indexed in {}", context.data().display());
    } else {
        let rows: Vec<Vec<String>> = document.books.iter().map(row).collect();
        print_table(
            &["book", "passages", "tokens", "models", "recipe", "title"],
            &rows,
        )?;
    }
    for damaged in &document.damaged {
        eprintln!("{}: {}", damaged.path, damaged.error);
    }
    Ok(ending)
}

fn row(entry: &Entry) -> Vec<String> {
    vec![
        entry.book.short(),
        grouped(entry.counts.passages),
        grouped(entry.counts.tokens),
        format!("{} {}", entry.embedder, entry.precision),
        entry.recipe[..8].to_owned(),
        entry.title.clone(),
    ]
}
