//! Asking the questions of a set about their books, end to end, and scoring
//! the answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use quire_answer::Task as Wanted;
use quire_corpus::{BookId, ChunkId, SourceBook};
use quire_engine::{
    Answered, Answerer, Budgets, EngineError, Models, Order, Question as Asked, Ranked, Unheard,
    View, answer_within,
};
use quire_model::Call;
use serde::{Deserialize, Serialize};

use crate::answers::{Task, score};
use crate::questions::Question;
use crate::statistics::{mean, standard_error};

/// How the questions are asked.
#[derive(Debug, Clone)]
pub struct Asking {
    /// How far each stage goes.
    pub budgets: Budgets,
    /// By which stage's ranking the evidence is chosen.
    pub by: Ranked,
    /// In which order the evidence is shown.
    pub order: Order,
    /// Whether the model may say that there is no answer. A benchmark wants a
    /// guess.
    pub may_abstain: bool,
    /// Questions put to the answer model at once.
    pub at_once: usize,
}

/// A question, with the view it is asked over and the text of its own book.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The question.
    pub question: &'a Question,
    /// What is searched.
    pub view: &'a View,
    /// The book it is about.
    pub book: &'a SourceBook,
}

/// One question, asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The question's name.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its task, as InfiniteBench names it.
    pub task: String,
    /// The book it is about.
    pub book: BookId,
    /// The answers that count as right.
    pub gold: Vec<String>,
    /// The answer; `None` when the model gave none.
    pub answer: Option<String>,
    /// Why there is none.
    pub failure: Option<String>,
    /// Whether the model holds that the evidence supports it.
    pub supported: bool,
    /// By the task's official scoring, 0 to 1; 0 without an answer.
    pub score: f64,
    /// The rank, from 1, of the first passage that holds a gold quotation, in
    /// each stage; `None` where the question has no quotation.
    pub found: Option<Found>,
    /// The passages the model was shown, in the order they were shown.
    pub evidence: Vec<ChunkId>,
    /// Tokens of the evidence with its labels, by the embedder's tokenizer.
    pub evidence_tokens: u64,
    /// Tokens of prompt and completion, as the answer model's server counted.
    pub answer_tokens: Option<[u64; 2]>,
    /// What the answer cost, where the price is known.
    pub cost: Option<f64>,
    /// Milliseconds of search, and of the answer model.
    pub wall_ms: [f64; 2],
}

/// Where the first passage with a gold quotation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// In BM25.
    pub lexical: Option<usize>,
    /// In the dense view.
    pub dense: Option<usize>,
    /// After fusion.
    pub fused: Option<usize>,
    /// After reranking, the rest as fusion has it.
    pub reranked: Option<usize>,
    /// Whether such a passage was among the evidence.
    pub shown: bool,
}

/// The means of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The task, as InfiniteBench names it.
    pub task: String,
    /// Questions asked.
    pub questions: usize,
    /// Their mean score: accuracy of a choice, F1 of a free answer.
    pub score: f64,
    /// Its standard error over the questions; `None` for a single one.
    pub standard_error: Option<f64>,
    /// Questions without an answer.
    pub failed: usize,
    /// Questions whose answer the model holds unsupported.
    pub unsupported: usize,
    /// Of the questions with a gold quotation, the share whose evidence holds
    /// one; `None` where no question has any.
    pub evidence_recall: Option<f64>,
    /// Mean tokens of the evidence.
    pub evidence_tokens: f64,
    /// Mean milliseconds of search, and of the answer model.
    pub wall_ms: [f64; 2],
}

/// Asks every question; the records are in the questions' order. `done` hears
/// of each one as it is finished.
///
/// # Errors
/// When a search fails. A model that gives no answer is a record.
pub fn ask(
    placed: &[Placed<'_>],
    models: &Models,
    answerer: Answerer<'_>,
    asking: &Asking,
    done: &(dyn Fn(&Record) + Sync),
) -> Result<Vec<Record>, EngineError> {
    let next = AtomicUsize::new(0);
    let records = Mutex::new(BTreeMap::new());
    let failed = Mutex::new(None);
    thread::scope(|threads| {
        for _ in 0..asking.at_once.max(1) {
            threads.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = placed.get(at) else {
                        return;
                    };
                    match ask_one(one, models, answerer, asking) {
                        Ok(record) => {
                            done(&record);
                            lock(&records).insert(at, record);
                        }
                        Err(error) => {
                            // The others end after the question they are at.
                            next.store(placed.len(), Ordering::Relaxed);
                            lock(&failed).get_or_insert(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match lock(&failed).take() {
        Some(error) => Err(error),
        None => Ok(std::mem::take(&mut *lock(&records)).into_values().collect()),
    }
}

fn ask_one(
    placed: &Placed<'_>,
    models: &Models,
    answerer: Answerer<'_>,
    asking: &Asking,
) -> Result<Record, EngineError> {
    let Placed {
        question,
        view,
        book,
    } = *placed;
    let kind = match question.options.is_empty() {
        true => Wanted::FreeForm,
        false => Wanted::MultipleChoice {
            options: question.options.clone(),
        },
    };
    let asked = Asked {
        text: question.text.clone(),
        task: kind,
        language: None,
        by: asking.by,
        order: asking.order,
        may_abstain: asking.may_abstain,
        budgets: asking.budgets.clone(),
    };
    let started = Instant::now();
    let call = Call::new();
    let answered = answer_within(view, models, answerer, &asked, &call, None, &mut Unheard)?;
    let total = started.elapsed().as_secs_f64() * 1e3;
    let found = found(view, book, question, &answered)?;
    let outcome = &answered.trace.outcome;
    let answer = outcome.text.clone();
    let tokens = outcome.prompt_tokens.zip(outcome.completion_tokens);
    let answer_ms = answered.trace.answer.wall_ms;
    let items = answered.evidence.items.iter();
    Ok(Record {
        id: question.id.clone(),
        question: question.text.clone(),
        task: question.task.name().to_owned(),
        book: book.id,
        gold: question.gold.texts().to_vec(),
        score: answer
            .as_deref()
            .map_or(0.0, |answer| score(question.task, answer, &question.gold)),
        answer,
        failure: outcome.failure.clone(),
        supported: outcome.supported,
        found,
        evidence: items
            .flat_map(|item| item.passages.iter().map(|passage| passage.chunk))
            .collect(),
        evidence_tokens: answered.evidence.tokens,
        answer_tokens: tokens.map(|(prompt, completion)| [prompt, completion]),
        cost: outcome.cost.as_ref().map(|cost| cost.amount),
        wall_ms: [total - answer_ms, answer_ms],
    })
}

/// Where the first passage stands that holds a gold quotation.
fn found(
    view: &View,
    book: &SourceBook,
    question: &Question,
    answered: &Answered,
) -> Result<Option<Found>, EngineError> {
    let quotations = quotations(&book.text, &question.evidence);
    if quotations.is_empty() {
        return Ok(None);
    }
    let holds = |chunk: ChunkId| -> Result<bool, EngineError> {
        if chunk.book != book.id {
            return Ok(false);
        }
        let span = view.passage(chunk)?.span;
        Ok(quotations.iter().any(|quotation| is_in(quotation, &span)))
    };
    let trace = &answered.search.trace;
    let first = |by| -> Result<Option<usize>, EngineError> {
        for (rank, chunk) in (1..).zip(trace.best_first(by)) {
            if holds(chunk)? {
                return Ok(Some(rank));
            }
        }
        Ok(None)
    };
    let mut shown = false;
    for item in &answered.evidence.items {
        for passage in &item.passages {
            shown = shown || holds(passage.chunk)?;
        }
    }
    Ok(Some(Found {
        lexical: first(Ranked::Lexical)?,
        dense: first(Ranked::Dense)?,
        fused: first(Ranked::Fused)?,
        reranked: first(Ranked::Reranked)?,
        shown,
    }))
}

/// Where a text has these quotations, all of their places.
fn quotations(text: &str, quoted: &[String]) -> Vec<Range<usize>> {
    let places = quoted.iter().flat_map(|quoted| {
        let places = text.match_indices(quoted.as_str());
        places.map(|(at, quotation)| at..at + quotation.len())
    });
    places.collect()
}

/// Whether a passage holds a quotation: at least half of it, since one may lie
/// across two passages.
fn is_in(quotation: &Range<usize>, passage: &Range<usize>) -> bool {
    let start = quotation.start.max(passage.start);
    let end = quotation.end.min(passage.end);
    start < end && 2 * (end - start) >= quotation.len()
}

/// The means of each task that has questions, in the order of [`Task::ALL`].
pub fn summaries(records: &[Record]) -> Vec<Summary> {
    let tasks = Task::ALL.iter().map(|task| task.name());
    tasks.filter_map(|task| summary(task, records)).collect()
}

fn summary(task: &str, records: &[Record]) -> Option<Summary> {
    let of_task = || records.iter().filter(|record| record.task == task);
    let means = |value: fn(&Record) -> f64| {
        let values: Vec<f64> = of_task().map(value).collect();
        mean(&values).unwrap_or_default()
    };
    let scores: Vec<f64> = of_task().map(|record| record.score).collect();
    let shown: Vec<f64> = of_task()
        .filter_map(|record| record.found)
        .map(|found| f64::from(u8::from(found.shown)))
        .collect();
    Some(Summary {
        task: task.to_owned(),
        questions: scores.len(),
        score: mean(&scores)?,
        standard_error: standard_error(&scores),
        failed: of_task().filter(|record| record.answer.is_none()).count(),
        unsupported: of_task().filter(|record| !record.supported).count(),
        evidence_recall: mean(&shown),
        evidence_tokens: means(|record| record.evidence_tokens as f64),
        wall_ms: [
            means(|record| record.wall_ms[0]),
            means(|record| record.wall_ms[1]),
        ],
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing panics while it holds a lock here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_holds_a_quotation_when_it_has_half_of_it() {
        assert!(is_in(&(10..20), &(0..15)));
        assert!(is_in(&(10..20), &(15..40)));
        assert!(!is_in(&(10..20), &(0..14)));
        assert!(!is_in(&(10..20), &(20..40)));
        let text = "the lamp, the bell, the lamp";
        let quoted = ["the lamp".to_owned(), "a ship".to_owned()];
        assert_eq!(quotations(text, &quoted), [0..8, 20..28]);
    }

    #[test]
    fn means_are_of_each_task_alone() {
        let record = |task: Task, score: f64, shown: Option<bool>| Record {
            id: String::new(),
            question: String::new(),
            task: task.name().to_owned(),
            book: BookId::of_text("a"),
            gold: Vec::new(),
            answer: (score > 0.0).then(String::new),
            failure: None,
            supported: score > 0.5,
            score,
            found: shown.map(|shown| Found {
                lexical: None,
                dense: None,
                fused: None,
                reranked: None,
                shown,
            }),
            evidence: Vec::new(),
            evidence_tokens: 10,
            answer_tokens: None,
            cost: None,
            wall_ms: [2.0, 4.0],
        };
        let records = [
            record(Task::QaEn, 1.0, Some(true)),
            record(Task::QaEn, 0.0, Some(false)),
            record(Task::ChoiceEn, 1.0, None),
        ];
        let found = summaries(&records);
        let tasks: Vec<&str> = found.iter().map(|summary| summary.task.as_str()).collect();
        assert_eq!(tasks, ["longbook_choice_eng", "longbook_qa_eng"]);
        assert_eq!((found[0].score, found[0].evidence_recall), (1.0, None));
        assert_eq!((found[1].score, found[1].evidence_recall), (0.5, Some(0.5)));
        assert_eq!((found[1].failed, found[1].unsupported), (1, 1));
        assert_eq!(
            (found[1].standard_error, found[1].wall_ms),
            (Some(0.5), [2.0, 4.0])
        );
    }
}
