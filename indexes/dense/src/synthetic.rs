//! Made-up vectors for tests, benchmarks and measurements.

use std::path::Path;
use std::sync::Arc;

use quire_corpus::BookId;
use quire_index::{GraphRecipe, PassageIds};

use crate::{DenseError, DenseIndex, VECTORS_FILE, VectorWriter, write_graph};

/// Dimensions in which synthetic vectors really vary. Embeddings of text lie
/// near a surface of few dimensions too.
const INTRINSIC: usize = 32;

/// A source of unit vectors that lie in clusters, as passages about the same
/// things do. The same arguments give the same vectors, on every machine.
#[derive(Debug)]
pub struct Clusters {
    random: Random,
    dims: usize,
    /// `INTRINSIC` rows of `dims` values, which carry the few dimensions
    /// into the many.
    basis: Vec<f32>,
    centres: Vec<[f32; INTRINSIC]>,
}

impl Clusters {
    /// Vectors of `dims` values around `clusters` centres.
    ///
    /// # Panics
    /// When `dims` or `clusters` is 0.
    pub fn new(dims: usize, clusters: usize, seed: u64) -> Self {
        assert!(dims > 0 && clusters > 0);
        let mut random = Random(seed);
        let basis = (0..INTRINSIC * dims).map(|_| random.bell()).collect();
        let centres = (0..clusters)
            .map(|_| std::array::from_fn(|_| random.bell()))
            .collect();
        Self {
            random,
            dims,
            basis,
            centres,
        }
    }

    /// The next vector.
    pub fn row(&mut self) -> Vec<f32> {
        loop {
            let vector = self.direction();
            let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            if norm > 1e-3 {
                return vector.into_iter().map(|v| v / norm).collect();
            }
        }
    }

    /// The next `rows` vectors, one after the other.
    pub fn rows(&mut self, rows: usize) -> Vec<f32> {
        (0..rows).flat_map(|_| self.row()).collect()
    }

    fn direction(&mut self) -> Vec<f32> {
        let centre = self.random.next() as usize % self.centres.len();
        let mut vector = vec![0f32; self.dims];
        for axis in 0..INTRINSIC {
            let place = self.centres[centre][axis] + 0.7 * self.random.bell();
            let along = &self.basis[axis * self.dims..(axis + 1) * self.dims];
            for (value, along) in vector.iter_mut().zip(along) {
                *value += place * along;
            }
        }
        for value in &mut vector {
            *value += 0.3 * self.random.bell();
        }
        vector
    }
}

/// Writes an index of the next `rows` vectors of `clusters` into `dir` and
/// opens it, as that of one book whose id is that of the text `synthetic`.
///
/// # Errors
/// When the files cannot be written or the recipe's graph cannot be built.
pub fn index(
    dir: &Path,
    clusters: &mut Clusters,
    rows: usize,
    recipe: &GraphRecipe,
) -> Result<DenseIndex, DenseError> {
    let mut writer = VectorWriter::create(&dir.join(VECTORS_FILE), clusters.dims, rows)?;
    for _ in 0..rows {
        writer.push(&clusters.row())?;
    }
    writer.finish()?;
    write_graph(dir, recipe, |_| {})?;
    let book = BookId::of_text("synthetic");
    let ids = PassageIds::of_books([(book, rows as u32)]);
    DenseIndex::open(dir, Arc::new(ids), recipe)
}

/// SplitMix64 (Steele, Lea and Flood 2014): enough for made-up data.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// From a bell curve with mean 0 and variance 1: the sum of twelve
    /// numbers between 0 and 1, less 6.
    fn bell(&mut self) -> f32 {
        let sum: f32 = (0..12).map(|_| (self.next() >> 40) as f32).sum();
        sum / (1 << 24) as f32 - 6.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_unit_vectors() {
        let rows = Clusters::new(48, 3, 11).rows(30);
        assert_eq!(rows, Clusters::new(48, 3, 11).rows(30));
        assert_ne!(rows, Clusters::new(48, 3, 12).rows(30));
        for row in rows.chunks_exact(48) {
            let norm: f32 = row.iter().map(|v| v * v).sum();
            assert!((norm - 1.).abs() < 1e-5);
        }
    }
}
