//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// From books to ranked evidence: the retrieval baseline for book-length
/// question answering.
#[derive(Debug, Parser)]
#[command(
    name = "quire",
    version,
    max_term_width = 100,
    after_long_help = "\
Examples:
  quire index novels/                        index every book below a folder
  quire search \"Who rings the fog bell?\"     search all indexed books
  quire search --explain --json - < ask.txt  read the question from standard input
  quire show 3f9a01c2b4d6:17 --around 1      read a passage with its neighbours

Settings are taken from flags, then QUIRE_* environment variables, then the
configuration file, then the defaults; `quire config` shows each and where it
is from. QUIRE_CATALOGUE names a model catalogue in place of the built-in one,
ORT_DYLIB_PATH another ONNX Runtime library.

Exit codes:
  0  done
  1  failed; one line on standard error says what, where, why and what to do
  2  the command line is wrong
  3  partly done: some inputs failed, or `verify` found damage"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: GlobalArgs,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Index books: files, folders or standard input
    #[command(after_long_help = "\
Examples:
  quire index book.epub novels/          two inputs; folders are read recursively
  quire index --encoding big5 hong.txt   when the detected encoding is wrong
  quire index longbook_qa_eng.jsonl      InfiniteBench: each distinct context is a book
  curl -s URL | quire index -            from standard input

A book that is already indexed costs only the reading and the hash. Stopped at
any moment, the next run goes on from the last finished batch.")]
    Index(IndexArgs),
    /// Search for the passages that answer a question
    #[command(after_long_help = "\
Examples:
  quire search \"Where was the balance repaired?\"
  quire search --book 3f9a01 --evidence-passages 3 \"船为什么改名？\"
  quire search --explain \"...\"   rank and score of each hit in each stage
  quire search --json \"...\"      the same with everything, for programs
  quire search - < question.txt

Without --book every book indexed under the current settings is searched.")]
    Search(SearchArgs),
    /// List the indexed books
    Books(BooksArgs),
    /// Show a passage in full, with its neighbours
    #[command(after_long_help = "\
Examples:
  quire show 3f9a01c2b4d6:17
  quire show 3f9a01:17 --around 2

A passage is written BOOK:NUMBER; of the book's id, as many digits as tell it
from the others are enough (four at least).")]
    Show(ShowArgs),
    /// Remove books from the index
    Rm(RmArgs),
    /// Check every stored file and say what is wrong and how to mend it
    Verify(VerifyArgs),
    /// Measure retrieval, stage by stage, on a judged data set whose passages are given
    #[command(after_long_help = "\
Examples:
  quire eval squad xquad.en.json
  quire eval cranfield cranfield/
  quire eval fairytaleqa fairytaleqa/ --within-group")]
    Eval(EvalArgs),
    /// List, fetch and check models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Show every setting, its value and where it is from
    Config(ConfigArgs),
    /// Print a completion script for a shell
    #[command(after_long_help = "\
Example:
  quire completions bash > ~/.local/share/bash-completion/completions/quire")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// Configuration file [default: quire/config.toml in the user's configuration folder]
    #[arg(
        long,
        env = "QUIRE_CONFIG",
        value_name = "FILE",
        global = true,
        help_heading = "Global options"
    )]
    pub config: Option<PathBuf>,
    /// Folder of the runtime library, the built models and, by default, the data
    #[arg(
        long,
        env = "QUIRE_HOME",
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub home: Option<PathBuf>,
    /// Folder of the indexes [default: HOME/data]
    #[arg(
        long,
        env = "QUIRE_DATA",
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub data: Option<PathBuf>,
    /// Colours in the terminal
    #[arg(
        long,
        env = "QUIRE_COLOR",
        value_name = "WHEN",
        global = true,
        help_heading = "Global options"
    )]
    pub color: Option<ColorWhen>,
    /// What is logged to standard error: error, warn, info, debug or trace [default: warn]
    #[arg(
        long,
        env = "QUIRE_LOG",
        value_name = "LEVEL",
        global = true,
        help_heading = "Global options"
    )]
    pub log: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorWhen {
    /// When standard output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Models")]
pub struct ModelArgs {
    /// Which models: small (built by scripts/setup.sh) or bge-m3 (`quire models pull bge-m3`)
    /// [default: small]
    #[arg(long, env = "QUIRE_PROFILE", value_name = "NAME")]
    pub profile: Option<String>,
    /// fp32 or int8 [default: the profile's own]
    #[arg(long, env = "QUIRE_PRECISION", value_name = "NAME")]
    pub precision: Option<String>,
    /// auto, cpu or cuda:N. auto says what it chose; cuda:N fails rather than fall back
    /// [default: auto]
    #[arg(long, env = "QUIRE_DEVICE", value_name = "DEVICE")]
    pub device: Option<String>,
    /// Threads the models compute with [default: all cores]
    #[arg(long, env = "QUIRE_THREADS", value_name = "N")]
    pub threads: Option<usize>,
    /// MiB of passages' token vectors that late interaction keeps in memory between questions
    /// [default: 512]
    #[arg(long, env = "QUIRE_RERANK_CACHE", value_name = "MIB")]
    pub rerank_cache: Option<usize>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Passages")]
pub struct CutArgs {
    /// Tokens in a passage at most [default: 256]
    #[arg(long, env = "QUIRE_MAX_TOKENS", value_name = "N")]
    pub max_tokens: Option<usize>,
    /// Cut front and back matter (licence, colophon) into passages as well
    #[arg(long, env = "QUIRE_KEEP_BOILERPLATE", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub keep_boilerplate: Option<bool>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Budgets")]
pub struct BudgetArgs {
    /// Passages taken from BM25 [default: 100]
    #[arg(long, env = "QUIRE_LEXICAL", value_name = "N")]
    pub lexical: Option<usize>,
    /// Passages taken from the dense view [default: 100]
    #[arg(long, env = "QUIRE_DENSE", value_name = "N")]
    pub dense: Option<usize>,
    /// Candidates followed in the graph of a large index [default: 256]
    #[arg(long, env = "QUIRE_DENSE_EF", value_name = "N")]
    pub dense_ef: Option<usize>,
    /// Fused candidates to rerank; 0 for none [default: 20]
    #[arg(long, env = "QUIRE_RERANK", value_name = "N")]
    pub rerank: Option<usize>,
    /// Passages in the result at most [default: 10]
    #[arg(long, env = "QUIRE_EVIDENCE_PASSAGES", value_name = "N")]
    pub evidence_passages: Option<usize>,
    /// Tokens in the result at most [default: 4096]
    #[arg(long, env = "QUIRE_EVIDENCE_TOKENS", value_name = "N")]
    pub evidence_tokens: Option<usize>,
}

#[derive(Debug, Args)]
pub struct IndexArgs {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read every input as this format: text, markdown, html, epub or infinitebench
    /// [default: by its name]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The inputs' encoding, such as gb18030 or big5 [default: detected]
    #[arg(long, env = "QUIRE_ENCODING", value_name = "NAME")]
    pub encoding: Option<String>,
    /// Refuse a file with undecodable bytes or unreadable parts
    #[arg(long, env = "QUIRE_STRICT", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub strict: Option<bool>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The question, or - to read it from standard input
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// Search only this book; may be given again. Four or more digits of its id
    #[arg(long, value_name = "ID")]
    pub book: Vec<String>,
    /// Show each hit's rank and score in each stage
    #[arg(long)]
    pub explain: bool,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub budgets: BudgetArgs,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Args)]
pub struct BooksArgs {
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The passage, as BOOK:NUMBER
    #[arg(value_name = "PASSAGE")]
    pub passage: String,
    /// Neighbours to show on either side
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub around: u32,
    /// Show it as cut under this recipe; its first digits, as in `quire books`
    #[arg(long, value_name = "KEY")]
    pub recipe: Option<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RmArgs {
    /// Books, by four or more digits of the id
    #[arg(required = true, value_name = "ID")]
    pub books: Vec<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Books, by four or more digits of the id [default: all]
    #[arg(value_name = "ID")]
    pub books: Vec<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the profiles, their models, and what is here
    List(ModelsListArgs),
    /// Fetch a profile's models from the model hub into its standard cache
    #[command(after_long_help = "\
Examples:
  quire models pull bge-m3
  HF_TOKEN=... quire models pull bge-m3      for a gated model
  HF_ENDPOINT=... quire models pull bge-m3   from a mirror

Honours HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_HUB_OFFLINE and HF_TOKEN. What
was fetched before an interruption is not fetched again, and every file is
checked against the hub's digest.")]
    Pull(ModelsPullArgs),
    /// Check a profile's files against their digests
    Verify(ModelsVerifyArgs),
}

#[derive(Debug, Args)]
pub struct ModelsListArgs {
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ModelsPullArgs {
    /// The profile, such as bge-m3
    #[arg(value_name = "PROFILE")]
    pub profile: String,
    /// fp32 or int8 [default: the profile's own]
    #[arg(long, env = "QUIRE_PRECISION", value_name = "NAME")]
    pub precision: Option<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ModelsVerifyArgs {
    /// The profile [default: the current one]
    #[arg(value_name = "PROFILE")]
    pub profile: Option<String>,
    /// fp32 or int8 [default: the profile's own]
    #[arg(long, env = "QUIRE_PRECISION", value_name = "NAME")]
    pub precision: Option<String>,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub budgets: BudgetArgs,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The data set's format
    #[arg(value_name = "FORMAT")]
    pub format: EvalFormat,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvalFormat {
    /// SQuAD-style JSON: each paragraph is a passage
    Squad,
    /// The Cranfield collection: title and text of each document
    Cranfield,
    /// FairytaleQA's test stories: each section is a passage
    Fairytaleqa,
}
