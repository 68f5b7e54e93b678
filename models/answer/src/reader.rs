//! The built-in extractive reader: answers by quoting.
//!
//! It needs nothing but the embedder that search has loaded anyway, and
//! generates nothing, so it cannot invent: a free-form answer is a sentence of
//! the evidence, or the part of one that a question such as "who" or "how
//! many" asks for; of several options it takes the one that the evidence
//! supports best. It does not reason, count or combine.

mod evidence;
mod narrow;
mod options;
mod sentences;
mod words;

use std::ops::ControlFlow;
use std::sync::Arc;

use quire_model::{Call, Embedder, ModelError, Reranker, Role};

use crate::error::AnswerError;
use crate::model::{
    Answer, AnswerDelta, AnswerModel, AnswerModelInfo, AnswerRequest, FinishReason, LETTERS,
    ModelKind, Span, Task,
};
use evidence::{Evidence, Sentence};

/// How the reader reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReaderOptions {
    /// Sentences that the models score, chosen by their words; bounds what an
    /// answer costs.
    pub scored_sentences: usize,
    /// Between 0 and 1. When the share of the question's words, weighed by
    /// rarity, that the best sentence and its neighbours hold is smaller, the
    /// reader says that the evidence holds no answer, if it may. Of options,
    /// it is the mean of that share and of the option's own.
    pub least_support: f64,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            scored_sentences: 64,
            least_support: 0.15,
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

/// Answers by quoting the evidence.
pub struct ExtractiveReader {
    embedder: Arc<dyn Embedder>,
    reranker: Option<Arc<dyn Reranker>>,
    options: ReaderOptions,
    info: AnswerModelInfo,
}

/// A sentence and how well it answers.
struct Scored {
    sentence: usize,
    score: f64,
}

impl ExtractiveReader {
    /// A reader that measures meaning by `embedder`, or by `reranker` where
    /// one is given.
    pub fn new(
        embedder: Arc<dyn Embedder>,
        reranker: Option<Arc<dyn Reranker>>,
        options: ReaderOptions,
    ) -> Self {
        let name = match &reranker {
            Some(reranker) => reranker.info().name.clone(),
            None => embedder.info().name.clone(),
        };
        let info = AnswerModelInfo {
            kind: ModelKind::Extractive,
            name: format!("extractive reader over {name}"),
            host: None,
            temperature: None,
            seed: None,
            max_tokens: None,
        };
        Self {
            embedder,
            reranker,
            options,
            info,
        }
    }

    /// How alike each text and each sentence are in meaning: a row for each
    /// text, on the scale of the model that measures it.
    fn likeness(
        &self,
        texts: &[&str],
        sentences: &[&str],
        call: &Call,
    ) -> Result<Vec<Vec<f64>>, ModelError> {
        if let Some(reranker) = &self.reranker {
            let row = |text: &&str| {
                let scores = reranker.rerank(text, sentences, call)?;
                Ok(scores.iter().map(|score| f64::from(score.score)).collect())
            };
            return texts.iter().map(row).collect();
        }
        let asked = self.embedder.embed(texts, Role::Question, call)?;
        let read = self.embedder.embed(sentences, Role::Passage, call)?;
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
            products.sum()
        };
        let rows = asked.iter().map(|text| {
            let row = read
                .iter()
                .map(|sentence| dot(&text.vector, &sentence.vector));
            row.collect()
        });
        Ok(rows.collect())
    }

    /// The sentences worth scoring, by the words they share with `wanted`, in
    /// the evidence's order.
    fn candidates(&self, evidence: &Evidence<'_>, wanted: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..evidence.sentences.len()).collect();
        order.sort_by(|&a, &b| wanted[b].total_cmp(&wanted[a]).then(a.cmp(&b)));
        order.truncate(self.options.scored_sentences.max(1));
        order.sort_unstable();
        order
    }

    fn free_form(
        &self,
        request: &AnswerRequest,
        evidence: &Evidence<'_>,
    ) -> Result<Answer, ModelError> {
        let question = evidence.weighed(&request.question);
        let shared: Vec<f64> = (0..evidence.sentences.len())
            .map(|sentence| evidence.coverage(sentence, &question))
            .collect();
        let candidates = self.candidates(evidence, &shared);
        let texts: Vec<&str> = candidates
            .iter()
            .map(|&sentence| evidence.text(sentence))
            .collect();
        let likeness = self.likeness(&[&request.question], &texts, &request.call)?;
        let likeness = spread(&likeness[0]);
        let best = candidates
            .iter()
            .zip(likeness)
            .map(|(&sentence, likeness)| {
                let at = &evidence.sentences[sentence];
                let asks = if at.asks { ASKS } else { 0.0 };
                let rank = RANK / (1.0 + at.evidence as f64);
                Scored {
                    sentence,
                    score: shared[sentence] + SIMILARITY * likeness + rank - asks,
                }
            })
            .max_by(|a, b| {
                a.score
                    .total_cmp(&b.score)
                    .then(b.sentence.cmp(&a.sentence))
            });
        let Some(best) = best else {
            return Ok(self.abstained(request));
        };
        let supported = shared[best.sentence] >= self.options.least_support;
        if request.may_abstain && !supported {
            return Ok(self.abstained(request));
        }
        let sentence = &evidence.sentences[best.sentence];
        let text = evidence.text(best.sentence);
        let part = narrow::narrow(&request.question, text, evidence.all());
        let start = sentence.bytes.start;
        let span = Span {
            evidence: sentence.evidence,
            bytes: start + part.start..start + part.end,
        };
        let answer = text[part].split_whitespace().collect::<Vec<_>>().join(" ");
        let answer = self.extracted(answer, None, text, span);
        Ok(Answer {
            supported,
            ..answer
        })
    }

    fn choice(
        &self,
        request: &AnswerRequest,
        options: &[String],
        evidence: &Evidence<'_>,
    ) -> Result<Answer, ModelError> {
        let question = evidence.weighed(&request.question);
        let told = options::tell_apart(evidence, &question, options);
        let wanted: Vec<f64> = (0..evidence.sentences.len())
            .map(|sentence| {
                let best = told
                    .iter()
                    .map(|option| evidence.coverage(sentence, option))
                    .fold(0.0, f64::max);
                evidence.coverage(sentence, &question) + best
            })
            .collect();
        let candidates = self.candidates(evidence, &wanted);
        let sentences: Vec<&str> = candidates.iter().map(|&s| evidence.text(s)).collect();
        let statements: Vec<String> = options
            .iter()
            .map(|option| format!("{} {option}", request.question.trim()))
            .collect();
        let mut asked: Vec<&str> = vec![&request.question];
        asked.extend(statements.iter().map(String::as_str));
        let likeness = self.likeness(&asked, &sentences, &request.call)?;
        let (of_question, of_options) = likeness.split_at(1);
        let best = options::best(
            evidence,
            &question,
            &told,
            &candidates,
            &spread(&of_question[0]),
            of_options,
        );
        let Some((option, sentence)) = best else {
            return Ok(self.abstained(request));
        };
        // What holds the option's words supports it even in other words than
        // the question's.
        let words = evidence.coverage(sentence, &told[option]);
        let support = (evidence.coverage(sentence, &question) + words) / 2.0;
        let supported = support >= self.options.least_support;
        if request.may_abstain && !supported {
            return Ok(self.abstained(request));
        }
        let letter = char::from(LETTERS[option]);
        let Sentence {
            evidence: at,
            bytes,
            ..
        } = &evidence.sentences[sentence];
        let span = Span {
            evidence: *at,
            bytes: bytes.clone(),
        };
        let text = letter.to_string();
        let answer = self.extracted(text, Some(letter), evidence.text(sentence), span);
        Ok(Answer {
            supported,
            ..answer
        })
    }

    fn extracted(&self, text: String, letter: Option<char>, from: &str, span: Span) -> Answer {
        Answer {
            text,
            letter,
            raw: from.to_owned(),
            finish_reason: FinishReason::Stop,
            usage: None,
            cost: None,
            model: self.info.name.clone(),
            attempts: 1,
            extractive: true,
            supported: true,
            span: Some(span),
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

/// The same numbers between 0, the least, and 1, the greatest: what a
/// similarity is worth depends on the model, how it compares does not.
fn spread(numbers: &[f64]) -> Vec<f64> {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = greatest - least;
    let place = |number: &f64| {
        if width > 0.0 {
            (number - least) / width
        } else {
            0.0
        }
    };
    numbers.iter().map(place).collect()
}
