//! How well the extractive reader reads, given the right page among others.
//!
//! For each question the reader gets eight pieces of the document: those that
//! hold the answer and the ones that share the most with the question, in the
//! order of what they share. Retrieval has no part in it. Then, allowed to
//! abstain, with the same pieces, without those that hold the answer, and with
//! the pieces of a question on another document.
//!
//! ```text
//! cargo run --release -p quire-answer --example reader -- --home .quire \
//!     [--data FOLDER] [--memory FILE] [--late-interaction] [--verbose]
//! ```
//!
//! With `--data`, or `QUIRE_TEST_DATA` set, it measures the public sets in
//! that folder, else the sample corpus. `--memory` keeps vectors between runs;
//! times are then those of a reader that need not embed.

mod memory;
mod score;
mod sets;

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use quire_answer::{
    Answer, AnswerError, AnswerModel, AnswerRequest, EvidenceText, ExtractiveReader, ReaderOptions,
    Task,
};
use quire_model::{Call, Embedder, Reranker};
use quire_onnx::{
    Catalogue, Device, DigestCache, LateInteraction, ModelFiles, OnnxEmbedder, OnnxModel,
    Precision, Runtime, SessionOptions, built_file,
};

use memory::Remembering;
use score::best_f1;
use sets::{Case, evidence};

const PIECES: usize = 8;

/// What was counted for one kind of question of one set.
#[derive(Default)]
struct Tally {
    questions: usize,
    right: f64,
    /// Of the answers the reader was sure of when it might abstain.
    right_when_supported: f64,
    supported: usize,
    asked_without: usize,
    supported_without: usize,
    supported_elsewhere: usize,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut home = PathBuf::from(".quire");
    let mut data = std::env::var_os("QUIRE_TEST_DATA").map(PathBuf::from);
    let mut memory = None;
    let mut verbose = false;
    let mut by_tokens = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--home" => home = arguments.next().ok_or("--home needs a folder")?.into(),
            "--data" => data = Some(arguments.next().ok_or("--data needs a folder")?.into()),
            "--memory" => memory = Some(arguments.next().ok_or("--memory needs a file")?.into()),
            "--verbose" => verbose = true,
            "--late-interaction" => by_tokens = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let model = load(&home)?;
    let reranker: Option<Arc<dyn Reranker>> = match by_tokens {
        true => Some(Arc::new(LateInteraction::new(Arc::clone(&model))?)),
        false => None,
    };
    let mut embedder: Arc<dyn Embedder> = Arc::new(OnnxEmbedder::new(model)?);
    let mut remembering = None;
    if let Some(file) = memory {
        let remembers = Arc::new(Remembering::open(embedder, file)?);
        embedder = Arc::clone(&remembers) as Arc<dyn Embedder>;
        remembering = Some(remembers);
    }
    let reader = ExtractiveReader::new(embedder, reranker, ReaderOptions::default());
    println!("{}", reader.info().name);
    let cases = match data {
        Some(data) => sets::public(&data)?,
        None => sets::sample()?,
    };
    report(&measure(&reader, &cases, verbose)?);
    if let Some(remembering) = remembering {
        remembering.keep()?;
    }
    Ok(())
}

fn load(home: &Path) -> Result<Arc<OnnxModel>, Box<dyn Error>> {
    let catalogue = Catalogue::embedded()?;
    let spec = catalogue.model("multilingual-e5-small")?;
    let files = ModelFiles::locate(spec, Precision::Int8, &mut |source, file| {
        built_file(home, source, file)
    })?;
    let runtime = home.join("runtime");
    let library = ["libonnxruntime.so", "libonnxruntime.dylib"]
        .map(|name| runtime.join(name))
        .into_iter()
        .find(|path| path.is_file())
        .ok_or("there is no runtime: run scripts/setup.sh first")?;
    let options = SessionOptions {
        workers: 1,
        threads: 1,
        ..SessionOptions::new(Device::Cpu)
    };
    let model = OnnxModel::load(
        &Runtime::load(&library)?,
        spec,
        Precision::Int8,
        &files,
        &DigestCache::none(),
        &options,
    )?;
    Ok(model)
}

fn measure(
    reader: &dyn AnswerModel,
    cases: &[Case],
    verbose: bool,
) -> Result<BTreeMap<String, Tally>, Box<dyn Error>> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        let kind = match case.options {
            None => "free-form",
            Some(_) => "choice",
        };
        let key = format!("{kind:<9} {:?} {}", case.language, case.set);
        let tally = tallies.entry(key).or_default();
        let read = evidence(case, PIECES, true);
        let started = Instant::now();
        let answer = ask(reader, case, &read, false)?;
        tally.seconds += started.elapsed().as_secs_f64();
        tally.questions += 1;
        let right = rightness(case, &answer);
        tally.right += right;
        if verbose {
            println!(
                "{right:.2} {} | {} | {:?}",
                case.question, answer.text, case.answers
            );
        }
        if ask(reader, case, &read, true)?.supported {
            tally.supported += 1;
            tally.right_when_supported += right;
        }
        if !case.gold.is_empty() {
            let without = evidence(case, PIECES, false);
            tally.asked_without += 1;
            tally.supported_without += usize::from(ask(reader, case, &without, true)?.supported);
        }
        let half_way = (1..cases.len()).map(|n| &cases[(at + cases.len() / 2 + n) % cases.len()]);
        let foreign = half_way
            .filter(|other| other.language == case.language)
            .find(|other| other.set != case.set || other.is_foreign_to(case));
        if let Some(foreign) = foreign {
            let read = evidence(foreign, PIECES, true);
            tally.supported_elsewhere += usize::from(ask(reader, case, &read, true)?.supported);
        }
    }
    Ok(tallies)
}

fn ask(
    reader: &dyn AnswerModel,
    case: &Case,
    pieces: &[String],
    may_abstain: bool,
) -> Result<Answer, AnswerError> {
    let task = match &case.options {
        Some(options) => Task::MultipleChoice {
            options: options.clone(),
        },
        None => Task::FreeForm,
    };
    let numbered = pieces.iter().enumerate();
    let request = AnswerRequest {
        task,
        language: case.language,
        question: case.question.clone(),
        evidence: numbered
            .map(|(number, text)| EvidenceText {
                label: (number + 1).to_string(),
                text: text.clone(),
            })
            .collect(),
        messages: Vec::new(),
        may_abstain,
        call: Call::new(),
    };
    reader.answer(&request, &mut |_| ControlFlow::Continue(()))
}

fn rightness(case: &Case, answer: &Answer) -> f64 {
    match (&case.options, answer.letter) {
        (Some(options), Some(letter)) => {
            let chosen = &options[letter as usize - 'A' as usize];
            f64::from(u8::from(case.answers.contains(chosen)))
        }
        _ => best_f1(&answer.text, &case.answers, case.language),
    }
}

fn report(tallies: &BTreeMap<String, Tally>) {
    println!(
        "  {:<28} questions  score  supported  score of those  without  elsewhere  s/question",
        "set"
    );
    for (set, tally) in tallies {
        let questions = tally.questions as f64;
        println!(
            "  {set:<28} {:>9}  {:>5.3}  {:>9.3}  {:>14.3}  {:>7.3}  {:>9.3}  {:>10.3}",
            tally.questions,
            tally.right / questions,
            tally.supported as f64 / questions,
            tally.right_when_supported / (tally.supported.max(1) as f64),
            tally.supported_without as f64 / (tally.asked_without.max(1) as f64),
            tally.supported_elsewhere as f64 / questions,
            tally.seconds / questions,
        );
    }
}
