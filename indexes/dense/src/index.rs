//! Searching an artifact's vectors.

use std::path::Path;
use std::sync::Arc;

use quire_corpus::ChunkId;
use quire_index::{GraphRecipe, Hit, PassageIds, Ranking};

use crate::error::{DenseError, check_unit};
use crate::graph::{self, GRAPH_FILE, Graph};
use crate::kernel::Kernel;
use crate::order::Scored;
use crate::scan;
use crate::vectors::{VECTORS_FILE, VectorFile};

/// Candidates of a graph search where nobody asks for another number.
pub const DEFAULT_EF: usize = 256;

/// An artifact's dense view, open to be searched by any number of threads.
#[derive(Debug)]
pub struct DenseIndex {
    vectors: VectorFile,
    passages: Arc<PassageIds>,
    graph: Option<Graph>,
    kernel: Kernel,
}

impl DenseIndex {
    /// Opens the dense view in an artifact's folder. `passages` says which
    /// passage each row is, `recipe` whether there must be a graph.
    ///
    /// A graph is read and checked whole. Vectors are mapped and only their
    /// header is checked: see [`DenseIndex::verify`].
    ///
    /// # Errors
    /// When a file is missing, foreign, truncated or damaged, or has not one
    /// row a passage.
    pub fn open(
        dir: &Path,
        passages: Arc<PassageIds>,
        recipe: &GraphRecipe,
    ) -> Result<Self, DenseError> {
        let vectors = VectorFile::open(&dir.join(VECTORS_FILE))?;
        if vectors.len() != passages.len() {
            return Err(DenseError::Count {
                path: vectors.path().to_owned(),
                rows: vectors.len(),
                passages: passages.len(),
            });
        }
        let graph = if vectors.len() > recipe.above {
            Some(Graph::open(&dir.join(GRAPH_FILE), vectors.len())?)
        } else {
            None
        };
        Ok(Self {
            vectors,
            passages,
            graph,
            kernel: Kernel::detect(),
        })
    }

    /// The vectors, in the rows of the passages.
    pub fn vectors(&self) -> &VectorFile {
        &self.vectors
    }

    /// Whether [`DenseIndex::search`] always finds the very best passages:
    /// so it does without a graph.
    pub fn is_exact(&self) -> bool {
        self.graph.is_none()
    }

    /// The `limit` passages nearest to `query` by dot product, which is the
    /// cosine, between -1 and 1.
    ///
    /// Exact without a graph, and then `ef` means nothing. With one, `ef` is
    /// the number of candidates followed (raised to `limit` if below): more
    /// find better passages and take longer. The scores are exact both ways.
    ///
    /// # Errors
    /// When `query` is no unit vector of the index's dimensions, or the
    /// vectors are damaged or were changed while they were read.
    pub fn search(&self, query: &[f32], limit: usize, ef: usize) -> Result<Ranking, DenseError> {
        let Some(graph) = &self.graph else {
            return self.search_exact(query, limit);
        };
        self.check_query(query)?;
        let best = graph::nearest(graph, limit, ef, |row| self.score(query, row))?;
        self.ranking(best)
    }

    /// As [`DenseIndex::search`], but every passage is scored even if there
    /// is a graph.
    ///
    /// # Errors
    /// See [`DenseIndex::search`].
    pub fn search_exact(&self, query: &[f32], limit: usize) -> Result<Ranking, DenseError> {
        self.check_query(query)?;
        let best = scan::nearest(self.kernel, query, self.vectors.values(), limit)
            .map_err(|row| self.no_score(row))?;
        self.ranking(best)
    }

    /// The score of each of `chunks`, in their order: to the bit what a
    /// search gives them.
    ///
    /// # Errors
    /// See [`DenseIndex::search`]; and when a passage is not in the index.
    pub fn scores(&self, query: &[f32], chunks: &[ChunkId]) -> Result<Vec<f64>, DenseError> {
        self.check_query(query)?;
        let mut scores = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let row = self
                .passages
                .row(*chunk)
                .ok_or(DenseError::UnknownPassage(*chunk))?;
            scores.push(f64::from(self.score(query, row)?));
        }
        self.vectors.check()?;
        Ok(scores)
    }

    /// Reads all vectors: their checksum, and that each is finite and of
    /// unit length.
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn verify(&self) -> Result<(), DenseError> {
        self.vectors.verify()
    }

    fn check_query(&self, query: &[f32]) -> Result<(), DenseError> {
        check_unit(query, self.vectors.dims()).map_err(DenseError::Query)
    }

    fn score(&self, query: &[f32], row: u32) -> Result<f32, DenseError> {
        let score = self.kernel.dot(query, self.vectors.row(row as usize));
        if score.is_finite() {
            return Ok(score);
        }
        Err(self.no_score(row))
    }

    fn no_score(&self, row: u32) -> DenseError {
        DenseError::damaged(
            self.vectors.path(),
            format!("row {row} has a value that is no finite number"),
        )
    }

    fn ranking(&self, best: Vec<Scored>) -> Result<Ranking, DenseError> {
        // Zeros stand in for what a shortened file lost: such scores are
        // worth nothing.
        self.vectors.check()?;
        let mut hits = Vec::with_capacity(best.len());
        for scored in best {
            let chunk = self.passages.chunk(scored.row());
            hits.push(Hit {
                chunk: chunk.ok_or_else(|| self.no_score(scored.row()))?,
                score: f64::from(scored.score()),
            });
        }
        Ok(Ranking::by_score(hits)?)
    }
}

#[cfg(test)]
mod tests;
