//! How the dense view of a large library opens and answers: see
//! docs/performance.md.
//!
//! `scale ROWS... [--graph-up-to ROWS]` makes an index of so many made-up
//! vectors of 384 values, and asks it in a process of its own, by the scan and
//! by the graph. Prints rows of tables. Memory is read from Linux's
//! `/proc/self/status`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cpu_time::ProcessTime;
use quire_corpus::BookId;
use quire_dense::synthetic::Clusters;
use quire_dense::{DenseIndex, VECTORS_FILE, VectorWriter, write_graph};
use quire_index::{GraphRecipe, PassageIds};

const DIMS: usize = 384;
const QUESTIONS: usize = 100;
const LIMIT: usize = 10;
/// The graph's widths that are tried; the middle one is the default.
const WIDTHS: [usize; 3] = [64, 256, 1024];
const QUESTIONS_FILE: &str = "questions.bin";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [ask, dir, rows, by] = &arguments[..]
        && ask == "--ask"
    {
        return answer(Path::new(dir), rows.parse()?, by == "graph");
    }
    let mut sizes = Vec::new();
    let mut graph_up_to = usize::MAX;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let number = |text: &str| {
            let parsed: Result<usize, _> = text.parse();
            parsed.with_context(|| format!("'{text}' is no number"))
        };
        if argument == "--graph-up-to" {
            graph_up_to = number(arguments.next().context("--graph-up-to takes a number")?)?;
        } else {
            sizes.push(number(argument)?);
        }
    }
    ensure!(
        !sizes.is_empty(),
        "usage: scale ROWS... [--graph-up-to ROWS]"
    );
    for rows in sizes {
        let dir = tempfile::tempdir()?;
        make(dir.path(), rows)?;
        ask(dir.path(), rows, "exact")?;
        if rows <= graph_up_to {
            let (wall, cpu) = (Instant::now(), ProcessTime::now());
            write_graph(dir.path(), &recipe(0), |_| {})?;
            println!(
                "{rows} rows: graph built in {:.0?} of CPU, {:.0?} wall",
                cpu.elapsed(),
                wall.elapsed()
            );
            ask(dir.path(), rows, "graph")?;
        }
    }
    Ok(())
}

fn recipe(above: usize) -> GraphRecipe {
    GraphRecipe {
        above,
        connections: 16,
        ef_construction: 200,
    }
}

/// Writes the vectors, and questions of the same kind.
fn make(dir: &Path, rows: usize) -> Result<()> {
    let mut clusters = Clusters::new(DIMS, (rows / 40).max(8), 7);
    let mut writer = VectorWriter::create(&dir.join(VECTORS_FILE), DIMS, rows)?;
    for _ in 0..rows {
        writer.push(&clusters.row())?;
    }
    writer.finish()?;
    let questions = clusters.rows(QUESTIONS);
    let bytes: Vec<u8> = questions.iter().flat_map(|v| v.to_le_bytes()).collect();
    Ok(fs::write(dir.join(QUESTIONS_FILE), bytes)?)
}

/// Asks in a new process, whose memory is not that of the making.
fn ask(dir: &Path, rows: usize, by: &str) -> Result<()> {
    let status = Command::new(std::env::current_exe()?)
        .arg("--ask")
        .arg(dir)
        .args([&rows.to_string(), by])
        .status()?;
    ensure!(status.success(), "asking {rows} rows by {by} failed");
    Ok(())
}

fn answer(dir: &Path, rows: usize, by_graph: bool) -> Result<()> {
    let questions = questions(dir)?;
    let before = Memory::now()?;
    let started = Instant::now();
    let ids = PassageIds::of_books([(BookId::of_text("synthetic"), rows as u32)]);
    let recipe = recipe(if by_graph { 0 } else { usize::MAX });
    let index = DenseIndex::open(dir, Arc::new(ids), &recipe)?;
    let opened = started.elapsed();
    let own = Memory::now()?.own - before.own;
    let by = if by_graph { "graph" } else { "exact" };
    println!(
        "{rows} rows, {by}: open in {:.1} ms, holds {:.1} MiB",
        opened.as_secs_f64() * 1e3,
        own as f64 / 1024.0
    );
    if by_graph {
        for width in WIDTHS {
            let mut found = 0;
            let times = timed(&questions, |question| {
                let by_graph = index.search(question, LIMIT, width)?;
                Ok(by_graph.chunks().collect::<BTreeSet<_>>())
            })?;
            let (answers, times): (Vec<_>, Vec<_>) = times.into_iter().unzip();
            for (question, answer) in questions.iter().zip(&answers) {
                let exact = index.search_exact(question, LIMIT)?;
                found += exact
                    .chunks()
                    .filter(|chunk| answer.contains(chunk))
                    .count();
            }
            let recall = found as f64 / (QUESTIONS * LIMIT) as f64;
            report(
                &format!("{rows} rows, graph, ef {width}, recall@10 {recall:.4}"),
                times,
            );
        }
    } else {
        let times = timed(&questions, |question| {
            Ok(index.search_exact(question, LIMIT)?)
        })?;
        let times = times.into_iter().map(|(_, time)| time).collect();
        report(&format!("{rows} rows, exact"), times);
    }
    let after = Memory::now()?;
    println!(
        "{rows} rows, {by}: after asking holds {:.1} MiB, and {:.0} MiB of the files are mapped in",
        (after.own - before.own) as f64 / 1024.0,
        (after.mapped - before.mapped) as f64 / 1024.0
    );
    Ok(())
}

fn questions(dir: &Path) -> Result<Vec<Vec<f32>>> {
    let bytes = fs::read(dir.join(QUESTIONS_FILE))?;
    let (values, _) = bytes.as_chunks::<4>();
    let values: Vec<f32> = values
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    Ok(values.chunks_exact(DIMS).map(<[f32]>::to_vec).collect())
}

/// What each question gives and takes, after one round that brings in the file.
fn timed<T>(
    questions: &[Vec<f32>],
    answer: impl Fn(&[f32]) -> Result<T>,
) -> Result<Vec<(T, Duration)>> {
    for question in questions.iter().take(10) {
        answer(question)?;
    }
    let timed = questions.iter().map(|question| {
        let started = Instant::now();
        Ok((answer(question)?, started.elapsed()))
    });
    timed.collect()
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: p50 {:.2} ms, p95 {:.2} ms wall",
        at(0.50),
        at(0.95)
    );
}

/// Resident memory of this process, in KiB.
struct Memory {
    /// What no file stands behind.
    own: i64,
    /// Pages of mapped files, which the system may take back at any time.
    mapped: i64,
}

impl Memory {
    fn now() -> Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| -> Result<i64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let line = line.with_context(|| format!("no {name} in /proc/self/status"))?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok(Self {
            own: field("RssAnon:")?,
            mapped: field("RssFile:")?,
        })
    }
}
