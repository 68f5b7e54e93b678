//! From ranked passages to the evidence of a prompt.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;

use quire_corpus::{BookId, ChunkId};
use quire_index::Passage;
use serde::{Deserialize, Serialize};

use super::prompt::{self, FENCE_CHARS};
use crate::{Budgets, EngineError, Models, Ranked, Search, StageName, View};

/// In which order a prompt shows its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As the book has it; of several books, the one with the best passage
    /// first.
    #[default]
    Document,
    /// The best passage first.
    Score,
}

impl Order {
    /// Its name: `document` or `score`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Score => "score",
        }
    }
}

/// What a prompt shows of the books.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// In which order the items stand.
    pub order: Order,
    /// The items, numbered from 1 in that order.
    pub items: Vec<EvidenceItem>,
    /// Tokens of all items with their labels, by the embedder's tokenizer.
    pub tokens: u64,
    /// Passages that were considered and are not shown.
    pub left_out: Vec<LeftOut>,
}

/// A run of a book's passages that follow one another.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceItem {
    /// How an answer cites it, from 1.
    pub number: usize,
    /// The book.
    pub book: BookId,
    /// The book's title.
    pub title: String,
    /// The chapter's heading.
    pub chapter: Option<String>,
    /// Its bytes in the book's canonical text.
    pub span: Range<usize>,
    /// The text of that span.
    pub text: String,
    /// Tokens of label and text, by the embedder's tokenizer.
    pub tokens: u64,
    /// The passages it is made of, in the book's order.
    pub passages: Vec<ItemPassage>,
}

/// A passage within an item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPassage {
    /// The passage.
    pub chunk: ChunkId,
    /// Its rank among all that were found, from 1.
    pub rank: usize,
    /// Its bytes in the item's text.
    pub bytes: Range<usize>,
    /// Its own tokens.
    pub tokens: u32,
    /// Whether the embedder read only its beginning.
    pub embedding_truncated: bool,
}

impl EvidenceItem {
    /// The best rank of its passages.
    pub fn rank(&self) -> usize {
        let ranks = self.passages.iter().map(|passage| passage.rank);
        ranks.min().unwrap_or(usize::MAX)
    }

    /// How it is named beside its number: title, chapter and passage ids, the
    /// book's id cut to its first digits.
    pub fn label(&self) -> String {
        let book = self.book.to_string();
        let (first, last) = (self.passages.first(), self.passages.last());
        let ordinal =
            |passage: Option<&ItemPassage>| passage.map_or(0, |passage| passage.chunk.ordinal);
        let (first, last) = (ordinal(first), ordinal(last));
        let mut label = prompt::one_line(&self.title);
        if let Some(chapter) = &self.chapter {
            label += " | ";
            label += &prompt::one_line(chapter);
        }
        label += &format!(" | {}:{first}", &book[..ID_DIGITS]);
        if last != first {
            label += &format!("-{last}");
        }
        label
    }
}

/// Digits of a book's id in a label; a service takes any that are unique.
const ID_DIGITS: usize = 8;

/// A passage that is not shown, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The passage.
    pub chunk: ChunkId,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why a passage is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It did not fit into the tokens left.
    TooLong,
    /// A better passage has the same text, white space aside.
    Duplicate,
    /// It was reranked, and the passages before it were as many as may be.
    NoRoom,
}

impl LeftOutReason {
    /// Its name: `too_long`, `duplicate` or `no_room`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Duplicate => "duplicate",
            Self::NoRoom => "no_room",
        }
    }
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "did not fit the token budget",
            Self::Duplicate => "same text as a better passage",
            Self::NoRoom => "beyond the budget of passages",
        })
    }
}

/// A passage that is to be shown.
struct Taken {
    passage: Passage,
    rank: usize,
}

/// Fits the best passages into the budgets of passages and tokens, drops what
/// repeats a better one, and joins neighbours of one chapter.
///
/// # Errors
/// When a passage cannot be read or counted.
pub(crate) fn assemble(
    view: &View,
    models: &Models,
    found: &Search,
    budgets: &Budgets,
    (by, order): (Ranked, Order),
) -> Result<Evidence, EngineError> {
    let count = |text: &str| {
        let ends = models.tokenizer.token_ends(text);
        let ends = ends.map_err(|error| EngineError::stage(StageName::Assemble, error))?;
        Ok::<u64, EngineError>(ends.len() as u64)
    };
    let best_first = found.trace.best_first(by);
    let most = budgets.evidence_tokens as u64;
    let mut taken: BTreeMap<ChunkId, Taken> = BTreeMap::new();
    let mut worst_last: Vec<ChunkId> = Vec::new();
    let mut seen: HashMap<String, ChunkId> = HashMap::new();
    let mut left_out = Vec::new();
    let mut tokens = 0;
    for (at, &chunk) in best_first.iter().enumerate() {
        if taken.len() == budgets.evidence_passages {
            let reranked = match (by, &found.trace.reranked) {
                (Ranked::Reranked, Some(stage)) => stage.hits.len(),
                _ => 0,
            };
            let rest = best_first[at..].iter().take(reranked.saturating_sub(at));
            left_out.extend(rest.map(|&chunk| LeftOut {
                chunk,
                reason: LeftOutReason::NoRoom,
            }));
            break;
        }
        let passage = view.passage(chunk)?;
        let words: Vec<&str> = passage.text.split_whitespace().collect();
        let words = words.join(" ");
        if seen.contains_key(&words) {
            let reason = LeftOutReason::Duplicate;
            left_out.push(LeftOut { chunk, reason });
            continue;
        }
        // As if it stood alone: joined to a neighbour it needs no label.
        let alone = item(view, vec![(chunk, &passage, at + 1)]);
        let needs = count(&alone.label())? + u64::from(passage.tokens) + MARK_TOKENS;
        if tokens + needs > most {
            let reason = LeftOutReason::TooLong;
            left_out.push(LeftOut { chunk, reason });
            continue;
        }
        tokens += needs;
        seen.insert(words, chunk);
        worst_last.push(chunk);
        taken.insert(
            chunk,
            Taken {
                passage,
                rank: at + 1,
            },
        );
    }
    loop {
        let mut items = joined(view, &taken, order);
        for item in &mut items {
            item.tokens = count(&prompt::block(item, FENCE_CHARS))?;
            for passage in &mut item.passages {
                passage.embedding_truncated = view.embedding_truncated(models, passage.chunk);
            }
        }
        let tokens = items.iter().map(|item| item.tokens).sum();
        // The sum of the parts is a close estimate, not a bound.
        if tokens > most
            && let Some(chunk) = worst_last.pop()
        {
            taken.remove(&chunk);
            let reason = LeftOutReason::TooLong;
            left_out.push(LeftOut { chunk, reason });
            continue;
        }
        return Ok(Evidence {
            order,
            items,
            tokens,
            left_out,
        });
    }
}

/// About what an item's marks take beside label and text.
const MARK_TOKENS: u64 = 16;

/// The passages as items: neighbours joined, in order, numbered.
fn joined(view: &View, taken: &BTreeMap<ChunkId, Taken>, order: Order) -> Vec<EvidenceItem> {
    let mut runs: Vec<Vec<(ChunkId, &Passage, usize)>> = Vec::new();
    for (&chunk, Taken { passage, rank }) in taken {
        let follows = runs.last().and_then(|run| run.last()).is_some_and(
            |&(before, last, _): &(ChunkId, &Passage, usize)| {
                before.book == chunk.book
                    && before.ordinal + 1 == chunk.ordinal
                    && last.span.end == passage.span.start
                    && last.chapter == passage.chapter
            },
        );
        match runs.last_mut() {
            Some(run) if follows => run.push((chunk, passage, *rank)),
            _ => runs.push(vec![(chunk, passage, *rank)]),
        }
    }
    let mut items: Vec<EvidenceItem> = runs.into_iter().map(|run| item(view, run)).collect();
    match order {
        Order::Score => items.sort_by_key(EvidenceItem::rank),
        Order::Document => {
            let mut best: BTreeMap<BookId, usize> = BTreeMap::new();
            for item in &items {
                let rank = best.entry(item.book).or_insert(usize::MAX);
                *rank = item.rank().min(*rank);
            }
            items.sort_by_key(|item| (best[&item.book], item.span.start));
        }
    }
    for (number, item) in (1..).zip(&mut items) {
        item.number = number;
    }
    items
}

/// One item of passages that follow one another; at least one is given. It is
/// not numbered or counted yet.
fn item(view: &View, run: Vec<(ChunkId, &Passage, usize)>) -> EvidenceItem {
    let (first, passage, _) = run[0];
    let start = passage.span.start;
    let mut text = String::new();
    let mut passages = Vec::with_capacity(run.len());
    let chapter = passage.chapter.clone();
    for (chunk, passage, rank) in run {
        let at = text.len();
        text += &passage.text;
        passages.push(ItemPassage {
            chunk,
            rank,
            bytes: at..text.len(),
            tokens: passage.tokens,
            embedding_truncated: false,
        });
    }
    EvidenceItem {
        number: 0,
        book: first.book,
        title: view.title(first.book).unwrap_or_default().to_owned(),
        chapter,
        span: start..start + text.len(),
        text,
        tokens: 0,
        passages,
    }
}
