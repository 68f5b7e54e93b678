//! The command line.

mod answer;
mod bench;
mod eval;
mod library;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use quire_index::LibraryName;
use quire_model::{Blend, Fusion};

pub use answer::{
    AnswerArgs, AnswerLanguage, AskArgs, EvidenceOrder, PromptsCommand, PromptsExportArgs,
    PromptsListArgs,
};
pub use bench::{
    BenchArgs, BenchArrivals, BenchCommand, BenchCompareArgs, BenchIndexArgs, BenchLoadArgs,
    BenchPutArgs, BenchRequestArgs,
};
pub use eval::{EvalBy, EvalCommand, EvalCompareArgs, EvalOver, EvalReportArgs, EvalRunArgs};
pub use library::{
    LibraryCommand, LibraryEditArgs, LibraryListArgs, LibraryRmArgs, LibraryShowArgs, ScopeArgs,
};

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
  quire ask \"Who rings the fog bell?\"        the answer, with its evidence
  quire show 3f9a01c2b4d6:17 --around 1      read a passage with its neighbours

Settings are taken from flags, then QUIRE_* environment variables, then the
configuration file, then the defaults; `quire config` shows each and where it
is from. QUIRE_CATALOGUE names a model catalogue in place of the built-in one,
ORT_DYLIB_PATH another ONNX Runtime library.

Exit codes:
  0  done
  1  failed; one line on standard error says what, where, why and what to do
  2  the command line is wrong
  3  partly done: some inputs failed, `verify` found damage, or answers differ that were
     compared (`trace replay`, `bench --check`)"
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
  quire index --library sea novels/      and put them into the library `sea`
  curl -s URL | quire index -            from standard input

A book that is already indexed costs only the reading and the hash. Stopped at
any moment, the next run goes on from the last finished batch.")]
    Index(IndexArgs),
    /// Search for the passages that answer a question
    #[command(after_long_help = "\
Examples:
  quire search \"Where was the balance repaired?\"
  quire search --book 3f9a01 --evidence-passages 3 \"船为什么改名？\"
  quire search --library dickens \"Who keeps the shop?\"
  quire search --explain \"...\"   rank and score of each hit in each stage
  quire search --json \"...\"      the same with everything, for programs
  quire search - < question.txt

Without --book and --library every book indexed under the current settings is
searched. Of several books it is said how the best passages are shared among
them.")]
    Search(SearchArgs),
    /// Answer a question from the books, with the evidence
    #[command(after_long_help = "\
Examples:
  quire ask \"Who rings the fog bell?\"
  quire ask \"When did the lamp go out?\" --option \"at dusk\" --option \"at dawn\"
  quire ask --explain \"船为什么改名？\"       all evidence, and why it is there
  quire ask --answer-url http://127.0.0.1:8000 --answer-model NAME \"...\"

Without --answer-url the built-in extractive reader answers: it quotes the
evidence and generates nothing. The key of a server that wants one is read from
QUIRE_ANSWER_KEY, a proxy's address from QUIRE_ANSWER_PROXY.")]
    Ask(Box<AskArgs>),
    /// List the prompts of answer models, or write them out to be changed
    #[command(subcommand)]
    Prompts(PromptsCommand),
    /// Serve search and answers over HTTP
    #[command(after_long_help = "\
Examples:
  quire serve                                on this machine alone, port 8080
  curl -s 127.0.0.1:8080/v1/search -H 'content-type: application/json' \\
       -d '{\"question\": \"Who rings the fog bell?\"}'
  quire serve --address 0.0.0.0:8080 --keys keys.txt
  quire serve --log-format json 2> quire.log
  quire serve --answer-url http://127.0.0.1:8000 --answer-model NAME

Prints one line, `listening on http://...`, and logs to standard error. /docs
shows the whole interface. SIGTERM or Ctrl-C ends it once the queries in flight
are answered; a second one at once.

A file of keys has one `read NAME SECRET` or `admin NAME SECRET` a line and may
be readable by its owner alone. Only admin keys may add and remove books.

OTEL_EXPORTER_OTLP_ENDPOINT sends a span for each query to a collector (OTLP as
JSON over HTTP); OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME are honoured.")]
    Serve(Box<ServeArgs>),
    /// Be a tool of an agent, by the Model Context Protocol over standard input and output
    #[command(after_long_help = "\
Example, in the configuration of an agent:
  {\"mcpServers\": {\"quire\": {\"command\": \"/path/to/quire\", \"args\": [\"mcp\"]}}}

The tools are search, fetch and answer. Nothing but the protocol goes to
standard output; the log goes to standard error. It runs beside `quire serve`
and `quire index` on the same data folder and takes no uploads. Its queries go
to the trace log, unless another process writes that just now: then it says so
on standard error, and every trace_id is null.

An agent that speaks HTTP can use a running `quire serve` at /mcp instead.")]
    Mcp(Box<McpArgs>),
    /// Look at what a served query did, or run it again
    #[command(subcommand)]
    Trace(TraceCommand),
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
    /// Keep books together as libraries, to be searched as one
    #[command(after_long_help = "\
Examples:
  quire library create dickens bleak-house.epub hard-times.txt
  quire library add dickens great-expectations.epub
  quire search --library dickens \"Who keeps the shop?\"
  quire library show dickens

A library's index is put together from those of its books; nothing is embedded
again. A book may be in any number of libraries.")]
    #[command(subcommand)]
    Library(LibraryCommand),
    /// Check every stored file and say what is wrong and how to mend it
    Verify(VerifyArgs),
    /// Evaluate on data sets: retrieval stage by stage, and answers
    #[command(after_long_help = "\
Examples:
  quire eval run tests/sample/*.questions.jsonl
  quire eval run --over all --retrieval-only fairytaleqa/
  quire eval report RUN
  quire eval compare RUN RUN")]
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Load a running server and measure it; or time indexing
    #[command(after_long_help = "\
Examples:
  quire bench --questions asked.jsonl                        one client, 10 seconds
  quire bench --questions asked.jsonl --concurrency 1,8,32 --check
  quire bench --questions asked.jsonl --rate 20 --duration 60
  quire bench --questions asked.jsonl --sweep --html knee.html --json knee.json
  quire bench compare before.json after.json
  quire bench index novels/

In a closed loop a client asks again when it has its answer; refused with 429 or
503, it waits as long as Retry-After says, at most 5 seconds. In an open loop
requests are sent at their times, and latency counts from then: a server that
stalls is charged for every request that was due meanwhile.

The environment variable QUIRE_KEY holds the key of a server that wants one.

Exit code 3: with --check, an answer was not the idle server's.")]
    Bench(Box<BenchArgs>),
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
    /// How ranks are fused: k, the weight of BM25 and that of dense; 60,1,1 is the published
    /// formula [default: the profile's own]
    #[arg(long, env = "QUIRE_FUSION", value_name = "K,LEXICAL,DENSE")]
    pub fusion: Option<Fusion>,
    /// How the final score is put together: the weights of the reranker's, the dense and BM25's
    /// standardized scores [default: the profile's own]
    #[arg(long, env = "QUIRE_BLEND", value_name = "RERANK,DENSE,LEXICAL")]
    pub blend: Option<Blend>,
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
    /// Fused candidates to rerank; 0 for none [default: the profile's, else 20]
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
    /// Put the books into this library as well; it is created if there is none
    #[arg(long, value_name = "NAME")]
    pub library: Option<LibraryName>,
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
    #[command(flatten)]
    pub scope: ScopeArgs,
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
pub struct ServeArgs {
    /// Where to listen; port 0 for any that is free [default: 127.0.0.1:8080]
    #[arg(long, env = "QUIRE_ADDRESS", value_name = "IP:PORT")]
    pub address: Option<String>,
    /// File of keys; needed to listen elsewhere than on this machine
    #[arg(long, env = "QUIRE_KEYS", value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Write every query to the trace log in the data folder [default: true]
    #[arg(long, env = "QUIRE_TRACES", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub traces: Option<bool>,
    /// MiB of traces to keep; the oldest go first [default: 1024]
    #[arg(long, env = "QUIRE_TRACE_DISK", value_name = "MIB")]
    pub trace_disk: Option<u64>,
    /// How the log is written: text or json [default: text]
    #[arg(long, env = "QUIRE_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    #[command(flatten)]
    pub limits: ServeLimitArgs,
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
pub struct McpArgs {
    /// Write every query to the trace log in the data folder [default: true]
    #[arg(long, env = "QUIRE_TRACES", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub traces: Option<bool>,
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
#[command(next_help_heading = "Limits")]
pub struct ServeLimitArgs {
    /// Queries that run at once [default: 32]
    #[arg(long, env = "QUIRE_WORKERS", value_name = "N")]
    pub workers: Option<usize>,
    /// Queries that may wait for their turn; more are refused with 429 [default: 256]
    #[arg(long, env = "QUIRE_QUEUE", value_name = "N")]
    pub queue: Option<usize>,
    /// Milliseconds a query may take that names no timeout_ms [default: 30000]
    #[arg(long, env = "QUIRE_TIMEOUT", value_name = "MS")]
    pub timeout: Option<u64>,
    /// MiB one upload may have [default: 256]
    #[arg(long, env = "QUIRE_MAX_UPLOAD", value_name = "MIB")]
    pub max_upload: Option<u64>,
    /// Connections that may be open at once [default: 1024]
    #[arg(long, env = "QUIRE_CONNECTIONS", value_name = "N")]
    pub connections: Option<usize>,
    /// Seconds that queries in flight have to end when the server is told to stop [default: 30]
    #[arg(long, env = "QUIRE_DRAIN", value_name = "SECONDS")]
    pub drain: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON document a line
    Json,
}

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show what each stage of a served query ranked
    #[command(after_long_help = "\
Example:
  quire trace show 000001-0000002a-9f3c   the trace_id of a response")]
    Show(TraceShowArgs),
    /// Run a served query again and say whether every id and score is the same
    #[command(after_long_help = "\
Example:
  quire trace replay 000001-0000002a-9f3c

Exits with 3 if anything differs, after naming the first difference of each
stage and what has changed since: models, budgets, passages.")]
    Replay(TraceReplayArgs),
}

#[derive(Debug, Args)]
pub struct TraceShowArgs {
    /// The trace's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Ranks to show of each stage
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TraceReplayArgs {
    /// The trace's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print one JSON document (docs/json.md)
    #[arg(long)]
    pub json: bool,
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
