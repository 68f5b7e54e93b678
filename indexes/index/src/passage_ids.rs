//! Which passage each row of an artifact is.

use quire_corpus::{BookId, ChunkId};

/// The passages of an artifact in row order: book by book in ascending id,
/// each book's passages by ordinal. So rows ascend as passage ids do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageIds {
    /// Ascending ids; for each the row of its first passage.
    books: Vec<(BookId, u32)>,
    rows: u32,
}

impl PassageIds {
    /// The rows of the given books, each with its number of passages. The
    /// order in which books are given does not matter.
    ///
    /// # Panics
    /// When a book is given twice or there are more than `u32::MAX` passages.
    pub fn of_books(books: impl IntoIterator<Item = (BookId, u32)>) -> Self {
        let mut books: Vec<(BookId, u32)> = books.into_iter().collect();
        books.sort_unstable();
        assert!(
            books.windows(2).all(|pair| pair[0].0 != pair[1].0),
            "a book given twice"
        );
        let mut rows = 0u32;
        for (_, count) in &mut books {
            let first = rows;
            rows = rows
                .checked_add(*count)
                .expect("more passages than a row number can hold");
            *count = first;
        }
        Self { books, rows }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether there are no passages.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The books, ascending.
    pub fn books(&self) -> impl Iterator<Item = BookId> + '_ {
        self.books.iter().map(|(book, _)| *book)
    }

    /// The passage at a row, or `None` beyond the last.
    pub fn chunk(&self, row: u32) -> Option<ChunkId> {
        if row >= self.rows {
            return None;
        }
        let after = self.books.partition_point(|(_, first)| *first <= row);
        let (book, first) = self.books[after - 1];
        Some(ChunkId {
            book,
            ordinal: row - first,
        })
    }

    /// The row of a passage, or `None` if it is not among these.
    pub fn row(&self, chunk: ChunkId) -> Option<u32> {
        let place = self
            .books
            .binary_search_by(|(book, _)| book.cmp(&chunk.book))
            .ok()?;
        let first = self.books[place].1;
        let end = self
            .books
            .get(place + 1)
            .map_or(self.rows, |(_, first)| *first);
        let row = first.checked_add(chunk.ordinal)?;
        (row < end).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_passages_map_both_ways_and_ascend_together() {
        let [a, b, c] = ["one", "two", "three"].map(BookId::of_text);
        let ids = PassageIds::of_books([(a, 3), (b, 0), (c, 2)]);
        assert_eq!(ids.len(), 5);
        let chunks: Vec<ChunkId> = (0..5).map(|row| ids.chunk(row).unwrap()).collect();
        assert!(chunks.is_sorted());
        for (row, chunk) in (0..).zip(&chunks) {
            assert_eq!(ids.row(*chunk), Some(row));
        }
        assert_eq!(ids.chunk(5), None);
        assert_eq!(
            ids.row(ChunkId {
                book: b,
                ordinal: 0
            }),
            None
        );
        assert_eq!(
            ids.row(ChunkId {
                book: a,
                ordinal: 3
            }),
            None
        );
        assert_eq!(ids, PassageIds::of_books([(c, 2), (a, 3), (b, 0)]));
    }
}
