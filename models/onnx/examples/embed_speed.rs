//! How fast the embedding stage is: cuts a text into passages, embeds them and
//! prints tokens a second, so that it can be compared with any other program
//! that runs the same graph.
//!
//! ```text
//! cargo run --release -p quire-onnx --example embed_speed -- \
//!     --library .quire/runtime/libonnxruntime.so --home .quire --text book.txt
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use quire_model::{Call, Embedder as _, Role};
use quire_onnx::{
    Catalogue, DigestCache, ModelFiles, OnnxEmbedder, OnnxModel, Precision, Runtime,
    SessionOptions, built_file,
};

/// Bytes in a passage, about 256 tokens of English.
const PASSAGE: usize = 1200;

struct Arguments {
    library: PathBuf,
    home: PathBuf,
    text: PathBuf,
    model: String,
    precision: Precision,
    options: SessionOptions,
    limit: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let text = std::fs::read_to_string(&arguments.text)?;
    let mut passages = passages(&text);
    passages.truncate(arguments.limit);

    let start = Instant::now();
    let catalogue = Catalogue::embedded()?;
    let spec = catalogue.model(&arguments.model)?;
    let runtime = Runtime::load(&arguments.library)?;
    let files = ModelFiles::locate(spec, arguments.precision, &mut |source, file| {
        built_file(&arguments.home, source, file)
    })?;
    let model = OnnxModel::load(
        &runtime,
        spec,
        arguments.precision,
        &files,
        &DigestCache::none(),
        &arguments.options,
    )?;
    let embedder = OnnxEmbedder::new(model)?;
    let loaded = start.elapsed();

    let cpu_before = cpu_seconds();
    let start = Instant::now();
    let embeddings = embedder.embed(&passages, Role::Passage, &Call::bulk())?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu_before;

    let stats = embedder.model().stats();
    let tokens: u64 = embeddings.iter().map(|e| u64::from(e.tokens)).sum();
    let model_seconds = stats.model_time.as_secs_f64();
    println!(
        "device {} ({})",
        embedder.model().device().device,
        embedder.model().device().reason
    );
    println!("load {:.2} s", loaded.as_secs_f64());
    println!(
        "passages {}  tokens {tokens}  seconds {seconds:.2}  cpu {cpu:.2}",
        passages.len()
    );
    println!(
        "tokens/s {:.0}  tokens/cpu-s {:.0}",
        tokens as f64 / seconds,
        tokens as f64 / cpu
    );
    println!(
        "padding {:.1}%  outside the model {:.1}%  peak memory {} MiB",
        100.0 * stats.padding_share(),
        100.0 * (1.0 - model_seconds / seconds),
        peak_mebibytes()
    );
    Ok(())
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments {
        library: PathBuf::from(".quire/runtime/libonnxruntime.so"),
        home: PathBuf::from(".quire"),
        text: PathBuf::new(),
        model: "multilingual-e5-small".to_owned(),
        precision: Precision::Int8,
        options: SessionOptions::new("auto".parse()?),
        limit: usize::MAX,
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--library" => arguments.library = value.into(),
            "--home" => arguments.home = value.into(),
            "--text" => arguments.text = value.into(),
            "--model" => arguments.model = value,
            "--precision" => arguments.precision = value.parse()?,
            "--device" => arguments.options.device = value.parse()?,
            "--workers" => arguments.options.workers = value.parse()?,
            "--threads" => arguments.options.threads = value.parse()?,
            "--spinning" => arguments.options.spinning = value.parse()?,
            "--budget" => arguments.options.token_budget = Some(value.parse()?),
            "--limit" => arguments.limit = value.parse()?,
            _ => return Err(format!("no such flag: {flag}").into()),
        }
    }
    if arguments.text.as_os_str().is_empty() {
        return Err("give a text: --text FILE".into());
    }
    Ok(arguments)
}

/// Pieces of about [`PASSAGE`] bytes, cut at white space where there is some.
fn passages(text: &str) -> Vec<&str> {
    let mut passages = Vec::new();
    let mut rest = text;
    while rest.len() > PASSAGE {
        let most = rest.floor_char_boundary(PASSAGE);
        let end = rest[..most]
            .rfind(char::is_whitespace)
            .filter(|end| *end > 0)
            .unwrap_or(most);
        passages.push(&rest[..end]);
        rest = &rest[end..];
    }
    passages.push(rest);
    passages
}

/// User and system time of this process. Linux only; 0 elsewhere.
fn cpu_seconds() -> f64 {
    /// The kernel's unit here, on every architecture that Linux has today.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / TICKS
}

/// The most memory this process had. Linux only; 0 elsewhere.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}
