//! The questions that the reader is measured on.
//!
//! Every public set is cut in two halves that share no document: what the
//! reader does was chosen on half A, half B confirms it. The sample corpus is
//! looked at as a whole, and last.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use quire_answer::Language;
use serde::Deserialize;
use serde_json::Value;

use crate::score::{f1, grams};

/// Questions taken of one half of one set.
const QUESTIONS: usize = 120;
/// Options of a question whose options were made of other answers.
const OPTIONS: usize = 4;

/// A question, its answers and the document that answers it.
pub(crate) struct Case {
    /// Set and half.
    pub(crate) set: String,
    pub(crate) language: Language,
    pub(crate) question: String,
    /// Correct answers; of a question that has options by nature, the options
    /// that are correct.
    pub(crate) answers: Vec<String>,
    pub(crate) options: Option<Vec<String>>,
    /// Which document of its set.
    document: usize,
    /// The pieces of the document that hold the answer, where that is known.
    pub(crate) gold: Vec<String>,
    /// All pieces it may be looked for in.
    pub(crate) pieces: Vec<String>,
}

impl Case {
    /// Whether another case's evidence cannot hold this one's answer.
    pub(crate) fn is_foreign_to(&self, other: &Self) -> bool {
        self.document != other.document
    }
}

type Cases = Result<Vec<Case>, Box<dyn Error>>;

/// The sample corpus of the project.
pub(crate) fn sample() -> Cases {
    #[derive(Deserialize)]
    struct Question {
        book: String,
        question: String,
        options: Option<Vec<String>>,
        answers: Vec<String>,
        evidence: Vec<String>,
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample");
    let mut cases = Vec::new();
    for (document, file) in files(&folder, "jsonl")?.iter().enumerate() {
        for line in fs::read_to_string(file)?.lines() {
            let asked: Question = serde_json::from_str(line)?;
            // Bytes: some 200 words or 300 Chinese characters.
            let pieces = cut(
                fs::read_to_string(folder.join(&asked.book))?.split("\n\n"),
                900,
            );
            let holds = |piece: &&String| asked.evidence.iter().any(|e| piece.contains(e.as_str()));
            cases.push(Case {
                set: "sample".into(),
                language: Language::of(&asked.question),
                gold: pieces.iter().filter(holds).cloned().collect(),
                question: asked.question,
                answers: asked.answers,
                options: asked.options,
                document,
                pieces,
            });
        }
    }
    Ok(cases)
}

/// FairytaleQA, XQuAD, CMRC 2018 and the QuALITY questions of L-Eval, from
/// the folder that holds them.
pub(crate) fn public(data: &Path) -> Cases {
    let mut cases = Vec::new();
    for (half, split) in [('A', "val"), ('B', "test")] {
        cases.extend(with_options(fairytales(data, split, half)?));
    }
    for half in ['A', 'B'] {
        for (name, file, own_document) in [
            ("xquad en", "xquad/xquad.en.json", true),
            ("xquad zh", "xquad/xquad.zh.json", true),
            ("cmrc2018", "cmrc2018/cmrc2018_dev.json", false),
        ] {
            let spans = spans(&data.join(file), name, half, own_document)?;
            cases.extend(with_options(spans));
        }
        cases.extend(quality(&data.join("leval/quality.jsonl"), half)?);
    }
    Ok(cases)
}

/// Stories cut in sections; every question names its own.
fn fairytales(data: &Path, split: &str, half: char) -> Cases {
    let folder = data.join("fairytaleqa");
    let mut cases = Vec::new();
    let questions = files(&folder.join("questions").join(split), "csv")?;
    for (document, file) in questions.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let story = name.replace("-questions.csv", "-story.csv");
        let story = folder.join("section-stories").join(split).join(story);
        let mut sections: Vec<(String, String)> = Vec::new();
        for row in rows(&story)? {
            sections.push((field(&row, "section"), field(&row, "text")));
        }
        for row in rows(file)? {
            let named = field(&row, "cor_section");
            let gold: Vec<String> = named
                .split(',')
                .filter_map(|id| sections.iter().find(|(section, _)| section == id.trim()))
                .map(|(_, text)| text.clone())
                .collect();
            let answers: Vec<String> = (1..=6)
                .map(|n| field(&row, &format!("answer{n}")))
                .filter(|answer| !answer.is_empty())
                .collect();
            if gold.is_empty() || gold.len() > 2 || answers.is_empty() {
                continue;
            }
            cases.push(Case {
                set: format!("fairytaleqa {half}"),
                language: Language::En,
                question: field(&row, "question"),
                answers,
                options: None,
                document,
                gold,
                pieces: sections.iter().map(|(_, text)| text.clone()).collect(),
            });
        }
    }
    Ok(sample_of(cases))
}

/// A set in SQuAD's format. The other pieces are the article's other
/// paragraphs, or where an article has one paragraph only, other articles.
fn spans(file: &Path, name: &str, half: char, own_document: bool) -> Cases {
    #[derive(Deserialize)]
    struct Set {
        data: Vec<Article>,
    }
    #[derive(Deserialize)]
    struct Article {
        paragraphs: Vec<Paragraph>,
    }
    #[derive(Deserialize)]
    struct Paragraph {
        context: String,
        qas: Vec<Question>,
    }
    #[derive(Deserialize)]
    struct Question {
        question: String,
        answers: Vec<Text>,
    }
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    let set: Set = serde_json::from_str(&fs::read_to_string(file)?)?;
    let parity = usize::from(half == 'B');
    let articles = set.data.into_iter().enumerate();
    let articles: Vec<_> = articles.filter(|(at, _)| at % 2 == parity).collect();
    let all = articles.iter().flat_map(|(_, article)| &article.paragraphs);
    let others: Vec<String> = all.map(|p| p.context.clone()).take(200).collect();
    let mut cases = Vec::new();
    for (document, article) in &articles {
        let own: Vec<String> = article
            .paragraphs
            .iter()
            .map(|p| unspaced(&p.context))
            .collect();
        for paragraph in &article.paragraphs {
            for asked in &paragraph.qas {
                let language = Language::of(&asked.question);
                let answers: BTreeSet<String> =
                    asked.answers.iter().map(|a| unspaced(&a.text)).collect();
                let mut pieces = own.clone();
                if !own_document {
                    // Spread over the set by the question's own place.
                    let start = cases.len() * 7;
                    let more = (0..10).map(|n| others[(start + n * 19) % others.len()].clone());
                    pieces.extend(more.filter(|text| text != &paragraph.context));
                }
                cases.push(Case {
                    set: format!("{name} {half}"),
                    language,
                    question: asked.question.clone(),
                    answers: answers.into_iter().collect(),
                    options: None,
                    document: *document,
                    gold: vec![unspaced(&paragraph.context)],
                    pieces,
                });
            }
        }
    }
    Ok(sample_of(cases))
}

/// Multiple choice over whole stories; where the answer stands is not said.
fn quality(file: &Path, half: char) -> Cases {
    let mut cases = Vec::new();
    let parity = usize::from(half == 'B');
    for (document, line) in fs::read_to_string(file)?.lines().enumerate() {
        if document % 2 != parity {
            continue;
        }
        let story: Value = serde_json::from_str(line)?;
        let text = story["input"].as_str().ok_or("no text")?;
        let pieces = cut(
            text.split('\n').filter(|line| !line.trim().is_empty()),
            1200,
        );
        let asked = story["instructions"].as_array().ok_or("no questions")?;
        let right = story["outputs"].as_array().ok_or("no answers")?;
        for (asked, right) in asked.iter().zip(right) {
            let asked = asked.as_str().unwrap_or_default();
            let mut parts = asked.split("\n (");
            let question = parts.next().unwrap_or_default().trim().to_owned();
            let options: Vec<String> = parts
                .filter_map(|part| Some(part.split_once(')')?.1.trim().to_owned()))
                .collect();
            let letter = right.as_str().and_then(|right| right.chars().nth(1));
            let place = letter.map_or(usize::MAX, |letter| letter as usize - 'A' as usize);
            let Some(answer) = options.get(place) else {
                continue;
            };
            cases.push(Case {
                set: format!("quality {half}"),
                language: Language::En,
                question,
                answers: vec![answer.clone()],
                options: Some(options.clone()),
                document,
                gold: Vec::new(),
                pieces: pieces.clone(),
            });
        }
    }
    Ok(cases)
}

/// The questions, and each again with options: its answer among those of
/// other questions on the same document, the likest in length, in an order
/// that says nothing.
fn with_options(cases: Vec<Case>) -> Vec<Case> {
    let mut made = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let right = &case.answers[0];
        let near = |text: &String| text.len().abs_diff(right.len());
        let mut others: Vec<&String> = cases
            .iter()
            .filter(|other| other.document == case.document || case.gold.len() == 1)
            .filter(|other| {
                let told = &other.answers[0];
                other.document == case.document || case.gold[0].contains(told.as_str())
            })
            .map(|other| &other.answers[0])
            .filter(|text| f1(text, right, case.language) < 0.4)
            .collect();
        others.sort_by(|a, b| near(a).cmp(&near(b)).then(a.cmp(b)));
        others.dedup();
        others.truncate(OPTIONS - 1);
        if others.len() < OPTIONS - 1 {
            continue;
        }
        let mut options: Vec<String> = others.into_iter().cloned().collect();
        options.insert(at % OPTIONS, right.clone());
        made.push(Case {
            set: case.set.clone(),
            language: case.language,
            question: case.question.clone(),
            answers: vec![right.clone()],
            options: Some(options),
            document: case.document,
            gold: case.gold.clone(),
            pieces: case.pieces.clone(),
        });
    }
    cases.into_iter().chain(made).collect()
}

/// As many questions as are taken of a half, from all over it.
fn sample_of(cases: Vec<Case>) -> Vec<Case> {
    let all = cases.len();
    let taken = QUESTIONS.min(all);
    let places: BTreeSet<usize> = (0..taken).map(|n| n * all / taken).collect();
    let numbered = cases.into_iter().enumerate();
    let kept = numbered.filter(|(at, _)| places.contains(at));
    kept.map(|(_, case)| case).collect()
}

/// Paragraphs joined to pieces of so many bytes, where none is longer itself.
fn cut<'a>(paragraphs: impl Iterator<Item = &'a str>, longest: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for paragraph in paragraphs {
        match pieces.last_mut() {
            Some(last) if last.len() + paragraph.len() < longest => {
                last.push_str("\n\n");
                last.push_str(paragraph);
            }
            _ => pieces.push(paragraph.to_owned()),
        }
    }
    pieces
}

/// The text without spaces beside Chinese characters. XQuAD's translation
/// left one on either side of each answer, which gives it away.
fn unspaced(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let wide = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|c| !c.is_ascii())
    };
    let beside = |at: usize| wide(at.checked_sub(1)) || wide(Some(at + 1));
    let kept = (0..chars.len()).filter(|&at| chars[at] != ' ' || !beside(at));
    kept.map(|at| chars[at]).collect()
}

/// The pieces that share the most with the question, best first, with the
/// gold ones among them or without.
pub(crate) fn evidence(case: &Case, pieces: usize, with_gold: bool) -> Vec<String> {
    let asked = grams(&case.question, case.language);
    let shared = |text: &String| {
        let grams = grams(text, case.language);
        std::cmp::Reverse(grams.intersection(&asked).count())
    };
    let others = case
        .pieces
        .iter()
        .filter(|piece| !case.gold.contains(piece));
    let mut others: Vec<String> = others.cloned().collect();
    others.sort_by_cached_key(shared);
    let gold = if with_gold { &case.gold[..] } else { &[] };
    others.truncate(pieces.saturating_sub(gold.len()));
    others.extend(gold.iter().take(pieces).cloned());
    others.sort_by_cached_key(shared);
    others
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

type Row = std::collections::HashMap<String, String>;

fn rows(file: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

fn field(row: &Row, name: &str) -> String {
    row.get(name)
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}
