//! Damage that tantivy answers with a panic becomes an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::Bm25Error;

/// Runs what reads an index in `dir`. tantivy indexes into its files by the
/// offsets it finds in them, so damaged bytes can make it panic.
///
/// What `read` had borrowed must not be used again after an error: the
/// readers may be left half-way.
pub(crate) fn reading<T>(
    dir: &Path,
    read: impl FnOnce() -> Result<T, Bm25Error>,
) -> Result<T, Bm25Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        Err(Bm25Error::Damaged {
            dir: dir.to_owned(),
            detail: format!("reading it failed with '{}'", message(panic.as_ref())),
        })
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_reading_is_damage_and_says_what_it_said() {
        let result: Result<(), _> = reading(Path::new("/books/a"), || {
            let offsets: Vec<u32> = Vec::new();
            panic!("{} offsets", offsets.len())
        });
        assert_eq!(
            result.unwrap_err().to_string(),
            "the lexical index in /books/a is damaged: reading it failed with \
             '0 offsets'; index the book again"
        );
    }
}
