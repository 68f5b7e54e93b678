//! The command line of `quire bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{CutArgs, ModelArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
    #[command(flatten)]
    pub load: BenchLoadArgs,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Put two reports side by side
    #[command(after_long_help = "\
Example:
  quire bench compare before.json after.json

A ratio is the second by the first. What makes the figures those of different
things, such as other questions or another machine, is said above the table.")]
    Compare(BenchCompareArgs),
    /// Time the indexing of books in a temporary data folder
    #[command(after_long_help = "\
Examples:
  quire bench index novels/
  quire bench index --precision fp32 --json book.txt

Nothing is kept and the data folder is not touched. Loading the models is timed
apart. Stages that run side by side add up to more than the whole.")]
    Index(BenchIndexArgs),
}

#[derive(Debug, Args)]
pub struct BenchLoadArgs {
    /// The server [default: http://127.0.0.1:8080]
    #[arg(long, env = "QUIRE_URL", value_name = "URL")]
    pub url: Option<String>,
    /// File of questions: JSON lines with a "question", or one a line; may be given again
    #[arg(long, required = true, value_name = "FILE")]
    pub questions: Vec<PathBuf>,
    #[command(flatten)]
    pub put: BenchPutArgs,
    #[command(flatten)]
    pub request: BenchRequestArgs,
    /// Ask every question of the idle server first, and compare every answer under load with it,
    /// byte by byte
    #[arg(long, help_heading = "Report")]
    pub check: bool,
    /// Write the report as JSON, to standard output in place of the table if no file is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Report")]
    pub json: Option<Option<PathBuf>>,
    /// Write the report as one HTML page
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub html: Option<PathBuf>,
    /// The server's process, to read its processor time and memory
    /// [default: the one that listens at the port]
    #[arg(long, value_name = "PID", help_heading = "Report")]
    pub pid: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct BenchPutArgs {
    /// Closed loop: so many clients, each asking when it has its answer [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub concurrency: Vec<usize>,
    /// Open loop: so many requests a second, whatever becomes of earlier ones
    #[arg(long, value_name = "R", value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// How requests of an open loop follow one another
    #[arg(long, value_name = "HOW", default_value = "poisson")]
    pub arrivals: BenchArrivals,
    /// Find the knee: doubles the clients until that no longer helps, or goes through the given
    /// loads
    #[arg(long)]
    pub sweep: bool,
    /// Seconds each load is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub duration: f64,
    /// Measure so many requests instead
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    pub requests: Option<u64>,
    /// Seconds of load before each measurement that are not counted
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub warmup: f64,
    /// Decides the order of the questions and the times of the arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Seconds after which a client gives up
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub give_up: f64,
    /// Connections of an open loop at most
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub connections: usize,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub struct BenchRequestArgs {
    /// Members of each request besides its question, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub body: Option<String>,
    /// Search only this book; may be given again
    #[arg(long, value_name = "ID")]
    pub book: Vec<String>,
    /// Fused candidates to rerank; 0 for none [default: the server's]
    #[arg(long, value_name = "N")]
    pub rerank: Option<usize>,
    /// Milliseconds after which the server is to give a request up
    #[arg(long, value_name = "MS")]
    pub timeout_ms: Option<u64>,
    /// Milliseconds after which the reranker is to stop where it is
    #[arg(long, value_name = "MS")]
    pub deadline_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchArrivals {
    /// At random, as from many people
    Poisson,
    /// At equal gaps
    Fixed,
}

#[derive(Debug, Args)]
pub struct BenchCompareArgs {
    /// The first report, of --json
    #[arg(value_name = "A.json")]
    pub a: PathBuf,
    /// The second
    #[arg(value_name = "B.json")]
    pub b: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchIndexArgs {
    /// Files or folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cut: CutArgs,
    #[command(flatten)]
    pub models: ModelArgs,
}
