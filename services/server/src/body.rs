//! Reading a request's body: never more of it than allowed, never for longer.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::config::{Limits, Times};
use crate::problem::{Code, Problem};

/// The request's body as JSON of that shape.
///
/// # Errors
/// When it is of another kind, too large, late, not UTF-8, not JSON, or of
/// another shape.
pub(crate) async fn json<T: DeserializeOwned>(
    request: Request,
    limits: &Limits,
    times: &Times,
) -> Result<T, Problem> {
    parsed(&json_bytes(request, limits.json_bytes, times).await?)
}

/// The bytes of a body that says it is JSON, `most` of them at most. A large
/// body takes time to parse: see [`parsed`].
///
/// # Errors
/// When it is of another kind, too large or late.
pub(crate) async fn json_bytes(
    request: Request,
    most: usize,
    times: &Times,
) -> Result<Vec<u8>, Problem> {
    let headers = request.headers();
    if media_type(headers) != Some("application/json") || !is_utf8(headers) {
        let detail = "The body's Content-Type is not application/json in UTF-8.";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    whole(request.into_body(), most, times).await
}

/// The JSON object of that shape in a body's bytes.
///
/// # Errors
/// When it is not UTF-8, not JSON, or of another shape.
pub(crate) fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let detail = format!("The body is not UTF-8 at byte {}.", error.valid_up_to());
        Problem::new(Code::NotUtf8, detail)
    })?;
    // Else a list of an object's members would do for the object.
    if !text.trim_start().starts_with('{') {
        let detail = "The body is not a JSON object.";
        return Err(Problem::new(Code::BadJson, detail));
    }
    serde_json::from_str(text)
        .map_err(|error| Problem::new(Code::BadJson, format!("The body is not usable: {error}.")))
}

/// The body's kind without its parameters, as `type/subtype`.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

/// Whether the body's kind names no other character encoding.
fn is_utf8(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut parameters = value.split(';').skip(1).map(str::trim);
    parameters.all(|parameter| match parameter.split_once('=') {
        Some((name, charset)) if name.eq_ignore_ascii_case("charset") => {
            charset.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    })
}

/// All of a body.
///
/// # Errors
/// When it is too large, or late.
pub(crate) async fn whole(mut body: Body, most: usize, times: &Times) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let detail = format!("The body has more than {most} bytes.");
        Problem::new(Code::TooLarge, detail).closing()
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let end = Instant::now() + times.json_body;
    let mut bytes = Vec::new();
    while let Some(piece) = piece(&mut body, times.body_idle, Some(end)).await? {
        if piece.len() > most - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The next piece of a body; none at its end.
///
/// # Errors
/// When it does not come within `idle` or before `end`, or the client goes.
pub(crate) async fn piece(
    body: &mut Body,
    idle: Duration,
    end: Option<Instant>,
) -> Result<Option<Bytes>, Problem> {
    loop {
        let soon = Instant::now() + idle;
        let by = end.map_or(soon, |end| end.min(soon));
        let frame = match timeout_at(by, body.frame()).await {
            Err(_) => return Err(late()),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(gone()),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers say nothing here.
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
}

/// A body that stands still.
pub(crate) fn late() -> Problem {
    Problem::new(Code::BodyTimeout, "The body stood still for too long.").closing()
}

/// A body that ends before its end.
pub(crate) fn gone() -> Problem {
    Problem::new(Code::ClientGone, "The body ended before its end.").closing()
}
