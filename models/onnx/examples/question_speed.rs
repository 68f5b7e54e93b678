//! How many questions a second a model embeds when many callers ask at once,
//! each waiting for its answer before it asks again. Every answer is compared,
//! bit for bit, with the one the idle model gave.
//!
//! ```text
//! cargo run --release -p quire-onnx --example question_speed -- \
//!     --home .quire --callers 1,8,32 --seconds 10
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use quire_model::{Call, Embedder as _, Embedding, Role};
use quire_onnx::{
    Catalogue, Device, DigestCache, ModelFiles, OnnxEmbedder, OnnxModel, Precision, Runtime,
    SessionOptions, built_file,
};

/// Different questions, of 13 to 19 tokens.
const QUESTIONS: usize = 64;

struct Arguments {
    library: PathBuf,
    home: PathBuf,
    callers: Vec<usize>,
    seconds: u64,
    options: SessionOptions,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let catalogue = Catalogue::embedded()?;
    let spec = catalogue.model("multilingual-e5-small")?;
    let runtime = Runtime::load(&arguments.library)?;
    let files = ModelFiles::locate(spec, Precision::Int8, &mut |source, file| {
        built_file(&arguments.home, source, file)
    })?;
    let model = OnnxModel::load(
        &runtime,
        spec,
        Precision::Int8,
        &files,
        &DigestCache::none(),
        &arguments.options,
    )?;
    let embedder = OnnxEmbedder::new(model)?;
    let questions = questions();
    let alone = questions
        .iter()
        .map(|question| embed(&embedder, question))
        .collect::<Result<Vec<_>, _>>()?;
    for callers in arguments.callers {
        measure(&embedder, &questions, &alone, callers, arguments.seconds)?;
    }
    Ok(())
}

fn embed(embedder: &OnnxEmbedder, question: &str) -> Result<Embedding, Box<dyn Error>> {
    let found = embedder.embed(&[question], Role::Question, &Call::new())?;
    found.into_iter().next().ok_or_else(|| "no vector".into())
}

/// Prints one line for `callers` callers at once.
fn measure(
    embedder: &OnnxEmbedder,
    questions: &[String],
    alone: &[Embedding],
    callers: usize,
    seconds: u64,
) -> Result<(), Box<dyn Error>> {
    let before = embedder.model().stats();
    let start = Instant::now();
    let end = start + Duration::from_secs(seconds);
    let mut times = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn(move || -> Result<Vec<Duration>, String> {
                    let mut times = Vec::new();
                    for at in caller.. {
                        let asked = Instant::now();
                        if asked >= end {
                            break;
                        }
                        let at = at % questions.len();
                        let found =
                            embed(embedder, &questions[at]).map_err(|error| error.to_string())?;
                        if found != alone[at] {
                            return Err(format!("question {at} has other bits"));
                        }
                        times.push(asked.elapsed());
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a caller panicked")??);
        }
        Ok::<_, Box<dyn Error>>(all)
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    let after = embedder.model().stats();
    times.sort_unstable();
    let percentile = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "callers {callers:3}  questions/s {:6.1}  ms p50 {:6.1} p99 {:6.1}  questions a run {:.1}",
        times.len() as f64 / elapsed,
        percentile(50),
        percentile(99),
        (after.texts - before.texts) as f64 / (after.batches - before.batches).max(1) as f64,
    );
    Ok(())
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments {
        library: PathBuf::from(".quire/runtime/libonnxruntime.so"),
        home: PathBuf::from(".quire"),
        callers: vec![1, 8, 32],
        seconds: 10,
        options: SessionOptions::new(Device::Cpu).one_thread_each(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--library" => arguments.library = value.into(),
            "--home" => arguments.home = value.into(),
            "--callers" => {
                arguments.callers = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--seconds" => arguments.seconds = value.parse()?,
            "--workers" => arguments.options.workers = value.parse()?,
            "--threads" => arguments.options.threads = value.parse()?,
            "--linger-us" => {
                arguments.options.linger = Duration::from_micros(value.parse()?);
            }
            _ => return Err(format!("no such flag: {flag}").into()),
        }
    }
    Ok(arguments)
}

/// Made of parts, so that their lengths differ a little.
fn questions() -> Vec<String> {
    let who = [
        "the captain",
        "the old lamplighter",
        "Ilse Brandt",
        "the king's sister",
    ];
    let what = [
        "leave the harbour",
        "open the letter",
        "sell her house",
        "hide the ledger",
    ];
    let when = [
        "at night",
        "in the ninth year of the war",
        "after the flood",
        "on Sunday",
    ];
    (0..QUESTIONS)
        .map(|n| {
            let (who, what, when) = (who[n % 4], what[n / 4 % 4], when[n / 16 % 4]);
            format!("Why did {who} {what} {when}?")
        })
        .collect()
}
