//! `/v1/libraries`: books kept together, to be searched as one.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use quire_engine::LibraryEdit;

use super::books::summary;
use super::{chore, json};
use crate::body;
use crate::problem::Problem;
use crate::service::App;
use crate::shelf::{LibraryStanding, OpenLibrary};
use crate::wire::{
    DamagedLibrary, DeletedLibrary, Library, LibraryList, LibraryRequest, LibrarySummary,
    ProblemDocument,
};

/// Every library there is.
#[utoipa::path(get, path = "/v1/libraries", operation_id = "list_libraries", tag = "libraries",
    responses((status = 200, description = "The libraries", body = LibraryList)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let listed = chore(&app, |app| {
        let mut listed = LibraryList {
            libraries: Vec::new(),
            damaged: Vec::new(),
        };
        for (name, standing) in app.shelf.libraries() {
            match standing {
                LibraryStanding::Open(library) => listed.libraries.push(summed(&library)),
                LibraryStanding::Closed(error) => {
                    listed.damaged.push(DamagedLibrary { name, error });
                }
            }
        }
        Ok(listed)
    });
    Ok(json(StatusCode::OK, &listed.await?))
}

/// Creates a library of books that are there. Nothing is embedded again. It is
/// searched from the answer on.
#[utoipa::path(post, path = "/v1/libraries", operation_id = "create_library", tag = "libraries",
    request_body(content = LibraryRequest, content_type = "application/json"),
    responses(
        (status = 201, description = "The library", body = Library),
        (status = 400, description = "bad_json, not_utf8, bad_id, bad_name", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "library_exists, ambiguous_book, damaged_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "empty_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused, not_ready", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let request: LibraryRequest = body::json(request, &config.limits, &config.times).await?;
    let created = chore(&app, move |app| {
        let (name, books) = (&request.name, &request.books);
        let library = app
            .shelf
            .edit_library(name, |books| LibraryEdit::Create(books), books)?;
        Ok(described(&library))
    });
    Ok(json(StatusCode::CREATED, &created.await?))
}

/// A library with its books.
#[utoipa::path(get, path = "/v1/libraries/{name}", operation_id = "get_library", tag = "libraries",
    params(("name" = String, Path, description = "The library's name")),
    responses(
        (status = 200, description = "The library", body = Library),
        (status = 400, description = "bad_name", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "damaged_library", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let found = chore(&app, move |app| Ok(described(&app.shelf.library(&name)?)));
    Ok(json(StatusCode::OK, &found.await?))
}

/// Removes a library; its books stay. Queries in flight are answered all the
/// same.
#[utoipa::path(delete, path = "/v1/libraries/{name}", operation_id = "delete_library", tag = "libraries",
    params(("name" = String, Path, description = "The library's name")),
    responses(
        (status = 200, description = "It is gone", body = DeletedLibrary),
        (status = 400, description = "bad_name", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let deleted = chore(&app, move |app| {
        let name = app.shelf.delete_library(&name)?;
        Ok(DeletedLibrary { name })
    });
    Ok(json(StatusCode::OK, &deleted.await?))
}

/// Puts a book into a library. The library as it was is searched until the new
/// one is there. A book that is in it already changes nothing.
#[utoipa::path(put, path = "/v1/libraries/{name}/books/{id}", operation_id = "add_to_library", tag = "libraries",
    params(
        ("name" = String, Path, description = "The library's name"),
        ("id" = String, Path, description = "The book's id, or four or more digits it begins with"),
    ),
    responses(
        (status = 200, description = "The library as it is now", body = Library),
        (status = 400, description = "bad_name, bad_id", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_library, unknown_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_book, damaged_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn put_book(
    State(app): State<Arc<App>>,
    Path((name, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    edited(&app, name, id, |books| LibraryEdit::Add(books)).await
}

/// Takes a book out of a library; the book stays.
#[utoipa::path(delete, path = "/v1/libraries/{name}/books/{id}", operation_id = "remove_from_library", tag = "libraries",
    params(
        ("name" = String, Path, description = "The library's name"),
        ("id" = String, Path, description = "The book's id, or four or more digits it begins with"),
    ),
    responses(
        (status = 200, description = "The library as it is now", body = Library),
        (status = 400, description = "bad_name, bad_id", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 403, description = "forbidden", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_library, unknown_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "empty_library", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 503, description = "storage_refused", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn delete_book(
    State(app): State<Arc<App>>,
    Path((name, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    edited(&app, name, id, |books| LibraryEdit::Remove(books)).await
}

async fn edited(
    app: &Arc<App>,
    name: String,
    id: String,
    edit: impl Fn(&[quire_corpus::BookId]) -> LibraryEdit<'_> + Send + 'static,
) -> Result<Response, Problem> {
    let edited = chore(app, move |app| {
        let library = app.shelf.edit_library(&name, edit, &[id])?;
        Ok(described(&library))
    });
    Ok(json(StatusCode::OK, &edited.await?))
}

fn summed(open: &OpenLibrary) -> LibrarySummary {
    let books = open.books.iter();
    LibrarySummary {
        name: open.library.name.clone(),
        version: open.library.version,
        books: open.books.len(),
        passages: books.clone().map(|book| book.passages() as u64).sum(),
        tokens: books.map(|book| book.manifest().counts.tokens).sum(),
    }
}

fn described(open: &OpenLibrary) -> Library {
    Library {
        summary: summed(open),
        id: open.library.id().to_string(),
        book_list: open.books.iter().map(|book| summary(book)).collect(),
    }
}
