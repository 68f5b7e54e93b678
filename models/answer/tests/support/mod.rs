//! A client of a fake server, and requests to put.

#![allow(dead_code)] // Each test binary uses its own part of it.

use std::ops::ControlFlow;
use std::time::Duration;

use quire_answer::fake::FakeOpenAi;
use quire_answer::{
    Answer, AnswerDelta, AnswerError, AnswerModel, AnswerRequest, Language, Message, OpenAiConfig,
    OpenAiModel, RetryPolicy, Role, Task,
};
use quire_model::Call;

/// Settings that use the server and wait milliseconds where the real ones wait
/// seconds.
pub fn config(server: &FakeOpenAi) -> OpenAiConfig {
    let mut config = OpenAiConfig::new(server.base_url(), "asked-model");
    config.retry = RetryPolicy {
        attempts: 3,
        first_wait: Duration::from_millis(5),
        longest_wait: Duration::from_secs(2),
        seed: Some(1),
    };
    config
}

pub fn client(server: &FakeOpenAi) -> OpenAiModel {
    OpenAiModel::new(config(server)).unwrap()
}

pub fn free_form() -> AnswerRequest {
    AnswerRequest {
        task: Task::FreeForm,
        language: Language::En,
        question: "Who lit the lamp?".into(),
        evidence: Vec::new(),
        messages: vec![Message {
            role: Role::User,
            content: "Who lit the lamp?".into(),
        }],
        may_abstain: false,
        call: Call::new(),
    }
}

pub fn choice() -> AnswerRequest {
    AnswerRequest {
        task: Task::MultipleChoice {
            options: vec!["Ann".into(), "Bob".into()],
        },
        ..free_form()
    }
}

pub fn ask(model: &dyn AnswerModel, request: &AnswerRequest) -> Result<Answer, AnswerError> {
    model.answer(request, &mut |_| ControlFlow::Continue(()))
}

/// The answer with the text and the reasoning that were streamed.
pub fn heard(
    model: &dyn AnswerModel,
    request: &AnswerRequest,
) -> (Result<Answer, AnswerError>, String, String) {
    let (mut text, mut thought) = (String::new(), String::new());
    let answer = model.answer(request, &mut |delta| {
        match delta {
            AnswerDelta::Text(more) => text.push_str(more),
            AnswerDelta::Reasoning(more) => thought.push_str(more),
        }
        ControlFlow::Continue(())
    });
    (answer, text, thought)
}
