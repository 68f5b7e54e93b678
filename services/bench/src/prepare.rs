//! What is asked of the idle server before a load.

use bytes::Bytes;
use serde_json::Value;

use crate::body::constant_part;
use crate::connection::{Client, Failure, Fetch, Slot};
use crate::process::Process;
use crate::report::ServerRecord;
use crate::{BenchError, Plan};

/// Finds out who answers there, by its health and its answer to the first
/// question.
pub(crate) async fn server(
    plan: &Plan,
    client: &Client,
    process: Option<Process>,
) -> Result<ServerRecord, BenchError> {
    // To say why there is no connection, which an outcome does not.
    let connected = client.connect().await;
    connected.map_err(|source| BenchError::Connect {
        url: plan.target.url(),
        source,
    })?;
    let mut slot = Slot::None;
    let health = client.fetch(&mut slot, Fetch::Endpoint("/healthz")).await;
    let (health, header) = match health {
        Ok((parts, body)) => {
            let header = parts.headers.get("server");
            let header = header
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned);
            (serde_json::from_slice::<Value>(&body).ok(), header)
        }
        Err(_) => (None, None),
    };
    let first = answer(plan, client, &mut slot, 0).await?;
    let answer: Option<Value> = first.and_then(|body| serde_json::from_slice(&body).ok());
    let fingerprint = answer.and_then(|mut answer| Some(answer.get_mut("fingerprint")?.take()));
    let said = |value: &Option<Value>, key: &str| {
        let text = value.as_ref()?.get(key)?.as_str()?;
        Some(text.to_owned())
    };
    Ok(ServerRecord {
        version: said(&health, "version")
            .or(said(&fingerprint, "version"))
            .or(header),
        health,
        fingerprint,
        pid: process.map(Process::pid),
    })
}

/// Asks every question once, one at a time, and keeps what must not change.
pub(crate) async fn expected(
    plan: &Plan,
    client: &Client,
    asked: impl Fn(usize),
) -> Result<Vec<Bytes>, BenchError> {
    let mut slot = Slot::None;
    let mut expected = Vec::with_capacity(client.questions());
    for question in 0..client.questions() {
        let body = answer(plan, client, &mut slot, question).await?;
        let body = body.ok_or_else(|| unanswered(plan, question, "it is overloaded".to_owned()))?;
        let part = constant_part(&body).ok_or_else(|| BenchError::NotQuire {
            url: plan.target.url(),
        })?;
        expected.push(part);
        asked(question + 1);
    }
    Ok(expected)
}

/// The body of an answer; `None` where the server has too much to do.
async fn answer(
    plan: &Plan,
    client: &Client,
    slot: &mut Slot,
    question: usize,
) -> Result<Option<Bytes>, BenchError> {
    let fetched = client.fetch(slot, Fetch::Answer(question)).await;
    let (parts, body) = fetched.map_err(|failure| {
        let why = match failure {
            Failure::Timeout => "it took too long (--give-up)".to_owned(),
            Failure::Connect => "no connection".to_owned(),
            _ => "the connection ended before its answer did".to_owned(),
        };
        unanswered(plan, question, why)
    })?;
    match parts.status.as_u16() {
        200 => Ok(Some(body)),
        429 | 503 => Ok(None),
        status => Err(unanswered(plan, question, problem(status, &body))),
    }
}

/// A refusal in the server's words.
fn problem(status: u16, body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = |key: &str| problem.get(key).and_then(Value::as_str);
    let mut words = format!("status {status}");
    let parts = [said("detail").or(said("title")), said("remedy")];
    for part in parts.into_iter().flatten() {
        words += &format!(": {part}");
    }
    if status == 401 || status == 403 {
        words += " (the environment variable QUIRE_KEY holds the key)";
    }
    words
}

fn unanswered(plan: &Plan, question: usize, why: String) -> BenchError {
    BenchError::Unanswered {
        url: plan.target.url(),
        question: plan.questions.as_slice()[question].clone(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_servers_words() {
        let body = br#"{"title":"No such book","detail":"no book 3f9a","remedy":"list them"}"#;
        assert_eq!(problem(404, body), "status 404: no book 3f9a: list them");
        assert_eq!(problem(500, b"<html>"), "status 500");
        assert!(problem(401, b"").contains("QUIRE_KEY"));
    }
}
