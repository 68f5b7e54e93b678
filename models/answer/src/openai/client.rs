//! One question to one server: tries, reading, and what the completion means.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quire_model::{Call, Stop};

use super::completion::{Completion, Fault, Sink};
use super::config::{BadConfig, Endpoint, OpenAiConfig, Secret};
use super::exchange::{self, Exchange, Head, Part, STEP};
use super::refusal::{Failure, Trouble, halted, malformed, refused, refused_midway};
use super::retry::Waits;
use super::sse::{Decoder, Event};
use super::wire;
use crate::choice::parse_choice;
use crate::error::{AnswerError, printable};
use crate::final_text::{final_text, is_not_found};
use crate::model::{
    Answer, AnswerDelta, AnswerModel, AnswerModelInfo, AnswerRequest, FinishReason, ModelKind, Task,
};
use crate::reasoning::without_reasoning;

/// The longest answer that is read, of any kind.
const MOST_BYTES: usize = 16 << 20;
/// The longest error that is read.
const MOST_ERROR_BYTES: usize = 64 << 10;

/// A language model behind the chat completions protocol.
pub struct OpenAiModel {
    config: OpenAiConfig,
    info: AnswerModelInfo,
    server: Server,
    address: String,
    settings: ureq::config::Config,
    calls: AtomicU64,
}

/// What messages say about the server.
pub(super) struct Server {
    pub(super) host: String,
    pub(super) model: String,
    pub(super) has_key: bool,
    pub(super) key: Option<Secret>,
    pub(super) total_timeout: Duration,
    pub(super) silence_timeout: Duration,
}

impl OpenAiModel {
    /// A client with these settings. Nothing is sent yet.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self, BadConfig> {
        config.check()?;
        let endpoint = Endpoint::parse(&config.base_url)?;
        let info = AnswerModelInfo {
            kind: ModelKind::OpenAi,
            name: config.model.clone(),
            host: Some(endpoint.host.clone()),
            temperature: config.temperature,
            seed: config.seed,
            max_tokens: Some(config.max_tokens),
        };
        let server = Server {
            host: endpoint.host,
            model: config.model.clone(),
            has_key: config.key.is_some(),
            key: config.key.clone(),
            total_timeout: config.total_timeout,
            silence_timeout: config.silence_timeout,
        };
        Ok(Self {
            settings: exchange::settings(&config)?,
            address: endpoint.chat,
            info,
            server,
            config,
            calls: AtomicU64::new(0),
        })
    }
}

impl AnswerModel for OpenAiModel {
    fn info(&self) -> &AnswerModelInfo {
        &self.info
    }

    fn answer(
        &self,
        request: &AnswerRequest,
        sink: &mut dyn FnMut(AnswerDelta<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError> {
        request.check()?;
        if request.messages.is_empty() {
            return Err(AnswerError::BadRequest {
                rule: "its prompt needs at least one message",
            });
        }
        let body = wire::request(&self.config, &request.messages);
        let time_is_up = Instant::now() + self.config.total_timeout;
        let call_number = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut waits = Waits::new(self.config.retry, call_number);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut received = Completion::default();
            let tried = self.attempt(&body, &mut received, &request.call, time_is_up, sink);
            let trouble = match tried {
                Ok(()) => return self.understood(request, received, attempts),
                Err(Failure::Final(error)) => return Err(error.with_received(received.raw)),
                Err(Failure::Passing(trouble)) => trouble,
            };
            // What was handed on cannot be taken back.
            let wait = match received.handed_on {
                true => None,
                false => waits.next(trouble.asked()),
            };
            let end = request
                .call
                .deadline()
                .map_or(time_is_up, |at| at.min(time_is_up));
            let Some(wait) = wait.filter(|wait| Instant::now() + *wait < end) else {
                let error = trouble.into_error(&self.server, attempts);
                return Err(error.with_received(received.raw));
            };
            tracing::warn!(
                host = %self.server.host,
                attempts,
                wait_ms = wait.as_millis() as u64,
                trouble = %trouble.summary(),
                "asking the answer model again"
            );
            wait_for(wait, &request.call)?;
        }
    }
}

impl OpenAiModel {
    /// One request, read to its end.
    fn attempt(
        &self,
        body: &[u8],
        received: &mut Completion,
        call: &Call,
        time_is_up: Instant,
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        if let Some(stop) = call.stop() {
            return Err(Failure::Final(stopped(stop)));
        }
        let bearer = self.config.key.as_ref().map(Secret::bearer);
        let exchange = Exchange::start(&self.settings, &self.address, bearer, body.to_vec())
            .map_err(|source| Failure::Passing(Trouble::Network(source)))?;
        let next = || {
            let part = exchange.next(call, time_is_up);
            part.map_err(|halt| halted(&self.server, halt))
        };
        let head = loop {
            if let Part::Head(head) = next()? {
                break head;
            }
        };
        if !(200..300).contains(&head.status) {
            // What the status says is clear without the body, too.
            let body = read_all(next, MOST_ERROR_BYTES).unwrap_or_default();
            if let Some(stop) = call.stop() {
                return Err(Failure::Final(stopped(stop)));
            }
            return Err(refused(&self.server, &head, &body));
        }
        if head.content_type == "text/event-stream" {
            return self.read_stream(next, received, sink);
        }
        self.read_whole(&head, next, received, sink)
    }

    fn read_stream(
        &self,
        next: impl Fn() -> Result<Part, Failure>,
        received: &mut Completion,
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        let mut decoder = Decoder::default();
        let mut bytes_read = 0;
        loop {
            let (events, ended) = match next()? {
                Part::Head(_) => continue,
                Part::Bytes(bytes) => {
                    bytes_read += bytes.len();
                    let events = decoder.push(&bytes);
                    (events.map_err(|_| self.too_long())?, false)
                }
                Part::End => (decoder.finish().into_iter().collect(), true),
            };
            if bytes_read > MOST_BYTES {
                return Err(self.too_long());
            }
            for event in events {
                if self.take(&event, received, sink)?.is_break() {
                    return self.complete(received, sink);
                }
            }
            if ended {
                // Some servers end without `[DONE]`, none without a reason.
                return match received.finish_reason {
                    Some(_) => self.complete(received, sink),
                    None => Err(Failure::Passing(Trouble::CutShort)),
                };
            }
        }
    }

    /// Adds one event; breaks at the stream's last.
    fn take(
        &self,
        event: &Event,
        received: &mut Completion,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let data = event.data.trim();
        if event.kind == "error" {
            let error = wire::ServerError::parse(data);
            return Err(refused_midway(&self.server, &error));
        }
        if data == "[DONE]" {
            return Ok(ControlFlow::Break(()));
        }
        if !data.is_empty() {
            received.take(data, sink).map_err(|f| self.failure(f))?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn read_whole(
        &self,
        head: &Head,
        next: impl Fn() -> Result<Part, Failure>,
        received: &mut Completion,
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        let body = read_all(next, MOST_BYTES)?;
        match received.take(&body, sink) {
            Err(Fault::Malformed(fault)) => {
                received.raw = self.server.detail(&printable(&body, 1000));
                let kind = match head.content_type.as_str() {
                    "" => "no content type",
                    kind => kind,
                };
                Err(Failure::Final(malformed(
                    &self.server,
                    format!("{kind}, {fault}"),
                )))
            }
            Err(fault) => Err(self.failure(fault)),
            Ok(()) => self.complete(received, sink),
        }
    }

    fn complete(&self, received: &mut Completion, sink: &mut Sink<'_>) -> Result<(), Failure> {
        received.finish(sink).map_err(|fault| self.failure(fault))?;
        if received.has_choice {
            return Ok(());
        }
        let fault = "it holds no choices";
        Err(Failure::Final(malformed(&self.server, fault)))
    }

    fn failure(&self, fault: Fault) -> Failure {
        match fault {
            Fault::Server(error) => refused_midway(&self.server, &error),
            Fault::Malformed(fault) => Failure::Final(malformed(&self.server, fault)),
            Fault::NobodyListens => Failure::Final(stopped(Stop::Cancelled)),
        }
    }

    fn too_long(&self) -> Failure {
        let fault = "it sends more than an answer can hold";
        Failure::Final(malformed(&self.server, fault))
    }

    /// The answer that a whole completion is.
    fn understood(
        &self,
        request: &AnswerRequest,
        received: Completion,
        attempts: u32,
    ) -> Result<Answer, AnswerError> {
        let model = self.config.model.clone();
        let finish_reason = received.finish_reason.unwrap_or(FinishReason::Stop);
        let filtered = finish_reason.as_str() == "content_filter";
        let content = without_reasoning(&received.content);
        let silent = content.trim().is_empty();
        if filtered || (silent && !received.refusal.is_empty()) {
            return Err(AnswerError::Refused {
                host: self.server.host.clone(),
                detail: self.server.detail(&received.refusal),
                model,
                raw: received.raw,
            });
        }
        let text = final_text(&content).map_err(|_| AnswerError::Empty {
            model: model.clone(),
            finish_reason: finish_reason.as_str().to_owned(),
            raw: received.raw.clone(),
        })?;
        let supported = !(request.may_abstain && is_not_found(&text));
        let (text, letter) = match &request.task {
            _ if !supported => (request.language.not_found().to_owned(), None),
            Task::FreeForm => (text, None),
            Task::MultipleChoice { options } => match parse_choice(&content, options) {
                Ok(letter) => (letter.to_string(), Some(letter)),
                Err(source) => {
                    return Err(AnswerError::NotAChoice {
                        model,
                        finish_reason: finish_reason.as_str().to_owned(),
                        raw: received.raw,
                        source,
                    });
                }
            },
        };
        let reported = received.model.unwrap_or_else(|| model.clone());
        let cost = received.usage.and_then(|usage| {
            let prices = self.config.prices.as_ref()?;
            let known = prices.cost(&model, usage);
            known.or_else(|| prices.cost(&reported, usage))
        });
        Ok(Answer {
            text,
            letter,
            raw: received.raw,
            finish_reason,
            usage: received.usage,
            cost,
            model: reported,
            attempts,
            extractive: false,
            supported,
            span: None,
        })
    }
}

fn stopped(stop: Stop) -> AnswerError {
    AnswerError::Stopped {
        stop,
        raw: String::new(),
    }
}

/// The rest of a body as text, cut at `most` bytes.
fn read_all(next: impl Fn() -> Result<Part, Failure>, most: usize) -> Result<String, Failure> {
    let mut body = Vec::new();
    loop {
        match next()? {
            Part::Bytes(bytes) => body.extend(bytes),
            Part::Head(_) => {}
            Part::End => break,
        }
        if body.len() > most {
            body.truncate(most);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Sleeps, unless nobody waits any more.
fn wait_for(wait: Duration, call: &Call) -> Result<(), AnswerError> {
    let end = Instant::now() + wait;
    loop {
        if let Some(stop) = call.stop() {
            return Err(stopped(stop));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(STEP));
    }
}
