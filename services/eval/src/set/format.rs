//! The formats sets come in, and telling them apart.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use serde_json::Value;

use super::{EvalSet, SetError, SetOptions};
use crate::answers::Task;
use crate::datasets::{beir, cranfield, fairytaleqa, squad, trec};
use crate::questions::{infinitebench, leval, novels, own};

/// A format that sets come in. To add one: a reader beside those of
/// `datasets` (its passages are given) or of `questions` (its books are cut),
/// and a line in each of the functions here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// quire's own: a question a line, books beside it.
    Own,
    /// InfiniteBench: a question a line with the whole book in it.
    InfiniteBench,
    /// L-Eval: a text a line with its questions.
    Leval,
    /// The novels of GraphRAG-Bench.
    Novels,
    /// A BEIR folder.
    Beir,
    /// A TREC folder.
    Trec,
    /// SQuAD-style JSON.
    Squad,
    /// The Cranfield collection.
    Cranfield,
    /// FairytaleQA.
    Fairytaleqa,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 9] = [
        Format::Own,
        Format::InfiniteBench,
        Format::Leval,
        Format::Novels,
        Format::Beir,
        Format::Trec,
        Format::Squad,
        Format::Cranfield,
        Format::Fairytaleqa,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Own => "quire",
            Format::InfiniteBench => "infinitebench",
            Format::Leval => "leval",
            Format::Novels => "graphrag-novel",
            Format::Beir => "beir",
            Format::Trec => "trec",
            Format::Squad => "squad",
            Format::Cranfield => "cranfield",
            Format::Fairytaleqa => "fairytaleqa",
        }
    }

    /// Every name, for messages.
    pub fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }

    /// The format of a file or folder, by what is in it.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn of(path: &Path) -> Result<Format, SetError> {
        let has = |name: &str| path.join(name).exists();
        let found = match path.is_dir() {
            true if has("cran.all.1400") => Some(Format::Cranfield),
            true if has("section-stories") => Some(Format::Fairytaleqa),
            true if has("corpus.jsonl") => Some(Format::Beir),
            true if has("questions.json") => Some(Format::Novels),
            true => is_trec(path).then_some(Format::Trec),
            false => of_file(path),
        };
        // A file that is not there is told as such.
        if found.is_none()
            && let Err(source) = path.metadata()
        {
            let path = path.to_owned();
            return Err(crate::datasets::DatasetError::Read { path, source }.into());
        }
        found.ok_or_else(|| SetError::NoFormat {
            path: path.to_owned(),
        })
    }

    pub(super) fn read(self, path: &Path, options: &SetOptions) -> Result<EvalSet, SetError> {
        let SetOptions { split, limit, .. } = options;
        let given = |set| EvalSet::of_collection(self, set, *limit);
        let cut = |beside: &Path, questions| {
            let name = crate::datasets::name_of(path);
            EvalSet::of_questions(name, self, beside, questions, *limit)
        };
        match self {
            Format::Own => cut(path, own(path)?),
            Format::InfiniteBench => cut(path, infinitebench(task(path), path)?),
            Format::Leval => cut(path, leval(path)?),
            Format::Novels => cut(&path.join("questions.json"), novels(path)?),
            Format::Beir => given(beir(path, split)?),
            Format::Trec => given(trec(path)?),
            Format::Squad => given(squad(path)?),
            Format::Cranfield => given(cranfield(path)?),
            Format::Fairytaleqa => given(fairytaleqa(path, split)?),
        }
    }
}

fn is_trec(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else {
        return false;
    };
    let names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().to_lowercase())
        .collect();
    let has = |stem: &str| names.iter().any(|name| name.starts_with(stem));
    has("topics") && has("qrels")
}

/// By the members of the first object; a file whose first line is no object
/// of its own is one JSON document.
fn of_file(path: &Path) -> Option<Format> {
    let Some(first) = first_object(path) else {
        let json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        return json.then_some(Format::Squad);
    };
    let has = |name: &str| first.get(name).is_some();
    match () {
        () if has("data") => Some(Format::Squad),
        () if has("instructions") => Some(Format::Leval),
        () if has("context") && has("input") => Some(Format::InfiniteBench),
        () if has("question") && has("book") => Some(Format::Own),
        () => None,
    }
}

fn first_object(path: &Path) -> Option<Value> {
    let mut file = BufReader::new(File::open(path).ok()?);
    let mut line = String::new();
    while file.read_line(&mut line).ok()? > 0 {
        let text = line.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            return serde_json::from_str(text).ok();
        }
        line.clear();
    }
    None
}

/// The task that the name of an InfiniteBench file says.
fn task(path: &Path) -> Option<Task> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Task::ALL
        .into_iter()
        .find(|task| name.contains(task.name()))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no format {0:?}: it is one of {names}", names = Format::names())]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let named = Format::ALL.into_iter().find(|format| format.name() == name);
        named.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
