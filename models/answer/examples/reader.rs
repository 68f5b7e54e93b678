//! How well the extractive reader reads, given the right page among others.
//!
//! For each question of the sample corpus the reader gets eight pieces of the
//! book: the one that holds the judges' quotation, and the seven that share
//! the most with the question, in the order of what they share. Retrieval has
//! no part in it. Then again without the right one, to see whether the reader
//! notices.
//!
//! ```text
//! cargo run --release -p quire-answer --example reader -- --home .quire \
//!     [--late-interaction] [--verbose]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use quire_answer::{
    AnswerModel, AnswerRequest, EvidenceText, ExtractiveReader, Language, ReaderOptions, Task,
};
use quire_model::{Call, Reranker};
use quire_onnx::{
    Catalogue, Device, DigestCache, LateInteraction, ModelFiles, OnnxEmbedder, OnnxModel,
    Precision, Runtime, SessionOptions, built_file,
};
use serde::Deserialize;

const PIECES: usize = 8;

#[derive(Deserialize)]
struct Question {
    id: String,
    book: String,
    question: String,
    options: Option<Vec<String>>,
    answers: Vec<String>,
    evidence: Vec<String>,
}

/// What was counted for one kind of question in one language.
#[derive(Default)]
struct Tally {
    questions: usize,
    right: f64,
    quoted: usize,
    abstained_with: usize,
    abstained_without: usize,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut home = PathBuf::from(".quire");
    let mut verbose = false;
    let mut by_tokens = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--home" => home = arguments.next().ok_or("--home needs a folder")?.into(),
            "--verbose" => verbose = true,
            "--late-interaction" => by_tokens = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let model = load(&home)?;
    let embedder = Arc::new(OnnxEmbedder::new(Arc::clone(&model))?);
    let reranker: Option<Arc<dyn Reranker>> = match by_tokens {
        true => Some(Arc::new(LateInteraction::new(model)?)),
        false => None,
    };
    let reader = ExtractiveReader::new(embedder, reranker, ReaderOptions::default());
    println!("{}", reader.info().name);
    report(&measure(&reader, verbose)?);
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
    verbose: bool,
) -> Result<BTreeMap<String, Tally>, Box<dyn Error>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample");
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut files: Vec<PathBuf> = fs::read_dir(&corpus)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    files.sort();
    for file in files {
        for line in fs::read_to_string(&file)?.lines() {
            let question: Question = serde_json::from_str(line)?;
            let book = fs::read_to_string(corpus.join(&question.book))?;
            let language = Language::of(&question.question);
            let task = match &question.options {
                Some(options) => Task::MultipleChoice {
                    options: options.clone(),
                },
                None => Task::FreeForm,
            };
            let kind = match task {
                Task::FreeForm => "free-form",
                Task::MultipleChoice { .. } => "choice",
            };
            let tally = tallies.entry(format!("{language:?} {kind}")).or_default();
            let (with, without) = pieces(&book, &question, language);
            let mut request = AnswerRequest {
                task,
                language,
                question: question.question.clone(),
                evidence: with,
                messages: Vec::new(),
                may_abstain: false,
                call: Call::new(),
            };
            let ask = |request: &AnswerRequest| {
                reader.answer(request, &mut |_| ControlFlow::Continue(()))
            };
            let started = Instant::now();
            let answer = ask(&request)?;
            tally.seconds += started.elapsed().as_secs_f64();
            tally.questions += 1;
            let right = match (&question.options, answer.letter) {
                (Some(options), Some(letter)) => {
                    let chosen = &options[letter as usize - 'A' as usize];
                    f64::from(u8::from(question.answers.contains(chosen)))
                }
                _ => best_f1(&answer.text, &question.answers, language),
            };
            tally.right += right;
            let overlap = |quote: &String| {
                f1(&answer.raw, quote, language) > 0.5
                    || quote.contains(&answer.raw)
                    || answer.raw.contains(quote.as_str())
            };
            tally.quoted += usize::from(question.evidence.iter().any(overlap));
            if verbose {
                println!(
                    "{} {right:.2} {} | {} | {:?}",
                    question.id, question.question, answer.text, question.answers
                );
                println!("      {}", answer.raw.replace('\n', " "));
            }
            request.may_abstain = true;
            tally.abstained_with += usize::from(!ask(&request)?.supported);
            request.evidence = without;
            tally.abstained_without += usize::from(!ask(&request)?.supported);
        }
    }
    Ok(tallies)
}

fn report(tallies: &BTreeMap<String, Tally>) {
    println!(
        "  kind           questions  score  right sentence  abstained  abstained without  s/question"
    );
    for (kind, tally) in tallies {
        let questions = tally.questions as f64;
        println!(
            "  {kind:<14} {:>9}  {:>5.3}  {:>14}  {:>9}  {:>17}  {:>10.2}",
            tally.questions,
            tally.right / questions,
            tally.quoted,
            tally.abstained_with,
            tally.abstained_without,
            tally.seconds / questions,
        );
    }
}

/// Pieces of the book with and without the quotation.
fn pieces(
    book: &str,
    question: &Question,
    language: Language,
) -> (Vec<EvidenceText>, Vec<EvidenceText>) {
    // Bytes: some 200 words or 300 Chinese characters.
    let longest = 900;
    let mut all: Vec<String> = Vec::new();
    for paragraph in book.split("\n\n") {
        match all.last_mut() {
            Some(last) if last.len() + paragraph.len() < longest => {
                last.push_str("\n\n");
                last.push_str(paragraph);
            }
            _ => all.push(paragraph.to_owned()),
        }
    }
    let asked = grams(&question.question, language);
    let shared = |text: &str| grams(text, language).intersection(&asked).count();
    let holds = |text: &str| {
        question
            .evidence
            .iter()
            .any(|quote| text.contains(quote.as_str()))
    };
    all.sort_by_key(|text| std::cmp::Reverse(shared(text)));
    let labelled = |texts: Vec<&String>| -> Vec<EvidenceText> {
        let numbered = texts.into_iter().enumerate();
        numbered
            .map(|(number, text)| EvidenceText {
                label: (number + 1).to_string(),
                text: text.clone(),
            })
            .collect()
    };
    let others: Vec<&String> = all
        .iter()
        .filter(|text| !holds(text))
        .take(PIECES - 1)
        .collect();
    let mut with: Vec<&String> = others.clone();
    with.extend(all.iter().find(|text| holds(text)));
    with.sort_by_key(|text| std::cmp::Reverse(shared(text)));
    (labelled(with), labelled(others))
}

fn grams(text: &str, language: Language) -> BTreeSet<String> {
    tokens(text, language)
        .windows(match language {
            Language::En => 1,
            Language::Zh => 2,
        })
        .map(|window| window.concat())
        .collect()
}

fn tokens(text: &str, language: Language) -> Vec<String> {
    let text = text.to_lowercase();
    match language {
        Language::En => text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !["a", "an", "the"].contains(word))
            .map(str::to_owned)
            .collect(),
        Language::Zh => text
            .chars()
            .filter(|c| c.is_alphanumeric())
            .map(String::from)
            .collect(),
    }
}

fn best_f1(said: &str, answers: &[String], language: Language) -> f64 {
    let scores = answers.iter().map(|answer| f1(said, answer, language));
    scores.fold(0.0, f64::max)
}

/// The harmonic mean of precision and recall over tokens (Rajpurkar and
/// others 2016).
fn f1(said: &str, wanted: &str, language: Language) -> f64 {
    let (said, wanted) = (tokens(said, language), tokens(wanted, language));
    let mut left = wanted.clone();
    let mut common = 0.0;
    for token in &said {
        if let Some(at) = left.iter().position(|other| other == token) {
            left.swap_remove(at);
            common += 1.0;
        }
    }
    if common == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (common / said.len() as f64, common / wanted.len() as f64);
    2.0 * precision * recall / (precision + recall)
}
