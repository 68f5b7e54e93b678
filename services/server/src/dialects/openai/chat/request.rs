//! What a chat completion is asked with, and what of it is taken.

use quire_engine::Order;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::problem::{Code, Problem};
use crate::wire::{AnswerModelName, AnswerRequest, BudgetsRequest, Language, Scope};

/// Members of the OpenAI API that are taken and change nothing here: they tune
/// a sampler, which the service's own settings do, or they are for OpenAI.
const IGNORED: [&str; 17] = [
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "verbosity",
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
];

/// Whether a member's value asks for nothing.
type AsksNothing = fn(&Value) -> bool;

/// Members of the OpenAI API that ask for what the service does not do, unless
/// their value is one that asks for nothing.
const REFUSED: [(&str, AsksNothing); 15] = [
    ("n", |value| *value == 1),
    ("tools", is_empty),
    ("tool_choice", |value| *value == "none" || *value == "auto"),
    ("functions", is_empty),
    ("function_call", |value| {
        *value == "none" || *value == "auto"
    }),
    ("response_format", |value| value["type"] == "text"),
    ("logprobs", |value| *value == false),
    ("top_logprobs", |value| *value == 0),
    ("logit_bias", is_empty),
    ("modalities", |value| *value == serde_json::json!(["text"])),
    ("audio", is_empty),
    ("prediction", is_empty),
    ("stop", is_empty),
    ("web_search_options", is_empty),
    ("moderation", is_empty),
];

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A conversation whose last user message is the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// `quire` for every book, `quire/` and a book's id or its first digits for
    /// that book.
    pub(super) model: String,
    /// The messages. The last one of the role `user` is the question; the
    /// others are not read.
    messages: Vec<Message>,
    /// Whether the answer comes piece by piece, as server-sent events.
    #[serde(default)]
    pub(super) stream: bool,
    /// How a stream ends.
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// Not in the OpenAI API: the options of a multiple-choice question. The
    /// answer is then a letter.
    #[serde(default)]
    options: Option<Vec<String>>,
    /// Not in the OpenAI API: the books of the model `quire`, as `/v1/answer`
    /// takes them.
    #[serde(default)]
    scope: Option<Scope>,
    /// Not in the OpenAI API: as `/v1/answer` takes them.
    #[serde(default)]
    budgets: Option<BudgetsRequest>,
    /// Not in the OpenAI API: `document` or `score`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    order: Option<Order>,
    /// Not in the OpenAI API: whether the answer may be that there is none.
    #[serde(default)]
    abstain: Option<bool>,
    /// Not in the OpenAI API: the language to answer in.
    #[serde(default)]
    language: Option<Language>,
    /// Not in the OpenAI API: which model answers.
    #[serde(default)]
    answer_model: Option<AnswerModelName>,
    /// Not in the OpenAI API: whether each stage's list comes along.
    #[serde(default)]
    explain: bool,
    /// Not in the OpenAI API: as `/v1/answer` takes it.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Not in the OpenAI API: as `/v1/answer` takes it.
    #[serde(default)]
    deadline_ms: Option<u64>,
    /// Other members of the OpenAI API.
    #[serde(flatten)]
    #[schema(ignore)]
    rest: Map<String, Value>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Message {
    /// Whose it is.
    role: String,
    /// What it says.
    #[serde(default)]
    content: Option<Content>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a message's content to be a text or a list of parts"
)]
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// Parts, all of the type `text`.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Part {
    /// `text`.
    #[serde(rename = "type")]
    kind: String,
    /// Its text.
    #[serde(default)]
    text: Option<String>,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether a last chunk has the usage.
    #[serde(default)]
    include_usage: Option<bool>,
}

impl ChatRequest {
    /// The members that are taken and not used.
    ///
    /// # Errors
    /// When there is one that asks for what the service does not do, or that
    /// the OpenAI API does not have.
    pub(super) fn ignored(&self) -> Result<Vec<String>, Problem> {
        let mut ignored = Vec::new();
        for (name, value) in &self.rest {
            // An absent value, as some clients write it.
            if value.is_null() {
                continue;
            }
            if IGNORED.contains(&name.as_str()) {
                ignored.push(name.clone());
                continue;
            }
            let Some((member, harmless)) = REFUSED.iter().find(|(member, _)| member == name) else {
                let detail = format!("Unrecognized request argument supplied: {name}.");
                return Err(Problem::new(Code::BadJson, detail));
            };
            if !harmless(value) {
                let detail = format!("This service does not do what {member} asks for.");
                return Err(Problem::new(Code::Unsupported, detail).about(member));
            }
        }
        Ok(ignored)
    }

    /// Whether a stream is to end with the usage.
    pub(super) fn includes_usage(&self) -> bool {
        let options = self.stream_options;
        options.and_then(|options| options.include_usage) == Some(true)
    }

    /// The question to be answered, from the books that the model's name stands
    /// for.
    ///
    /// # Errors
    /// When no user message is a text, or the books are named twice.
    pub(super) fn question(self, of_model: Option<Scope>) -> Result<AnswerRequest, Problem> {
        if of_model.is_some() && self.scope.is_some() {
            let detail =
                "The model names what is searched already; `scope` goes with the model quire.";
            return Err(Problem::new(Code::Unsupported, detail).about("scope"));
        }
        Ok(AnswerRequest {
            question: last_words(&self.messages)?,
            options: self.options,
            scope: of_model.or(self.scope),
            budgets: self.budgets,
            order: self.order,
            language: self.language,
            abstain: self.abstain,
            model: self.answer_model,
            stream: self.stream,
            explain: self.explain,
            timeout_ms: self.timeout_ms,
            deadline_ms: self.deadline_ms,
        })
    }
}

/// The text of the last user message.
fn last_words(messages: &[Message]) -> Result<String, Problem> {
    let mut newest_first = messages.iter().rev();
    let asked = newest_first.find(|message| message.role == "user");
    let Some(content) = asked.and_then(|message| message.content.as_ref()) else {
        let detail = "There is no user message with a content.";
        return Err(Problem::new(Code::NoText, detail).about("messages"));
    };
    match content {
        Content::Text(text) => Ok(text.clone()),
        Content::Parts(parts) => parts.iter().map(Part::said).collect(),
    }
}

impl Part {
    fn said(&self) -> Result<&str, Problem> {
        match (self.kind.as_str(), &self.text) {
            ("text", Some(text)) => Ok(text),
            (other, _) => {
                let detail = format!("A question is text; a part of the type {other:?} is none.");
                Err(Problem::new(Code::Unsupported, detail).about("messages"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(more: Value) -> ChatRequest {
        let mut body = json!({
            "model": "quire",
            "messages": [{"role": "user", "content": "Who?"}],
        });
        let members = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(members);
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn the_last_user_message_is_the_question() {
        let messages = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": null, "refusal": null},
            {"role": "user", "content": [{"type": "text", "text": "And "}, {"type": "text", "text": "why?"}]},
            {"role": "assistant", "content": "Because"},
        ]);
        let asked = request(json!({"messages": messages})).question(None);
        assert_eq!(asked.unwrap().question, "And why?");
        for (messages, code) in [
            (json!([]), Code::NoText),
            (json!([{"role": "system", "content": "x"}]), Code::NoText),
            (
                json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]),
                Code::Unsupported,
            ),
        ] {
            let problem = request(json!({"messages": messages})).question(None);
            let problem = problem.unwrap_err();
            assert_eq!((problem.code(), problem.member()), (code, Some("messages")));
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_what_asks_for_nothing_is_not() {
        for (member, asks, asks_nothing) in [
            ("n", json!(2), json!(1)),
            ("tools", json!([{"type": "function"}]), json!([])),
            ("tool_choice", json!("required"), json!("auto")),
            (
                "response_format",
                json!({"type": "json_object"}),
                json!({"type": "text"}),
            ),
            ("logprobs", json!(true), json!(false)),
            ("modalities", json!(["text", "audio"]), json!(["text"])),
            ("stop", json!("\n"), json!(null)),
        ] {
            let problem = request(json!({member: asks})).ignored().unwrap_err();
            assert_eq!(
                (problem.code(), problem.member()),
                (Code::Unsupported, Some(member))
            );
            let ignored = request(json!({member: asks_nothing})).ignored();
            assert_eq!(ignored.unwrap(), Vec::<String>::new());
        }
        let problem = request(json!({"temprature": 0})).ignored().unwrap_err();
        assert_eq!(problem.code(), Code::BadJson);
    }

    #[test]
    fn a_sampler_is_not_tuned_and_the_answer_says_so() {
        let request = request(json!({"temperature": 0.7, "seed": 1, "top_p": null}));
        assert_eq!(request.ignored().unwrap(), ["seed", "temperature"]);
    }

    #[test]
    fn books_are_named_once() {
        let scope = || Some(Scope::Books(vec!["abcd".to_owned()]));
        let with_scope = || request(json!({"scope": {"books": ["1234"]}}));
        let problem = with_scope().question(scope()).unwrap_err();
        assert_eq!(problem.member(), Some("scope"));
        let asked = with_scope().question(None).unwrap();
        assert_eq!(asked.scope, Some(Scope::Books(vec!["1234".to_owned()])));
        let asked = request(json!({"options": ["a", "b"]})).question(scope());
        let asked = asked.unwrap();
        assert_eq!(asked.scope, scope());
        assert_eq!(asked.options.unwrap(), ["a", "b"]);
    }
}
