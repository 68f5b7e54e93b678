//! `quire eval answers`

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use indicatif::ProgressBar;
use quire_corpus::{BookId, Format, ReadOptions, SourceBook, read_books};
use quire_engine::{Answerer, Fingerprint, ModelSource, Order, Ranked, View, build};
use quire_eval::answering::{Asking, Placed, Record, Summary, ask, summaries};
use quire_eval::answers::Task;
use quire_eval::questions::{Book, Question, infinitebench, own};
use quire_index::{Recipe, Store};
use serde::Serialize;

use crate::Ending;
use crate::answering::AnswerSettings;
use crate::args::{EvalAnswersArgs, EvalBy, EvalOver, EvidenceOrder};
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{print_json, print_table};
use crate::progress::BookProgress;

#[derive(Serialize)]
struct Document<'a> {
    version: String,
    /// What was searched: a fingerprint without the artifact, which differs
    /// by question where each is asked about its own book.
    fingerprint: &'a Fingerprint,
    answer_model: String,
    evidence_by: Ranked,
    order: Order,
    may_abstain: bool,
    over: &'static str,
    books: usize,
    summary: &'a [Summary],
    records: &'a [Record],
}

/// The questions and their books.
#[derive(Default)]
struct Sets {
    books: BTreeMap<BookId, SourceBook>,
    questions: Vec<(BookId, Question)>,
}

pub fn run(context: &mut Context, args: EvalAnswersArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let answers = AnswerSettings::read(settings, &args.answer)?;
    let budgets = settings.budgets(&args.budgets)?;
    let cut = settings.cut(&args.cut)?;
    let models = settings.models(&args.models)?;
    let mut sets = Sets::default();
    for path in &args.sets {
        sets.read(path, args.limit.unwrap_or(usize::MAX))?;
    }
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let store = context.store()?;
    for book in sets.books.values() {
        let progress = BookProgress::new(&book.source);
        let built = build(&store, book, &recipe, &loader, &progress);
        progress.finish();
        built?;
    }

    let models = loader.models()?;
    let mut asking = Asking {
        by: match args.by {
            EvalBy::Lexical => Ranked::Lexical,
            EvalBy::Dense => Ranked::Dense,
            EvalBy::Fusion => Ranked::Fused,
            EvalBy::Rerank => Ranked::Reranked,
        },
        order: match args.order {
            EvidenceOrder::Document => Order::Document,
            EvidenceOrder::Score => Order::Score,
        },
        may_abstain: answers.may_abstain.unwrap_or(false),
        at_once: 0,
        budgets,
    };
    // The reader computes here: more at once would only wait for each other.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = answers.workers;
    let answerers = answers.answerers(&models);
    asking.at_once = match &answerers.openai {
        Some(_) => workers,
        None => workers.min(cores),
    };
    let model = answerers.openai.as_ref().unwrap_or(&answerers.extractive);
    let answerer = Answerer {
        model: &**model,
        prompts: &answerers.prompts,
    };
    let views = Views::open(&store, &recipe, &sets, args.over)?;
    let placed = sets.questions.iter().map(|(book, question)| Placed {
        question,
        view: views.of(*book),
        book: &sets.books[book],
    });
    let placed: Vec<Placed<'_>> = placed.collect();
    let bar = io::stderr()
        .is_terminal()
        .then(|| ProgressBar::new(placed.len() as u64));
    let records = ask(&placed, &models, answerer, &asking, &|_| {
        if let Some(bar) = &bar {
            bar.inc(1);
        }
    });
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let records = records?;
    if let Some(file) = &args.records {
        write(file, &records).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let summary = summaries(&records);
    if args.json {
        let view = placed.first().map(|placed| placed.view);
        let view = view.ok_or_else(|| anyhow!("no question was asked"))?;
        let mut fingerprint = view.fingerprint(&models, &asking.budgets);
        fingerprint.artifact = String::new();
        print_json(&Document {
            version: fingerprint.version.clone(),
            fingerprint: &fingerprint,
            answer_model: model.info().name.clone(),
            evidence_by: asking.by,
            order: asking.order,
            may_abstain: asking.may_abstain,
            over: over(args.over),
            books: sets.books.len(),
            summary: &summary,
            records: &records,
        })?;
    } else {
        println!(
            "{} questions about {} books, each asked over {}; answered by {}",
            records.len(),
            sets.books.len(),
            over(args.over),
            model.info().name
        );
        print(&summary)?;
    }
    let failed = records.iter().filter(|record| record.answer.is_none());
    match failed.count() {
        0 => Ok(Ending::Done),
        _ => Ok(Ending::Partly),
    }
}

fn over(scope: EvalOver) -> &'static str {
    match scope {
        EvalOver::Own => "its own book",
        EvalOver::All => "all books",
    }
}

impl Sets {
    /// Adds the questions of a file, and the books they are about.
    fn read(&mut self, path: &Path, limit: usize) -> Result<()> {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let task = stem.and_then(|stem| stem.parse::<Task>().ok());
        let questions = match task {
            Some(task) => infinitebench(task, path)?,
            None => own(path)?,
        };
        let mut named: BTreeMap<Book, BookId> = BTreeMap::new();
        for question in questions.into_iter().take(limit) {
            let id = match named.get(&question.book) {
                Some(&id) => id,
                None => {
                    let book = book(path, &question.book)?;
                    let id = book.id;
                    named.insert(question.book.clone(), id);
                    self.books.entry(id).or_insert(book);
                    id
                }
            };
            self.questions.push((id, question));
        }
        Ok(())
    }
}

/// A question's book: the text it carries, or the file it names beside it.
fn book(set: &Path, book: &Book) -> Result<SourceBook> {
    let (name, bytes, options) = match book {
        Book::Text(text) => {
            let options = ReadOptions {
                format: Some(Format::Text),
                ..ReadOptions::default()
            };
            (set.display().to_string(), text.as_bytes().to_vec(), options)
        }
        Book::Named(file) => {
            let path: PathBuf = set.with_file_name(file);
            let bytes = fs::read(&path).with_context(|| {
                let (path, set) = (path.display(), set.display());
                format!("cannot read the book {path}, which {set} names")
            })?;
            (path.display().to_string(), bytes, ReadOptions::default())
        }
    };
    let mut books = read_books(&name, &bytes, &options)?;
    match (books.pop(), books.is_empty()) {
        (Some(book), true) => Ok(book),
        _ => bail!("{name} holds several books; a question is asked about one"),
    }
}

/// What is searched for the questions of a book.
enum Views {
    /// All books together.
    All(Box<View>),
    /// Each book alone.
    Own(BTreeMap<BookId, View>),
}

impl Views {
    fn open(store: &Store, recipe: &Recipe, sets: &Sets, over: EvalOver) -> Result<Self> {
        let ids: Vec<BookId> = sets.books.keys().copied().collect();
        Ok(match over {
            EvalOver::All => Self::All(Box::new(View::open(store, &ids, recipe)?)),
            EvalOver::Own => {
                let views = ids.into_iter();
                let views = views.map(|id| Ok((id, View::open(store, &[id], recipe)?)));
                Self::Own(views.collect::<Result<_>>()?)
            }
        })
    }

    fn of(&self, book: BookId) -> &View {
        match self {
            Self::All(view) => view,
            Self::Own(views) => &views[&book],
        }
    }
}

fn write(file: &Path, records: &[Record]) -> Result<()> {
    let mut out = BufWriter::new(fs::File::create(file)?);
    for record in records {
        serde_json::to_writer(&mut out, record)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

fn print(summary: &[Summary]) -> Result<()> {
    let rows = summary.iter().map(|of| {
        let error = of.standard_error.map(|error| format!("{error:.3}"));
        let recall = of.evidence_recall.map(|recall| format!("{recall:.3}"));
        vec![
            of.task.clone(),
            of.questions.to_string(),
            format!("{:.3}", of.score),
            error.unwrap_or_else(|| "-".to_owned()),
            of.failed.to_string(),
            of.unsupported.to_string(),
            recall.unwrap_or_else(|| "-".to_owned()),
            format!("{:.0}", of.evidence_tokens),
            format!("{:.0}", of.wall_ms[0]),
            format!("{:.0}", of.wall_ms[1]),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = [
        "task",
        "questions",
        "score",
        "± s.e.",
        "failed",
        "unsupported",
        "evidence recall",
        "evidence tokens",
        "search ms",
        "answer ms",
    ];
    print_table(&heads, &rows)
}
