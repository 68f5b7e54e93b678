//! Asking the answer model, and when to stop asking.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quire_answer::{AnswerError, AnswerModel, Task as Wanted};
use quire_corpus::BookId;
use quire_engine::{
    Answerer, Budgets, EngineError, Models, Prompts, Question, Search, Unheard, View, answer_found,
};
use quire_model::Call;

use super::plan::Arm;
use super::record::{Answered, Key, Usage, place_of};
use crate::answers::score;
use crate::set::SetQuestion;

/// So many questions in a row that the model was not reached for end a run.
const MOST_FAILURES: usize = 5;

/// What answers, and how it is asked.
pub struct Answering {
    /// The answer model of each seed.
    pub models: BTreeMap<u64, Arc<dyn AnswerModel>>,
    /// What it is told.
    pub prompts: Arc<Prompts>,
    /// Whether it may say that there is no answer. A benchmark wants a guess.
    pub may_abstain: bool,
    /// Questions put to it at once.
    pub at_once: usize,
}

/// The answer model fails for good.
#[derive(Debug, thiserror::Error)]
#[error(
    "the answer model failed for {failures} in a row, and the run was stopped; what is done is kept: mend it and give the same command again"
)]
pub struct GaveUp {
    /// `1 question`, or `5 questions`.
    pub failures: String,
    /// The last failure.
    #[source]
    pub source: Box<AnswerError>,
}

/// Counts failures in a row.
#[derive(Default)]
pub(super) struct Patience(AtomicUsize);

impl Patience {
    /// Takes up a failure, or a success.
    fn hear(&self, failure: Option<AnswerError>) -> Result<(), GaveUp> {
        let Some(source) = failure.filter(is_passing) else {
            self.0.store(0, Ordering::Relaxed);
            return Ok(());
        };
        let failures = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if failures < MOST_FAILURES && !is_final(&source) {
            return Ok(());
        }
        Err(GaveUp {
            failures: match failures {
                1 => "a question".to_owned(),
                more => format!("{more} questions"),
            },
            source: Box::new(source),
        })
    }
}

/// Whether the model was not reached: another time the same question may be
/// answered. What it did with a question that it got is a result.
fn is_passing(error: &AnswerError) -> bool {
    !matches!(
        error,
        AnswerError::BadRequest { .. }
            | AnswerError::ContextTooLong { .. }
            | AnswerError::Refused { .. }
            | AnswerError::Empty { .. }
            | AnswerError::NotAChoice { .. }
    )
}

/// Whether asking on is of no use before something is mended.
fn is_final(error: &AnswerError) -> bool {
    matches!(
        error,
        AnswerError::Unauthorized { .. }
            | AnswerError::ModelNotFound { .. }
            | AnswerError::Tls { .. }
            | AnswerError::Reader(_)
    )
}

/// A question to be answered from what a search found.
pub(super) struct Asking<'a> {
    pub(super) key: Key,
    pub(super) question: &'a SetQuestion,
    pub(super) view: &'a View,
    pub(super) models: &'a Models,
    pub(super) budgets: &'a Budgets,
    pub(super) place: &'a dyn Fn(BookId) -> usize,
}

impl Asking<'_> {
    /// Asks in one way. A model that was not reached is a record too; one that
    /// fails for good ends the run, after the record.
    pub(super) fn answer(
        &self,
        answering: &Answering,
        patience: &Patience,
        search: Search,
        (number, arm): (usize, &Arm),
        seed: u64,
    ) -> Result<(Answered, Result<(), GaveUp>), EngineError> {
        let asked = Question {
            text: self.question.text.clone(),
            task: match self.question.options.is_empty() {
                true => Wanted::FreeForm,
                false => Wanted::MultipleChoice {
                    options: self.question.options.clone(),
                },
            },
            language: None,
            by: arm.by,
            order: arm.order,
            may_abstain: answering.may_abstain,
            budgets: Budgets {
                evidence_passages: arm.evidence_passages,
                evidence_tokens: arm.evidence_tokens,
                ..self.budgets.clone()
            },
        };
        let answerer = Answerer {
            model: &*answering.models[&seed],
            prompts: &answering.prompts,
        };
        let call = Call::new();
        let answered = answer_found(
            self.view,
            self.models,
            answerer,
            &asked,
            search,
            &call,
            &mut Unheard,
        )?;
        let outcome = answered.trace.outcome;
        let gold = &self.question.gold;
        let score = match (&outcome.text, gold.texts().is_empty()) {
            (_, true) => None,
            (None, false) => Some(0.0),
            (Some(answer), false) => Some(score(self.question.task, answer, gold)),
        };
        let shown = answered.evidence.items.iter();
        let shown = shown.flat_map(|item| &item.passages);
        let failure = answered.outcome.err();
        let record = Answered {
            key: self.key,
            arm: number,
            seed,
            answer: outcome.text,
            failure: outcome.failure,
            passing: failure.as_ref().is_some_and(is_passing),
            supported: outcome.supported,
            score,
            evidence: shown.map(|p| place_of(p.chunk, self.place)).collect(),
            usage: Usage {
                evidence_tokens: answered.evidence.tokens,
                prompt_tokens: outcome.prompt_tokens,
                completion_tokens: outcome.completion_tokens,
                cost: outcome.cost.as_ref().map(|cost| cost.amount),
                currency: outcome.cost.map(|cost| cost.currency),
                wall_ms: answered.trace.answer.wall_ms,
            },
        };
        Ok((record, patience.hear(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> AnswerError {
        AnswerError::RateLimited {
            host: "h".into(),
            detail: String::new(),
            retry_after: None,
            attempts: 5,
            remedy: "wait",
        }
    }

    fn empty() -> AnswerError {
        AnswerError::Empty {
            model: "m".into(),
            finish_reason: "length".into(),
            raw: String::new(),
        }
    }

    #[test]
    fn a_model_that_is_not_reached_five_times_in_a_row_ends_the_run() {
        let patience = Patience::default();
        for _ in 0..4 {
            patience.hear(Some(limited())).unwrap();
        }
        patience.hear(Some(empty())).unwrap();
        for _ in 0..4 {
            patience.hear(Some(limited())).unwrap();
        }
        let error = patience.hear(Some(limited())).unwrap_err();
        assert!(error.to_string().contains("5 questions in a row"));
    }

    #[test]
    fn a_key_that_is_refused_ends_it_at_once() {
        let refused = AnswerError::Unauthorized {
            host: "h".into(),
            status: 401,
            detail: String::new(),
            remedy: "give another",
        };
        assert!(Patience::default().hear(Some(refused)).is_err());
    }
}
