//! How the best passages of a query are shared among books: what can be said of
//! a search over several books without knowing the right answer.

use std::collections::BTreeMap;

use quire_corpus::{BookId, ChunkId};
use serde::{Deserialize, Serialize};

use crate::{Ranked, Trace};

/// How each stage's best passages are shared among the books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// How many of a stage's best passages are counted, at most.
    pub top: usize,
    /// Every book with a passage in any stage's list; those with the most of
    /// the final ranking's best passages first, then by the rank of their first
    /// one, then by id.
    pub books: Vec<BookShares>,
}

/// One book's shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BookShares {
    /// The book.
    pub book: BookId,
    /// Of BM25's list.
    pub lexical: Share,
    /// Of the dense view's list.
    pub dense: Share,
    /// Of the fused list.
    pub fused: Share,
    /// Of the final ranking: what was reranked, then the rest as fused.
    pub reranked: Share,
}

/// A book's share of one stage's list.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Share {
    /// Its passages among the best.
    pub passages: usize,
    /// The same as a part of the best there are, 0 to 1.
    pub share: f64,
    /// The rank, from 1, of its first passage in the whole list; `None` if it
    /// has none there.
    pub first: Option<usize>,
}

impl Shares {
    /// The shares of the `top` best passages of each stage.
    pub fn of(trace: &Trace, top: usize) -> Self {
        let stage = |by| shares_of(&trace.best_first(by), top);
        let lexical = stage(Ranked::Lexical);
        let dense = stage(Ranked::Dense);
        let fused = stage(Ranked::Fused);
        let reranked = stage(Ranked::Reranked);
        // The fused list holds whatever either retriever lists.
        let books = fused.keys().map(|&book| {
            let share =
                |stage: &BTreeMap<BookId, Share>| stage.get(&book).copied().unwrap_or_default();
            BookShares {
                book,
                lexical: share(&lexical),
                dense: share(&dense),
                fused: share(&fused),
                reranked: share(&reranked),
            }
        });
        let mut books: Vec<BookShares> = books.collect();
        books.sort_by_key(|shares| {
            let last = shares.reranked;
            let first = last.first.unwrap_or(usize::MAX);
            (std::cmp::Reverse(last.passages), first, shares.book)
        });
        Self { top, books }
    }
}

/// Each book's share of a list that is best first.
fn shares_of(best_first: &[ChunkId], top: usize) -> BTreeMap<BookId, Share> {
    let counted = best_first.len().min(top);
    let mut shares: BTreeMap<BookId, Share> = BTreeMap::new();
    for (rank, chunk) in (1..).zip(best_first) {
        let share = shares.entry(chunk.book).or_default();
        share.first.get_or_insert(rank);
        if rank <= counted {
            share.passages += 1;
        }
    }
    for share in shares.values_mut() {
        if counted > 0 {
            share.share = share.passages as f64 / counted as f64;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(of: &str) -> Vec<ChunkId> {
        let chunks = (0..).zip(of.chars());
        chunks
            .map(|(ordinal, book)| ChunkId {
                book: BookId::of_text(&book.to_string()),
                ordinal,
            })
            .collect()
    }

    fn share(of: &str, top: usize, book: &str) -> Share {
        let shares = shares_of(&chunks(of), top);
        shares
            .get(&BookId::of_text(book))
            .copied()
            .unwrap_or_default()
    }

    #[test]
    fn shares_are_of_the_best_and_first_ranks_of_the_whole_list() {
        let expected = |passages, share, first| Share {
            passages,
            share,
            first,
        };
        assert_eq!(share("abac", 3, "a"), expected(2, 2.0 / 3.0, Some(1)));
        assert_eq!(share("abac", 3, "b"), expected(1, 1.0 / 3.0, Some(2)));
        assert_eq!(share("abac", 3, "c"), expected(0, 0.0, Some(4)));
        assert_eq!(share("abac", 3, "d"), expected(0, 0.0, None));
    }

    #[test]
    fn a_list_shorter_than_the_top_is_shared_out_whole() {
        assert_eq!(share("ab", 10, "a").share, 0.5);
        assert_eq!(shares_of(&[], 10), BTreeMap::new());
        assert_eq!(share("ab", 0, "a").share, 0.0);
    }
}
