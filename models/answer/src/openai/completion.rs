//! A completion as it arrives.

use std::ops::ControlFlow;

use super::wire::{Chunk, ServerError};
use crate::model::{AnswerDelta, FinishReason, Usage};
use crate::reasoning::{Piece, ThinkFilter};

/// What was received so far.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Everything, with reasoning of a field of its own between `<think>` and
    /// `</think>`.
    pub(super) raw: String,
    /// The text alone; reasoning written into it is still there.
    pub(super) content: String,
    pub(super) model: Option<String>,
    pub(super) finish_reason: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    /// What the model said instead of an answer.
    pub(super) refusal: String,
    /// Whether something was handed on, so that there is no second try.
    pub(super) handed_on: bool,
    /// Whether any choice was seen.
    pub(super) has_choice: bool,
    reasoning: bool,
    filter: ThinkFilter,
}

/// Why a piece ends the completion.
pub(super) enum Fault {
    /// The server reports a failure.
    Server(ServerError),
    /// It is not the protocol.
    Malformed(String),
    /// Nobody listens any more.
    NobodyListens,
}

pub(super) type Sink<'a> = dyn FnMut(AnswerDelta<'_>) -> ControlFlow<()> + 'a;

impl Completion {
    /// Adds a piece, or a whole completion, from its JSON.
    pub(super) fn take(&mut self, json: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let chunk: Chunk = serde_json::from_str(json)
            .map_err(|error| Fault::Malformed(format!("no completion: {error}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Fault::Server(ServerError::of(&error)));
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.model = Some(model);
        }
        if let Some(usage) = chunk.usage.as_ref().and_then(|usage| usage.counted()) {
            self.usage = Some(usage);
        }
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index != 0 {
                continue;
            }
            self.has_choice = true;
            if let Some(content) = choice.message.or(choice.delta) {
                self.refusal
                    .push_str(content.refusal.as_deref().unwrap_or_default());
                let thought = content.reasoning_content.as_deref().unwrap_or_default();
                self.add_reasoning(thought, sink)?;
                self.add_text(&content.text(), sink)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(FinishReason::parse(&reason));
            }
        }
        Ok(())
    }

    /// Hands on what was held back.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if self.reasoning {
            self.raw.push_str("</think>");
            self.reasoning = false;
        }
        let pieces = self.filter.finish();
        self.hand_on(&pieces, sink)
    }

    fn add_reasoning(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        if !self.reasoning {
            self.raw.push_str("<think>");
            self.reasoning = true;
        }
        self.raw.push_str(text);
        self.hand_on(&[Piece::Reasoning(text.to_owned())], sink)
    }

    fn add_text(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        if self.reasoning {
            self.raw.push_str("</think>");
            self.reasoning = false;
        }
        self.raw.push_str(text);
        self.content.push_str(text);
        let pieces = self.filter.push(text);
        self.hand_on(&pieces, sink)
    }

    fn hand_on(&mut self, pieces: &[Piece], sink: &mut Sink<'_>) -> Result<(), Fault> {
        for piece in pieces {
            self.handed_on = true;
            let delta = match piece {
                Piece::Text(text) => AnswerDelta::Text(text),
                Piece::Reasoning(text) => AnswerDelta::Reasoning(text),
            };
            if sink(delta).is_break() {
                return Err(Fault::NobodyListens);
            }
        }
        Ok(())
    }
}
