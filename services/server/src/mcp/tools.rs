//! What the tools do: each asks as the routes of `/v1` do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ask;
use crate::problem::{Code, Problem};
use crate::request::Asked;
use crate::routes::search::find;
use crate::routes::{books, chunks};
use crate::service::App;
use crate::wire::{AnswerRequest, BudgetsRequest, Language, Scope, SearchRequest};

/// Passages that a search gives where it is not told how many.
const LIMIT: usize = 10;
/// As many as it may be told.
const MOST: usize = 50;

/// Why a tool gave nothing.
pub(super) enum Failure {
    /// It could not be done.
    Problem(Problem),
    /// Its arguments are not of the shape asked for.
    Arguments(String),
    /// There is no such tool.
    NoSuchTool,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Calls a tool by its name.
pub(super) async fn call(
    app: &Arc<App>,
    asked: &Asked,
    name: &str,
    arguments: Value,
) -> Result<Value, Failure> {
    opened(app).await;
    match name {
        "search" => search(app, asked, read(arguments)?).await,
        "fetch" => fetch(app, read(arguments)?).await,
        "answer" => answer(app, asked, read(arguments)?).await,
        _ => Err(Failure::NoSuchTool),
    }
}

/// Waits until the books are open: an agent asks as soon as it is there, and
/// would take a refusal for good.
async fn opened(app: &App) {
    const LONGEST: Duration = Duration::from_secs(30);
    const LOOK: Duration = Duration::from_millis(20);
    let end = Instant::now() + LONGEST;
    while app.shelf.ready().is_err() && !app.is_draining() && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments).map_err(|error| Failure::Arguments(error.to_string()))
}

/// What is asked: some books, a library, or every book.
fn scope(books: Option<Vec<String>>, library: Option<String>) -> Result<Option<Scope>, Failure> {
    match (books, library) {
        (Some(_), Some(_)) => {
            let fault = "give `books` or `library`, not both";
            Err(Failure::Arguments(fault.to_owned()))
        }
        (Some(books), None) => Ok(Some(Scope::Books(books))),
        (None, library) => Ok(library.map(Scope::Library)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    books: Option<Vec<String>>,
    library: Option<String>,
    limit: Option<usize>,
}

async fn search(app: &Arc<App>, asked: &Asked, given: SearchArguments) -> Result<Value, Failure> {
    let limit = given.limit.unwrap_or(LIMIT);
    if !(1..=MOST).contains(&limit) {
        let detail = format!("limit must be from 1 to {MOST}.");
        return Err(Problem::new(Code::OutOfRange, detail).into());
    }
    let request = SearchRequest {
        question: given.query,
        scope: scope(given.books, given.library)?,
        budgets: Some(BudgetsRequest {
            evidence_passages: Some(limit),
            ..BudgetsRequest::default()
        }),
        ..SearchRequest::default()
    };
    let found = find(app, asked, request).await?;
    let results = found.hits.iter().map(|hit| {
        let rank = |place: Option<crate::wire::Place>| place.map(|place| place.rank);
        json!({
            "id": hit.chunk,
            "title": titled(&hit.title, hit.chapter.as_deref()),
            "url": format!("quire://chunks/{}", hit.chunk),
            "text": hit.text,
            "rank": hit.rank,
            "ranks": {
                "bm25": rank(hit.stages.lexical),
                "dense": rank(hit.stages.dense),
                "fused": rank(hit.stages.fused),
                "reranked": rank(hit.stages.reranked),
            },
        })
    });
    Ok(json!({
        "results": results.collect::<Vec<_>>(),
        "shares": found.shares,
        "trace_id": found.run.trace_id,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchArguments {
    id: String,
    #[serde(default)]
    around: u32,
}

async fn fetch(app: &Arc<App>, given: FetchArguments) -> Result<Value, Failure> {
    if !given.id.contains(':') {
        let book = books::find(app, given.id).await?;
        let chapters = book
            .chapter_list
            .iter()
            .map(|chapter| chapter.title.as_str());
        return Ok(json!({
            "id": book.summary.book,
            "title": book.summary.title,
            "text": chapters.collect::<Vec<_>>().join("\n"),
            "url": format!("quire://books/{}", book.summary.book),
            "metadata": {
                "author": book.author,
                "passages": book.summary.passages,
                "tokens": book.summary.tokens,
                "chapters": book.summary.chapters,
            },
        }));
    }
    let found = chunks::find(app, given.id, given.around).await?;
    let asked = found
        .passages
        .iter()
        .find(|passage| passage.chunk == found.chunk);
    let chapter = asked.and_then(|passage| passage.chapter.clone());
    let texts = found.passages.iter().map(|passage| passage.text.as_str());
    let ids = found.passages.iter().map(|passage| passage.chunk);
    Ok(json!({
        "id": found.chunk,
        "title": titled(&found.title, chapter.as_deref()),
        "text": texts.collect::<String>(),
        "url": format!("quire://chunks/{}", found.chunk),
        "metadata": {
            "chapter": chapter,
            "passages": ids.collect::<Vec<_>>(),
            "of": found.of,
            "previous": found.previous,
            "next": found.next,
        },
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerArguments {
    question: String,
    options: Option<Vec<String>>,
    books: Option<Vec<String>>,
    library: Option<String>,
    abstain: Option<bool>,
    language: Option<Language>,
}

async fn answer(app: &Arc<App>, asked: &Asked, given: AnswerArguments) -> Result<Value, Failure> {
    let request = AnswerRequest {
        question: given.question,
        options: given.options,
        scope: scope(given.books, given.library)?,
        abstain: given.abstain,
        language: given.language,
        ..AnswerRequest::default()
    };
    let answered = ask::answer(app, asked, request).await?;
    let (answer, items) = (&answered.answer, &answered.basis.evidence.items);
    let citation = answer.citation.and_then(|citation| {
        let item = items.iter().find(|item| item.number == citation.evidence)?;
        let quote = item.text.get(citation.span.start..citation.span.end)?;
        Some(json!({ "evidence": citation.evidence, "quote": quote }))
    });
    let evidence = items.iter().map(|item| {
        json!({
            "number": item.number,
            "ids": item.chunks,
            "title": titled(&item.title, item.chapter.as_deref()),
            "text": item.text,
        })
    });
    Ok(json!({
        "answer": answer.text,
        "letter": answer.letter,
        "option": answer.option,
        "supported": answer.supported,
        "extractive": answer.extractive,
        "model": answer.model,
        "citation": citation,
        "evidence": evidence.collect::<Vec<_>>(),
        "trace_id": answered.run.trace_id,
    }))
}

fn titled(title: &str, chapter: Option<&str>) -> String {
    match chapter {
        Some(chapter) => format!("{title} | {chapter}"),
        None => title.to_owned(),
    }
}
