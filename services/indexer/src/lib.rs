//! Batch indexing: discover the sources, read the books, build what is not
//! there, and report on each. And durable jobs, by which a server indexes what
//! is uploaded to it.

mod discover;
pub mod jobs;
mod run;

pub use discover::{DiscoverError, Discovered, Source, discover};
pub use run::{BookReport, IndexError, Indexer, Outcome, Reporter, SourceReport};
