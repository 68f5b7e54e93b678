//! What a run does, and what identifies it.

use std::collections::BTreeMap;
use std::fmt;

use quire_corpus::BookId;
use quire_engine::{Budgets, Fingerprint, ModelRecord, Order, Ranked};
use quire_index::{Machine, Manifest, Recipe};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::record::Key;
use super::scopes::{Places, Scope};
use crate::set::EvalSet;

/// Everything that decides what a run asks.
pub struct Plan {
    /// The sets.
    pub sets: Vec<EvalSet>,
    /// The books of all sets, as records number them.
    pub books: Vec<BookEntry>,
    /// The places of each set's books among them.
    pub places: Places,
    /// How books are cut.
    pub cuts: Vec<Cut>,
    /// What is searched together, and which questions are asked of it.
    pub scopes: Vec<Scope>,
    /// In which ways each question is answered; empty to search alone.
    pub arms: Vec<Arm>,
    /// How far each stage of a search goes.
    pub budgets: Budgets,
}

/// A book, as reports name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookEntry {
    /// Its id.
    pub id: BookId,
    /// Its title.
    pub title: String,
    /// Where its set gives its passages: the passages' names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<String>>,
}

/// A way of cutting books.
#[derive(Debug, Clone)]
pub struct Cut {
    /// As reports name it: `given`, or `256 tokens`.
    pub name: String,
    /// What artifacts are made by.
    pub recipe: Recipe,
    /// Whether it is of sets that give their passages.
    pub is_given: bool,
}

impl Plan {
    /// The place in the run of a question's book.
    pub fn book_of(&self, set: usize, question: usize) -> usize {
        let question = &self.sets[set].questions[question];
        self.places[set][question.book]
    }

    /// The same, of every question of each set.
    pub fn question_books(&self) -> Vec<Vec<usize>> {
        let sets = self.sets.iter().enumerate();
        sets.map(|(set, of)| {
            let questions = 0..of.questions.len();
            questions
                .map(|question| self.book_of(set, question))
                .collect()
        })
        .collect()
    }

    /// The cuts of each set's books, by their places.
    pub fn cuts_of_sets(&self) -> Vec<Vec<usize>> {
        let cuts = || self.cuts.iter().enumerate();
        let of = |set: &EvalSet| {
            let fitting = cuts().filter(|(_, cut)| cut.is_given == set.is_given());
            fitting.map(|(place, _)| place).collect()
        };
        self.sets.iter().map(of).collect()
    }
}

/// A way of answering: one arm of an ablation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// By which stage's ranking the evidence is chosen.
    pub by: Ranked,
    /// In which order it is shown.
    pub order: Order,
    /// Passages of evidence at most.
    pub evidence_passages: usize,
    /// Tokens of evidence at most.
    pub evidence_tokens: usize,
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            Ranked::Lexical => "bm25",
            Ranked::Dense => "dense",
            Ranked::Fused => "fusion",
            Ranked::Reranked => "rerank",
        };
        let order = match self.order {
            Order::Document => "document",
            Order::Score => "score",
        };
        let (passages, tokens) = (self.evidence_passages, self.evidence_tokens);
        write!(
            f,
            "{by}, {passages} passages, {tokens} tokens, {order} order"
        )
    }
}

/// Over what questions are asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Each over its own book.
    Own,
    /// Over all books: those of all sets whose books are cut, together; where
    /// passages are given, those of the question's own set.
    All,
    /// Over bundles of books, drawn by each seed.
    Bundles {
        /// Books in a bundle, of each kind of bundle.
        sizes: Vec<usize>,
        /// Bundles of each size and seed.
        bundles: usize,
    },
}

/// What decides a run's results. Two runs with equal identities are one run;
/// results of different ones are never put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The sets.
    pub sets: Vec<SetEntry>,
    /// Over what questions are asked.
    pub over: Over,
    /// By which bundles are drawn and answers sampled.
    pub seeds: Vec<u64>,
    /// What a search depends on, by the cut's name; the artifacts are those of
    /// the scopes.
    pub search: BTreeMap<String, Fingerprint>,
    /// The ways of answering.
    pub arms: Vec<Arm>,
    /// The answer model; `None` where nothing is answered. Its seed is that of
    /// the question's scope.
    pub answer_model: Option<ModelRecord>,
    /// Its prompts, by name: their digests.
    pub prompts: BTreeMap<String, String>,
    /// Whether it may say that there is no answer.
    pub may_abstain: bool,
}

/// A set, as reports name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetEntry {
    /// Its name.
    pub name: String,
    /// The format it was read from.
    pub format: String,
    /// SHA-256 of all that counts in it.
    pub digest: String,
    /// How many books it has.
    pub books: usize,
    /// How many questions were asked.
    pub questions: usize,
    /// How many were left out because they have no text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blank: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl fmt::Display for SetEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let (questions, books) = (of(self.questions, "question"), of(self.books, "book"));
        write!(f, "{} ({}): {questions}, {books}", self.name, self.format)?;
        if self.blank > 0 {
            write!(f, "; {} without text left out", of(self.blank, "question"))?;
        }
        Ok(())
    }
}

impl Identity {
    /// 16 hexadecimal digits that stand for it.
    pub fn id(&self) -> String {
        let json = serde_json::to_vec(self).expect("an identity is plain data");
        let digest = Sha256::digest(json);
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The first thing in which two differ, in words; `None` if they are
    /// equal.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.sets != other.sets, "the sets"),
            (
                self.over != other.over,
                "what is searched (--over, --books)",
            ),
            (self.seeds != other.seeds, "the seeds"),
            (
                self.search != other.search,
                "version, recipe, models or budgets",
            ),
            (self.arms != other.arms, "the ways of answering"),
            (self.answer_model != other.answer_model, "the answer model"),
            (self.prompts != other.prompts, "the prompts"),
            (self.may_abstain != other.may_abstain, "--abstain"),
        ];
        let found = differences.into_iter().find(|(differs, _)| *differs);
        found.map(|(_, what)| what)
    }
}

/// `run.json`: what a run is, beside its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// The version of this file's form.
    pub schema: u32,
    /// [`Identity::id`].
    pub id: String,
    /// What decides the results.
    pub identity: Identity,
    /// The command that started it.
    pub command: Vec<String>,
    /// When, by RFC 3339 in UTC.
    pub started: String,
    /// On which machine.
    pub machine: Machine,
    /// The books, as records number them.
    pub books: Vec<BookEntry>,
    /// The book of each set's questions, by its place among them.
    pub question_books: Vec<Vec<usize>>,
    /// The names of the cuts, as scopes number them.
    pub cuts: Vec<String>,
    /// What was searched together, as records number it.
    pub scopes: Vec<Scope>,
    /// What building the indexes took, once; by cut and book.
    pub indexing: Vec<IndexEntry>,
}

impl RunFile {
    /// The place of a question's book.
    pub fn book_of(&self, key: Key) -> usize {
        self.question_books[key.set][key.question]
    }

    /// How many passages of evidence a search hands on.
    pub fn evidence_passages(&self) -> usize {
        let search = self.identity.search.values().next();
        search.map_or(0, |search| search.budgets.evidence_passages)
    }
}

/// The version of [`RunFile`].
pub const SCHEMA: u32 = 1;

/// What building one book's artifact took, whenever that was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The cut's name.
    pub cut: String,
    /// The book's place in the run.
    pub book: usize,
    /// Passages.
    pub passages: u64,
    /// Tokens of its passages.
    pub tokens: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Seconds of each stage, by name.
    pub seconds: BTreeMap<String, f64>,
    /// When, by RFC 3339 in UTC.
    pub started: String,
    /// On which device.
    pub device: String,
}

impl IndexEntry {
    /// As an artifact's manifest tells it.
    pub fn of(cut: &str, book: usize, manifest: &Manifest) -> Self {
        Self {
            cut: cut.to_owned(),
            book,
            passages: manifest.counts.passages,
            tokens: manifest.counts.tokens,
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            seconds: manifest.build.seconds.clone(),
            started: manifest.build.started.clone(),
            device: manifest.build.device.clone(),
        }
    }
}
