//! `GET /v1/models`: the models that embed and rerank, and as chat models the
//! scopes that can be asked.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ErrorReply;
use crate::problem::{Code, Problem};
use crate::routes::{chore, json};
use crate::service::App;
use crate::shelf::{LibraryStanding, Standing};
use crate::wire::Scope;

/// The chat model that is asked about every book; with a slash and a book's
/// id, about that book.
const EVERY_BOOK: &str = "quire";
/// What stands before a library's name in the place of a book's id. No id and
/// no name has a colon.
const LIBRARY: &str = "library:";

/// The models there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// `list`.
    object: &'static str,
    /// The models.
    data: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Model {
    /// Its name in requests.
    id: String,
    /// `model`.
    object: &'static str,
    /// When the service started, in seconds since 1970.
    created: u64,
    /// `quire`.
    owned_by: &'static str,
    /// Not in the OpenAI API: what it is good for.
    quire: ModelUse,
}

/// What a model is good for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ModelUse {
    /// Any of `embeddings`, `rerank` and `chat`.
    uses: Vec<String>,
    /// The title of the book, or the name of the library, that a chat model is
    /// asked about; absent for all books and for other models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

/// The models there are: for embeddings, for reranking, and for chat one for
/// all books, one for each book and one for each library.
#[utoipa::path(
    get, path = "/v1/models", operation_id = "openai_models", tag = "clients",
    responses(
        (status = 200, description = "The models", body = ModelList),
        (status = 401, description = "invalid_api_key", body = ErrorReply),
        (status = 429, description = "rate_limit_exceeded", body = ErrorReply),
    )
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let list = chore(&app, |app| {
        Ok(ModelList {
            object: "list",
            data: every(app),
        })
    });
    Ok(json(StatusCode::OK, &list.await?))
}

/// One model: an embedder, a reranker, or the chat model of all books.
#[utoipa::path(
    get, path = "/v1/models/{model}", operation_id = "openai_model", tag = "clients",
    params(("model" = String, Path, description = "Its name; a slash in it may be written as %2F")),
    responses(
        (status = 200, description = "The model", body = Model),
        (status = 401, description = "invalid_api_key", body = ErrorReply),
        (status = 404, description = "model_not_found", body = ErrorReply),
    )
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
) -> Result<Response, Problem> {
    found(&app, model).await
}

/// The chat model of one book or one library.
#[utoipa::path(
    get, path = "/v1/models/{family}/{book}", operation_id = "openai_model_of_book", tag = "clients",
    params(
        ("family" = String, Path, description = "quire"),
        ("book" = String, Path, description = "The book's id or its first digits, or library: and a library's name"),
    ),
    responses(
        (status = 200, description = "The model", body = Model),
        (status = 400, description = "ambiguous_book", body = ErrorReply),
        (status = 401, description = "invalid_api_key", body = ErrorReply),
        (status = 404, description = "model_not_found", body = ErrorReply),
    )
)]
pub(crate) async fn get_of_book(
    State(app): State<Arc<App>>,
    Path((family, book)): Path<(String, String)>,
) -> Result<Response, Problem> {
    found(&app, format!("{family}/{book}")).await
}

async fn found(app: &Arc<App>, name: String) -> Result<Response, Problem> {
    let model = chore(app, move |app| {
        if let Some(model) = every(app).into_iter().find(|model| model.id == name) {
            return Ok(model);
        }
        // A book may be named by its first digits.
        let Some(scope) = scope_of(app, &name)? else {
            return Err(unknown(&name));
        };
        match scope {
            Scope::Library(name) => Ok(of_library(app, &name)),
            Scope::Books(books) => {
                let book = app.shelf.open_book(&books[0])?;
                Ok(of_book(app, &book.id().to_string(), book.title()))
            }
        }
    });
    Ok(json(StatusCode::OK, &model.await?))
}

/// The scope that a chat model's name stands for; none is every book.
///
/// # Errors
/// When there is no such chat model.
pub(super) fn scope_of(app: &App, model: &str) -> Result<Option<Scope>, Problem> {
    if model == EVERY_BOOK {
        return Ok(None);
    }
    let Some(("quire", given)) = model.split_once('/') else {
        return Err(unknown(model));
    };
    let scope = match given.strip_prefix(LIBRARY) {
        Some(name) => Scope::Library(name.to_owned()),
        None => Scope::Books(vec![given.to_owned()]),
    };
    app.shelf
        .scope(Some(&scope))
        .map_err(|problem| match problem.code() {
            Code::UnknownBook | Code::BadId | Code::UnknownLibrary | Code::BadName => {
                unknown(model)
            }
            _ => problem.about("model"),
        })?;
    Ok(Some(scope))
}

fn unknown(model: &str) -> Problem {
    let detail = format!("There is no model {model:?} for this here.");
    Problem::new(Code::UnknownModel, detail).about("model")
}

fn every(app: &App) -> Vec<Model> {
    let embedder = &app.models.embedder.info().name;
    let reranker = &app.models.reranker.info().name;
    let mut models = if embedder == reranker {
        vec![model(app, embedder, &["embeddings", "rerank"])]
    } else {
        vec![
            model(app, embedder, &["embeddings"]),
            model(app, reranker, &["rerank"]),
        ]
    };
    models.push(model(app, EVERY_BOOK, &["chat"]));
    for (id, standing) in app.shelf.books() {
        if let Standing::Open(book) = standing {
            models.push(of_book(app, &id.to_string(), book.title()));
        }
    }
    for (name, standing) in app.shelf.libraries() {
        if let LibraryStanding::Open(_) = standing {
            models.push(of_library(app, name.as_str()));
        }
    }
    models
}

fn of_library(app: &App, name: &str) -> Model {
    let mut model = model(app, &format!("{EVERY_BOOK}/{LIBRARY}{name}"), &["chat"]);
    model.quire.title = Some(name.to_owned());
    model
}

fn of_book(app: &App, id: &str, title: &str) -> Model {
    let mut model = model(app, &format!("{EVERY_BOOK}/{id}"), &["chat"]);
    model.quire.title = Some(title.to_owned());
    model
}

fn model(app: &App, id: &str, uses: &[&str]) -> Model {
    let since = app.started.duration_since(SystemTime::UNIX_EPOCH);
    Model {
        id: id.to_owned(),
        object: "model",
        created: since.map_or(0, |since| since.as_secs()),
        owned_by: "quire",
        quire: ModelUse {
            uses: uses.iter().map(|&one| one.to_owned()).collect(),
            title: None,
        },
    }
}
