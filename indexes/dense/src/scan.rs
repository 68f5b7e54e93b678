//! The exact search: every row is scored.

use rayon::prelude::*;

use crate::kernel::Kernel;
use crate::order::{Scored, best};

/// Rows that one thread scores at a time: few enough that their scores stay
/// in the first cache.
const BLOCK: usize = 512;

/// Values (rows times dims) above which a scan is worth waking other threads:
/// about half a millisecond's work for one.
const PARALLEL_ABOVE: usize = 1 << 21;

/// The `limit` rows nearest to `query` by dot product, best first, out of
/// `values`, which holds rows of `query.len()` values.
///
/// # Errors
/// The first row whose score is no finite number.
pub(crate) fn nearest(
    kernel: Kernel,
    query: &[f32],
    values: &[f32],
    limit: usize,
) -> Result<Vec<Scored>, u32> {
    let dims = query.len();
    let mut scored = vec![Scored::WORST; values.len() / dims];
    // Scores the block and tells whether all its scores are finite.
    let score_block = |(block, (scored, rows)): (usize, (&mut [Scored], &[f32]))| {
        let mut scores = [0f32; BLOCK];
        let scores = &mut scores[..scored.len()];
        kernel.dots(query, rows, scores);
        for (at, (scored, score)) in scored.iter_mut().zip(&*scores).enumerate() {
            *scored = Scored::new(*score, (block * BLOCK + at) as u32);
        }
        scores
            .iter()
            .fold(true, |all, score| all & score.is_finite())
    };
    let finite = if values.len() > PARALLEL_ABOVE {
        scored
            .par_chunks_mut(BLOCK)
            .zip(values.par_chunks(BLOCK * dims))
            .enumerate()
            .map(score_block)
            .reduce(|| true, |all, block| all & block)
    } else {
        scored
            .chunks_mut(BLOCK)
            .zip(values.chunks(BLOCK * dims))
            .enumerate()
            .map(score_block)
            .fold(true, |all, block| all & block)
    };
    if finite {
        return Ok(best(scored, limit));
    }
    let bad = scored.iter().find(|scored| !scored.score().is_finite());
    Err(bad.map_or(0, |scored| scored.row()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Clusters;

    /// Every row scored one at a time and sorted.
    fn by_definition(query: &[f32], values: &[f32]) -> Vec<Scored> {
        let kernel = Kernel::detect();
        let mut all: Vec<Scored> = (0..)
            .zip(values.chunks_exact(query.len()))
            .map(|(row, vector)| Scored::new(kernel.dot(query, vector), row))
            .collect();
        all.sort_by(|a, b| b.cmp(a));
        all
    }

    #[test]
    fn the_scan_finds_what_sorting_all_scores_finds_on_any_number_of_threads() {
        let dims = 64;
        let rows = PARALLEL_ABOVE / dims + BLOCK + 3;
        let mut clusters = Clusters::new(dims, 40, 5);
        // Rows twice over, so that there are ties to break.
        let half = clusters.rows(rows / 2);
        let values = [&half[..], &half[..]].concat();
        let query = clusters.row();
        let expected = by_definition(&query, &values);
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            for limit in [0, 1, 10, rows + 5] {
                let found = pool
                    .install(|| nearest(Kernel::detect(), &query, &values, limit))
                    .unwrap();
                let wanted = limit.min(expected.len());
                assert_eq!(found, expected[..wanted], "{threads} threads, top {limit}");
            }
        }
    }

    #[test]
    fn a_small_scan_needs_no_whole_block() {
        let mut clusters = Clusters::new(7, 2, 1);
        for rows in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1] {
            let values = clusters.rows(rows);
            let query = clusters.row();
            let found = nearest(Kernel::detect(), &query, &values, rows).unwrap();
            assert_eq!(found, by_definition(&query, &values));
        }
    }
}
