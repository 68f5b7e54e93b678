//! One question, from search to the answer.

mod assemble;
mod prompt;
mod trace;

use std::ops::ControlFlow;
use std::time::Instant;

use quire_answer::{
    Answer, AnswerDelta, AnswerError, AnswerModel, AnswerRequest, EvidenceText, Language,
    ModelKind, Task,
};
use quire_model::Call;

pub use assemble::{Evidence, EvidenceItem, ItemPassage, LeftOut, LeftOutReason, Order};
pub use prompt::{PromptError, PromptRecord, Prompts, Template};
pub use trace::{AnswerTrace, CostRecord, EvidenceRecord, ItemRecord, ModelRecord, OutcomeRecord};

use crate::{Budgets, EngineError, Models, Ranked, Search, StageName, View, search_within};

/// What is asked, and how it is to be answered.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The kind of answer that is wanted.
    pub task: Task,
    /// The language to answer in; `None` takes the question's.
    pub language: Option<Language>,
    /// By which stage's ranking the evidence is chosen.
    pub by: Ranked,
    /// In which order the evidence is shown.
    pub order: Order,
    /// Whether the model may say that the evidence holds no answer.
    pub may_abstain: bool,
    /// How far each stage goes; the evidence's budgets are the prompt's.
    pub budgets: Budgets,
}

impl Question {
    /// A free-form question in its own language, evidence in document order,
    /// by the default budgets.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            task: Task::FreeForm,
            language: None,
            by: Ranked::default(),
            order: Order::default(),
            may_abstain: true,
            budgets: Budgets::default(),
        }
    }
}

/// What answers.
#[derive(Clone, Copy)]
pub struct Answerer<'a> {
    /// The answer model.
    pub model: &'a dyn AnswerModel,
    /// What it is told.
    pub prompts: &'a Prompts,
}

/// Hears of an answer while it is made.
pub trait Listener {
    /// The evidence is together; the model is asked next. A break ends the
    /// call.
    fn evidence(&mut self, view: &View, found: &Search, evidence: &Evidence) -> ControlFlow<()>;
    /// A piece of the completion. A break ends the call.
    fn delta(&mut self, delta: AnswerDelta<'_>) -> ControlFlow<()>;
}

/// Hears nothing.
pub struct Unheard;

impl Listener for Unheard {
    fn evidence(&mut self, _: &View, _: &Search, _: &Evidence) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn delta(&mut self, _: AnswerDelta<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// An answer, or why the model gave none, and what led there.
#[derive(Debug)]
pub struct Answered {
    /// What was found.
    pub search: Search,
    /// What the model was shown of it.
    pub evidence: Evidence,
    /// The model's answer. Its span's place is that of an item in `evidence`.
    pub outcome: Result<Answer, AnswerError>,
    /// How it came about.
    pub trace: AnswerTrace,
}

/// Answers a question: search, evidence, prompt, answer model. What the model
/// fails at is in the outcome, so that the trace is there all the same.
///
/// # Errors
/// When no question was put to the model: those of [`search_within`], and when
/// the evidence cannot be put together.
pub fn answer_within(
    view: &View,
    models: &Models,
    answerer: Answerer<'_>,
    question: &Question,
    call: &Call,
    rerank_until: Option<Instant>,
    listener: &mut dyn Listener,
) -> Result<Answered, EngineError> {
    let (text, budgets) = (&question.text, &question.budgets);
    let search = search_within(view, models, text, budgets, call, rerank_until)?;
    answer_found(view, models, answerer, question, search, call, listener)
}

/// Answers a question from what a search for it found.
///
/// # Errors
/// When the evidence cannot be put together.
pub fn answer_found(
    view: &View,
    models: &Models,
    answerer: Answerer<'_>,
    question: &Question,
    search: Search,
    call: &Call,
    listener: &mut dyn Listener,
) -> Result<Answered, EngineError> {
    let assembling = Instant::now();
    let choice = (question.by, question.order);
    let evidence = assemble::assemble(view, models, &search, &question.budgets, choice)?;
    let language = question
        .language
        .unwrap_or_else(|| Language::of(&question.text));
    let info = answerer.model.info().clone();
    let (messages, prompt) = match info.kind {
        ModelKind::Extractive => (Vec::new(), None),
        ModelKind::OpenAi => {
            let rendered = answerer.prompts.render(
                &question.task,
                language,
                &question.text,
                &evidence,
                question.may_abstain,
            );
            let mut tokens = 0;
            for message in &rendered.messages {
                let ends = models.tokenizer.token_ends(&message.content);
                let ends = ends.map_err(|error| EngineError::stage(StageName::Assemble, error))?;
                tokens += ends.len() as u64;
            }
            let record = rendered.record(tokens);
            (rendered.messages, Some(record))
        }
    };
    let best_first = best_first(&evidence);
    let request = AnswerRequest {
        task: question.task.clone(),
        language,
        question: question.text.clone(),
        evidence: best_first
            .iter()
            .map(|&item| EvidenceText {
                label: evidence.items[item].label(),
                text: evidence.items[item].text.clone(),
            })
            .collect(),
        messages,
        may_abstain: question.may_abstain,
        call: call.clone(),
    };
    let assemble_time = assembling.elapsed();

    let answering = Instant::now();
    let outcome = match listener.evidence(view, &search, &evidence) {
        ControlFlow::Break(()) => Err(AnswerError::Stopped {
            stop: quire_model::Stop::Cancelled,
            raw: String::new(),
        }),
        ControlFlow::Continue(()) => {
            let mut hear = |delta: AnswerDelta<'_>| listener.delta(delta);
            answerer.model.answer(&request, &mut hear)
        }
    };
    let outcome = outcome.map(|mut answer| {
        if let Some(span) = &mut answer.span {
            span.evidence = best_first[span.evidence];
        }
        answer
    });
    let trace = AnswerTrace {
        options: trace::options_of(&question.task),
        language: trace::name_of(language).to_owned(),
        may_abstain: question.may_abstain,
        by: question.by,
        evidence: (&evidence).into(),
        prompt,
        model: (&info).into(),
        outcome: (&outcome).into(),
        assemble: assemble_time.into(),
        answer: answering.elapsed().into(),
    };
    Ok(Answered {
        search,
        evidence,
        outcome,
        trace,
    })
}

/// The items' places, the item with the best passage first: the order in which
/// a reader trusts them.
fn best_first(evidence: &Evidence) -> Vec<usize> {
    let mut places: Vec<usize> = (0..evidence.items.len()).collect();
    places.sort_by_key(|&place| evidence.items[place].rank());
    places
}
