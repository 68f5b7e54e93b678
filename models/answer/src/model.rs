//! What an answer model is asked, and what it gives back.

use std::ops::{ControlFlow, Range};

use quire_model::Call;

use crate::error::AnswerError;

/// The letters of as many options as a question may have, in order.
pub(crate) const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Which kind of model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// Quotes the evidence; nothing is generated.
    Extractive,
    /// A language model behind the chat completions protocol.
    OpenAi,
}

impl ModelKind {
    /// The kind's name in reports: `extractive` or `openai`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::OpenAi => "openai",
        }
    }
}

/// What identifies an answer model and its settings. Holds no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerModelInfo {
    /// Which kind it is.
    pub kind: ModelKind,
    /// The model's name: as the server knows it, or the embedder's.
    pub name: String,
    /// Host and port of the server; `None` when nothing is asked over a
    /// network.
    pub host: Option<String>,
    /// Sampling temperature; `None` when none is sent or nothing is sampled.
    pub temperature: Option<f64>,
    /// Sampling seed; `None` when none is sent or nothing is sampled.
    pub seed: Option<u64>,
    /// Most tokens a completion may have; `None` when nothing is generated.
    pub max_tokens: Option<u32>,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Exactly one of the options, by its letter.
    MultipleChoice {
        /// The options' texts in the order of their letters, from A on: 2 to
        /// 26 of them.
        options: Vec<String>,
    },
    /// A text of the model's own.
    FreeForm,
}

/// The language to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// English.
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// The language of a text: Chinese when at least a fifth of its letters
    /// are Han.
    pub fn of(text: &str) -> Self {
        let letters = text.chars().filter(|c| c.is_alphabetic());
        let (han, all) = letters.fold((0_usize, 0_usize), |(han, all), c| {
            (han + usize::from(is_han(c)), all + 1)
        });
        if han > 0 && han * 5 >= all {
            Self::Zh
        } else {
            Self::En
        }
    }

    /// The words that say that the evidence holds no answer. A prompt that
    /// lets a model abstain asks for exactly these.
    pub fn not_found(self) -> &'static str {
        match self {
            Self::En => "not found in the evidence",
            Self::Zh => "证据中没有答案",
        }
    }
}

/// Whether a character is a Chinese one.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}' | '〇')
}

/// Who speaks a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Who made the prompt.
    System,
    /// Who asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks it.
    pub role: Role,
    /// What is said.
    pub content: String,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceText {
    /// How an answer cites it.
    pub label: String,
    /// Its text.
    pub text: String,
}

/// A question, what is known to answer it from, and how long to try.
#[derive(Debug, Clone)]
pub struct AnswerRequest {
    /// What kind of answer is wanted.
    pub task: Task,
    /// The language to answer in.
    pub language: Language,
    /// The question alone.
    pub question: String,
    /// The evidence, best first.
    pub evidence: Vec<EvidenceText>,
    /// The prompt as it was rendered from all of the above: what a language
    /// model reads. The extractive reader does not look at it.
    pub messages: Vec<Message>,
    /// Whether the model may say that the evidence holds no answer.
    pub may_abstain: bool,
    /// Who waits, and how long.
    pub call: Call,
}

impl AnswerRequest {
    /// # Errors
    /// When there is nothing to ask, or there are too few or too many options.
    pub(crate) fn check(&self) -> Result<(), AnswerError> {
        let rule = match &self.task {
            _ if self.question.trim().is_empty() => "it must not be empty",
            Task::MultipleChoice { options } if !(2..=LETTERS.len()).contains(&options.len()) => {
                "it needs 2 to 26 options"
            }
            Task::MultipleChoice { options } if options.iter().any(|o| o.trim().is_empty()) => {
                "no option may be empty"
            }
            _ => return Ok(()),
        };
        Err(AnswerError::BadRequest { rule })
    }
}

/// A piece of a completion as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerDelta<'a> {
    /// Text of the completion. Together they are the completion without its
    /// reasoning; [`Answer::text`] may be less, since labels, quotes and
    /// fences around the answer are taken off at the end.
    Text(&'a str),
    /// Text the model thinks, no part of the answer.
    Reasoning(&'a str),
}

/// Why a completion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The completion was cut at the most tokens allowed.
    Length,
    /// Another reason, in the server's word.
    Other(String),
}

impl FinishReason {
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "stop" | "eos" | "end_turn" => Self::Stop,
            "length" | "max_tokens" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The reason's name: `stop`, `length`, or the server's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Other(word) => word,
        }
    }
}

/// Tokens as the server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the completion, reasoning included.
    pub completion_tokens: u64,
}

/// What an answer cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// In units of the currency.
    pub amount: f64,
    /// The price table's label of the currency.
    pub currency: String,
}

/// Where in the evidence an extracted answer stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Which piece of evidence, from 0.
    pub evidence: usize,
    /// Bytes of its text.
    pub bytes: Range<usize>,
}

/// An answer and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The final answer: of a free-form question its text, of a
    /// multiple-choice question the letter alone; the words of
    /// [`Language::not_found`] when the model abstained.
    pub text: String,
    /// The chosen option; `None` for free-form and when the model abstained.
    pub letter: Option<char>,
    /// The completion as it was received, reasoning included; the sentence
    /// the answer was taken from when it is extractive.
    pub raw: String,
    /// Why the completion ended.
    pub finish_reason: FinishReason,
    /// Tokens, if the server counted them.
    pub usage: Option<Usage>,
    /// What it cost, if the tokens and the model's price are known.
    pub cost: Option<Cost>,
    /// The model's name as the server reported it.
    pub model: String,
    /// Requests made, failed ones included; 1 for the extractive reader.
    pub attempts: u32,
    /// Whether it quotes the evidence rather than being generated.
    pub extractive: bool,
    /// Whether the model holds that the evidence supports an answer. Without
    /// [`AnswerRequest::may_abstain`] a language model is never asked, and
    /// this is true; the reader says it of its guesses too.
    pub supported: bool,
    /// Where an extracted answer stands.
    pub span: Option<Span>,
}

/// Answers questions from evidence.
pub trait AnswerModel: Send + Sync {
    /// What identifies the model.
    fn info(&self) -> &AnswerModelInfo;

    /// Answers one question. `sink` gets the completion as it arrives and may
    /// break when nobody listens any more, which ends the call as
    /// [`Stop::Cancelled`](quire_model::Stop::Cancelled) does.
    ///
    /// # Errors
    /// When no usable answer came; see [`AnswerError`]. What was received
    /// until then is in [`AnswerError::raw`].
    fn answer(
        &self,
        request: &AnswerRequest,
        sink: &mut dyn FnMut(AnswerDelta<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_chinese_when_a_fifth_of_its_letters_are() {
        for (text, language) in [
            ("谁点灯？", Language::Zh),
            ("AI 是什么？", Language::Zh),
            ("What does 庹 mean in this sentence?", Language::En),
            ("", Language::En),
            ("42", Language::En),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn the_words_of_servers_for_an_end_are_known() {
        for (word, reason) in [
            ("stop", FinishReason::Stop),
            ("length", FinishReason::Length),
            ("tool_calls", FinishReason::Other("tool_calls".to_owned())),
        ] {
            let parsed = FinishReason::parse(word);
            assert_eq!(parsed, reason);
            assert_eq!(parsed.as_str(), word);
        }
    }
}
