//! `quire eval`

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::{AnswerArgs, BudgetArgs, CutArgs, EvidenceOrder, ModelArgs};

#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Ask every question of some sets, and report how well it went
    #[command(after_long_help = "\
Examples:
  quire eval run tests/sample/*.questions.jsonl
  quire eval run --over all tests/sample/*.questions.jsonl
  quire eval run --retrieval-only xquad.en.json
  quire eval run --books 5,10,20 --bundles 4 --seed 1,2,3 longbook_choice_eng.jsonl
  quire eval run --vary by=lexical,dense,fusion,rerank --vary evidence-tokens=1024,4096 SET
  quire eval run SET --answer-url URL --answer-model NAME

A set is a file or a folder, and its format shows in what is in it:
  quire           JSON objects, one a line: id, book (a file beside it), question, answers,
                  and where there are any options and evidence (quotations of the book)
  infinitebench   JSON objects, one a line: id, context, input, answer, options
  leval           JSON objects, one a line: input, instructions, outputs
  graphrag-novel  folder: questions.json and books/, its questions of fact
  beir            folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv
  trec            folder: docs*, topics*, qrels*
  squad           JSON: each paragraph is a passage
  cranfield       folder: cran.all.1400, cran.qry, cranqrel
  fairytaleqa     folder: section-stories/SPLIT, questions/SPLIT; each section is a passage

Books are indexed first, unless they are already. A run has a folder, by default below the
data folder, named after all that decides its results: stopped at any moment, the same command
goes on where it was and asks the answer model nothing twice. It holds report.html, report.json,
every question's measures, and TREC runs and judgements.")]
    Run(Box<EvalRunArgs>),
    /// Show the report of a run that is there
    Report(EvalReportArgs),
    /// Weigh two runs against each other on the questions both asked
    #[command(after_long_help = "\
Examples:
  quire eval compare runs/a runs/b                          answers' scores
  quire eval compare runs/a runs/b --measure mrr@10         what was retrieved
  quire eval compare runs/a runs/a --measure hit@5 --stage-a lexical --stage-b fusion
  quire eval compare runs/a runs/a --way-a 1 --way-b 2      two ways of one run

The difference is the second run's mean less the first's, with its 95 % bootstrap interval and
the p-value of Fisher's paired randomization test.")]
    Compare(EvalCompareArgs),
}

#[derive(Debug, Args)]
pub struct EvalRunArgs {
    /// Files or folders of questions
    #[arg(required = true, value_name = "SET")]
    pub sets: Vec<PathBuf>,
    /// The sets' format [default: as shows in what is in them]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Of a set that has several parts (beir, fairytaleqa), which
    #[arg(long, value_name = "NAME", default_value = "test")]
    pub split: String,
    /// Ask only so many questions of each set, its first ones
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub limit: Option<usize>,
    /// What each question is asked over
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = EvalOver::Own)]
    pub over: EvalOver,
    /// Ask each question over drawn bundles of so many books that hold its own; several sizes
    /// between commas
    #[arg(long, value_name = "K", value_delimiter = ',', conflicts_with = "over", value_parser = at_least_one())]
    pub books: Vec<usize>,
    /// Bundles of each size and seed
    #[arg(long, value_name = "N", default_value_t = 5, requires = "books", value_parser = at_least_one())]
    pub bundles: usize,
    /// Seeds that bundles are drawn and answers sampled by, between commas [default: 0, or
    /// --answer-seed]
    #[arg(long, value_name = "S", value_delimiter = ',')]
    pub seed: Vec<u64>,
    /// Search alone, and ask no answer model
    #[arg(long)]
    pub retrieval_only: bool,
    /// By which stage's ranking the evidence is chosen
    #[arg(long, value_enum, value_name = "STAGE", default_value_t = EvalBy::Rerank)]
    pub by: EvalBy,
    /// In which order the evidence is shown to the model
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = EvidenceOrder::Document)]
    pub order: EvidenceOrder,
    /// Try each value of a setting in one run: by, order, evidence-passages, evidence-tokens or
    /// max-tokens; may be given again, for every combination
    #[arg(long, value_name = "NAME=V,V")]
    pub vary: Vec<String>,
    /// The run's folder [default: below the data folder, named after all that decides the
    /// results]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as one JSON document (docs/json.md)
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

#[derive(Debug, Args)]
pub struct EvalReportArgs {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print the report as one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalCompareArgs {
    /// The folder of the first run
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The folder of the second run, which may be the same
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// What is compared: score, or a measure of what was retrieved, such as mrr@10 (default:
    /// score where both runs answered, else mrr@10)
    #[arg(long, value_name = "MEASURE")]
    pub measure: Option<String>,
    /// Of a measure of retrieval, the first run's stage [default: its last]
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage_a: Option<EvalBy>,
    /// Of a measure of retrieval, the second run's stage [default: its last]
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage_b: Option<EvalBy>,
    /// Of a run that asked in several ways, which of the first; without it, they are listed
    #[arg(long, value_name = "N")]
    pub way_a: Option<usize>,
    /// Which of the second
    #[arg(long, value_name = "N")]
    pub way_b: Option<usize>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalOver {
    /// Its own book
    Own,
    /// All books: of sets of whole books those of all sets together, else those of its own set
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

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
