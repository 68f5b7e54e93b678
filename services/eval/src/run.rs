//! Running a judged data set through the whole pipeline.

use std::collections::{BTreeMap, HashMap};

use quire_corpus::{
    BookId, Chunk, ChunkId, EncodingHow, EncodingReport, Format, Malformed, Passages, ReadReport,
    SourceBook,
};
use quire_engine::{
    Budgets, EngineError, ModelSource, Progress, Search, View, build_given, search,
};
use quire_index::{Recipe, Store};
use serde::Serialize;

use crate::datasets::{Collection, Question};
use crate::metrics::{ndcg, recall, reciprocal_rank};

/// Where a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Within its own group (a story, a book).
    Group,
    /// Over all passages of the set.
    All,
}

/// The mean measures of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Measures {
    /// Reciprocal rank at 10.
    pub mrr_10: f64,
    /// Normalized discounted cumulative gain at 10.
    pub ndcg_10: f64,
    /// Recall at 1.
    pub recall_1: f64,
    /// Recall at 5.
    pub recall_5: f64,
    /// Recall at 20.
    pub recall_20: f64,
}

/// What a run found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The data set.
    pub set: String,
    /// Where questions were asked.
    pub scope: Scope,
    /// Passages in the set.
    pub passages: usize,
    /// Questions asked.
    pub questions: usize,
    /// By stage: `bm25`, `dense`, `fused`, `reranked`.
    pub stages: BTreeMap<&'static str, Measures>,
}

/// A set whose passages are indexed as they are given.
pub struct Indexed<'a> {
    set: &'a Collection,
    /// The book of each group, in the groups' order.
    books: Vec<BookId>,
    /// Where each book's passages begin in the set.
    first: HashMap<BookId, usize>,
}

impl<'a> Indexed<'a> {
    /// Indexes each group of the set as one book, a passage of the set a
    /// passage of the book.
    ///
    /// # Errors
    /// When a stage of the build fails.
    pub fn build(
        set: &'a Collection,
        store: &Store,
        recipe: &Recipe,
        models: &dyn ModelSource,
        progress: &dyn Progress,
    ) -> Result<Self, EngineError> {
        let mut indexed = Self {
            set,
            books: Vec::new(),
            first: HashMap::new(),
        };
        for group in &set.groups {
            let (book, passages) = as_book(&set.name, &set.passages[group.clone()]);
            build_given(store, &book, &passages, recipe, models, progress)?;
            indexed.first.insert(book.id, group.start);
            indexed.books.push(book.id);
        }
        Ok(indexed)
    }

    /// Asks every question and measures every stage.
    ///
    /// # Errors
    /// When a query fails.
    pub fn run(
        &self,
        scope: Scope,
        store: &Store,
        recipe: &Recipe,
        models: &dyn ModelSource,
        budgets: &Budgets,
        mut asked: impl FnMut(usize),
    ) -> Result<Report, EngineError> {
        let models = models.models()?;
        let mut stages: BTreeMap<&'static str, Measures> = BTreeMap::new();
        let mut count = 0;
        let scopes: Vec<(Vec<BookId>, Option<usize>)> = match scope {
            Scope::All => vec![(self.books.clone(), None)],
            Scope::Group => (0..self.books.len())
                .map(|group| (vec![self.books[group]], Some(group)))
                .collect(),
        };
        for (books, group) in scopes {
            let questions: Vec<&Question> = self
                .set
                .questions
                .iter()
                .filter(|question| group.is_none_or(|group| question.group == group))
                .collect();
            if questions.is_empty() {
                continue;
            }
            let view = View::open(store, &books, recipe)?;
            for question in questions {
                let found = search(&view, &models, &question.text, budgets)?;
                for (stage, ranked) in self.ranked(&found) {
                    add(stages.entry(stage).or_default(), &ranked, question);
                }
                count += 1;
                asked(count);
            }
        }
        for measures in stages.values_mut() {
            divide(measures, count as f64);
        }
        Ok(Report {
            set: self.set.name.clone(),
            scope,
            passages: self.set.passages.len(),
            questions: count,
            stages,
        })
    }

    /// Each stage's list as passage numbers of the set. The reranked list goes
    /// on with the fused one beyond the rerank budget.
    fn ranked(&self, found: &Search) -> [(&'static str, Vec<usize>); 4] {
        let trace = &found.trace;
        let numbers = |chunks: &mut dyn Iterator<Item = ChunkId>| -> Vec<usize> {
            chunks
                .map(|chunk| self.first[&chunk.book] + chunk.ordinal as usize)
                .collect()
        };
        let of = |hits: &[quire_engine::Scored]| numbers(&mut hits.iter().map(|hit| hit.chunk));
        let fused = of(&trace.fused.hits);
        let mut reranked = trace
            .reranked
            .as_ref()
            .map_or_else(Vec::new, |stage| of(&stage.hits));
        reranked.extend(
            fused
                .iter()
                .skip(reranked.len())
                .copied()
                .collect::<Vec<_>>(),
        );
        [
            ("bm25", of(&trace.lexical.hits)),
            ("dense", of(&trace.dense.hits)),
            ("fused", fused),
            ("reranked", reranked),
        ]
    }
}

/// Passages joined into a text, and where they lie in it.
fn as_book(name: &str, passages: &[String]) -> (SourceBook, Passages) {
    let mut text = String::new();
    let mut spans = Vec::with_capacity(passages.len());
    for passage in passages {
        let start = text.len();
        text.push_str(passage);
        text.push('\n');
        spans.push(start..text.len());
    }
    let chunks = spans.into_iter().map(|span| Chunk {
        span,
        chapter: None,
        tokens: 0,
    });
    let passages = Passages {
        body: 0..text.len(),
        chapters: Vec::new(),
        chunks: chunks.collect(),
    };
    let report = ReadReport {
        format: Format::Text,
        encoding: EncodingReport {
            name: "UTF-8".to_owned(),
            how: EncodingHow::Given,
            confidence: 1.0,
            runner_up: None,
        },
        malformed: Malformed::default(),
        problems: Vec::new(),
    };
    let book = SourceBook {
        id: BookId::of_text(&text),
        text,
        title: Some(name.to_owned()),
        author: None,
        language: None,
        source: name.to_owned(),
        report,
    };
    (book, passages)
}

fn add(measures: &mut Measures, ranked: &[usize], question: &Question) {
    let relevant = &question.relevant;
    measures.mrr_10 += reciprocal_rank(ranked, relevant, 10);
    measures.ndcg_10 += ndcg(ranked, relevant, 10);
    measures.recall_1 += recall(ranked, relevant, 1);
    measures.recall_5 += recall(ranked, relevant, 5);
    measures.recall_20 += recall(ranked, relevant, 20);
}

fn divide(measures: &mut Measures, count: f64) {
    for value in [
        &mut measures.mrr_10,
        &mut measures.ndcg_10,
        &mut measures.recall_1,
        &mut measures.recall_5,
        &mut measures.recall_20,
    ] {
        *value /= count;
    }
}
