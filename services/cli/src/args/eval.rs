//! `quire eval`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{AnswerArgs, BudgetArgs, CutArgs, EvidenceOrder, ModelArgs};

#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Retrieval on SQuAD-style JSON: each paragraph is a passage
    Squad(EvalArgs),
    /// Retrieval on the Cranfield collection: title and text of each document
    Cranfield(EvalArgs),
    /// Retrieval on FairytaleQA's test stories: each section is a passage
    Fairytaleqa(EvalArgs),
    /// Answers, end to end: each question is asked about its book, and its answer scored as
    /// InfiniteBench scores it
    #[command(after_long_help = "\
Examples:
  quire eval answers tests/sample/*.questions.jsonl
  quire eval answers --over all tests/sample/*.questions.jsonl
  quire eval answers longbook_choice_eng.jsonl --answer-url URL --answer-model NAME

A set is InfiniteBench's (longbook_choice_eng.jsonl, longbook_qa_eng.jsonl,
longbook_qa_chn.jsonl, known by these names) or quire's own, one JSON object a
line: id, book (a file beside it), question, answers, and where there are any
options and evidence (quotations of the book). The books are indexed first,
unless they are already. A model has to answer: --abstain lets it say that there
is no answer.")]
    Answers(Box<EvalAnswersArgs>),
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The data set: a file (squad) or a folder (cranfield, fairytaleqa)
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Ask each question within its own story only (fairytaleqa)
    #[arg(long)]
    pub within_group: bool,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub budgets: BudgetArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Args)]
pub struct EvalAnswersArgs {
    /// Files of questions
    #[arg(required = true, value_name = "SET")]
    pub sets: Vec<PathBuf>,
    /// What each question is asked over
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = EvalOver::Own)]
    pub over: EvalOver,
    /// By which stage's ranking the evidence is chosen
    #[arg(long, value_enum, value_name = "STAGE", default_value_t = EvalBy::Rerank)]
    pub by: EvalBy,
    /// In which order the evidence is shown to the model
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = EvidenceOrder::Document)]
    pub order: EvidenceOrder,
    /// Ask only so many questions of each set, its first ones
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Write each question's answer, score and evidence to this file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    pub records: Option<PathBuf>,
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
pub enum EvalOver {
    /// Its own book
    Own,
    /// All books of all sets together
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalBy {
    /// BM25 alone
    Lexical,
    /// The dense view alone
    Dense,
    /// Fusion of both
    Fusion,
    /// Fusion and reranking
    Rerank,
}
