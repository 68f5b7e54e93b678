//! What answering one question did, beside what its search did.

use quire_answer::{Answer, AnswerError, AnswerModelInfo, Language, Task};
use quire_corpus::ChunkId;
use serde::{Deserialize, Serialize};

use super::assemble::{Evidence, LeftOut, Order};
use super::prompt::PromptRecord;
use crate::{Ranked, Timing};

/// Everything needed to say how an answer came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerTrace {
    /// The options of a multiple-choice question; `None` for free-form.
    pub options: Option<Vec<String>>,
    /// The language that was answered in: `en` or `zh`.
    pub language: String,
    /// Whether the model could say that the evidence holds no answer.
    pub may_abstain: bool,
    /// By which stage's ranking the evidence was chosen.
    #[serde(default)]
    pub by: Ranked,
    /// The evidence, as the model got it.
    pub evidence: EvidenceRecord,
    /// The prompt; `None` for the extractive reader, which reads none.
    pub prompt: Option<PromptRecord>,
    /// Which model was asked, and how.
    pub model: ModelRecord,
    /// What it gave.
    pub outcome: OutcomeRecord,
    /// Putting the evidence together.
    pub assemble: Timing,
    /// From asking the model to its last word.
    pub answer: Timing,
}

/// The evidence without its text, which the passage ids stand for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// In which order it stood.
    pub order: Order,
    /// Tokens of all items with their labels, by the embedder's tokenizer.
    pub tokens: u64,
    /// The items in that order: the first is number 1.
    pub items: Vec<ItemRecord>,
    /// Passages that were considered and not shown.
    pub left_out: Vec<LeftOut>,
}

/// One item of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRecord {
    /// How it was named to the model.
    pub label: String,
    /// The passages it is made of, in the book's order.
    pub chunks: Vec<ChunkId>,
    /// Tokens of label and text.
    pub tokens: u64,
}

/// An answer model and its settings, without any secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// `extractive` or `openai`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The server's host and port.
    pub host: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Sampling seed.
    pub seed: Option<u64>,
    /// Most tokens of a completion.
    pub max_tokens: Option<u32>,
}

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// The final answer; `None` when there is none.
    pub text: Option<String>,
    /// The completion as it was received, however far that went.
    pub raw: String,
    /// Why there is no answer.
    pub failure: Option<String>,
    /// Whether the model holds that the evidence supports the answer.
    pub supported: bool,
    /// Whether it quotes the evidence.
    pub extractive: bool,
    /// The model's name as its server reported it.
    pub model: Option<String>,
    /// Why the completion ended.
    pub finish_reason: Option<String>,
    /// Tokens of the prompt, as the server counted them.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the completion, likewise.
    pub completion_tokens: Option<u64>,
    /// What it cost, where the price is known.
    pub cost: Option<CostRecord>,
    /// Requests that were made; `None` when that is not known.
    pub attempts: Option<u32>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRecord {
    /// In units of the currency.
    pub amount: f64,
    /// The currency.
    pub currency: String,
}

impl From<&Evidence> for EvidenceRecord {
    fn from(evidence: &Evidence) -> Self {
        let items = evidence.items.iter().map(|item| ItemRecord {
            label: item.label(),
            chunks: item.passages.iter().map(|passage| passage.chunk).collect(),
            tokens: item.tokens,
        });
        Self {
            order: evidence.order,
            tokens: evidence.tokens,
            items: items.collect(),
            left_out: evidence.left_out.clone(),
        }
    }
}

impl From<&AnswerModelInfo> for ModelRecord {
    fn from(info: &AnswerModelInfo) -> Self {
        Self {
            kind: info.kind.as_str().to_owned(),
            name: info.name.clone(),
            host: info.host.clone(),
            temperature: info.temperature,
            seed: info.seed,
            max_tokens: info.max_tokens,
        }
    }
}

impl From<&Result<Answer, AnswerError>> for OutcomeRecord {
    fn from(outcome: &Result<Answer, AnswerError>) -> Self {
        match outcome {
            Ok(answer) => Self {
                text: Some(answer.text.clone()),
                raw: answer.raw.clone(),
                failure: None,
                supported: answer.supported,
                extractive: answer.extractive,
                model: Some(answer.model.clone()),
                finish_reason: Some(answer.finish_reason.as_str().to_owned()),
                prompt_tokens: answer.usage.map(|usage| usage.prompt_tokens),
                completion_tokens: answer.usage.map(|usage| usage.completion_tokens),
                cost: answer.cost.as_ref().map(|cost| CostRecord {
                    amount: cost.amount,
                    currency: cost.currency.clone(),
                }),
                attempts: Some(answer.attempts),
            },
            Err(error) => Self {
                text: None,
                raw: error.raw().to_owned(),
                failure: Some(error.to_string()),
                supported: false,
                extractive: false,
                model: None,
                finish_reason: None,
                prompt_tokens: None,
                completion_tokens: None,
                cost: None,
                attempts: None,
            },
        }
    }
}

/// The options of a task, for the trace.
pub(super) fn options_of(task: &Task) -> Option<Vec<String>> {
    match task {
        Task::MultipleChoice { options } => Some(options.clone()),
        Task::FreeForm => None,
    }
}

/// A language's short name.
pub(super) fn name_of(language: Language) -> &'static str {
    match language {
        Language::En => "en",
        Language::Zh => "zh",
    }
}
