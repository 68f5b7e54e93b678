//! Answer models: what turns a question and its evidence into an answer.
//!
//! All of them stand behind [`AnswerModel`]. [`OpenAiModel`] asks any server
//! that speaks the chat completions protocol; [`ExtractiveReader`] needs only
//! the embedder that is loaded anyway, and quotes the evidence.
//!
//! Whatever a model writes, a caller gets one option's letter or one final
//! answer, or a typed failure: [`parse_choice`] and [`final_text`] hold that
//! rule. The crate knows text, never passages or indexes.

mod choice;
mod error;
#[cfg(feature = "fake-openai")]
pub mod fake;
mod final_text;
mod model;
mod openai;
mod reader;
mod reasoning;

pub use choice::{NotAChoice, parse_choice};
pub use error::AnswerError;
pub use final_text::{EmptyAnswer, final_text, is_not_found};
pub use model::{
    Answer, AnswerDelta, AnswerModel, AnswerModelInfo, AnswerRequest, Cost, EvidenceText,
    FinishReason, Language, Message, ModelKind, Role, Span, Task, Usage,
};
pub use openai::{
    BadConfig, BadPrices, OpenAiConfig, OpenAiModel, Price, PriceTable, RetryPolicy, Secret,
};
pub use reader::{ExtractiveReader, ReaderOptions};
