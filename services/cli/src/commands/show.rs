//! `quire show`

use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use quire_corpus::{BookId, ChunkId};
use quire_engine::title_of;
use quire_index::{ArtifactDir, BookArtifact, Store, Subject};
use serde::Serialize;

use crate::Ending;
use crate::args::ShowArgs;
use crate::context::Context;
use crate::output::{Output, Style, print_json};

#[derive(Serialize)]
struct Document {
    book: BookId,
    title: String,
    recipe: String,
    passages: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    chunk: ChunkId,
    /// Whether it is the passage asked for.
    asked: bool,
    chapter: Option<String>,
    span: Range<usize>,
    tokens: u32,
    text: String,
}

pub fn run(context: &Context, args: ShowArgs) -> Result<Ending> {
    let store = context.store()?;
    let (prefix, ordinal) = args
        .passage
        .rsplit_once(':')
        .with_context(|| format!("'{}' is no passage: write BOOK:NUMBER", args.passage))?;
    let ordinal: u32 = ordinal
        .parse()
        .with_context(|| format!("'{ordinal}' is no passage number"))?;
    let book = store.resolve(prefix)?;
    let artifact = artifact(&store, book, args.recipe.as_deref())?;
    artifact.check()?;
    let opened = BookArtifact::open(&artifact)?;
    // Says how many passages there are when this one is not.
    opened.passage(ordinal)?;
    let last = opened.table().len() as u32 - 1;
    let wanted =
        ordinal.saturating_sub(args.around)..=ordinal.saturating_add(args.around).min(last);
    let mut passages = Vec::new();
    for at in wanted {
        let passage = opened.passage(at)?;
        passages.push(Shown {
            chunk: passage.chunk,
            asked: at == ordinal,
            chapter: passage.chapter,
            span: passage.span,
            tokens: passage.tokens,
            text: passage.text,
        });
    }
    let document = Document {
        book,
        title: title_of(&artifact),
        recipe: artifact.key().recipe.to_string(),
        passages,
    };
    if args.json {
        print_json(&document)?;
    } else {
        print(context.output, &document);
    }
    Ok(Ending::Done)
}

/// The book's artifact: the one of the recipe asked for, or the only one.
fn artifact(store: &Store, book: BookId, recipe: Option<&str>) -> Result<ArtifactDir> {
    let mut found: Vec<_> = store
        .artifacts()?
        .into_iter()
        .filter(|found| found.key.subject == Subject::Book(book))
        .filter(|found| recipe.is_none_or(|r| found.key.recipe.to_string().starts_with(r)))
        .collect();
    if found.len() > 1 {
        let recipes: Vec<String> = found.iter().map(|f| f.key.recipe.to_string()).collect();
        bail!(
            "book {} is indexed under several recipes; say which with --recipe: {}",
            book.short(),
            recipes.join(", ")
        );
    }
    let only = found.pop().with_context(|| {
        format!(
            "book {} is not indexed under such a recipe; `quire books` lists them",
            book.short()
        )
    })?;
    Ok(only.artifact?)
}

fn print(output: Output, document: &Document) {
    println!("{}", output.paint(Style::Heading, &document.title));
    let mut chapter = None;
    for passage in &document.passages {
        if passage.chapter.is_some() && passage.chapter != chapter {
            chapter.clone_from(&passage.chapter);
            println!(
                "\n{}",
                output.paint(Style::Heading, chapter.as_deref().unwrap_or_default())
            );
        }
        let id = format!(
            "{}:{}  bytes {}..{}  {} tokens",
            passage.chunk.book.short(),
            passage.chunk.ordinal,
            passage.span.start,
            passage.span.end,
            passage.tokens
        );
        println!("\n{}", output.paint(Style::Faint, &id));
        let text = passage.text.trim_end();
        if passage.asked {
            println!("{}", output.highlight(text, &[]));
        } else {
            println!("{}", output.paint(Style::Faint, text));
        }
    }
}
