//! What the client makes of answers that arrive.

#![allow(clippy::unwrap_used)]

mod support;

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_answer::{
    AnswerError, AnswerModel as _, FinishReason, NotAChoice, OpenAiModel, PriceTable, Usage,
};
use serde_json::{Value, json};
use support::{ask, choice, client, config, free_form, heard};

fn piece(delta: Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

fn end(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

#[test]
fn a_streamed_answer_arrives_piece_by_piece_with_its_facts() {
    let server = FakeOpenAi::new();
    server.reply(Reply::stream(&["Answer: ", "Ann ", "Moss"]));
    let mut config = config(&server);
    let prices = "currency = \"USD\"\n[models.asked-model]\nprompt = 1.0\ncompletion = 10.0";
    config.prices = Some(PriceTable::parse(prices).unwrap());
    let (answer, text, _) = heard(&OpenAiModel::new(config).unwrap(), &free_form());
    let answer = answer.unwrap();
    assert_eq!(text, "Answer: Ann Moss");
    assert_eq!(answer.text, "Ann Moss");
    assert_eq!(answer.raw, "Answer: Ann Moss");
    assert_eq!(answer.finish_reason, FinishReason::Stop);
    let usage = Usage {
        prompt_tokens: 7,
        completion_tokens: 3,
    };
    assert_eq!(answer.usage, Some(usage));
    let cost = answer.cost.unwrap();
    assert!((cost.amount - 37e-6).abs() < 1e-12 && cost.currency == "USD");
    assert_eq!((answer.model.as_str(), answer.attempts), ("fake-model", 1));
    assert!(!answer.extractive && answer.supported && answer.letter.is_none());

    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.body["temperature"], 0.0);
    assert_eq!(seen.body["seed"], 0);
    assert_eq!(seen.body["stream"], true);
    assert!(!seen.headers.contains_key("authorization"));
}

#[test]
fn a_whole_answer_is_the_same_as_a_streamed_one() {
    let server = FakeOpenAi::new();
    server.reply(Reply::stream(&["灯塔，", "答案"]));
    server.reply(Reply::whole("灯塔，答案"));
    let streamed = heard(&client(&server), &free_form());
    let mut config = config(&server);
    config.stream = false;
    let whole = heard(&OpenAiModel::new(config).unwrap(), &free_form());
    assert_eq!(streamed.0.unwrap(), whole.0.unwrap());
    assert_eq!(streamed.1, whole.1);
    assert_eq!(server.seen()[1].body["stream"], false);
}

#[test]
fn a_server_that_does_not_stream_when_asked_to_is_understood() {
    let server = FakeOpenAi::new();
    server.reply(Reply::whole("Ann"));
    let (answer, text, _) = heard(&client(&server), &free_form());
    assert_eq!(
        (answer.unwrap().text.as_str(), text.as_str()),
        ("Ann", "Ann")
    );
}

#[test]
fn where_a_stream_is_cut_changes_nothing() {
    for bytes in [1, 2, 3, 7] {
        let server = FakeOpenAi::new();
        server.reply(Reply::stream(&["灯塔", "的é", "灯"]).cut_into(bytes));
        let (answer, text, _) = heard(&client(&server), &free_form());
        assert_eq!(answer.unwrap().text, "灯塔的é灯", "{bytes}");
        assert_eq!(text, "灯塔的é灯", "{bytes}");
    }
}

#[test]
fn comments_carriage_returns_and_a_missing_done_are_no_trouble() {
    let server = FakeOpenAi::new();
    let stream = format!(
        ": ping\r\n\r\ndata: {}\r\n\r\nevent: x\r\ndata: {}\r\n\r\n",
        piece(json!({"content": "Ann"})),
        end("stop"),
    );
    server.reply(Reply::raw(200, "text/event-stream", stream));
    assert_eq!(ask(&client(&server), &free_form()).unwrap().text, "Ann");
}

#[test]
fn reasoning_is_kept_and_is_no_part_of_the_answer() {
    let server = FakeOpenAi::new();
    let field = [
        piece(json!({"reasoning_content": "Ann? "})),
        piece(json!({"reasoning_content": "No."})),
        piece(json!({"content": "B"})),
        end("stop"),
        "[DONE]".to_owned(),
    ];
    server.reply(Reply::events(&field));
    server.reply(Reply::stream(&["<thi", "nk>Ann? ", "No.</th", "ink>B"]));
    for _ in 0..2 {
        let (answer, text, thought) = heard(&client(&server), &choice());
        let answer = answer.unwrap();
        assert_eq!(answer.letter, Some('B'));
        assert_eq!(answer.raw, "<think>Ann? No.</think>B");
        assert_eq!((text.as_str(), thought.as_str()), ("B", "Ann? No."));
    }
}

#[test]
fn a_choice_is_one_letter_or_a_failure_that_keeps_the_completion() {
    let server = FakeOpenAi::new();
    server.reply(Reply::stream(&["The answer is b"]));
    let answer = ask(&client(&server), &choice()).unwrap();
    assert_eq!((answer.letter, answer.text.as_str()), (Some('B'), "B"));

    for prose in ["A man lit it.", "I'm sorry, but I can't help with that."] {
        server.reply(Reply::stream(&[prose]));
        let error = ask(&client(&server), &choice()).unwrap_err();
        let AnswerError::NotAChoice { source, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*source, NotAChoice::NoLetter);
        assert_eq!(error.raw(), prose);
    }
}

#[test]
fn a_model_abstains_only_where_it_may() {
    let server = FakeOpenAi::new();
    server.always(Reply::stream(&["Not found in the evidence."]));
    let mut request = choice();
    assert!(ask(&client(&server), &request).is_err());
    request.may_abstain = true;
    let answer = ask(&client(&server), &request).unwrap();
    assert_eq!((answer.letter, answer.supported), (None, false));
    assert_eq!(answer.text, "not found in the evidence");
    let answer = ask(&client(&server), &free_form()).unwrap();
    assert!(answer.supported);
}

#[test]
fn an_empty_answer_and_a_refusal_are_failures_of_their_own() {
    let server = FakeOpenAi::new();
    server.reply(Reply::events(&[
        piece(json!({"reasoning_content": "hm"})),
        end("length"),
        "[DONE]".to_owned(),
    ]));
    let error = ask(&client(&server), &free_form()).unwrap_err();
    assert!(matches!(error, AnswerError::Empty { .. }), "{error:?}");
    assert!(error.to_string().contains("'length'") && error.raw() == "<think>hm</think>");

    server.reply(Reply::events(&[
        piece(json!({"refusal": "I will not."})),
        end("stop"),
    ]));
    server.reply(Reply::events(&[
        piece(json!({"content": "An"})),
        end("content_filter"),
    ]));
    for _ in 0..2 {
        let error = ask(&client(&server), &free_form()).unwrap_err();
        assert!(matches!(error, AnswerError::Refused { .. }), "{error:?}");
    }
    assert_eq!(server.seen().len(), 3, "none of them was asked again");
}

#[test]
fn what_is_not_the_protocol_is_malformed() {
    let server = FakeOpenAi::new();
    let not_done = [piece(json!({"content": "An"}))];
    for (reply, asked) in [
        (Reply::raw(200, "text/html", "<html>Sign in</html>"), 1),
        (Reply::raw(200, "application/json", "{\"choices\": ["), 1),
        (Reply::json(200, &json!({"choices": []})), 1),
        (Reply::json(200, &json!({})), 1),
        (Reply::raw(200, "", ""), 1),
        (Reply::events(&["{\"choices\": ["]), 1),
        (Reply::events(&["[DONE]"]), 1),
        (Reply::events(&not_done), 1),
        // Nothing was handed on, so it is asked again.
        (Reply::events::<&str>(&[]), 3),
    ] {
        let before = server.seen().len();
        server.always(reply.clone());
        let error = ask(&client(&server), &free_form()).unwrap_err();
        assert!(
            matches!(error, AnswerError::Malformed { .. }),
            "{reply:?} {error:?}"
        );
        assert_eq!(server.seen().len() - before, asked, "{reply:?}");
    }
}

#[test]
fn the_model_describes_itself_without_secrets() {
    let server = FakeOpenAi::new();
    let info = client(&server).info().clone();
    assert_eq!(info.kind.as_str(), "openai");
    assert_eq!(info.name, "asked-model");
    assert!(info.host.unwrap().starts_with("127.0.0.1:"));
}
