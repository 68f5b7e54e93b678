//! The libraries that are open. A query keeps the one it began with, while a
//! changed one takes its place on the shelf.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quire_corpus::BookId;
use quire_engine::{LibraryEdit, OpenBook, View, edit_library};
use quire_index::{LibraryError, LibraryName, NamedLibrary, RecipeKey};

use super::{Scope, Shared, Shelf, Stamp, Standing, State, lock};
use crate::problem::{Code, Problem, chain};

/// A library on the shelf.
#[derive(Clone)]
pub struct OpenLibrary {
    /// Its name and books.
    pub library: NamedLibrary,
    /// Its books, open.
    pub books: Vec<Arc<OpenBook>>,
    view: Arc<View>,
}

/// Whether a library can be searched.
#[derive(Clone)]
pub enum LibraryStanding {
    /// It is open.
    Open(OpenLibrary),
    /// It cannot be searched, for this reason.
    Closed(String),
}

/// A library's place on the shelf, with what it was opened from.
pub(super) struct LibraryPlace {
    library: Option<NamedLibrary>,
    books: Vec<Arc<OpenBook>>,
    pub(super) stamp: Option<Stamp>,
    standing: LibraryStanding,
}

/// The libraries by name.
pub(super) type LibraryPlaces = BTreeMap<LibraryName, LibraryPlace>;

impl Shelf {
    /// Every library, by name.
    pub fn libraries(&self) -> Vec<(LibraryName, LibraryStanding)> {
        let state = lock(&self.shared.state);
        let places = state.libraries.iter();
        places
            .map(|(name, place)| (name.clone(), place.standing.clone()))
            .collect()
    }

    /// The open library of that name.
    ///
    /// # Errors
    /// When there is none, or it cannot be searched.
    pub fn library(&self, name: &str) -> Result<OpenLibrary, Problem> {
        let name = parse(name)?;
        let state = lock(&self.shared.state);
        match state.libraries.get(&name).map(|place| &place.standing) {
            Some(LibraryStanding::Open(library)) => Ok(library.clone()),
            Some(LibraryStanding::Closed(why)) => Err(closed(&name, why)),
            None if !state.looked => {
                let detail = "The books are being opened.";
                Err(Problem::new(Code::NotReady, detail))
            }
            None => Err(unknown(&name)),
        }
    }

    /// The scope that is a library.
    ///
    /// # Errors
    /// Those of [`library`](Self::library).
    pub(super) fn scope_of_library(&self, name: &str) -> Result<Scope, Problem> {
        let open = self.library(name)?;
        Ok(Scope {
            library: Some((open.library.name, open.view)),
            books: open.books,
            left_out: Vec::new(),
        })
    }

    /// Changes a library on disk and then on the shelf. For a thread that may
    /// wait.
    ///
    /// # Errors
    /// When the edit takes something for granted that is not so, a book is not
    /// there, or the disk refuses.
    pub fn edit_library(
        &self,
        name: &str,
        edit: impl Fn(&[BookId]) -> LibraryEdit<'_>,
        books: &[String],
    ) -> Result<OpenLibrary, Problem> {
        let parsed = parse(name)?;
        let ids = books.iter().map(|given| self.find(given));
        let ids: BTreeSet<BookId> = ids
            .map(|found| Ok(found?.0))
            .collect::<Result<_, Problem>>()?;
        let ids: Vec<BookId> = ids.into_iter().collect();
        edit_library(&self.shared.store, &self.shared.recipe, &parsed, edit(&ids))?;
        self.shared.renew_library(parsed);
        self.library(name)
    }

    /// Removes a library on disk and from the shelf. Its books stay.
    ///
    /// # Errors
    /// When there is none of that name, or the disk refuses.
    pub fn delete_library(&self, name: &str) -> Result<LibraryName, Problem> {
        let name = parse(name)?;
        self.shared.store.remove_library(&name)?;
        self.shared.renew_library(name.clone());
        Ok(name)
    }
}

impl Shared {
    /// Makes the libraries on the shelf those of the disk, by the books that
    /// are open.
    pub(super) fn look_at_libraries(&self) -> Result<(), quire_index::IoError> {
        let found = self.store.libraries()?;
        let named: BTreeSet<LibraryName> = found.into_iter().map(|(name, _)| name).collect();
        let held: Vec<LibraryName> = lock(&self.state).libraries.keys().cloned().collect();
        for name in held.into_iter().chain(named).collect::<BTreeSet<_>>() {
            self.renew_library(name);
        }
        Ok(())
    }

    /// Opens a library unless it is open as it is on disk; takes it off the
    /// shelf if it is gone.
    fn renew_library(&self, name: LibraryName) {
        // One at a time, so that an older look never replaces a newer one.
        let _one = lock(&self.opening_libraries);
        let place = match self.store.library(&name) {
            Ok(None) => {
                lock(&self.state).libraries.remove(&name);
                return;
            }
            Ok(Some(library)) => self.place_of(library),
            Err(error) => Some(LibraryPlace {
                library: None,
                books: Vec::new(),
                stamp: None,
                standing: self.refused(&name, "its file is damaged", &error),
            }),
        };
        if let Some(place) = place {
            lock(&self.state).libraries.insert(name, place);
        }
    }

    /// The place of a library, opened; none if the one there is still true.
    fn place_of(&self, library: NamedLibrary) -> Option<LibraryPlace> {
        let stamp = self.library_stamp(&library);
        let books = {
            let state = lock(&self.state);
            if state.closed {
                return None;
            }
            let books = state.books_of(&library);
            let before = state.libraries.get(&library.name);
            if before.is_some_and(|before| before.is_of(&library, &books, stamp.as_ref())) {
                return None;
            }
            books
        };
        let (books, standing) = match books {
            Err(missing) => (Vec::new(), LibraryStanding::Closed(missing)),
            Ok(books) => {
                let view = View::library_of(&self.store, books.clone(), &self.recipe);
                let standing = match view {
                    Ok(view) => {
                        tracing::info!(name = %library.name, version = library.version, "library open");
                        LibraryStanding::Open(OpenLibrary {
                            library: library.clone(),
                            books: books.clone(),
                            view: Arc::new(view),
                        })
                    }
                    Err(error) => self.refused(&library.name, "its index cannot be opened", &error),
                };
                (books, standing)
            }
        };
        Some(LibraryPlace {
            // As it is now, if opening has put it together.
            stamp: self.library_stamp(&library),
            library: Some(library),
            books,
            standing,
        })
    }

    /// A library that cannot be opened. The cause is for the log, once.
    fn refused(
        &self,
        name: &LibraryName,
        why: &str,
        error: &(dyn std::error::Error + 'static),
    ) -> LibraryStanding {
        let known = lock(&self.state).libraries.get(name).is_some_and(
            |place| matches!(&place.standing, LibraryStanding::Closed(said) if said == why),
        );
        if !known {
            tracing::error!(%name, error = chain(error), "library cannot be opened");
        }
        LibraryStanding::Closed(why.to_owned())
    }

    fn library_stamp(&self, library: &NamedLibrary) -> Option<Stamp> {
        let recipe: RecipeKey = self.recipe.key();
        let path = self.store.path_of(library.key(recipe));
        std::fs::metadata(path).ok().as_ref().map(Stamp::of)
    }
}

impl State {
    /// A library's books as they stand on the shelf, or why one does not.
    fn books_of(&self, library: &NamedLibrary) -> Result<Vec<Arc<OpenBook>>, String> {
        let books = library.books.iter().map(|id| {
            let place = self.places.get(id).map(|place| &place.book);
            match place {
                Some(Standing::Open(book)) => Ok(Arc::clone(book)),
                Some(Standing::Damaged) => Err(format!("the index of its book {id} is damaged")),
                None => Err(format!("its book {id} is not indexed here")),
            }
        });
        books.collect()
    }
}

impl LibraryPlace {
    /// Whether it was made of these very books and files.
    fn is_of(
        &self,
        library: &NamedLibrary,
        books: &Result<Vec<Arc<OpenBook>>, String>,
        stamp: Option<&Stamp>,
    ) -> bool {
        let same_books = match (books, &self.standing) {
            (Ok(books), _) => {
                let held = self.books.iter();
                books.len() == held.len() && books.iter().zip(held).all(|(a, b)| Arc::ptr_eq(a, b))
            }
            (Err(missing), LibraryStanding::Closed(why)) => missing == why,
            (Err(_), LibraryStanding::Open(_)) => false,
        };
        same_books && self.library.as_ref() == Some(library) && self.stamp.as_ref() == stamp
    }
}

fn parse(name: &str) -> Result<LibraryName, Problem> {
    name.parse().map_err(|_| {
        let detail = format!("{name:?} is no name of a library.");
        Problem::new(Code::BadName, detail)
    })
}

fn unknown(name: &LibraryName) -> Problem {
    Problem::from(LibraryError::Unknown(name.clone()))
}

fn closed(name: &LibraryName, why: &str) -> Problem {
    let detail = format!("The library {name} cannot be searched: {why}.");
    Problem::new(Code::DamagedLibrary, detail)
}
