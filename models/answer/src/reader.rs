//! The built-in extractive reader: answers by quoting.
//!
//! It needs nothing but the embedder that search has loaded anyway, and
//! generates nothing, so it cannot invent: a free-form answer is a part of one
//! sentence of the evidence; of several options it takes the one that the
//! evidence supports best. It does not reason, count or combine.
//!
//! What it does was chosen by measuring: docs/notes-reader.md.

mod evidence;
mod meaning;
mod options;
mod parts;
mod sentences;
mod words;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use quire_model::{Call, Embedder, ModelError, Reranker};

use crate::error::AnswerError;
use crate::model::{
    Answer, AnswerDelta, AnswerModel, AnswerModelInfo, AnswerRequest, FinishReason, LETTERS,
    ModelKind, Span, Task,
};
use evidence::{Evidence, Weighed};
use meaning::{Likeness, Meter};
use options::{Choice, asks_for_the_exception, likelihoods, tell_apart};
use parts::parts;

/// How the reader reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReaderOptions {
    /// Sentences that the models score, chosen by their words; bounds what an
    /// answer costs.
    pub scored_sentences: usize,
    /// Between 0 and 1. When the support of the question's best sentence is
    /// smaller, the reader says that the evidence holds no answer, if it may.
    /// Support is the mean of two shares: of the question's words, weighed by
    /// rarity, that the sentence and its neighbours hold, and of the way from
    /// a sentence about nothing in particular to one that means the same.
    pub least_support: f64,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            scored_sentences: 48,
            least_support: 0.3,
        }
    }
}

/// How much a sentence's similarity in meaning counts beside the words it
/// shares, both between 0 and 1.
const SIMILARITY: f64 = 1.0;
/// How much the first piece of evidence is worth beside the last.
const RANK: f64 = 0.15;
/// What a question in the evidence loses: it seldom answers one.
const ASKS: f64 = 0.25;

/// Sentences whose parts are compared with options.
const ANSWERING_SENTENCES: usize = 5;
/// Parts of each of them.
const ANSWERING_PARTS: usize = 20;
/// How much a better sentence counts beside a better part of a sentence.
const SENTENCE: f64 = 8.0;

/// Answers by quoting the evidence.
pub struct ExtractiveReader {
    meter: Meter,
    options: ReaderOptions,
    info: AnswerModelInfo,
}

/// A sentence and how well it answers.
struct Scored {
    sentence: usize,
    score: f64,
    support: f64,
}

impl ExtractiveReader {
    /// A reader that measures meaning by `embedder`, or by `reranker` where
    /// one is given.
    pub fn new(
        embedder: Arc<dyn Embedder>,
        reranker: Option<Arc<dyn Reranker>>,
        options: ReaderOptions,
    ) -> Self {
        let meter = Meter::new(embedder, reranker);
        let info = AnswerModelInfo {
            kind: ModelKind::Extractive,
            name: format!("extractive reader over {}", meter.name()),
            host: None,
            temperature: None,
            seed: None,
            max_tokens: None,
        };
        Self {
            meter,
            options,
            info,
        }
    }

    /// The sentences worth scoring, by the words they share with what is
    /// `wanted`, in the evidence's order.
    fn candidates(&self, evidence: &Evidence<'_>, wanted: impl Fn(usize) -> f64) -> Vec<usize> {
        let wanted: Vec<f64> = (0..evidence.sentences.len()).map(wanted).collect();
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by(|&a, &b| wanted[b].total_cmp(&wanted[a]).then(a.cmp(&b)));
        order.truncate(self.options.scored_sentences.max(1));
        order.sort_unstable();
        order
    }

    fn measure(
        &self,
        evidence: &Evidence<'_>,
        candidates: &[usize],
        texts: &[&str],
        call: &Call,
    ) -> Result<Likeness, ModelError> {
        let sentences: Vec<&str> = candidates.iter().map(|&s| evidence.text(s)).collect();
        self.meter.measure(texts, &sentences, call)
    }

    fn free_form(
        &self,
        request: &AnswerRequest,
        evidence: &Evidence<'_>,
    ) -> Result<Answer, ModelError> {
        let question = evidence.weighed(&request.question);
        let candidates = self.candidates(evidence, |s| evidence.coverage(s, &question));
        let likeness = self.measure(evidence, &candidates, &[&request.question], &request.call)?;
        let ranked = ranked(evidence, &question, &candidates, &likeness);
        let Some(best) = ranked.first() else {
            return Ok(self.abstained(request));
        };
        let text = evidence.text(best.sentence);
        let around = evidence.around(best.sentence);
        let part = parts(&request.question, &question, text, around)
            .into_iter()
            .next()
            .map_or(0..text.len(), |part| part.bytes);
        let answer = text[part.clone()].split_whitespace().collect::<Vec<_>>();
        let answer = answer.join(" ");
        Ok(self.extracted(request, evidence, best.sentence, part, best.support, answer))
    }

    fn choice(
        &self,
        request: &AnswerRequest,
        options: &[String],
        evidence: &Evidence<'_>,
    ) -> Result<Answer, ModelError> {
        let question = evidence.weighed(&request.question);
        let told = tell_apart(evidence, &question, options);
        let candidates = self.candidates(evidence, |sentence| {
            let held = told
                .iter()
                .map(|option| evidence.coverage(sentence, option));
            evidence.coverage(sentence, &question) + held.fold(0.0, f64::max)
        });
        let statements: Vec<String> = options
            .iter()
            .map(|option| format!("{} {option}", request.question.trim()))
            .collect();
        let mut texts: Vec<&str> = vec![&request.question];
        texts.extend(statements.iter().map(String::as_str));
        let likeness = self.measure(evidence, &candidates, &texts, &request.call)?;
        let ranked = ranked(evidence, &question, &candidates, &likeness);
        let choice = Choice {
            evidence,
            question: &question,
            options,
            told: &told,
            candidates: &candidates,
            likeness: &likeness,
            answers: &answers(&request.question, evidence, &question, &ranked),
        };
        let best = choice.best(asks_for_the_exception(&request.question));
        let (Some((option, sentence)), Some(first)) = (best, ranked.first()) else {
            return Ok(self.abstained(request));
        };
        let letter = char::from(LETTERS[option]);
        let whole = 0..evidence.text(sentence).len();
        let text = letter.to_string();
        let answer = self.extracted(request, evidence, sentence, whole, first.support, text);
        Ok(Answer {
            letter: answer.span.is_some().then_some(letter),
            ..answer
        })
    }

    /// The answer that quotes those bytes of a sentence, if its support is
    /// enough or an answer must be given.
    fn extracted(
        &self,
        request: &AnswerRequest,
        evidence: &Evidence<'_>,
        sentence: usize,
        bytes: Range<usize>,
        support: f64,
        text: String,
    ) -> Answer {
        let supported = support >= self.options.least_support;
        if request.may_abstain && !supported {
            return self.abstained(request);
        }
        let from = &evidence.sentences[sentence];
        let start = from.bytes.start;
        Answer {
            text,
            raw: evidence.text(sentence).to_owned(),
            supported,
            span: Some(Span {
                evidence: from.evidence,
                bytes: start + bytes.start..start + bytes.end,
            }),
            ..self.abstained(request)
        }
    }

    /// The answer when the evidence holds none. Where one must be given, an
    /// option is guessed: the first.
    fn abstained(&self, request: &AnswerRequest) -> Answer {
        let guess = match request.task {
            Task::MultipleChoice { .. } if !request.may_abstain => Some(char::from(LETTERS[0])),
            _ => None,
        };
        let not_found = request.language.not_found();
        Answer {
            text: guess.map_or_else(|| not_found.to_owned(), String::from),
            letter: guess,
            raw: String::new(),
            finish_reason: FinishReason::Stop,
            usage: None,
            cost: None,
            model: self.info.name.clone(),
            attempts: 1,
            extractive: true,
            supported: false,
            span: None,
        }
    }
}

/// The candidates by how well they answer, best first; `likeness` is theirs to
/// the question.
fn ranked(
    evidence: &Evidence<'_>,
    question: &Weighed,
    candidates: &[usize],
    likeness: &Likeness,
) -> Vec<Scored> {
    let mut ranked: Vec<Scored> = candidates
        .iter()
        .enumerate()
        .map(|(place, &sentence)| {
            let at = &evidence.sentences[sentence];
            let shared = evidence.coverage(sentence, question);
            let asks = if at.asks { ASKS } else { 0.0 };
            let rank = RANK / (1.0 + at.evidence as f64);
            let alike = likeness.spread_of_question(place);
            Scored {
                sentence,
                score: shared + SIMILARITY * alike + rank - asks,
                support: (shared + likeness.above_nothing(0, place)) / 2.0,
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.sentence.cmp(&b.sentence))
    });
    ranked
}

/// What may be answered without options, and how likely each is the best.
fn answers(
    question: &str,
    evidence: &Evidence<'_>,
    asked: &Weighed,
    ranked: &[Scored],
) -> Vec<(String, f64)> {
    let mut texts = Vec::new();
    let mut scores = Vec::new();
    for Scored {
        sentence, score, ..
    } in ranked.iter().take(ANSWERING_SENTENCES)
    {
        let text = evidence.text(*sentence);
        let parts = parts(question, asked, text, evidence.around(*sentence));
        for part in parts.into_iter().take(ANSWERING_PARTS) {
            texts.push(text[part.bytes].to_owned());
            scores.push(SENTENCE * score + part.score);
        }
    }
    texts.into_iter().zip(likelihoods(&scores)).collect()
}

impl AnswerModel for ExtractiveReader {
    fn info(&self) -> &AnswerModelInfo {
        &self.info
    }

    fn answer(
        &self,
        request: &AnswerRequest,
        sink: &mut dyn FnMut(AnswerDelta<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError> {
        request.check()?;
        if let Some(stop) = request.call.stop() {
            return Err(AnswerError::Stopped {
                stop,
                raw: String::new(),
            });
        }
        let evidence = Evidence::read(&request.evidence);
        let answer = match &request.task {
            _ if evidence.sentences.is_empty() => Ok(self.abstained(request)),
            Task::FreeForm => self.free_form(request, &evidence),
            Task::MultipleChoice { options } => self.choice(request, options, &evidence),
        };
        let answer = answer.map_err(AnswerError::Reader)?;
        // One piece; whether anybody listens changes nothing any more.
        let _ = sink(AnswerDelta::Text(&answer.text));
        Ok(answer)
    }
}
