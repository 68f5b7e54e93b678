//! The shapes of `/v1/answer`.

use quire_answer::{Answer as Given, Task};
use quire_corpus::{BookId, ChunkId};
use quire_engine::{
    AnswerTrace, Evidence, EvidenceItem, Fingerprint, Highlighter, LeftOutReason, Order, View,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    BudgetsRequest, Explain, LeftOut, Place, RerankDepth, Run, Scope, SearchRequest, Shares, Span,
    Stages, Truncated,
};

/// A question and how to answer it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "question": "Who keeps the lighthouse?",
    "options": ["the captain", "Ada Finch", "nobody"],
    "stream": false
}))]
pub struct AnswerRequest {
    /// What is asked.
    pub question: String,
    /// The options of a multiple-choice question, 2 to 26 of them, for the
    /// letters from A on. Without them the question is free-form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// Which books are searched; all of them where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// How far each stage goes; the evidence's budgets are the prompt's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<BudgetsRequest>,
    /// In which order the evidence is shown: `document` (default) or `score`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub order: Option<Order>,
    /// The language to answer in: `en` or `zh`; the question's where it is
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Whether the model may say that the evidence holds no answer. A
    /// benchmark wants a guess.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abstain: Option<bool>,
    /// Which model answers; the service's own choice where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AnswerModelName>,
    /// Whether the answer comes piece by piece, as server-sent events.
    #[serde(default)]
    pub stream: bool,
    /// Whether the answer lists what each stage found.
    #[serde(default)]
    pub explain: bool,
    /// Milliseconds after which an answer is of no use: it is then an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Milliseconds after which the reranker leaves off, as in a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

impl AnswerRequest {
    /// The search that the question begins with.
    pub fn search(&self) -> SearchRequest {
        SearchRequest {
            question: self.question.clone(),
            scope: self.scope.clone(),
            budgets: self.budgets.clone(),
            explain: self.explain,
            timeout_ms: self.timeout_ms,
            deadline_ms: self.deadline_ms,
        }
    }
}

/// A language to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    En,
    /// Chinese.
    Zh,
}

impl From<Language> for quire_answer::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::En => Self::En,
            Language::Zh => Self::Zh,
        }
    }
}

/// A model that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerModelName {
    /// The built-in reader, which quotes the evidence.
    Extractive,
    /// The language model that the service is set up with.
    OpenAi,
}

/// An answer with its evidence. Equal requests to an unchanged service get the
/// same bytes up to `,"run":`, as far as the answer model is deterministic; the
/// extractive one is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerResponse {
    /// The answer.
    pub answer: Answer,
    /// What it was given from.
    #[serde(flatten)]
    pub basis: AnswerBasis,
    /// What differs each time.
    pub run: Run,
}

/// What a question was answered from: known before the model begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerBasis {
    /// What was asked.
    pub question: String,
    /// The books that were searched, ascending.
    #[schema(value_type = Vec<String>)]
    pub books: Vec<BookId>,
    /// What the model is shown.
    pub evidence: AnswerEvidence,
    /// How the best passages are shared among the books; absent where one book
    /// was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// Whether a model could not read the whole question.
    pub question_truncated: bool,
    /// How deep the reranker went; `null` where the budget leaves it out.
    pub rerank: Option<RerankDepth>,
    /// What the evidence depends on besides the question.
    #[schema(value_type = Object)]
    pub fingerprint: Fingerprint,
    /// What each stage found, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explain>,
    /// Books of the scope "all" that could not be searched; absent if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Answer {
    /// The final answer: of a multiple-choice question the letter. Fixed words
    /// where the model found none.
    pub text: String,
    /// The letter of the option; `null` for free-form and without an answer.
    pub letter: Option<char>,
    /// That option's text.
    pub option: Option<String>,
    /// Whether the model holds that the evidence supports an answer. A
    /// language model that may not abstain is not asked, and this is true.
    pub supported: bool,
    /// Whether the answer is quoted from the evidence by the built-in reader,
    /// rather than written by a language model.
    pub extractive: bool,
    /// The model, as its server reported it.
    pub model: String,
    /// Why it ended: `stop`, `length`, or the server's word.
    pub finish_reason: String,
    /// Where the evidence has a quoted answer.
    pub citation: Option<Citation>,
    /// Which prompt was used; `null` for the built-in reader, which reads none.
    pub prompt: Option<Prompt>,
    /// Tokens, as the model's server counted them.
    pub usage: Option<Usage>,
    /// What it cost, where tokens and price are known.
    pub cost: Option<Cost>,
}

/// Where a quoted answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// The number of the item of evidence.
    pub evidence: usize,
    /// Bytes of that item's text.
    pub span: Span,
}

/// Which prompt was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Prompt {
    /// Its name, such as `free.en`.
    pub name: String,
    /// The version that its file states.
    pub version: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// Tokens of the whole prompt, by the embedder's tokenizer.
    pub tokens: u64,
}

/// Tokens, as a server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Of the prompt.
    pub prompt_tokens: u64,
    /// Of the completion, reasoning included.
    pub completion_tokens: u64,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Cost {
    /// In units of the currency.
    pub amount: f64,
    /// The currency, as the price table calls it.
    pub currency: String,
}

/// What the model is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerEvidence {
    /// In which order.
    #[schema(value_type = String)]
    pub order: Order,
    /// Tokens of all items with their labels, by the embedder's tokenizer.
    pub tokens: u64,
    /// The items, in that order.
    pub items: Vec<Item>,
    /// Passages that were considered and are not shown.
    pub left_out: Vec<PassageLeftOut>,
}

/// A run of passages that follow one another in a book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Item {
    /// How the model is told to name it, from 1.
    pub number: usize,
    /// The book.
    #[schema(value_type = String)]
    pub book: BookId,
    /// The book's title.
    pub title: String,
    /// The chapter's heading.
    pub chapter: Option<String>,
    /// Its passages' ids, `BOOK:NUMBER`, in the book's order.
    #[schema(value_type = Vec<String>)]
    pub chunks: Vec<ChunkId>,
    /// Its bytes in the book's canonical text.
    pub span: Span,
    /// Tokens of label and text.
    pub tokens: u64,
    /// Its text.
    pub text: String,
    /// Where the question's terms stand in `text`, in bytes.
    pub highlights: Vec<Span>,
    /// Its passages, and why they are here.
    pub passages: Vec<ItemPassage>,
}

/// A passage within an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemPassage {
    /// Its id, `BOOK:NUMBER`.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// Its rank among all that were found, from 1.
    pub rank: usize,
    /// Its bytes in the item's text.
    pub span: Span,
    /// Its own tokens.
    pub tokens: u32,
    /// Its place in each stage.
    pub stages: Stages,
    /// Where a model read only its beginning.
    pub truncated: Truncated,
}

/// A passage that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassageLeftOut {
    /// Its id, `BOOK:NUMBER`.
    #[schema(value_type = String)]
    pub chunk: ChunkId,
    /// Why: `too_long` for the tokens left, `duplicate` of a better one, or
    /// `no_room` for more passages.
    #[schema(value_type = String)]
    pub reason: LeftOutReason,
}

/// A piece of an answer in a stream: the data of an event `delta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delta {
    /// Text of the completion. The final answer may be less: labels, quotes
    /// and fences around it are taken off at the end.
    Text(String),
    /// What the model thinks, no part of the answer.
    Reasoning(String),
}

impl AnswerBasis {
    /// What a question is answered from.
    pub fn of(
        view: &View,
        found: &quire_engine::Search,
        evidence: &Evidence,
        explain: bool,
        left_out: Vec<LeftOut>,
    ) -> Self {
        let trace = &found.trace;
        Self {
            question: trace.question.clone(),
            books: view.books().map(|(book, _)| book).collect(),
            evidence: AnswerEvidence::of(found, evidence),
            shares: Shares::of(view, trace),
            question_truncated: trace.question_truncated,
            rerank: RerankDepth::of(trace),
            fingerprint: trace.fingerprint.clone(),
            explain: explain.then(|| Explain::of(trace)),
            left_out,
        }
    }
}

impl AnswerEvidence {
    fn of(found: &quire_engine::Search, evidence: &Evidence) -> Self {
        let highlighter = Highlighter::new(&found.trace.question);
        let items = evidence.items.iter();
        let left_out = evidence.left_out.iter();
        Self {
            order: evidence.order,
            tokens: evidence.tokens,
            items: items
                .map(|item| Item::of(&highlighter, found, item))
                .collect(),
            left_out: left_out
                .map(|&quire_engine::LeftOut { chunk, reason }| PassageLeftOut { chunk, reason })
                .collect(),
        }
    }
}

impl Item {
    fn of(highlighter: &Highlighter, found: &quire_engine::Search, item: &EvidenceItem) -> Self {
        let trace = &found.trace;
        let highlights = highlighter.find(&item.text);
        let passages = item.passages.iter().map(|passage| {
            let reranked = trace.reranked.as_ref();
            let chunk = passage.chunk;
            ItemPassage {
                chunk,
                rank: passage.rank,
                span: passage.bytes.clone().into(),
                tokens: passage.tokens,
                stages: Stages {
                    lexical: trace.lexical.place(chunk).map(Place::from),
                    dense: trace.dense.place(chunk).map(Place::from),
                    fused: trace.fused.place(chunk).map(Place::from),
                    reranked: reranked.and_then(|s| s.place(chunk)).map(Place::from),
                },
                truncated: Truncated {
                    embedding: passage.embedding_truncated,
                    rerank: reranked.is_some_and(|stage| stage.truncated.contains(&chunk)),
                },
            }
        });
        Self {
            number: item.number,
            book: item.book,
            title: item.title.clone(),
            chapter: item.chapter.clone(),
            chunks: item.passages.iter().map(|passage| passage.chunk).collect(),
            span: item.span.clone().into(),
            tokens: item.tokens,
            text: item.text.clone(),
            highlights: highlights.into_iter().map(Span::from).collect(),
            passages: passages.collect(),
        }
    }
}

impl Answer {
    /// What a model gave to a task, and how it was asked.
    pub fn of(given: &Given, task: &Task, evidence: &Evidence, trace: &AnswerTrace) -> Self {
        let option = match (task, given.letter) {
            (Task::MultipleChoice { options }, Some(letter)) => {
                let place = (letter as usize).checked_sub('A' as usize);
                place.and_then(|place| options.get(place)).cloned()
            }
            _ => None,
        };
        let prompt = trace.prompt.as_ref();
        Self {
            text: given.text.clone(),
            letter: given.letter,
            option,
            supported: given.supported,
            extractive: given.extractive,
            model: given.model.clone(),
            finish_reason: given.finish_reason.as_str().to_owned(),
            citation: given.span.as_ref().map(|span| Citation {
                evidence: evidence.items[span.evidence].number,
                span: span.bytes.clone().into(),
            }),
            prompt: prompt.map(|prompt| Prompt {
                name: prompt.name.clone(),
                version: prompt.version.clone(),
                digest: prompt.digest.clone(),
                tokens: prompt.tokens,
            }),
            usage: given.usage.map(|usage| Usage {
                prompt_tokens: usage.prompt_tokens,
                completion_tokens: usage.completion_tokens,
            }),
            cost: given.cost.as_ref().map(|cost| Cost {
                amount: cost.amount,
                currency: cost.currency.clone(),
            }),
        }
    }
}
