//! Whether the right book is found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::level::{Estimate, Level, Run};
use super::{STAGES, stage_name};

/// How much of a list is from the right book. No gold passage is needed: only
/// which book a question is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoutingRow {
    /// Of which questions.
    #[serde(flatten)]
    pub level: Level,
    /// The stage: `bm25`, `dense`, `fused`, `reranked`.
    pub stage: String,
    /// Share of the first passages that are from the right book, by how many
    /// are looked at: `share@5`, `share@10`; and the reciprocal rank of the
    /// right book among the books, by their first passages: `book_mrr`; and
    /// how often it is the first: `book_first`.
    pub measures: BTreeMap<String, Estimate>,
}

pub(super) fn rows(data: &Run<'_>) -> Vec<RoutingRow> {
    let mut rows = Vec::new();
    for (level, found) in data.by_level() {
        let several = |key| data.scope(key).books.len() > 1;
        if !found.iter().any(|found| several(found.key)) {
            continue;
        }
        for stage in STAGES {
            let measures = ["share@5", "share@10", "book_mrr", "book_first"];
            let measures = measures.into_iter().filter_map(|name| {
                let estimate = data.estimate(&found, |found| {
                    let list = found.ranked(stage);
                    let books: Vec<usize> = list.iter().map(|(book, _)| *book).collect();
                    let own = data.run.book_of(found.key);
                    Some(value(name, &books, own))
                })?;
                Some((name.to_owned(), estimate))
            });
            rows.push(RoutingRow {
                stage: stage_name(stage).to_owned(),
                measures: measures.collect(),
                level: level.clone(),
            });
        }
    }
    rows
}

/// Of the books of a list, best passage first.
fn value(name: &str, books: &[usize], own: usize) -> f64 {
    let share = |depth: usize| {
        let first = &books[..books.len().min(depth)];
        let right = first.iter().filter(|&&book| book == own).count();
        match first.len() {
            0 => 0.0,
            all => right as f64 / all as f64,
        }
    };
    let rank = || {
        let mut seen: Vec<usize> = Vec::new();
        for &book in books {
            if !seen.contains(&book) {
                seen.push(book);
            }
        }
        seen.iter().position(|&book| book == own)
    };
    match name {
        "share@5" => share(5),
        "share@10" => share(10),
        "book_mrr" => rank().map_or(0.0, |at| 1.0 / (at + 1) as f64),
        _ => f64::from(u8::from(rank() == Some(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn books_rank_by_their_first_passages() {
        let books = [3, 3, 7, 3, 9, 7];
        assert_eq!(value("share@5", &books, 3), 0.6);
        assert_eq!(value("share@10", &books, 7), 2.0 / 6.0);
        assert_eq!(value("book_mrr", &books, 9), 1.0 / 3.0);
        assert_eq!(value("book_first", &books, 3), 1.0);
        assert_eq!(value("book_mrr", &books, 4), 0.0);
    }
}
