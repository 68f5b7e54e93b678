//! Approximate search through an HNSW graph (Malkov and Yashunin 2018).
//!
//! `hnsw_rs` decides the edges ([`mod@build`]). Files and search are ours:
//! its own dump repeats every vector, its loader ends the process on some
//! damaged files, and a graph it loaded cannot be told apart from its loader's
//! lifetime. Ours hold only the edges, are checked before use, and answer the
//! same on every run because equal scores are ordered by row.

mod build;
mod file;
mod search;

use std::fs;
use std::path::Path;

use quire_index::{GraphRecipe, IoError};

use crate::error::DenseError;
use crate::vectors::{VECTORS_FILE, VectorFile};

pub(crate) use search::nearest;

/// The file's name in an artifact's folder.
pub const GRAPH_FILE: &str = "graph.bin";

/// Rows that are joined in one graph at most. Vectors beyond this number lie
/// in several graphs, of rows that follow each other: they are built side by
/// side, each in its own order, and all of them are searched.
const PART_ROWS: usize = 1 << 17;

/// The edges of HNSW graphs, one for each part of the rows, layer by layer
/// from the lowest. No edge leaves its part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    /// Where a search of each part begins, in the part's highest layer.
    entries: Vec<u32>,
    rows: u32,
    layers: Vec<Layer>,
}

/// The edges of one layer.
#[derive(Debug, PartialEq, Eq)]
struct Layer {
    /// The rows with edges in this layer, ascending.
    nodes: Vec<u32>,
    /// Node `i`'s edges are `targets[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Layer {
    /// The rows to which `row` has edges.
    fn neighbours(&self, row: u32) -> &[u32] {
        // Every row is a node of the lowest layer, so the place is the row.
        let place = match self.nodes.get(row as usize) {
            Some(node) if *node == row => row as usize,
            _ => match self.nodes.binary_search(&row) {
                Ok(place) => place,
                Err(_) => return &[],
            },
        };
        &self.targets[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

/// Builds the graph over the vectors in an artifact's folder, if the recipe
/// asks for one at their number, and writes it beside them.
///
/// `on_row` is told how many rows are in the graph, after each. A part is built
/// by one thread, in row order: more would make another graph on every run.
///
/// Returns whether there is a graph now.
///
/// # Errors
/// When the vectors cannot be opened, the recipe's parameters are out of
/// range, the graph library fails, or the file cannot be written.
pub fn write_graph(
    dir: &Path,
    recipe: &GraphRecipe,
    on_row: impl FnMut(usize) + Send,
) -> Result<bool, DenseError> {
    write_parts(dir, recipe, PART_ROWS, on_row)
}

/// [`write_graph`] with parts of another size.
pub(crate) fn write_parts(
    dir: &Path,
    recipe: &GraphRecipe,
    part_rows: usize,
    on_row: impl FnMut(usize) + Send,
) -> Result<bool, DenseError> {
    let vectors = VectorFile::open(&dir.join(VECTORS_FILE))?;
    if vectors.len() <= recipe.above {
        return Ok(false);
    }
    let graph = build::build(&vectors, recipe, part_rows, on_row)?;
    let path = dir.join(GRAPH_FILE);
    graph.write(&path)?;
    Ok(true)
}

impl Graph {
    /// Reads the graph of an artifact of `rows` vectors.
    pub(crate) fn open(path: &Path, rows: usize) -> Result<Self, DenseError> {
        let bytes = fs::read(path).map_err(IoError::of("read", path))?;
        let graph = Self::from_bytes(&bytes, path)?;
        if graph.rows as usize != rows {
            return Err(DenseError::damaged(
                path,
                format!("it is a graph of {} vectors, not {rows}", graph.rows),
            ));
        }
        Ok(graph)
    }
}
