//! How the best passages are shared among the books, as a table.

use anyhow::Result;
use quire_server::wire::{Share, Shares};

use crate::output::{print_table, printable_line};

/// Books that are shown; a large library would fill the screen.
const SHOWN: usize = 10;

/// Prints the books with the most of the best passages.
pub(super) fn print(shares: &Shares) -> Result<()> {
    let top = format!("of the best {}", shares.top);
    let rows: Vec<Vec<String>> = shares
        .books
        .iter()
        .take(SHOWN)
        .map(|book| {
            vec![
                book.book.short(),
                format!(
                    "{} ({:.0}%)",
                    book.reranked.passages,
                    100.0 * book.reranked.share
                ),
                first(book.reranked),
                first(book.lexical),
                first(book.dense),
                first(book.fused),
                printable_line(&book.title),
            ]
        })
        .collect();
    print_table(
        &["book", &top, "first at", "bm25", "dense", "fused", "title"],
        &rows,
    )?;
    if let more @ 1.. = shares.books.len().saturating_sub(SHOWN) {
        println!("and {more} more; --json has all");
    }
    Ok(())
}

fn first(share: Share) -> String {
    share
        .first
        .map_or("-".to_owned(), |rank| format!("#{rank}"))
}
