//! What the client does when the server fails, stalls or breaks.

#![allow(clippy::unwrap_used)]

mod support;

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_answer::{AnswerError, AnswerModel as _, OpenAiConfig, OpenAiModel};
use quire_model::{Call, CancelFlag, Stop};
use serde_json::{Value, json};
use support::{ask, client, config, free_form, heard};

/// How long after it the end of a wait may be noticed.
const SOON: Duration = Duration::from_millis(100);

fn openai(message: &str, code: Value) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
}

fn failure(reply: Reply) -> (AnswerError, usize) {
    let server = FakeOpenAi::new();
    server.always(reply);
    let error = ask(&client(&server), &free_form()).unwrap_err();
    (error, server.seen().len())
}

#[test]
fn passing_failures_are_tried_again_and_final_ones_are_not() {
    for status in [429, 500, 502, 503, 504] {
        let server = FakeOpenAi::new();
        server.reply(Reply::json(status, &openai("busy", Value::Null)));
        server.reply(Reply::raw(status, "text/html", "<html>bad gateway</html>"));
        server.reply(Reply::stream(&["Ann"]));
        let answer = ask(&client(&server), &free_form()).unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.attempts),
            ("Ann", 3),
            "{status}"
        );
    }
    for status in [400, 401, 403, 404, 422, 302] {
        let (_, asked) = failure(Reply::json(status, &openai("no", Value::Null)));
        assert_eq!(asked, 1, "{status}");
    }
}

#[test]
fn the_tries_are_bounded_and_the_last_failure_is_told() {
    let (error, asked) = failure(Reply::json(503, &openai("loading the model", Value::Null)));
    assert_eq!(asked, 3);
    let shown = error.to_string();
    assert!(
        matches!(error, AnswerError::ServerFails { attempts: 3, .. }),
        "{error:?}"
    );
    assert!(
        shown.contains("503") && shown.contains("loading the model"),
        "{shown}"
    );

    let (error, _) = failure(Reply::raw(429, "text/plain", ""));
    assert!(
        matches!(error, AnswerError::RateLimited { attempts: 3, .. }),
        "{error:?}"
    );
}

#[test]
fn retry_after_is_honoured_in_seconds_and_as_a_date() {
    for (as_date, least) in [(false, 1000), (true, 500)] {
        // Rounded down to whole seconds: between one and two from now.
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2));
        let value = if as_date { date.as_str() } else { "1" };
        let server = FakeOpenAi::new();
        server.reply(Reply::raw(429, "text/plain", "slow down").with("Retry-After", value));
        server.reply(Reply::stream(&["Ann"]));
        assert_eq!(ask(&client(&server), &free_form()).unwrap().attempts, 2);
        let seen = server.seen();
        let waited = seen[1].at - seen[0].at;
        assert!(
            waited >= Duration::from_millis(least),
            "{value}: {waited:?}"
        );
    }
}

#[test]
fn a_wait_that_is_too_long_or_ends_after_the_deadline_is_not_begun() {
    let server = FakeOpenAi::new();
    server.always(Reply::raw(429, "text/plain", "").with("Retry-After", "60"));
    let error = ask(&client(&server), &free_form()).unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(60)));

    server.always(Reply::raw(429, "text/plain", "").with("Retry-After", "1"));
    let mut request = free_form();
    request.call = Call::new().until(Instant::now() + Duration::from_millis(500));
    let error = ask(&client(&server), &request).unwrap_err();
    assert!(
        matches!(error, AnswerError::RateLimited { attempts: 1, .. }),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn each_servers_words_for_a_missing_model_are_known() {
    for (status, body) in [
        (
            404,
            openai(
                "The model `x` does not exist or you do not have access to it.",
                json!("model_not_found"),
            ),
        ),
        (
            404,
            json!({"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}),
        ),
        (
            404,
            json!({"error": {"message": "model \"x\" not found, try pulling it first", "type": "api_error"}}),
        ),
        (404, json!({"error": "model 'x' not found"})),
        (400, openai("model not found", json!("model_not_found"))),
    ] {
        let (error, _) = failure(Reply::json(status, &body));
        assert!(
            matches!(error, AnswerError::ModelNotFound { .. }),
            "{body} {error:?}"
        );
    }
    let (error, _) = failure(Reply::json(404, &json!({"detail": "Not Found"})));
    assert!(
        matches!(error, AnswerError::Rejected { status: 404, .. }),
        "{error:?}"
    );
}

#[test]
fn each_servers_words_for_a_prompt_that_is_too_long_are_known() {
    let vllm =
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.";
    let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096,
        "message": "the request exceeds the available context size", "n_prompt_tokens": 9000}});
    for (status, body) in [
        (400, openai("too long", json!("context_length_exceeded"))),
        (
            400,
            json!({"object": "error", "message": vllm, "type": "BadRequestError", "code": 400}),
        ),
        (400, llama),
        (
            500,
            json!({"error": {"message": "input exceeds the context window", "type": "api_error"}}),
        ),
        (413, json!({"error": "too large"})),
    ] {
        let (error, asked) = failure(Reply::json(status, &body));
        assert!(
            matches!(error, AnswerError::ContextTooLong { .. }),
            "{body} {error:?}"
        );
        assert_eq!(asked, 1, "{body}");
    }
}

#[test]
fn a_used_up_account_is_not_asked_again() {
    let (error, asked) = failure(Reply::json(
        429,
        &openai("You exceeded your quota", json!("insufficient_quota")),
    ));
    assert!(
        matches!(error, AnswerError::RateLimited { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("billing") && asked == 1,
        "{error}"
    );
}

#[test]
fn a_key_that_is_wanted_or_refused_is_told_apart() {
    let (error, _) = failure(Reply::json(401, &openai("no key", Value::Null)));
    assert!(matches!(
        error,
        AnswerError::Unauthorized { status: 401, .. }
    ));
    assert!(error.to_string().contains("none is set"), "{error}");
}

#[test]
fn a_server_that_is_down_is_tried_again_and_then_named() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut config = OpenAiConfig::new(format!("http://{port}"), "m");
    config.retry.first_wait = Duration::from_millis(2);
    config.retry.attempts = 4;
    let error = ask(&OpenAiModel::new(config).unwrap(), &free_form()).unwrap_err();
    assert!(
        matches!(error, AnswerError::Unreachable { attempts: 4, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[test]
fn a_stream_that_breaks_is_tried_again_only_before_its_first_word() {
    let server = FakeOpenAi::new();
    server.reply(Reply::stream(&["Ann", " Moss"]).breaks_after(0));
    server.reply(Reply::stream(&["Ann", " Moss"]));
    assert_eq!(ask(&client(&server), &free_form()).unwrap().attempts, 2);

    server.reply(Reply::stream(&["Ann", " Moss"]).breaks_after(2));
    let (error, text, _) = heard(&client(&server), &free_form());
    let error = error.unwrap_err();
    assert_eq!((text.as_str(), error.raw()), ("Ann", "Ann"));
    assert!(
        matches!(
            error,
            AnswerError::Unreachable { .. } | AnswerError::Malformed { .. }
        ),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn an_error_within_a_stream_is_one_of_the_servers() {
    let server = FakeOpenAi::new();
    let fault = json!({"error": {"message": "out of memory", "type": "server_error"}}).to_string();
    server.reply(Reply::events(&[fault.as_str()]));
    server.reply(Reply::raw(
        200,
        "text/event-stream",
        format!("error: {fault}\n\n"),
    ));
    server.reply(Reply::raw(
        200,
        "text/event-stream",
        format!("event: error\ndata: {fault}\n\n"),
    ));
    let error = ask(&client(&server), &free_form()).unwrap_err();
    assert!(
        matches!(error, AnswerError::ServerFails { attempts: 3, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("out of memory"), "{error}");
}

/// Asks with a call that ends while the server stalls, and says how long
/// after its end the client noticed.
fn noticed_after(
    reply: Reply,
    ends_in: Duration,
    by_flag: bool,
) -> (AnswerError, Duration, FakeOpenAi) {
    let server = FakeOpenAi::new();
    server.always(reply);
    let mut request = free_form();
    let end = Instant::now() + ends_in;
    if by_flag {
        let flag = CancelFlag::default();
        request.call = Call::new().cancelled_by(&flag);
        thread::spawn(move || {
            thread::sleep(ends_in);
            flag.cancel();
        });
    } else {
        request.call = Call::new().until(end);
    }
    let error = ask(&client(&server), &request).unwrap_err();
    (error, end.elapsed(), server)
}

#[test]
fn cancelling_and_a_deadline_end_a_stall_at_any_point_and_the_server_sees_it() {
    let stalls = || {
        [
            Reply::stream(&["Ann", " Moss"]).after(Duration::from_secs(15)),
            Reply::stream(&["Ann", " Moss"]).stalls_after(0),
            Reply::stream(&["Ann", " Moss"]).stalls_after(2),
            Reply::whole("Ann").stalls_after(0),
            Reply::raw(500, "text/plain", "x").stalls_after(0),
        ]
    };
    for by_flag in [true, false] {
        let stop = if by_flag {
            Stop::Cancelled
        } else {
            Stop::DeadlinePassed
        };
        for reply in stalls() {
            let ends_in = Duration::from_millis(150);
            let mut noticed = noticed_after(reply.clone(), ends_in, by_flag);
            // A busy machine may be late once, not every time.
            for _ in 0..3 {
                if noticed.1 >= SOON {
                    noticed = noticed_after(reply.clone(), ends_in, by_flag);
                }
            }
            let (error, late, server) = noticed;
            assert_eq!(error.stop(), Some(stop), "{reply:?} {error:?}");
            assert!(late < SOON, "{reply:?} {late:?}");
            let patience = Instant::now();
            while server.hung_up() == 0 && patience.elapsed() < Duration::from_secs(5) {
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(server.hung_up(), 1, "{reply:?}");
        }
    }
}

#[test]
fn what_arrived_before_a_stall_is_kept() {
    let reply = Reply::stream(&["Ann", " Moss"]).stalls_after(2);
    let (error, _, _) = noticed_after(reply, Duration::from_secs(1), false);
    assert_eq!(error.raw(), "Ann");
}

#[test]
fn a_wait_between_tries_ends_when_the_call_does() {
    let reply = Reply::raw(503, "text/plain", "").with("Retry-After", "2");
    let (error, late, _) = noticed_after(reply, Duration::from_millis(150), true);
    assert_eq!(error.stop(), Some(Stop::Cancelled), "{error:?}");
    assert!(late < 5 * SOON, "{late:?}");
}

#[test]
fn a_listener_that_leaves_ends_the_call() {
    let server = FakeOpenAi::new();
    server.reply(Reply::stream(&["Ann", " Moss", "."]).paced(Duration::from_millis(30)));
    let mut heard = 0;
    let error = client(&server)
        .answer(&free_form(), &mut |_| {
            heard += 1;
            ControlFlow::Break(())
        })
        .unwrap_err();
    assert_eq!(
        (error.stop(), heard, error.raw()),
        (Some(Stop::Cancelled), 1, "Ann")
    );
}

#[test]
fn silence_and_slowness_have_limits_of_their_own() {
    let server = FakeOpenAi::new();
    server.always(Reply::stream(&["Ann", " Moss"]).stalls_after(2));
    let mut quick = config(&server);
    quick.silence_timeout = Duration::from_millis(150);
    let error = ask(&OpenAiModel::new(quick).unwrap(), &free_form()).unwrap_err();
    assert!(error.to_string().contains("without a byte"), "{error}");
    assert_eq!(error.raw(), "Ann");

    server.always(Reply::stream(&["a"; 100]).paced(Duration::from_millis(20)));
    let mut quick = config(&server);
    quick.total_timeout = Duration::from_millis(200);
    let started = Instant::now();
    let error = ask(&OpenAiModel::new(quick).unwrap(), &free_form()).unwrap_err();
    assert!(matches!(error, AnswerError::Timeout { .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_call_that_is_over_asks_nobody() {
    let server = FakeOpenAi::new();
    let mut request = free_form();
    request.call = Call::new().until(Instant::now());
    let error = ask(&client(&server), &request).unwrap_err();
    assert_eq!(error.stop(), Some(Stop::DeadlinePassed));
    assert!(server.seen().is_empty());
}

#[test]
fn a_request_that_makes_no_sense_asks_nobody() {
    let server = FakeOpenAi::new();
    let mut empty = free_form();
    empty.question = " ".into();
    let mut wordless = free_form();
    wordless.messages.clear();
    let mut one = support::choice();
    one.task = quire_answer::Task::MultipleChoice {
        options: vec!["x".into()],
    };
    for request in [empty, wordless, one] {
        let error = ask(&client(&server), &request).unwrap_err();
        assert!(matches!(error, AnswerError::BadRequest { .. }), "{error:?}");
    }
    assert!(server.seen().is_empty());
}
