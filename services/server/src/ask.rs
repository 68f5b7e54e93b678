//! One question on its way through search and an answer model: what the route
//! `/v1/answer` and everything that speaks otherwise share.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quire_answer::{AnswerDelta, AnswerModel, ExtractiveReader, ModelKind, ReaderOptions, Task};
use quire_engine::{
    Answerer, Evidence, Listener, Models, Prompts, Question, Ranked, Search, Unheard, View,
    answer_within,
};
use quire_model::Call;
use quire_traces::{RequestTimings, TraceEntry};
use tokio::sync::{mpsc, oneshot};

use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::routes::CancelOnDrop;
use crate::routes::search::{checked, learn, milliseconds_of, outcome, submit, timed_out};
use crate::service::App;
use crate::shelf::Scope;
use crate::wire::{
    Answer, AnswerBasis, AnswerModelName, AnswerRequest, AnswerResponse, Delta, LeftOut, Run,
    Timings,
};

/// Options of a multiple-choice question: as many as there are letters.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=26;
/// The longest option, in bytes.
const OPTION_BYTES: usize = 4096;
/// Pieces of an answer that may wait for a slow client.
const PIECES: usize = 64;

/// The models that can answer.
#[derive(Clone)]
pub struct Answerers {
    /// The built-in reader, which quotes the evidence.
    pub extractive: Arc<dyn AnswerModel>,
    /// A language model, if one is set up.
    pub openai: Option<Arc<dyn AnswerModel>>,
    /// What a language model is told.
    pub prompts: Arc<Prompts>,
    /// Whether an answer may be that there is none, where a request does not
    /// say. Where this does not either, a language model may, and the reader,
    /// which cannot tell well, may not.
    pub may_abstain: Option<bool>,
}

impl Answerers {
    /// The built-in reader over the models that search uses.
    pub fn built_in(models: &Models) -> Self {
        let embedder = Arc::clone(&models.embedder);
        Self {
            extractive: Arc::new(ExtractiveReader::new(
                embedder,
                None,
                ReaderOptions::default(),
            )),
            openai: None,
            prompts: Arc::default(),
            may_abstain: None,
        }
    }

    /// Whether a model may say that there is no answer.
    pub fn may_abstain(&self, model: &dyn AnswerModel, asked: Option<bool>) -> bool {
        let is_reader = model.info().kind == ModelKind::Extractive;
        asked.or(self.may_abstain).unwrap_or(!is_reader)
    }

    /// The model of that name; by default the language model if there is one.
    fn named(&self, name: Option<AnswerModelName>) -> Result<&Arc<dyn AnswerModel>, Problem> {
        match (name, &self.openai) {
            (Some(AnswerModelName::Extractive), _) | (None, None) => Ok(&self.extractive),
            (_, Some(openai)) => Ok(openai),
            (Some(AnswerModelName::OpenAi), None) => {
                let detail = "No language model is set up here.";
                Err(Problem::new(Code::NoAnswerModel, detail))
            }
        }
    }
}

/// What happens while a question is answered.
#[derive(Debug)]
pub(crate) enum AnswerEvent {
    /// What it is answered from.
    Evidence(Box<AnswerBasis>),
    /// A piece of the completion.
    Delta(Delta),
    /// The answer: the last event.
    Answer(Box<AnswerResponse>),
    /// Why there is none: the last event.
    Problem(Problem),
}

/// The events of one question. Dropped, it ends the query, and the call to the
/// answer model with it.
pub(crate) struct AnswerEvents {
    pub(crate) events: mpsc::Receiver<AnswerEvent>,
    deadline: Instant,
    time: Duration,
    _gone: CancelOnDrop,
}

impl AnswerEvents {
    /// The next event; none after the last one.
    pub(crate) async fn next(&mut self) -> Option<AnswerEvent> {
        // The model's own end by the deadline comes a little after it.
        const GRACE: Duration = Duration::from_secs(2);
        let end = self.deadline + GRACE;
        match tokio::time::timeout_at(end.into(), self.events.recv()).await {
            Ok(event) => event,
            Err(_) => {
                self.events.close();
                Some(AnswerEvent::Problem(timed_out(self.time)))
            }
        }
    }
}

/// Answers a question.
///
/// # Errors
/// When it is not one that can be answered, its time is up, or no answer came.
pub(crate) async fn answer(
    app: &Arc<App>,
    asked: &Asked,
    request: AnswerRequest,
) -> Result<AnswerResponse, Problem> {
    let (ask, gone) = Ask::of(app, asked, request)?;
    let (deadline, time, call) = (ask.deadline, ask.time, ask.call.clone());
    let (reply, answered) = oneshot::channel();
    let for_thread = Arc::clone(app);
    submit(app, &app.answers, call, move |waited| {
        let _ = reply.send(ask.run(&for_thread, waited, &mut Unheard));
    })?;
    let answer = outcome(app, answered, deadline, time).await;
    drop(gone);
    answer
}

/// Answers a question piece by piece.
///
/// # Errors
/// When it is not one that can be answered; what fails later is an event.
pub(crate) fn stream(
    app: &Arc<App>,
    asked: &Asked,
    request: AnswerRequest,
) -> Result<AnswerEvents, Problem> {
    let (ask, gone) = Ask::of(app, asked, request)?;
    let (deadline, time, call) = (ask.deadline, ask.time, ask.call.clone());
    let (send, events) = mpsc::channel(PIECES);
    let for_thread = Arc::clone(app);
    submit(app, &app.answers, call, move |waited| {
        let mut teller = Teller {
            send: send.clone(),
            explain: ask.request.explain,
            left_out: ask.scope.left_out.clone(),
        };
        let event = match ask.run(&for_thread, waited, &mut teller) {
            Ok(answer) => AnswerEvent::Answer(Box::new(answer)),
            Err(problem) => AnswerEvent::Problem(problem),
        };
        // Nobody listens if the client is gone.
        let _ = send.blocking_send(event);
    })?;
    Ok(AnswerEvents {
        events,
        deadline,
        time,
        _gone: gone,
    })
}

/// A question that can be answered, on its way to a thread.
struct Ask {
    request: AnswerRequest,
    question: Question,
    model: Arc<dyn AnswerModel>,
    scope: Scope,
    asked: Asked,
    call: Call,
    deadline: Instant,
    time: Duration,
}

impl Ask {
    fn of(
        app: &App,
        asked: &Asked,
        request: AnswerRequest,
    ) -> Result<(Self, CancelOnDrop), Problem> {
        let budgets = checked(&request.search(), app)?;
        let task = match &request.options {
            None => Task::FreeForm,
            Some(options) => Task::MultipleChoice {
                options: usable(options)?,
            },
        };
        let model = app.answerers.named(request.model)?;
        let question = Question {
            text: request.question.clone(),
            task,
            language: request.language.map(Into::into),
            by: Ranked::default(),
            order: request.order.unwrap_or_default(),
            may_abstain: app.answerers.may_abstain(&**model, request.abstain),
            budgets,
        };
        let time = request
            .timeout_ms
            .map_or(app.config.times.answer, Duration::from_millis);
        let deadline = asked.at + time;
        let gone = CancelOnDrop::default();
        let ask = Self {
            scope: app.shelf.scope(request.scope.as_ref())?,
            call: Call::new().until(deadline).cancelled_by(&gone.0),
            model: Arc::clone(model),
            asked: asked.clone(),
            question,
            request,
            deadline,
            time,
        };
        Ok((ask, gone))
    }

    /// Answers, logs the trace and makes the response. On a thread for answers.
    fn run(
        &self,
        app: &App,
        waited: Duration,
        listener: &mut dyn Listener,
    ) -> Result<AnswerResponse, Problem> {
        let view = app.shelf.view(&self.scope)?;
        let answerer = Answerer {
            model: &*self.model,
            prompts: &app.answerers.prompts,
        };
        let rerank_until = self.request.deadline_ms.map(Duration::from_millis);
        let rerank_until = rerank_until.map(|time| self.asked.at + time);
        let answered = answer_within(
            &view,
            &app.models,
            answerer,
            &self.question,
            &self.call,
            rerank_until,
            listener,
        );
        let answered = answered.inspect_err(|error| learn(app, &self.scope, error))?;
        let basis = AnswerBasis::of(
            &view,
            &answered.search,
            &answered.evidence,
            self.request.explain,
            self.scope.left_out.clone(),
        );

        let search = &answered.search.trace;
        let total = milliseconds_of(self.asked.at.elapsed());
        let timings = Timings::of(search, milliseconds_of(waited), total);
        let timings = timings.with_answer(&answered.trace);
        app.metrics.stages(&timings);
        let trace = app.traces.append(&TraceEntry {
            request_id: Some(&self.asked.id),
            books: &basis.books,
            timings: RequestTimings {
                queue_ms: timings.queue,
                total_ms: timings.total,
            },
            trace: search,
            answer: Some(&answered.trace),
        });
        let given = match &answered.outcome {
            Ok(given) => given,
            Err(error) => return Err(Problem::from(error)),
        };
        let kind = self.model.info().kind;
        app.metrics.given(kind, given.usage);
        Ok(AnswerResponse {
            answer: Answer::of(
                given,
                &self.question.task,
                &answered.evidence,
                &answered.trace,
            ),
            basis,
            run: Run {
                trace_logged: trace.is_some(),
                trace_id: trace.map(|id| id.to_string()),
                request_id: self.asked.id.to_string(),
                timings_ms: timings,
            },
        })
    }
}

/// The options as they are put to a model.
fn usable(options: &[String]) -> Result<Vec<String>, Problem> {
    let fault = if !OPTIONS.contains(&options.len()) {
        format!(
            "A question has {} to {} options.",
            OPTIONS.start(),
            OPTIONS.end()
        )
    } else if let Some(place) = options.iter().position(|option| option.trim().is_empty()) {
        format!("Option {} is empty.", place + 1)
    } else if options.iter().any(|option| option.len() > OPTION_BYTES) {
        format!("An option may have {OPTION_BYTES} bytes.")
    } else {
        return Ok(options.to_vec());
    };
    Err(Problem::new(Code::BadOptions, fault))
}

/// A client that listens.
struct Teller {
    send: mpsc::Sender<AnswerEvent>,
    explain: bool,
    left_out: Vec<LeftOut>,
}

impl Teller {
    fn tell(&self, event: AnswerEvent) -> ControlFlow<()> {
        match self.send.blocking_send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Listener for Teller {
    fn evidence(&mut self, view: &View, found: &Search, evidence: &Evidence) -> ControlFlow<()> {
        let left_out = self.left_out.clone();
        let basis = AnswerBasis::of(view, found, evidence, self.explain, left_out);
        self.tell(AnswerEvent::Evidence(Box::new(basis)))
    }

    fn delta(&mut self, delta: AnswerDelta<'_>) -> ControlFlow<()> {
        self.tell(AnswerEvent::Delta(match delta {
            AnswerDelta::Text(text) => Delta::Text(text.to_owned()),
            AnswerDelta::Reasoning(text) => Delta::Reasoning(text.to_owned()),
        }))
    }
}
