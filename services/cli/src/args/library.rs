//! `quire library`, and choosing what is searched.

use clap::{Args, Subcommand};
use quire_index::LibraryName;

use super::{CutArgs, ModelArgs};

/// Which books are searched; all of them where neither is given.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// Search only this book; may be given again. Four or more digits of its id
    #[arg(long, value_name = "ID", conflicts_with = "library")]
    pub book: Vec<String>,
    /// Search the books of this library
    #[arg(long, value_name = "NAME")]
    pub library: Option<LibraryName>,
}

#[derive(Debug, Subcommand)]
pub enum LibraryCommand {
    /// Create a library of books
    #[command(after_long_help = "\
Examples:
  quire library create dickens bleak-house.epub hard-times.txt   indexed if need be
  quire library create sea 3f9a01 \"The Wet Ledger\"               books that are indexed

A BOOK is a file or a folder, four or more digits of an indexed book's id, or
its whole title. The order does not matter. If one cannot be had, nothing is
created.")]
    Create(LibraryEditArgs),
    /// Add books to a library
    #[command(after_long_help = "\
Examples:
  quire library add dickens great-expectations.epub
  quire library add sea 3f9a01

A BOOK is what `quire library create` takes. Queries run on the library as it
was until the new one is committed.")]
    Add(LibraryEditArgs),
    /// Take books out of a library; they stay indexed
    #[command(after_long_help = "\
Example:
  quire library remove sea 3f9a01

A BOOK is four or more digits of its id, or its whole title.")]
    Remove(LibraryEditArgs),
    /// List the libraries
    List(LibraryListArgs),
    /// Show a library and its books
    Show(LibraryShowArgs),
    /// Remove a library; its books stay indexed
    Rm(LibraryRmArgs),
}

#[derive(Debug, Args)]
pub struct LibraryEditArgs {
    /// The library: letters and digits of any script, and - _ . after the first
    #[arg(value_name = "NAME")]
    pub name: LibraryName,
    /// Its books
    #[arg(required = true, value_name = "BOOK")]
    pub books: Vec<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Args)]
pub struct LibraryListArgs {
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LibraryShowArgs {
    /// The library
    #[arg(value_name = "NAME")]
    pub name: LibraryName,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LibraryRmArgs {
    /// Libraries
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<LibraryName>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}
