//! The protocol's JSON, as servers really write it: much is optional that the
//! documentation promises.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::config::OpenAiConfig;
use crate::model::{Message, Usage};

/// The request's body.
pub(super) fn request(config: &OpenAiConfig, messages: &[Message]) -> Vec<u8> {
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| json!({"role": message.role.as_str(), "content": message.content}))
        .collect();
    let mut body = Map::new();
    body.insert("model".into(), json!(config.model));
    body.insert("messages".into(), Value::Array(messages));
    if let Some(temperature) = config.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(seed) = config.seed {
        body.insert("seed".into(), json!(seed));
    }
    body.insert("max_tokens".into(), json!(config.max_tokens));
    body.insert("stream".into(), json!(config.stream));
    if config.stream {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    for (name, value) in &config.extra {
        if value.is_null() {
            body.remove(name);
        } else {
            body.insert(name.clone(), value.clone());
        }
    }
    Value::Object(body).to_string().into_bytes()
}

/// A whole completion, or one piece of a streamed one.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<WireUsage>,
    /// Some servers report a failure in the middle of a stream.
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u64,
    /// In a whole completion.
    pub(super) message: Option<Content>,
    /// In a piece.
    pub(super) delta: Option<Content>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Content {
    content: Option<Text>,
    #[serde(alias = "reasoning")]
    pub(super) reasoning_content: Option<String>,
    pub(super) refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    pub(super) fn text(&self) -> String {
        match &self.content {
            Some(Text::Whole(text)) => text.clone(),
            Some(Text::Parts(parts)) => parts.iter().map(|part| part.text.as_str()).collect(),
            None => String::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn counted(&self) -> Option<Usage> {
        Some(Usage {
            prompt_tokens: self.prompt_tokens?,
            completion_tokens: self.completion_tokens?,
        })
    }
}

/// A failure in the server's words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    pub(super) message: String,
    /// Its `type` and `code` where they are words.
    pub(super) codes: Vec<String>,
    /// Its `code` where that is a status.
    pub(super) status: Option<u16>,
}

impl ServerError {
    /// Reads the body of a failure: OpenAI's and llama.cpp's `{"error":
    /// {"message": ...}}`, Ollama's `{"error": "..."}`, vLLM's `{"object":
    /// "error", "message": ...}`, FastAPI's `{"detail": ...}`. A body of
    /// another kind is the message itself.
    pub(super) fn parse(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(value.get("error").unwrap_or(&value)),
            Err(_) => Self {
                message: body.to_owned(),
                ..Self::default()
            },
        }
    }

    /// Reads the failure itself.
    pub(super) fn of(error: &Value) -> Self {
        if let Value::String(message) = error {
            return Self {
                message: message.clone(),
                ..Self::default()
            };
        }
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let detail = error.get("detail").filter(|d| !d.is_null());
        let code = error.get("code");
        Self {
            message: text("message")
                .or_else(|| text("detail"))
                .or_else(|| detail.map(Value::to_string))
                .unwrap_or_default(),
            codes: [text("type"), text("code")].into_iter().flatten().collect(),
            status: code
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (400..600).contains(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;

    fn body(config: &OpenAiConfig) -> Value {
        let message = Message {
            role: Role::User,
            content: "谁？".into(),
        };
        serde_json::from_slice(&request(config, &[message])).unwrap()
    }

    #[test]
    fn a_request_asks_for_the_same_answer_every_time() {
        let body = body(&OpenAiConfig::new("http://h", "m"));
        let expected = json!({
            "model": "m", "messages": [{"role": "user", "content": "谁？"}],
            "temperature": 0.0, "seed": 0, "max_tokens": 1024,
            "stream": true, "stream_options": {"include_usage": true},
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn extra_members_replace_and_null_removes() {
        let mut config = OpenAiConfig::new("http://h", "m");
        (config.stream, config.temperature, config.seed) = (false, None, None);
        config.extra = json!({"max_tokens": null, "max_completion_tokens": 9, "stop": ["x"]})
            .as_object()
            .unwrap()
            .clone();
        let expected = json!({
            "model": "m", "messages": [{"role": "user", "content": "谁？"}],
            "stream": false, "max_completion_tokens": 9, "stop": ["x"],
        });
        assert_eq!(body(&config), expected);
    }

    #[test]
    fn a_failure_is_read_in_each_servers_shape() {
        for (body, message, codes, status) in [
            (
                r#"{"error":{"message":"no","type":"t","code":"c"}}"#,
                "no",
                vec!["t", "c"],
                None,
            ),
            (
                r#"{"error":{"code":400,"message":"no","type":"t"}}"#,
                "no",
                vec!["t"],
                Some(400),
            ),
            (
                r#"{"object":"error","message":"no","type":"t","code":404}"#,
                "no",
                vec!["t"],
                Some(404),
            ),
            (r#"{"error":"no"}"#, "no", vec![], None),
            (r#"{"detail":"no"}"#, "no", vec![], None),
            (r#"{"detail":[1]}"#, "[1]", vec![], None),
            ("<html>", "<html>", vec![], None),
            ("{}", "", vec![], None),
            ("", "", vec![], None),
        ] {
            let error = ServerError::parse(body);
            assert_eq!(error.message, message, "{body}");
            assert_eq!(error.codes, codes, "{body}");
            assert_eq!(error.status, status, "{body}");
        }
    }

    #[test]
    fn content_may_be_a_list_of_parts() {
        let content: Content =
            serde_json::from_str(r#"{"content":[{"type":"text","text":"a"},{"text":"b"}]}"#)
                .unwrap();
        assert_eq!(content.text(), "ab");
    }
}
