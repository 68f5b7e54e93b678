//! Searching a graph (Malkov and Yashunin 2018, algorithms 2 and 5).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Graph;
use crate::order::{Scored, best};

/// The rows with the best scores that a search with `ef` candidates meets,
/// best first, at most `limit`. `score` gives a row's score or ends the search.
///
/// More candidates than `limit` find better rows; fewer are raised to it.
///
/// Every part is searched with `ef` candidates, side by side.
pub(crate) fn nearest<E: Send>(
    graph: &Graph,
    limit: usize,
    ef: usize,
    score: impl Fn(u32) -> Result<f32, E> + Sync,
) -> Result<Vec<Scored>, E> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    if let [entry] = graph.entries[..] {
        return nearest_in_part(graph, entry, limit, ef, score);
    }
    let parts = graph.entries.par_iter();
    let found = parts.map(|entry| nearest_in_part(graph, *entry, limit, ef, &score));
    // In the parts' order, so that of two errors the first is told.
    let found: Vec<Result<Vec<Scored>, E>> = found.collect();
    let mut all = Vec::new();
    for part in found {
        all.extend(part?);
    }
    Ok(best(all, limit))
}

fn nearest_in_part<E>(
    graph: &Graph,
    entry: u32,
    limit: usize,
    ef: usize,
    score: impl Fn(u32) -> Result<f32, E>,
) -> Result<Vec<Scored>, E> {
    let scored = |row| Ok(Scored::new(score(row)?, row));
    let mut here = scored(entry)?;
    for layer in graph.layers[1..].iter().rev() {
        let mut moved = true;
        while moved {
            moved = false;
            for row in layer.neighbours(here.row()) {
                let there = scored(*row)?;
                if there > here {
                    here = there;
                    moved = true;
                }
            }
        }
    }

    let rows = graph.rows as usize;
    let ef = ef.max(limit).min(rows);
    let mut met = RowSet::of(rows);
    met.insert(here.row());
    let mut open = BinaryHeap::from([here]);
    let mut found = BinaryHeap::with_capacity(ef + 1);
    found.push(Reverse(here));
    while let Some(nearest) = open.pop() {
        let worst = |found: &BinaryHeap<Reverse<Scored>>| found.peek().map(|worst| worst.0);
        if found.len() == ef && Some(nearest) < worst(&found) {
            break;
        }
        for row in graph.layers[0].neighbours(nearest.row()) {
            if !met.insert(*row) {
                continue;
            }
            let there = scored(*row)?;
            if found.len() < ef || Some(there) > worst(&found) {
                open.push(there);
                found.push(Reverse(there));
                if found.len() > ef {
                    found.pop();
                }
            }
        }
    }
    Ok(best(
        found.into_iter().map(|found| found.0).collect(),
        limit,
    ))
}

/// A set of rows, a bit each.
struct RowSet(Vec<u64>);

impl RowSet {
    fn of(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    /// Whether the row was not in the set before.
    fn insert(&mut self, row: u32) -> bool {
        let word = &mut self.0[row as usize / 64];
        let bit = 1 << (row % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
