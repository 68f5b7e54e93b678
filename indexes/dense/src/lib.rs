//! The dense view of an artifact: unit vectors, one a passage, and the search
//! for those nearest to a question's.
//!
//! Up to the recipe's threshold every search is exact: all rows are scored.
//! Above it an HNSW graph leads to likely rows, and those are scored exactly.
//! A score is a dot product whose additions have one order everywhere, so it
//! is the same to the bit on any number of threads, on any instruction set,
//! by either search, and for one passage asked for alone.
//!
//! Writing: [`VectorWriter`], then [`write_graph`]. Reading: [`DenseIndex`].

mod error;
mod graph;
mod header;
mod index;
mod kernel;
mod order;
mod scan;
pub mod synthetic;
mod vectors;

pub use error::{DenseError, VectorProblem};
pub use graph::{GRAPH_FILE, write_graph};
pub use index::{DEFAULT_EF, DenseIndex};
pub use vectors::{VECTORS_FILE, VectorFile, VectorWriter};
