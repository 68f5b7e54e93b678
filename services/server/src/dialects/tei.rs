//! The API of text-embeddings-inference: `POST /embed` (and `/`, where that
//! server takes the same), `POST /rerank`, `GET /info`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use quire_model::{Pooling, RerankMethod, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::scores::{RERANK_TEXTS, reranked};
use super::texts::{EMBED_TEXTS, EMBED_TOKENS, TextOrTexts, TooLong, embedded, on_a_thread};
use crate::body;
use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::routes::{json, json_bytes};
use crate::service::App;
use crate::wire::ProblemDocument;

/// Texts to embed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbedRequest {
    /// One text or up to 2048, of 300,000 tokens together.
    inputs: TextOrTexts,
    /// Vectors always have unit length; `false` is refused.
    #[serde(default)]
    normalize: Option<bool>,
    /// Whether texts that are too long are cut rather than refused; not where
    /// it is absent.
    #[serde(default)]
    truncate: Option<bool>,
    /// Which end is cut: `right` alone.
    #[serde(default)]
    truncation_direction: Option<String>,
    /// What the texts are to the model: `query`, or `passage`, which holds
    /// where it is absent.
    #[serde(default)]
    prompt_name: Option<String>,
    /// The model's own number of values; vectors are not shortened.
    #[serde(default)]
    dimensions: Option<usize>,
}

/// Texts to rank by a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeiRerankRequest {
    /// What is asked.
    query: String,
    /// Up to 1000 texts.
    texts: Vec<String>,
    /// Whether scores are the model's own rather than from 0 to 1.
    #[serde(default)]
    raw_scores: Option<bool>,
    /// Whether the answer repeats the texts.
    #[serde(default)]
    return_text: Option<bool>,
    /// Whether texts that are too long are cut rather than refused.
    #[serde(default)]
    truncate: Option<bool>,
    /// Which end is cut: `right` alone.
    #[serde(default)]
    truncation_direction: Option<String>,
}

/// A text's place.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Rank {
    /// Its place in the request, from 0.
    index: usize,
    /// The text, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// From 0 to 1, or the model's own.
    score: f64,
}

/// What the server runs.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Info {
    /// The embedder's name.
    model_id: String,
    /// Its revision.
    model_sha: String,
    /// `fp32` or `int8`.
    model_dtype: String,
    /// What it is.
    model_type: ModelType,
    /// Requests that may wait.
    max_concurrent_requests: usize,
    /// Tokens of a text, prefix and special tokens included.
    max_input_length: usize,
    /// Tokens of a request.
    max_batch_tokens: usize,
    /// Texts of a request.
    max_client_batch_size: usize,
    /// Texts that are too long are refused unless they are to be cut.
    auto_truncate: bool,
    /// Threads that take requests.
    tokenization_workers: usize,
    /// The server's version.
    version: &'static str,
    /// Not in that API: what reranks.
    reranker: RerankerModel,
}

/// What the model is.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ModelType {
    /// An embedder.
    embedding: EmbeddingModel,
}

/// How it makes one vector of a text.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct EmbeddingModel {
    /// `cls` or `mean`.
    #[schema(value_type = String)]
    pooling: Pooling,
}

/// What reranks.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct RerankerModel {
    /// Its name.
    model_id: String,
    /// `cross_encoder`, `late_interaction` or `ensemble`.
    #[schema(value_type = String)]
    method: RerankMethod,
    /// Tokens it reads.
    max_input_length: usize,
    /// Texts of a request.
    max_client_batch_size: usize,
}

/// An error of that API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiError {
    /// What is wrong with this request, and what helps.
    pub(crate) error: String,
    /// `validation`, `empty`, `overloaded`, `backend` or `unhealthy`.
    pub(crate) error_type: String,
}

impl TeiError {
    /// A problem's document in the API's words.
    pub(crate) fn of(code: Code, document: &ProblemDocument) -> Self {
        let kind = match (code, code.status()) {
            (Code::NoText, _) => "empty",
            (_, 429) => "overloaded",
            (_, 503) => "unhealthy",
            (_, 500..) => "backend",
            _ => "validation",
        };
        Self {
            error: format!("{} {}", document.detail, document.remedy),
            error_type: kind.to_owned(),
        }
    }
}

/// The status of a problem, as that API has them.
pub(crate) fn status(code: Code) -> u16 {
    match code {
        Code::NoText => 400,
        Code::BadJson | Code::NotUtf8 => 422,
        Code::TextTooLong | Code::QuestionTooLong | Code::OutOfRange => 413,
        Code::StageFailed | Code::Internal => 424,
        other => other.status(),
    }
}

/// Embeds texts, as text-embeddings-inference does.
#[utoipa::path(
    post, path = "/embed", operation_id = "tei_embed", tag = "clients",
    request_body(content = EmbedRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The vectors, in the order of the texts", body = Vec<Vec<f32>>),
        (status = 400, description = "There is no text", body = TeiError),
        (status = 401, description = "A key is needed", body = TeiError),
        (status = 413, description = "A text is too long, there are too many, or the body is too large", body = TeiError),
        (status = 422, description = "The body is not usable", body = TeiError),
        (status = 424, description = "The model failed", body = TeiError),
        (status = 429, description = "Too much waits; Retry-After says when to try again", body = TeiError),
        (status = 504, description = "The time was up", body = TeiError),
    )
)]
pub(crate) async fn embed(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let most = config.limits.texts_json_bytes;
    let bytes = body::json_bytes(request, most, &config.times).await?;
    let answer = on_a_thread(&app, &asked, move |app, call| {
        let request: EmbedRequest = body::parsed(&bytes)?;
        let role = request.checked(app)?;
        let texts = request.inputs.texts();
        let too_long = TooLong::asked(request.truncate);
        let embeddings = embedded(app, call, &texts, role, too_long, "inputs")?;
        let vectors = embeddings.into_iter().map(|one| one.vector);
        serde_json::to_vec(&vectors.collect::<Vec<_>>())
            .map_err(|error| Problem::internal(error.to_string()))
    });
    Ok(json_bytes(StatusCode::OK, answer.await?))
}

/// The same as `/embed`, for clients that know a server's address alone.
#[utoipa::path(
    post, path = "/", operation_id = "tei_root", tag = "clients",
    request_body(content = EmbedRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The vectors, in the order of the texts", body = Vec<Vec<f32>>),
        (status = 422, description = "As of /embed, and its other errors", body = TeiError),
    )
)]
pub(crate) async fn root(
    state: State<Arc<App>>,
    asked: Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    embed(state, asked, request).await
}

/// Ranks texts by a query, as text-embeddings-inference does.
#[utoipa::path(
    post, path = "/rerank", operation_id = "tei_rerank", tag = "clients",
    request_body(content = TeiRerankRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The texts' places, best first", body = Vec<Rank>),
        (status = 400, description = "There is no text", body = TeiError),
        (status = 401, description = "A key is needed", body = TeiError),
        (status = 413, description = "A text is too long, there are too many, or the body is too large", body = TeiError),
        (status = 422, description = "The body is not usable", body = TeiError),
        (status = 424, description = "The model failed", body = TeiError),
        (status = 429, description = "Too much waits; Retry-After says when to try again", body = TeiError),
        (status = 504, description = "The time was up", body = TeiError),
    )
)]
pub(crate) async fn rerank(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let most = config.limits.texts_json_bytes;
    let bytes = body::json_bytes(request, most, &config.times).await?;
    let answer = on_a_thread(&app, &asked, move |app, call| {
        let request: TeiRerankRequest = body::parsed(&bytes)?;
        right_end(request.truncation_direction.as_deref())?;
        let texts: Vec<&str> = request.texts.iter().map(String::as_str).collect();
        let too_long = TooLong::asked(request.truncate);
        let found = reranked(app, call, &request.query, &texts, too_long, "texts")?;
        let raw = request.raw_scores.unwrap_or(false);
        let with_text = request.return_text.unwrap_or(false);
        let ranked = found.best_first().into_iter();
        let ranks = ranked.map(|(index, relevance)| Rank {
            index,
            text: with_text.then(|| texts[index].to_owned()),
            score: if raw { found.raw(index) } else { relevance },
        });
        serde_json::to_vec(&ranks.collect::<Vec<_>>())
            .map_err(|error| Problem::internal(error.to_string()))
    });
    Ok(json_bytes(StatusCode::OK, answer.await?))
}

/// What the server runs, as text-embeddings-inference says it.
#[utoipa::path(
    get, path = "/info", operation_id = "tei_info", tag = "clients",
    responses(
        (status = 200, description = "The models and the limits", body = Info),
        (status = 401, description = "A key is needed", body = TeiError),
    )
)]
pub(crate) async fn info(State(app): State<Arc<App>>) -> Response {
    let embedder = app.models.embedder.info();
    let reranker = app.models.reranker.info();
    let info = Info {
        model_id: embedder.name.clone(),
        model_sha: embedder.revision.clone(),
        model_dtype: embedder.precision.clone(),
        model_type: ModelType {
            embedding: EmbeddingModel {
                pooling: embedder.pooling,
            },
        },
        max_concurrent_requests: app.config.queue,
        max_input_length: embedder.max_tokens,
        max_batch_tokens: EMBED_TOKENS,
        max_client_batch_size: EMBED_TEXTS,
        auto_truncate: false,
        tokenization_workers: app.config.workers,
        version: env!("CARGO_PKG_VERSION"),
        reranker: RerankerModel {
            model_id: reranker.name.clone(),
            method: reranker.method,
            max_input_length: reranker.max_tokens,
            max_client_batch_size: RERANK_TEXTS,
        },
    };
    json(StatusCode::OK, &info)
}

impl EmbedRequest {
    fn checked(&self, app: &App) -> Result<Role, Problem> {
        let unsupported =
            |detail: String, member| Err(Problem::new(Code::Unsupported, detail).about(member));
        if self.normalize == Some(false) {
            let detail = "Vectors have unit length here; they cannot be had otherwise.";
            return unsupported(detail.to_owned(), "normalize");
        }
        let dims = app.models.embedder.info().dims;
        if self.dimensions.is_some_and(|wanted| wanted != dims) {
            let detail = format!("The model's vectors have {dims} values and are not shortened.");
            return unsupported(detail, "dimensions");
        }
        right_end(self.truncation_direction.as_deref())?;
        match self.prompt_name.as_deref() {
            None | Some("passage" | "document") => Ok(Role::Passage),
            Some("query") => Ok(Role::Question),
            Some(other) => {
                let detail = format!("There are the prompts query and passage, not {other:?}.");
                unsupported(detail, "prompt_name")
            }
        }
    }
}

/// Texts are cut at their right end alone.
fn right_end(direction: Option<&str>) -> Result<(), Problem> {
    if direction.is_none_or(|direction| direction.eq_ignore_ascii_case("right")) {
        return Ok(());
    }
    let detail = "Texts are cut at their right end alone.";
    Err(Problem::new(Code::Unsupported, detail).about("truncation_direction"))
}
