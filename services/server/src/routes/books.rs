//! `/v1/books`: what there is, and taking it away.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use quire_engine::OpenBook;

use super::{chore, json};
use crate::problem::Problem;
use crate::service::App;
use crate::shelf::Standing;
use crate::wire::{Book, BookList, BookSummary, Chapter, DamagedBook, Deleted, ProblemDocument};

/// Every book there is.
#[utoipa::path(get, path = "/v1/books", operation_id = "list_books", tag = "books",
    responses((status = 200, description = "The books", body = BookList)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let listed = chore(&app, |app| {
        let mut listed = BookList {
            books: Vec::new(),
            damaged: Vec::new(),
        };
        for (id, standing) in app.shelf.books() {
            match standing {
                Standing::Open(book) => listed.books.push(summary(&book)),
                Standing::Damaged => listed.damaged.push(DamagedBook {
                    book: id,
                    error: "its index is damaged".to_owned(),
                    remedy: "delete the book and index it again".to_owned(),
                }),
            }
        }
        Ok(listed)
    });
    Ok(json(StatusCode::OK, &listed.await?))
}

/// All about one book.
#[utoipa::path(get, path = "/v1/books/{id}", operation_id = "get_book", tag = "books",
    params(("id" = String, Path, description = "The book's id, or four or more digits it begins with")),
    responses(
        (status = 200, description = "The book", body = Book),
        (status = 404, description = "unknown_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_book", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &find(&app, id).await?))
}

/// A book by its id or what it begins with.
///
/// # Errors
/// When there is no one such book, or it cannot be opened.
pub(crate) async fn find(app: &Arc<App>, id: String) -> Result<Book, Problem> {
    chore(app, move |app| Ok(described(&*app.shelf.open_book(&id)?))).await
}

/// Removes a book: every index of it. Queries in flight are answered all the
/// same. A book that a library has is to be taken out of it first.
#[utoipa::path(delete, path = "/v1/books/{id}", operation_id = "delete_book", tag = "books",
    params(("id" = String, Path, description = "The book's id, or four or more digits it begins with")),
    responses(
        (status = 200, description = "It is gone", body = Deleted),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, busy, in_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let deleted = chore(&app, move |app| {
        let (book, _) = app.shelf.find(&id)?;
        let indexes = app.shelf.delete(book)?;
        Ok(Deleted { book, indexes })
    });
    Ok(json(StatusCode::OK, &deleted.await?))
}

pub(crate) fn summary(book: &OpenBook) -> BookSummary {
    let manifest = book.manifest();
    BookSummary {
        book: book.id(),
        title: book.title().to_owned(),
        passages: book.passages() as u64,
        tokens: manifest.counts.tokens,
        chapters: manifest.counts.chapters,
        indexed: manifest.build.started.clone(),
    }
}

fn described(book: &OpenBook) -> Book {
    let manifest = book.manifest();
    // The source's path is the machine's, not the client's.
    let source = manifest.source.as_ref();
    let chapters = book.chapters().iter();
    Book {
        summary: summary(book),
        author: source.and_then(|source| source.author.clone()),
        format: source.map(|source| source.format.clone()),
        encoding: source.map(|source| source.encoding.clone()),
        problems: source.map_or_else(Vec::new, |source| source.problems.clone()),
        text_bytes: manifest.counts.text_bytes,
        index_bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        recipe_key: manifest.recipe_key.clone(),
        recipe: manifest.recipe.clone(),
        build: manifest.build.clone(),
        chapter_list: chapters
            .map(|chapter| Chapter {
                title: chapter.title.clone(),
                start: chapter.start,
            })
            .collect(),
    }
}
