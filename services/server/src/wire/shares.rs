//! How the best passages are shared among the books.

use quire_corpus::BookId;
use quire_engine::{Trace, View};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How each stage's best passages are shared among the books that were
/// searched: what can be seen of a search over several books without knowing
/// the right answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Shares {
    /// How many of a stage's best passages are counted, at most: as many as
    /// the evidence may have.
    pub top: usize,
    /// Every book with a passage in any stage's list, those with the most of
    /// the final ranking's best passages first.
    pub books: Vec<BookShares>,
}

/// One book's shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BookShares {
    /// The book.
    #[schema(value_type = String)]
    pub book: BookId,
    /// Its title.
    pub title: String,
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Share {
    /// Its passages among the best.
    pub passages: usize,
    /// The same as a part of the best there are, 0 to 1.
    pub share: f64,
    /// The rank, from 1, of its first passage in the whole list; `null` if it
    /// has none there.
    pub first: Option<usize>,
}

impl Shares {
    /// The shares of a search; `None` where one book was searched.
    pub fn of(view: &View, trace: &Trace) -> Option<Self> {
        // One book has all of it.
        view.books().nth(1)?;
        let top = trace.fingerprint.budgets.evidence_passages;
        let shares = quire_engine::Shares::of(trace, top);
        let books = shares.books.into_iter().map(|shares| BookShares {
            book: shares.book,
            title: view.title(shares.book).unwrap_or_default().to_owned(),
            lexical: shares.lexical.into(),
            dense: shares.dense.into(),
            fused: shares.fused.into(),
            reranked: shares.reranked.into(),
        });
        Some(Self {
            top,
            books: books.collect(),
        })
    }
}

impl From<quire_engine::Share> for Share {
    fn from(share: quire_engine::Share) -> Self {
        let quire_engine::Share {
            passages,
            share,
            first,
        } = share;
        Self {
            passages,
            share,
            first,
        }
    }
}
