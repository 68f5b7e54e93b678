//! What answers questions.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{BudgetArgs, CutArgs, ModelArgs, ScopeArgs};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Answer model")]
pub struct AnswerArgs {
    /// Base URL of a server that speaks the chat completions protocol: vLLM, llama.cpp, Ollama or
    /// a hosted one. Its key is read from the environment variable QUIRE_ANSWER_KEY and nowhere
    /// else [default: none, the built-in extractive reader answers]
    #[arg(long, env = "QUIRE_ANSWER_URL", value_name = "URL")]
    pub answer_url: Option<String>,
    /// The model, as that server knows it
    #[arg(long, env = "QUIRE_ANSWER_MODEL", value_name = "NAME")]
    pub answer_model: Option<String>,
    /// Sampling temperature [default: 0]
    #[arg(long, env = "QUIRE_ANSWER_TEMPERATURE", value_name = "T")]
    pub answer_temperature: Option<f64>,
    /// Sampling seed [default: 0]
    #[arg(long, env = "QUIRE_ANSWER_SEED", value_name = "N")]
    pub answer_seed: Option<u64>,
    /// Most tokens of a completion, reasoning included [default: 1024]
    #[arg(long, env = "QUIRE_ANSWER_MAX_TOKENS", value_name = "N")]
    pub answer_max_tokens: Option<u32>,
    /// Seconds an answer may take, all tries included [default: 180]
    #[arg(long, env = "QUIRE_ANSWER_TIMEOUT", value_name = "SECONDS")]
    pub answer_timeout: Option<u64>,
    /// Tries before an answer is given up: 429, 5xx and broken connections are tried again
    /// [default: 5]
    #[arg(long, env = "QUIRE_ANSWER_TRIES", value_name = "N")]
    pub answer_tries: Option<u32>,
    /// Questions put to the answer model at once; more wait [default: 32]
    #[arg(long, env = "QUIRE_ANSWER_WORKERS", value_name = "N")]
    pub answer_workers: Option<usize>,
    /// A JSON object of members to add to each request; null takes one out, such as
    /// {"temperature": null}
    #[arg(long, env = "QUIRE_ANSWER_EXTRA", value_name = "JSON")]
    pub answer_extra: Option<String>,
    /// File of prices, for the cost of each answer (docs/answers.md)
    #[arg(long, env = "QUIRE_ANSWER_PRICES", value_name = "FILE")]
    pub answer_prices: Option<PathBuf>,
    /// PEM file of the certificates to trust instead of the built-in ones
    #[arg(long, env = "QUIRE_ANSWER_CA", value_name = "FILE")]
    pub answer_ca: Option<PathBuf>,
    /// Folder of prompts that replace the built-in ones of the same name (`quire prompts`)
    #[arg(long, env = "QUIRE_PROMPTS", value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Whether an answer may be that the evidence holds none; a benchmark wants false
    /// [default: true of a language model, false of the extractive reader]
    #[arg(long, env = "QUIRE_ABSTAIN", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub abstain: Option<bool>,
}

#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question, or - to read it from standard input
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// An option of a multiple-choice question, for the letters from A on; given 2 to 26 times
    #[arg(long = "option", value_name = "TEXT")]
    pub options: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// In which order the evidence is shown to the model
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = EvidenceOrder::Document)]
    pub order: EvidenceOrder,
    /// The language to answer in [default: the question's]
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub language: Option<AnswerLanguage>,
    /// Show the text of all evidence, and why each passage is there
    #[arg(long)]
    pub explain: bool,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub answer: AnswerArgs,
    #[command(flatten)]
    pub budgets: BudgetArgs,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvidenceOrder {
    /// As the book has it
    Document,
    /// The best passage first
    Score,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerLanguage {
    /// English
    En,
    /// Chinese
    Zh,
}

#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// List the prompts in use, their versions and digests
    List(PromptsListArgs),
    /// Write the prompts in use into a folder, to be changed and given as --prompts
    Export(PromptsExportArgs),
}

#[derive(Debug, Args)]
pub struct PromptsListArgs {
    /// Folder of prompts that replace the built-in ones of the same name
    #[arg(long, env = "QUIRE_PROMPTS", value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PromptsExportArgs {
    /// The folder; made if need be. A file that is there already is left alone
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
