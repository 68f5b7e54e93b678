//! Hits in order, best first.

use quire_corpus::ChunkId;

/// A passage and how well it matched, on the scale of whoever ranked it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The passage.
    pub chunk: ChunkId,
    /// Larger is better; finite.
    pub score: f64,
}

/// Hits best first, each passage once. Nothing else can build one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranking {
    hits: Vec<Hit>,
}

/// Why hits do not make a ranking.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RankingError {
    /// A score is NaN or infinite.
    #[error("passage {chunk} has the score {score}, which is not a finite number")]
    NotFinite {
        /// The passage.
        chunk: ChunkId,
        /// Its score.
        score: f64,
    },
    /// A passage stands in the list twice.
    #[error("passage {0} is ranked twice")]
    Twice(ChunkId),
}

impl Ranking {
    /// Sorts by score, descending, then by passage, ascending.
    ///
    /// # Errors
    /// When a score is not finite or a passage appears twice.
    pub fn by_score(mut hits: Vec<Hit>) -> Result<Self, RankingError> {
        if let Some(hit) = hits.iter().find(|hit| !hit.score.is_finite()) {
            return Err(RankingError::NotFinite {
                chunk: hit.chunk,
                score: hit.score,
            });
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        let mut chunks: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
        chunks.sort_unstable();
        match chunks.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(RankingError::Twice(pair[0])),
            None => Ok(Self { hits }),
        }
    }

    /// For [`fuse`](crate::fuse()), whose ties are broken by more than the passage.
    pub(crate) fn already_sorted(hits: Vec<Hit>) -> Self {
        debug_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        Self { hits }
    }

    /// The hits, best first.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// The passages, best first.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.hits.iter().map(|hit| hit.chunk)
    }

    /// How many hits.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Keeps the best `limit` hits.
    pub fn truncate(&mut self, limit: usize) {
        self.hits.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quire_corpus::BookId;

    fn hit(ordinal: u32, score: f64) -> Hit {
        Hit {
            chunk: ChunkId {
                book: BookId::of_text("a book"),
                ordinal,
            },
            score,
        }
    }

    #[test]
    fn ties_go_to_the_lower_passage() {
        let ranking = Ranking::by_score(vec![hit(3, 1.), hit(1, 2.), hit(2, 1.)]).unwrap();
        let order: Vec<u32> = ranking.chunks().map(|chunk| chunk.ordinal).collect();
        assert_eq!(order, [1, 2, 3]);
    }

    #[test]
    fn a_score_that_is_no_number_is_refused() {
        assert!(matches!(
            Ranking::by_score(vec![hit(0, 1.), hit(1, f64::NAN)]),
            Err(RankingError::NotFinite { .. })
        ));
    }

    #[test]
    fn a_passage_is_ranked_once() {
        let twice = Ranking::by_score(vec![hit(1, 1.), hit(2, 3.), hit(1, 2.)]);
        assert_eq!(twice, Err(RankingError::Twice(hit(1, 1.).chunk)));
    }
}
