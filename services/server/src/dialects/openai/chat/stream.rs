//! A chat completion piece by piece.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;

use super::Head;
use super::wire::{AnswerDetails, ChatChunk, ChatUsage, ChunkDelta, finish_reason};
use crate::ask::{self, AnswerEvent};
use crate::dialects::openai::ErrorReply;
use crate::problem::Problem;
use crate::request::Asked;
use crate::routes::answer::KEEP_ALIVE;
use crate::routes::stream::pulled;
use crate::service::App;
use crate::wire::{AnswerRequest, Delta};

/// Answers with a stream of chunks. Waits for the evidence first, so that what
/// fails until then is an ordinary error with its status.
///
/// # Errors
/// When the question is not one that can be answered, or the search fails.
pub(super) async fn answered(
    app: &Arc<App>,
    asked: &Asked,
    question: AnswerRequest,
    head: Head,
    include_usage: bool,
) -> Result<Response, Problem> {
    let mut writer = Writer {
        head,
        include_usage,
        // One letter and nothing else: the model's own words are held back.
        silent: question.options.is_some(),
        spoken: false,
        request_id: Arc::clone(&asked.id),
    };
    let mut events = ask::stream(app, asked, question)?;
    let first = match events.next().await {
        Some(AnswerEvent::Problem(problem)) => return Err(problem),
        Some(event) => writer.written(event),
        None => return Err(Problem::internal("an answer ended before it began")),
    };
    let chunks = Flattened {
        ready: first.into(),
        groups: pulled(events, move |event| writer.written(event)),
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(chunks).keep_alive(keep_alive).into_response())
}

/// Makes chunks of what happens.
struct Writer {
    head: Head,
    include_usage: bool,
    silent: bool,
    /// Whether some text of the answer was sent.
    spoken: bool,
    request_id: Arc<str>,
}

impl Writer {
    fn written(&mut self, event: AnswerEvent) -> Vec<Event> {
        match event {
            AnswerEvent::Evidence(basis) => {
                let delta = ChunkDelta {
                    role: Some("assistant"),
                    content: Some(String::new()),
                    ..ChunkDelta::default()
                };
                let mut chunk = self.piece(delta, None);
                chunk.evidence = Some(basis.evidence.items);
                vec![data(&chunk)]
            }
            AnswerEvent::Delta(Delta::Text(_)) if self.silent => Vec::new(),
            AnswerEvent::Delta(Delta::Text(text)) => vec![self.text(text)],
            AnswerEvent::Delta(Delta::Reasoning(text)) => {
                let delta = ChunkDelta {
                    reasoning_content: Some(text),
                    ..ChunkDelta::default()
                };
                vec![data(&self.piece(delta, None))]
            }
            AnswerEvent::Answer(answer) => {
                let mut events = Vec::new();
                if !self.spoken {
                    events.push(self.text(answer.answer.text.clone()));
                }
                let end = finish_reason(&answer.answer);
                let usage = ChatUsage::of(&answer.answer);
                let mut last = self.piece(ChunkDelta::default(), Some(end));
                let ignored = self.head.ignored.clone();
                last.quire = Some(Box::new(AnswerDetails::of(*answer, ignored)));
                events.push(data(&last));
                if self.include_usage {
                    let mut chunk = ChatChunk::without_choice(&self.head);
                    chunk.usage = Some(usage);
                    events.push(data(&chunk));
                }
                events.push(Event::default().data("[DONE]"));
                events
            }
            AnswerEvent::Problem(problem) => {
                let document = problem.told(&self.request_id);
                vec![data(&ErrorReply::of(&problem, &document))]
            }
        }
    }

    fn text(&mut self, text: String) -> Event {
        self.spoken = true;
        let delta = ChunkDelta {
            content: Some(text),
            ..ChunkDelta::default()
        };
        data(&self.piece(delta, None))
    }

    fn piece(&self, delta: ChunkDelta, end: Option<&'static str>) -> ChatChunk {
        let mut chunk = ChatChunk::of(&self.head, delta, end);
        chunk.usage = self.include_usage.then_some(None);
        chunk
    }
}

fn data(chunk: &impl Serialize) -> Event {
    // Shapes of texts and numbers cannot fail to be written.
    Event::default().data(serde_json::to_string(chunk).unwrap_or_default())
}

/// The items of groups, one by one.
struct Flattened<S> {
    ready: VecDeque<Event>,
    groups: S,
}

impl<S: Stream<Item = Vec<Event>> + Unpin> Stream for Flattened<S> {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(Pin::new(&mut self.groups).poll_next(context)) {
                Some(group) => self.ready.extend(group),
                None => return Poll::Ready(None),
            }
        }
    }
}
