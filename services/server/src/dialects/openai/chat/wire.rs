//! The shapes of a chat completion.

use quire_corpus::BookId;
use quire_engine::{Fingerprint, Order};
use serde::Serialize;
use utoipa::ToSchema;

use super::Head;
use crate::wire::{
    Answer, AnswerEvidence, AnswerResponse, Explain, Item, LeftOut, PassageLeftOut, RerankDepth,
    Run,
};

/// An answer as a chat completion.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ChatCompletion {
    /// `chatcmpl-` and the request's id.
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// In seconds since 1970.
    created: u64,
    /// The model that was asked for.
    model: String,
    /// One choice.
    choices: Vec<Choice>,
    /// Tokens of the language model; none for the built-in reader, `null` where
    /// the model's server does not say.
    usage: Option<ChatUsage>,
    /// Not in the OpenAI API: the items of the evidence, as `/v1/answer` has
    /// them.
    evidence: Vec<Item>,
    /// Not in the OpenAI API: what else there is to know of the answer.
    quire: AnswerDetails,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Choice {
    /// 0.
    index: usize,
    /// What is answered.
    message: AssistantMessage,
    /// `null`.
    logprobs: Option<bool>,
    /// `stop`, `length` or `content_filter`.
    finish_reason: &'static str,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct AssistantMessage {
    /// `assistant`.
    role: &'static str,
    /// The final answer: of a multiple-choice question the letter.
    content: String,
    /// `null`.
    refusal: Option<String>,
}

/// Tokens of the language model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ChatUsage {
    /// Of the prompt.
    prompt_tokens: u64,
    /// Of the completion.
    completion_tokens: u64,
    /// Of both.
    total_tokens: u64,
}

/// What else there is to know of an answer: the members of `/v1/answer`'s
/// `answer` and `run`, and what it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct AnswerDetails {
    /// The answer, as `/v1/answer` has it.
    #[serde(flatten)]
    answer: Answer,
    /// What else there is to know of the evidence.
    evidence: EvidenceDetails,
    /// The books that were searched, ascending.
    #[schema(value_type = Vec<String>)]
    books: Vec<BookId>,
    /// Whether a model could not read the whole question.
    question_truncated: bool,
    /// How deep the reranker went.
    rerank: Option<RerankDepth>,
    /// What the evidence depends on besides the question.
    #[schema(value_type = Object)]
    fingerprint: Fingerprint,
    /// What each stage found, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explain>,
    /// Books that could not be searched; absent if none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    /// Members of the request that were taken and not used.
    ignored: Vec<String>,
    /// What differs each time.
    #[serde(flatten)]
    run: Run,
}

/// What there is to know of the evidence besides its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct EvidenceDetails {
    /// In which order the items are shown.
    #[schema(value_type = String)]
    order: Order,
    /// Tokens of all items with their labels, by the embedder's tokenizer.
    tokens: u64,
    /// Passages that were considered and are not shown.
    left_out: Vec<PassageLeftOut>,
}

/// A piece of a streamed completion.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ChatChunk {
    /// The same in all of them.
    id: String,
    /// `chat.completion.chunk`.
    object: &'static str,
    /// In seconds since 1970.
    created: u64,
    /// The model that was asked for.
    model: String,
    /// One choice; none beside the usage.
    pub(super) choices: Vec<ChunkChoice>,
    /// Absent unless `stream_options` asks for it; `null` but in the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ChatUsage>)]
    pub(super) usage: Option<Option<ChatUsage>>,
    /// Not in the OpenAI API: the items of the evidence, on the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<Vec<Item>>,
    /// Not in the OpenAI API: what else there is to know, on the one that ends
    /// the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quire: Option<Box<AnswerDetails>>,
}

/// A piece of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ChunkChoice {
    /// 0.
    index: usize,
    /// What comes now.
    delta: ChunkDelta,
    /// `null`.
    logprobs: Option<bool>,
    /// On the last one.
    finish_reason: Option<&'static str>,
}

/// What comes now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub(crate) struct ChunkDelta {
    /// On the first: `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// What the model thinks, as other servers of this API call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
}

impl ChatCompletion {
    /// An answer.
    pub(super) fn of(head: Head, mut response: AnswerResponse) -> Self {
        let answer = &response.answer;
        Self {
            id: head.id,
            object: "chat.completion",
            created: head.created,
            model: head.model,
            choices: vec![Choice {
                index: 0,
                message: AssistantMessage {
                    role: "assistant",
                    content: answer.text.clone(),
                    refusal: None,
                },
                logprobs: None,
                finish_reason: finish_reason(answer),
            }],
            usage: ChatUsage::of(answer),
            evidence: std::mem::take(&mut response.basis.evidence.items),
            quire: AnswerDetails::of(response, head.ignored),
        }
    }
}

impl ChatChunk {
    /// A piece of the choice.
    pub(super) fn of(head: &Head, delta: ChunkDelta, end: Option<&'static str>) -> Self {
        Self {
            choices: vec![ChunkChoice {
                index: 0,
                delta,
                logprobs: None,
                finish_reason: end,
            }],
            ..Self::without_choice(head)
        }
    }

    /// A chunk beside the choice.
    pub(super) fn without_choice(head: &Head) -> Self {
        Self {
            id: head.id.clone(),
            object: "chat.completion.chunk",
            created: head.created,
            model: head.model.clone(),
            choices: Vec::new(),
            usage: None,
            evidence: None,
            quire: None,
        }
    }
}

impl ChatUsage {
    /// What a language model read and wrote; the built-in reader is none.
    pub(super) fn of(answer: &Answer) -> Option<Self> {
        let (prompt_tokens, completion_tokens) = match answer.usage {
            Some(usage) => (usage.prompt_tokens, usage.completion_tokens),
            None if answer.extractive => (0, 0),
            None => return None,
        };
        Some(Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
        })
    }
}

impl AnswerDetails {
    /// What an answer's response says besides evidence.
    pub(super) fn of(response: AnswerResponse, ignored: Vec<String>) -> Self {
        let basis = response.basis;
        let AnswerEvidence {
            order,
            tokens,
            left_out,
            items: _,
        } = basis.evidence;
        Self {
            answer: response.answer,
            evidence: EvidenceDetails {
                order,
                tokens,
                left_out,
            },
            books: basis.books,
            question_truncated: basis.question_truncated,
            rerank: basis.rerank,
            fingerprint: basis.fingerprint,
            explain: basis.explain,
            left_out: basis.left_out,
            ignored,
            run: response.run,
        }
    }
}

/// Why the answer ended, in a word that the API has.
pub(super) fn finish_reason(answer: &Answer) -> &'static str {
    match answer.finish_reason.as_str() {
        "length" => "length",
        "content_filter" => "content_filter",
        _ => "stop",
    }
}
