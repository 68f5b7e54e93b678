//! One record: a query's trace, and which request it answered.

use std::time::{Duration, SystemTime};

use quire_corpus::BookId;
use quire_engine::{AnswerTrace, Scored, Trace};
use serde::{Deserialize, Serialize};

use crate::{TraceError, TraceId};

/// What is to be logged.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TraceEntry<'a> {
    /// The request that asked, if it has a name.
    pub request_id: Option<&'a str>,
    /// The books that were searched.
    pub books: &'a [BookId],
    /// What the request took around the engine.
    pub timings: RequestTimings,
    /// What the engine did.
    pub trace: &'a Trace,
    /// How the answer came about, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'a AnswerTrace>,
}

/// What a request took around the engine, in milliseconds; the trace has what
/// each stage took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestTimings {
    /// From the request's arrival until the engine began.
    pub queue_ms: f64,
    /// From the request's arrival until the answer was ready.
    pub total_ms: f64,
}

/// What was logged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    /// The record's name.
    pub id: TraceId,
    /// When it was logged: RFC 3339 in UTC, with milliseconds.
    pub time: String,
    /// The request that asked, if it has a name.
    pub request_id: Option<String>,
    /// The books that were searched.
    pub books: Vec<BookId>,
    /// What the request took around the engine.
    pub timings: RequestTimings,
    /// What the engine did.
    pub trace: Trace,
    /// How the answer came about, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerTrace>,
}

/// What a record's line begins with.
pub(crate) fn beginning(id: TraceId) -> String {
    format!("{{\"id\":\"{id}\"")
}

/// A record's line without what only the log knows: made before the log is
/// locked, since it is most of the work.
pub(crate) struct Body(Vec<u8>);

impl Body {
    /// The line with its end: the id first, by which it is recognised.
    pub(crate) fn line(&self, id: TraceId, now: SystemTime) -> Vec<u8> {
        let mut line = beginning(id).into_bytes();
        line.extend(format!(",\"time\":\"{}\",", rfc3339_ms(now)).bytes());
        // The body is an object; its brace is opened already.
        line.extend(&self.0[1..]);
        line.push(b'\n');
        line
    }
}

impl TraceEntry<'_> {
    /// The entry as JSON.
    pub(crate) fn body(&self) -> Result<Body, TraceError> {
        self.check()?;
        serde_json::to_vec(self)
            .map(Body)
            .map_err(TraceError::Serialize)
    }

    /// JSON has no infinity and would write `null`, which is no score when
    /// read back.
    fn check(&self) -> Result<(), TraceError> {
        let trace = self.trace;
        let reranked = trace.reranked.iter();
        let lists = [&trace.lexical, &trace.dense, &trace.fused];
        let hits = lists.into_iter().flat_map(|stage| &stage.hits);
        let scores = hits
            .chain(reranked.clone().flat_map(|stage| &stage.hits))
            .map(|Scored { score, .. }| score)
            .chain(reranked.clone().flat_map(|stage| &stage.scores));
        let times = lists
            .into_iter()
            .map(|stage| &stage.wall_ms)
            .chain(reranked.map(|stage| &stage.wall_ms))
            .chain([&trace.embed.wall_ms, &trace.total.wall_ms])
            .chain([&self.timings.queue_ms, &self.timings.total_ms])
            .chain(
                self.answer
                    .iter()
                    .flat_map(|answer| [&answer.assemble.wall_ms, &answer.answer.wall_ms]),
            );
        let finite = |what, mut numbers: Box<dyn Iterator<Item = &f64> + '_>| {
            if numbers.all(|number| number.is_finite()) {
                Ok(())
            } else {
                Err(TraceError::NotFinite { what })
            }
        };
        finite("score", Box::new(scores))?;
        finite("time", Box::new(times))
    }
}

/// [`quire_index::rfc3339`] with milliseconds.
fn rfc3339_ms(moment: SystemTime) -> String {
    let since = moment
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    let seconds = quire_index::rfc3339(moment);
    let seconds = seconds.trim_end_matches('Z');
    format!("{seconds}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, trace};
    use proptest::prelude::*;

    #[test]
    fn a_line_begins_with_its_id_and_ends_with_a_line_end() {
        let trace = trace(3);
        let id = TraceId::new(7, 42);
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042);
        let line = String::from_utf8(entry(&trace).body().unwrap().line(id, time)).unwrap();
        assert!(line.starts_with(&beginning(id)), "{line}");
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        let record: TraceRecord = serde_json::from_str(&line).unwrap();
        assert_eq!(record.time, "2023-11-14T22:13:20.042Z");
        assert_eq!((record.id, &record.trace), (id, &trace));
        assert_eq!(record.request_id.as_deref(), Some("request-1"));
        assert_eq!(record.books, entry(&trace).books);
    }

    #[test]
    fn a_score_or_time_that_is_no_number_is_refused() {
        for (what, spoil) in [
            (
                "score",
                (|t| t.fused.hits[0].score = f64::NAN) as fn(&mut Trace),
            ),
            ("score", |t| {
                let stage = t.reranked.as_mut().unwrap();
                stage.scores[1] = f64::INFINITY;
            }),
            ("time", |t| t.total.wall_ms = f64::NEG_INFINITY),
        ] {
            let mut trace = trace(3);
            assert!(entry(&trace).body().is_ok());
            spoil(&mut trace);
            let refused = entry(&trace).body().err();
            assert!(
                matches!(refused, Some(TraceError::NotFinite { what: found }) if found == what)
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_finite_score_is_read_back_bit_by_bit(bits in any::<u64>()) {
            let score = f64::from_bits(bits);
            prop_assume!(score.is_finite());
            let mut written = trace(1);
            written.lexical.hits[0].score = score;
            let body = entry(&written).body().unwrap();
            let line = body.line(TraceId::new(1, 0), SystemTime::UNIX_EPOCH);
            let record: TraceRecord = serde_json::from_slice(&line).unwrap();
            prop_assert_eq!(record.trace.lexical.hits[0].score.to_bits(), bits);
        }
    }
}
