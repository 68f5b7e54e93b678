//! `POST /v1/embeddings`

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quire_model::{Embedding, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ErrorReply, check_embedder};
use crate::body;
use crate::dialects::texts::{TextOrTexts, TooLong, embedded, on_a_thread};
use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::routes::json_bytes;
use crate::service::App;

/// Texts to embed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddingsRequest {
    /// The embedder's name, as `/v1/models` has it.
    model: String,
    /// One text or up to 2048, of 300,000 tokens together.
    input: TextOrTexts,
    /// How vectors are written: numbers, or the bytes of little-endian 32-bit
    /// floats in base64.
    #[serde(default)]
    encoding_format: Encoding,
    /// The model's own number of values; vectors are not shortened.
    #[serde(default)]
    dimensions: Option<usize>,
    /// Taken and not used.
    #[serde(default)]
    user: Option<String>,
    /// Not in the OpenAI API: what the texts are to the model, which embeds
    /// questions and passages apart.
    #[serde(default)]
    input_type: InputType,
    /// Not in the OpenAI API: whether texts that are too long are cut rather
    /// than refused.
    #[serde(default)]
    truncate: Option<bool>,
}

/// How vectors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    /// As numbers.
    #[default]
    Float,
    /// As the bytes of little-endian 32-bit floats, in base64.
    Base64,
}

/// What a text is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InputType {
    /// A question.
    Query,
    /// A passage.
    #[default]
    Passage,
}

/// Vectors, in the order of the texts.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct EmbeddingsResponse {
    /// `list`.
    object: &'static str,
    /// One a text.
    data: Vec<EmbeddingItem>,
    /// The model's name.
    model: String,
    /// What was read.
    usage: EmbeddingsUsage,
}

/// The vector of a text.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct EmbeddingItem {
    /// `embedding`.
    object: &'static str,
    /// The text's place in the request, from 0.
    index: usize,
    /// A unit vector.
    embedding: Vector,
    /// Whether the text was cut; absent where it was not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A vector as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    /// Numbers.
    Float(Vec<f32>),
    /// Bytes in base64.
    Base64(String),
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct EmbeddingsUsage {
    /// Tokens the model read, its own marks included.
    prompt_tokens: u64,
    /// The same.
    total_tokens: u64,
}

/// Embeds texts, as the OpenAI API does.
#[utoipa::path(
    post, path = "/v1/embeddings", operation_id = "openai_embeddings", tag = "clients",
    request_body(content = EmbeddingsRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The vectors", body = EmbeddingsResponse),
        (status = 400, description = "The body, context_length_exceeded, no_text, out_of_range, unsupported", body = ErrorReply),
        (status = 401, description = "invalid_api_key", body = ErrorReply),
        (status = 404, description = "model_not_found", body = ErrorReply),
        (status = 413, description = "too_large", body = ErrorReply),
        (status = 429, description = "rate_limit_exceeded; Retry-After says when to try again", body = ErrorReply),
        (status = 500, description = "stage_failed, internal", body = ErrorReply),
        (status = 503, description = "draining", body = ErrorReply),
        (status = 504, description = "timeout", body = ErrorReply),
    )
)]
pub(crate) async fn embeddings(
    State(app): State<Arc<App>>,
    Extension(asked): Extension<Asked>,
    request: Request,
) -> Result<Response, Problem> {
    let config = &app.config;
    let most = config.limits.texts_json_bytes;
    let bytes = body::json_bytes(request, most, &config.times).await?;
    let answer = on_a_thread(&app, &asked, move |app, call| {
        let request: EmbeddingsRequest = body::parsed(&bytes)?;
        let role = request.checked(app)?;
        let texts = request.input.texts();
        let too_long = TooLong::asked(request.truncate);
        let embeddings = embedded(app, call, &texts, role, too_long, "input")?;
        let answer = EmbeddingsResponse::of(request.model, request.encoding_format, embeddings);
        serde_json::to_vec(&answer).map_err(|error| Problem::internal(error.to_string()))
    });
    Ok(json_bytes(StatusCode::OK, answer.await?))
}

impl EmbeddingsRequest {
    fn checked(&self, app: &App) -> Result<Role, Problem> {
        check_embedder(app, &self.model)?;
        let dims = app.models.embedder.info().dims;
        if self.dimensions.is_some_and(|wanted| wanted != dims) {
            let detail = format!("The model's vectors have {dims} values and are not shortened.");
            return Err(Problem::new(Code::Unsupported, detail).about("dimensions"));
        }
        Ok(match self.input_type {
            InputType::Query => Role::Question,
            InputType::Passage => Role::Passage,
        })
    }
}

impl EmbeddingsResponse {
    fn of(model: String, encoding: Encoding, embeddings: Vec<Embedding>) -> Self {
        let tokens = embeddings.iter().map(|one| u64::from(one.tokens)).sum();
        let items = embeddings.into_iter().enumerate();
        Self {
            object: "list",
            data: items
                .map(|(index, one)| EmbeddingItem {
                    object: "embedding",
                    index,
                    embedding: Vector::of(one.vector, encoding),
                    truncated: one.truncated,
                })
                .collect(),
            model,
            usage: EmbeddingsUsage {
                prompt_tokens: tokens,
                total_tokens: tokens,
            },
        }
    }
}

impl Vector {
    fn of(values: Vec<f32>, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Float => Self::Float(values),
            Encoding::Base64 => {
                let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                Self::Base64(STANDARD.encode(bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_hold_the_same_bits() {
        let values = vec![0.1f32, -1.0, f32::MIN_POSITIVE, 0.333_333_34];
        let Vector::Base64(text) = Vector::of(values.clone(), Encoding::Base64) else {
            panic!("not base64");
        };
        let bytes = STANDARD.decode(text).unwrap();
        let decoded = bytes
            .chunks(4)
            .map(|four| f32::from_le_bytes(four.try_into().unwrap()));
        assert_eq!(decoded.collect::<Vec<_>>(), values);
        // And a reader of doubles rounds the numbers back to them.
        let numbers = serde_json::to_string(&Vector::of(values.clone(), Encoding::Float)).unwrap();
        let doubles: Vec<f64> = serde_json::from_str(&numbers).unwrap();
        let singles: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
        assert_eq!(singles, values);
    }

    #[test]
    fn what_is_absent_means_numbers_of_passages() {
        let request: EmbeddingsRequest =
            serde_json::from_str(r#"{"model": "m", "input": "a"}"#).unwrap();
        assert_eq!(request.encoding_format, Encoding::Float);
        assert_eq!(request.input_type, InputType::Passage);
        let error = serde_json::from_str::<EmbeddingsRequest>(
            r#"{"model": "m", "input": "a", "encoding_format": "hex"}"#,
        );
        assert!(error.unwrap_err().to_string().contains("hex"));
    }
}
