//! What is searched together.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::plan::Over;
use crate::set::EvalSet;
use crate::statistics::Rng;

/// Books searched together, and the questions asked of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The cut of its books, by its place.
    pub cut: usize,
    /// As reports name its kind: `own book`, `all books`, `5 books`.
    pub over: String,
    /// The seed that drew it; `None` where nothing was drawn.
    pub seed: Option<u64>,
    /// Its place among the bundles of its size and seed.
    pub bundle: Option<usize>,
    /// Its books, by their places in the run, ascending.
    pub books: Vec<usize>,
    /// The seeds its questions are answered by.
    pub seeds: Vec<u64>,
    /// Its questions: the places of set and question.
    pub questions: Vec<(usize, usize)>,
}

/// Bundles that cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// More books in a bundle than there are.
    #[error(
        "a bundle of {size} books cannot be drawn from {books}; ask for --books {books} or fewer"
    )]
    TooFewBooks {
        /// Books in the bundle.
        size: usize,
        /// Books there are.
        books: usize,
    },
    /// A bundle without books.
    #[error("a bundle has at least one book; ask for --books 1 or more")]
    Empty,
}

/// A set's books: of each, its place in the run.
pub type Places = Vec<Vec<usize>>;

/// The scopes of some sets. `places` are the books of each set by their places
/// in the run, and `cuts` which cuts each set's books have.
///
/// # Errors
/// When a bundle has more books than there are, or none.
pub fn scopes(
    sets: &[EvalSet],
    places: &Places,
    cuts: &[Vec<usize>],
    over: &Over,
    seeds: &[u64],
) -> Result<Vec<Scope>, ScopeError> {
    let mut scopes = Vec::new();
    for pool in pools(sets, places, cuts) {
        for &cut in &pool.cuts {
            let scope = |over: String, seed, bundle, books: Vec<usize>, seeds: &[u64]| Scope {
                cut,
                over,
                seed,
                bundle,
                questions: pool.questions_of(&books),
                books,
                seeds: seeds.to_vec(),
            };
            match over {
                Over::Own => scopes.extend(
                    pool.books
                        .iter()
                        .map(|&book| scope("own book".to_owned(), None, None, vec![book], seeds)),
                ),
                Over::All => {
                    let books = pool.books.clone();
                    scopes.push(scope("all books".to_owned(), None, None, books, seeds));
                }
                Over::Bundles { sizes, bundles } => {
                    for &size in sizes {
                        for &seed in seeds {
                            let drawn = draw(&pool.books, size, *bundles, seed)?;
                            for (number, books) in drawn.into_iter().enumerate() {
                                let name = match size {
                                    1 => "1 book".to_owned(),
                                    size => format!("{size} books"),
                                };
                                let at = (Some(seed), Some(number));
                                scopes.push(scope(name, at.0, at.1, books, &[seed]));
                            }
                        }
                    }
                }
            }
        }
    }
    scopes.retain(|scope| !scope.questions.is_empty());
    Ok(scopes)
}

/// Books that may be searched together.
struct Pool {
    cuts: Vec<usize>,
    books: Vec<usize>,
    /// Places of set and question, and of the question's book in the run.
    questions: Vec<(usize, usize, usize)>,
}

impl Pool {
    fn questions_of(&self, books: &[usize]) -> Vec<(usize, usize)> {
        let about = self.questions.iter();
        about
            .filter(|(_, _, book)| books.binary_search(book).is_ok())
            .map(|&(set, question, _)| (set, question))
            .collect()
    }
}

/// One pool of all books that are cut, and one of each set that gives its
/// passages.
fn pools(sets: &[EvalSet], places: &Places, cuts: &[Vec<usize>]) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    let mut of_cut = None;
    for (number, set) in sets.iter().enumerate() {
        let at = match of_cut {
            Some(at) if !set.is_given() => at,
            _ => {
                pools.push(Pool {
                    cuts: cuts[number].clone(),
                    books: Vec::new(),
                    questions: Vec::new(),
                });
                pools.len() - 1
            }
        };
        if !set.is_given() {
            of_cut = Some(at);
        }
        let pool = &mut pools[at];
        pool.books.extend(&places[number]);
        let questions = set.questions.iter().enumerate();
        let questions = questions.map(|(at, q)| (number, at, places[number][q.book]));
        pool.questions.extend(questions);
    }
    for pool in &mut pools {
        pool.books.sort_unstable();
        pool.books.dedup();
    }
    pools
}

/// Bundles of `size` books, no two the same. The books are shuffled and dealt
/// out, and shuffled again when too few are left, so that each is in a bundle
/// before any is in two. There are fewer bundles where there are no more.
fn draw(
    books: &[usize],
    size: usize,
    bundles: usize,
    seed: u64,
) -> Result<Vec<Vec<usize>>, ScopeError> {
    if size == 0 {
        return Err(ScopeError::Empty);
    }
    if size > books.len() {
        let books = books.len();
        return Err(ScopeError::TooFewBooks { size, books });
    }
    let mut rng = Rng::new(seed);
    let mut drawn: Vec<Vec<usize>> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut dealt: Vec<usize> = Vec::new();
    let mut repeats = 0;
    // A thousand repeats in a row: there are no more, or hardly any.
    while drawn.len() < bundles && repeats < 1000 {
        if dealt.len() < size {
            dealt = shuffled(books, &mut rng);
        }
        let mut bundle = dealt.split_off(dealt.len() - size);
        bundle.sort_unstable();
        if seen.insert(bundle.clone()) {
            drawn.push(bundle);
            repeats = 0;
        } else {
            repeats += 1;
        }
    }
    Ok(drawn)
}

/// Fisher and Yates's shuffle (Durstenfeld 1964).
fn shuffled(books: &[usize], rng: &mut Rng) -> Vec<usize> {
    let mut books = books.to_vec();
    for last in (1..books.len()).rev() {
        books.swap(last, rng.below(last + 1));
    }
    books
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_book_is_in_a_bundle_before_any_is_in_two() {
        let books: Vec<usize> = (0..10).collect();
        let drawn = draw(&books, 5, 2, 7).unwrap();
        let mut all: Vec<usize> = drawn.concat();
        all.sort_unstable();
        assert_eq!(all, books);
        assert_eq!(draw(&books, 5, 2, 7).unwrap(), drawn);
        assert_ne!(draw(&books, 5, 2, 8).unwrap(), drawn);
    }

    #[test]
    fn no_two_bundles_are_the_same() {
        let books: Vec<usize> = (0..4).collect();
        let drawn = draw(&books, 2, 50, 1).unwrap();
        assert_eq!(drawn.len(), 6);
        assert_eq!(draw(&books, 4, 5, 1).unwrap(), [books]);
    }

    #[test]
    fn a_bundle_has_no_more_books_than_there_are() {
        let error = draw(&[1, 2], 3, 1, 0).unwrap_err();
        assert!(error.to_string().contains("--books 2 or fewer"));
        assert_eq!(draw(&[1], 0, 1, 0), Err(ScopeError::Empty));
    }
}
