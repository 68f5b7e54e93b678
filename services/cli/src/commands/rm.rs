//! `quire rm`

use anyhow::Result;
use quire_corpus::BookId;
use serde::Serialize;

use crate::Ending;
use crate::args::RmArgs;
use crate::context::Context;
use crate::output::print_json;

#[derive(Serialize)]
struct Document {
    removed: Vec<BookId>,
}

pub fn run(context: &Context, args: RmArgs) -> Result<Ending> {
    let store = context.store()?;
    // Every id is resolved before anything is removed.
    let books = context.books(&store, &args.books)?;
    let mut document = Document {
        removed: Vec::new(),
    };
    for book in books {
        store.remove(book)?;
        if !args.json {
            println!("removed book {}", book.short());
        }
        document.removed.push(book);
    }
    if args.json {
        print_json(&document)?;
    }
    Ok(Ending::Done)
}
