//! `POST /v1/rerank`, as Cohere's first and Jina's API have it, and `POST
//! /v2/rerank`, as Cohere's second has it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::scores::{Reranked, beginning, reranked};
use super::texts::{TooLong, on_a_thread};
use crate::body;
use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::routes::json_bytes;
use crate::service::App;
use crate::wire::ProblemDocument;

/// Documents that Cohere bills as one search.
const DOCUMENTS_A_SEARCH: usize = 100;

/// Documents to rank by a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RerankRequest {
    /// The reranker's name, as `/v1/models` has it; may be left out.
    #[serde(default)]
    model: Option<String>,
    /// What is asked.
    query: String,
    /// Up to 1000 documents.
    documents: Vec<Document>,
    /// How many of the best are given; all where it is absent.
    #[serde(default)]
    top_n: Option<usize>,
    /// Whether the answer repeats the documents' texts; not where it is absent.
    #[serde(default)]
    return_documents: Option<bool>,
    /// How many tokens of a document are read at most.
    #[serde(default)]
    max_tokens_per_doc: Option<usize>,
    /// The members that are ranked by: `["text"]` alone.
    #[serde(default)]
    rank_fields: Option<Vec<String>>,
    /// Taken and not used: every request waits in one queue.
    #[serde(default)]
    priority: Option<i64>,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected documents to be texts or objects with one member `text`"
)]
pub(crate) enum Document {
    /// Its text.
    Text(String),
    /// Its text in an object.
    Object(DocumentText),
}

/// A document's text in an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentText {
    /// The text.
    text: String,
}

/// Documents, best first. `meta` is Cohere's, `model` and `usage` are Jina's.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct RerankResponse {
    /// The request's id.
    id: String,
    /// The model's name.
    model: String,
    /// The documents, best first; equal ones in the request's order.
    results: Vec<RerankResult>,
    /// What it took.
    meta: RerankMeta,
    /// What was read.
    usage: RerankUsage,
}

/// A document's place.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct RerankResult {
    /// Its place in the request, from 0.
    index: usize,
    /// From 0 to 1: a cross-encoder's score; of late interaction `(s + 1) / 2`.
    relevance_score: f64,
    /// Its text, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<DocumentText>,
}

/// What it took, as Cohere says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct RerankMeta {
    /// The API's version.
    api_version: ApiVersion,
    /// What Cohere would bill.
    billed_units: BilledUnits,
    /// Which documents were cut, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The API's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ApiVersion {
    /// `1` or `2`.
    version: &'static str,
}

/// What Cohere would bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct BilledUnits {
    /// One for every hundred documents begun.
    search_units: usize,
}

/// What was read, as Jina says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct RerankUsage {
    /// Tokens the model read.
    total_tokens: u64,
    /// The same.
    prompt_tokens: u64,
}

/// An error of the rerank API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RerankError {
    /// The request's id.
    pub(crate) id: String,
    /// What is wrong with this request, and what helps.
    pub(crate) message: String,
}

impl RerankError {
    /// A problem's document in the API's words.
    pub(crate) fn of(document: &ProblemDocument) -> Self {
        Self {
            id: document.request_id.clone(),
            message: format!("{} {}", document.detail, document.remedy),
        }
    }
}

/// The status of a problem: 400 for whatever is wrong with a body.
pub(crate) fn status(code: Code) -> u16 {
    match code.status() {
        422 => 400,
        status => status,
    }
}

/// Ranks documents by a query, as Jina's and Cohere's first API do.
#[utoipa::path(
    post, path = "/v1/rerank", operation_id = "rerank_v1", tag = "clients",
    request_body(content = RerankRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The documents, best first", body = RerankResponse),
        (status = 400, description = "The body is not usable", body = RerankError),
        (status = 401, description = "A key is needed", body = RerankError),
        (status = 404, description = "There is no such model", body = RerankError),
        (status = 413, description = "The body is too large", body = RerankError),
        (status = 429, description = "Too much waits; Retry-After says when to try again", body = RerankError),
        (status = 500, description = "The reranker failed", body = RerankError),
        (status = 504, description = "The time was up", body = RerankError),
    )
)]
pub(crate) async fn v1(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    answer(&app, &asked, request, "1").await
}

/// Ranks documents by a query, as Cohere's second API does.
#[utoipa::path(
    post, path = "/v2/rerank", operation_id = "rerank_v2", tag = "clients",
    request_body(content = RerankRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The documents, best first", body = RerankResponse),
        (status = 400, description = "The body is not usable", body = RerankError),
        (status = 401, description = "A key is needed", body = RerankError),
        (status = 404, description = "There is no such model", body = RerankError),
        (status = 413, description = "The body is too large", body = RerankError),
        (status = 429, description = "Too much waits; Retry-After says when to try again", body = RerankError),
        (status = 500, description = "The reranker failed", body = RerankError),
        (status = 504, description = "The time was up", body = RerankError),
    )
)]
pub(crate) async fn v2(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    answer(&app, &asked, request, "2").await
}

async fn answer(
    app: &Arc<App>,
    asked: &Asked,
    request: Request,
    version: &'static str,
) -> Result<Response, Problem> {
    let config = &app.config;
    let most = config.limits.texts_json_bytes;
    let bytes = body::json_bytes(request, most, &config.times).await?;
    let id = asked.id.to_string();
    let answer = on_a_thread(app, asked, move |app, call| {
        let request: RerankRequest = body::parsed(&bytes)?;
        request.check(app)?;
        let texts = request.texts(app)?;
        // The API cuts long documents; the warnings say which.
        let query = &request.query;
        let found = reranked(app, call, query, &texts, TooLong::Cut, "documents")?;
        let answer = request.answered(&found, id, version, app);
        serde_json::to_vec(&answer).map_err(|error| Problem::internal(error.to_string()))
    });
    Ok(json_bytes(StatusCode::OK, answer.await?))
}

impl Document {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Object(DocumentText { text }) => text,
        }
    }
}

impl RerankRequest {
    fn check(&self, app: &App) -> Result<(), Problem> {
        let name = &app.models.reranker.info().name;
        if let Some(model) = self.model.as_ref().filter(|&model| model != name) {
            let detail = format!("The model that reranks here is {name}, not {model:?}.");
            return Err(Problem::new(Code::UnknownModel, detail).about("model"));
        }
        let fields = self.rank_fields.as_deref().unwrap_or_default();
        if fields.iter().any(|field| field != "text") {
            let detail = "Documents are ranked by their member `text` alone.";
            return Err(Problem::new(Code::Unsupported, detail).about("rank_fields"));
        }
        for (member, value) in [
            ("top_n", self.top_n),
            ("max_tokens_per_doc", self.max_tokens_per_doc),
        ] {
            if value == Some(0) {
                let detail = format!("{member} must be 1 or more.");
                return Err(Problem::new(Code::OutOfRange, detail).about(member));
            }
        }
        Ok(())
    }

    fn texts(&self, app: &App) -> Result<Vec<&str>, Problem> {
        let texts = self.documents.iter().map(Document::text);
        match self.max_tokens_per_doc {
            None => Ok(texts.collect()),
            Some(most) => texts.map(|text| beginning(app, text, most)).collect(),
        }
    }

    fn answered(
        &self,
        found: &Reranked,
        id: String,
        version: &'static str,
        app: &App,
    ) -> RerankResponse {
        let documents = self.return_documents.unwrap_or(false);
        let ranked = found.best_first().into_iter();
        let results = ranked.take(self.top_n.unwrap_or(usize::MAX));
        let info = app.models.reranker.info();
        RerankResponse {
            id,
            model: info.name.clone(),
            results: results
                .map(|(index, relevance_score)| RerankResult {
                    index,
                    relevance_score,
                    document: documents.then(|| DocumentText {
                        text: self.documents[index].text().to_owned(),
                    }),
                })
                .collect(),
            meta: RerankMeta {
                api_version: ApiVersion { version },
                billed_units: BilledUnits {
                    search_units: self.documents.len().div_ceil(DOCUMENTS_A_SEARCH),
                },
                warnings: warnings(&found.cut(), info.max_tokens),
            },
            usage: RerankUsage {
                total_tokens: found.tokens,
                prompt_tokens: found.tokens,
            },
        }
    }
}

fn warnings(cut: &[usize], most: usize) -> Vec<String> {
    if cut.is_empty() {
        return Vec::new();
    }
    let places: Vec<String> = cut.iter().map(usize::to_string).collect();
    vec![format!(
        "The model reads {most} tokens; of these documents, by index, only the beginning was \
         read, or the query was cut: {}",
        places.join(", ")
    )]
}
