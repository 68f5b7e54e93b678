//! Unit vectors in a file: written once, row after row, and mapped to read.

mod read;
mod write;

pub use read::VectorFile;
pub use write::VectorWriter;

/// The file's name in an artifact's folder.
pub const VECTORS_FILE: &str = "vectors.bin";
