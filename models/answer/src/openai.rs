//! The client of any server that speaks the chat completions protocol.

mod client;
mod completion;
mod config;
mod exchange;
mod price;
mod refusal;
mod retry;
mod sse;
mod wire;

pub use client::OpenAiModel;
pub use config::{BadConfig, OpenAiConfig, RetryPolicy, Secret};
pub use price::{BadPrices, Price, PriceTable};
