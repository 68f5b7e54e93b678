//! `/v1/chunks`: a passage in its place.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use quire_corpus::ChunkId;
use quire_engine::OpenBook;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{chore, json};
use crate::problem::{Code, Problem};
use crate::service::App;
use crate::wire::{Around, Passage, ProblemDocument};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Neighbours {
    /// Passages before and after it, from 0 to 10.
    #[serde(default)]
    around: u32,
}

/// A passage with its text, and its neighbours.
#[utoipa::path(get, path = "/v1/chunks/{id}", operation_id = "get_chunk", tag = "books",
    params(
        ("id" = String, Path, description = "The passage's id, BOOK:NUMBER; of the book four or more digits do"),
        Neighbours,
    ),
    responses(
        (status = 200, description = "The passage", body = Around),
        (status = 400, description = "bad_id, bad_request", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 404, description = "unknown_book, unknown_chunk", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 409, description = "ambiguous_book, damaged_book", body = ProblemDocument, content_type = "application/problem+json"),
        (status = 422, description = "out_of_range", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    neighbours: Result<Query<Neighbours>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Neighbours { around }) =
        neighbours.map_err(|error| Problem::new(Code::BadRequest, error.body_text()))?;
    Ok(json(StatusCode::OK, &find(&app, id, around).await?))
}

/// A passage by its id, with so many neighbours on each side.
///
/// # Errors
/// When there is none of that id, or too many neighbours are asked for.
pub(crate) async fn find(app: &Arc<App>, id: String, around: u32) -> Result<Around, Problem> {
    let most = app.config.limits.around;
    if around > most {
        let detail = format!("around must be from 0 to {most}.");
        return Err(Problem::new(Code::OutOfRange, detail));
    }
    let found = chore(app, move |app| {
        let wrong = || {
            let detail = "A passage's id is its book's id, a colon and its number.";
            Problem::new(Code::BadId, detail)
        };
        let (book, ordinal) = id.split_once(':').ok_or_else(wrong)?;
        let ordinal: u32 = ordinal.parse().map_err(|_| wrong())?;
        let book = app.shelf.open_book(book)?;
        read(&book, ordinal, around)
    });
    found.await
}

fn read(book: &OpenBook, ordinal: u32, around: u32) -> Result<Around, Problem> {
    let of = book.passages() as u32;
    let chunk = |ordinal| ChunkId {
        book: book.id(),
        ordinal,
    };
    if ordinal >= of {
        let detail = format!("The book has the passages 0 to {}.", of.saturating_sub(1));
        return Err(Problem::new(Code::UnknownChunk, detail));
    }
    let first = ordinal.saturating_sub(around);
    let last = ordinal.saturating_add(around).min(of - 1);
    let mut passages = Vec::new();
    for ordinal in first..=last {
        let passage = book.passage(ordinal)?;
        passages.push(Passage {
            chunk: passage.chunk,
            chapter: passage.chapter,
            span: passage.span.into(),
            tokens: passage.tokens,
            text: passage.text,
        });
    }
    Ok(Around {
        chunk: chunk(ordinal),
        title: book.title().to_owned(),
        of: u64::from(of),
        passages,
        previous: first.checked_sub(1).map(chunk),
        next: (last + 1 < of).then(|| chunk(last + 1)),
    })
}
