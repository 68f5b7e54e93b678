//! Batch indexing: discover the sources, read the books, build what is not
//! there, and report on each.

mod discover;
mod run;

pub use discover::{DiscoverError, Discovered, Source, discover};
pub use run::{BookReport, IndexError, Indexer, Outcome, Reporter, SourceReport};
