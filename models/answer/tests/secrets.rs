//! The key goes to the server and nowhere else.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_answer::{OpenAiModel, Secret};
use serde_json::json;
use support::{ask, config, free_form};

const KEY: &str = "sk-sesame-0123456789";

#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Vec<u8>>>);

impl Write for Everything {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl log::Log for Everything {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{}: {}\n", record.target(), record.args());
        self.clone().write_all(line.as_bytes()).unwrap();
    }
    fn flush(&self) {}
}

#[test]
fn the_key_is_in_no_error_no_log_and_no_description() {
    let logged = Everything::default();
    log::set_logger(Box::leak(Box::new(logged.clone()))).unwrap();
    // The HTTP library's own records; below this level it writes down the very
    // bytes it sends, which is why the binary takes no such records.
    log::set_max_level(log::LevelFilter::Debug);
    let traced = logged.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || traced.clone())
        .init();

    let server = FakeOpenAi::new();
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    for status in [401, 403, 404, 400, 429, 500] {
        for _ in 0..3 {
            server.reply(Reply::json(status, &echo));
        }
        let mut config = config(&server);
        config.key = Secret::parse(KEY).unwrap();
        let shown_config = format!("{config:?}");
        let model = OpenAiModel::new(config).unwrap();
        let error = ask(&model, &free_form()).unwrap_err();
        let mut shown = format!("{error} {error:?} {} {shown_config}", error.raw());
        let mut cause: &dyn std::error::Error = &error;
        while let Some(next) = cause.source() {
            shown.push_str(&format!("{next} {next:?}"));
            cause = next;
        }
        assert!(!shown.contains("sesame"), "{shown}");
        // Takes what was not asked for.
        while ask(&model, &free_form()).is_err_and(|error| !error.to_string().contains("scripted"))
        {
        }
    }
    let seen = server.seen();
    let bearer = format!("Bearer {KEY}");
    assert!(
        seen.iter()
            .all(|seen| seen.headers["authorization"] == bearer)
    );
    let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("asking the answer model again"), "{logged}");
    assert!(logged.contains("ureq::run: POST"), "{logged}");
    assert!(!logged.contains("sesame"), "{logged}");
}
