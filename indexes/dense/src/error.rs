//! What goes wrong with the dense view.

use std::fmt;
use std::path::{Path, PathBuf};

use quire_corpus::ChunkId;
use quire_index::{IoError, MapError, MappingFault, RankingError};

/// Why the dense view could not be written, opened or searched.
#[derive(Debug, thiserror::Error)]
pub enum DenseError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A file cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The vectors are no longer what was opened; the answer was thrown away.
    #[error(transparent)]
    Changed(#[from] MappingFault),
    /// A file that is not of the kind its name says.
    #[error(
        "{} is not a finished {kind} file of quire; index the book again",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it should be: `vectors` or `graph`.
        kind: &'static str,
    },
    /// A file of another version of quire.
    #[error(
        "{} has format {found} and this quire reads format {expected}; index the book again, or use the quire that wrote it",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: u32,
        /// The format that can be read.
        expected: u32,
    },
    /// A file whose length is not what its header says.
    #[error(
        "{} is {found} bytes long and its header says {expected}; remove the artifact and index the book again",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// The length its header implies, or that of a header alone.
        expected: u64,
    },
    /// A file whose content contradicts itself.
    #[error(
        "{} is damaged: {what}; remove the artifact and index the book again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// A stored row that is no unit vector.
    #[error(
        "{} is damaged: row {row} {problem}; remove the artifact and index the book again",
        path.display()
    )]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The first bad row.
        row: usize,
        /// What is wrong with it.
        problem: VectorProblem,
    },
    /// Vectors and passages of different artifacts.
    #[error(
        "{} holds {rows} vectors and the artifact has {passages} passages; remove the artifact and index the book again",
        path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// How many vectors it has.
        rows: usize,
        /// How many passages there are.
        passages: usize,
    },
    /// A vector that must not be written.
    #[error("vector {row} for {} {problem}", path.display())]
    Refused {
        /// The file that was being written.
        path: PathBuf,
        /// The vector's row.
        row: usize,
        /// What is wrong with it.
        problem: VectorProblem,
    },
    /// More or fewer vectors written than announced.
    #[error("{} was to hold {announced} vectors and was given {given}", path.display())]
    Announced {
        /// The file that was being written.
        path: PathBuf,
        /// How many were announced.
        announced: usize,
        /// How many came; one more than announced if too many.
        given: usize,
    },
    /// A question's vector that cannot be searched with.
    #[error(
        "the question's vector {0}; it must come from the embedder that the index was built with"
    )]
    Query(VectorProblem),
    /// A passage that the artifact does not have.
    #[error("passage {0} is not in this index")]
    UnknownPassage(ChunkId),
    /// Graph parameters that cannot be built with.
    #[error("the recipe's graph has {name} = {value}; it must be from {least} to {most}")]
    GraphParameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The least it can be.
        least: usize,
        /// The most it can be.
        most: usize,
    },
    /// The graph library gave up.
    #[error("the graph of {} could not be built: {message}", path.display())]
    GraphBuild {
        /// The vectors it was to be built over.
        path: PathBuf,
        /// What the library said.
        message: String,
    },
    /// Hits that make no ranking.
    #[error("the dense hits make no ranking; run `quire verify`")]
    Ranking(#[from] RankingError),
}

impl DenseError {
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

/// What is wrong with a vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VectorProblem {
    /// It has another number of values.
    Dims {
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A value is NaN or infinite.
    NotFinite {
        /// The first such value's place, from 0.
        at: usize,
    },
    /// Its length is not 1.
    NotUnit {
        /// Its Euclidean length.
        norm: f64,
    },
}

impl fmt::Display for VectorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dims { found, expected } => write!(f, "has {found} values instead of {expected}"),
            Self::NotFinite { at } => {
                write!(f, "has a value, the one at {at}, that is no finite number")
            }
            Self::NotUnit { norm } => write!(f, "has length {norm:.6} instead of 1"),
        }
    }
}

/// How far from 1 the length of a unit vector may be: far more than rounding
/// to `f32` leaves, far less than a vector that nobody normalized.
const UNIT_TOLERANCE: f64 = 1e-3;

/// Checks that `vector` is a unit vector of `dims` finite values.
pub(crate) fn check_unit(vector: &[f32], dims: usize) -> Result<(), VectorProblem> {
    if vector.len() != dims {
        return Err(VectorProblem::Dims {
            found: vector.len(),
            expected: dims,
        });
    }
    let squares: f64 = vector.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    let norm = squares.sqrt();
    if (norm - 1.).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    match vector.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(VectorProblem::NotFinite { at }),
        None => Err(VectorProblem::NotUnit { norm }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_vector_passes_and_every_other_is_named() {
        assert_eq!(check_unit(&[0.6, 0.8], 2), Ok(()));
        assert_eq!(check_unit(&[0.6, 0.8005], 2), Ok(()));
        assert_eq!(
            check_unit(&[0.6, 0.8], 3),
            Err(VectorProblem::Dims {
                found: 2,
                expected: 3
            })
        );
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(
                check_unit(&[1., bad], 2),
                Err(VectorProblem::NotFinite { at: 1 })
            );
        }
        for length in [0., 0.99, 1.01, f32::MAX] {
            assert!(matches!(
                check_unit(&[0., length], 2),
                Err(VectorProblem::NotUnit { .. })
            ));
        }
    }
}
