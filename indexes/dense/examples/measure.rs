//! Measures the dense view on made-up vectors. See docs/notes-vectors.md.
//!
//! `measure scan DIMS ROWS` compares ways to scan all rows; `measure graph
//! DIMS ROWS [CONNECTIONS EF_CONSTRUCTION]` builds a graph and compares it
//! with the scan. Times are CPU time of one thread where not said otherwise.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cpu_time::ProcessTime;
use ndarray::{ArrayView1, ArrayView2};
use quire_dense::synthetic::{self, Clusters};
use quire_dense::{DenseIndex, GRAPH_FILE, VECTORS_FILE};
use quire_index::GraphRecipe;

const QUESTIONS: usize = 200;
const LIMIT: usize = 50;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: Option<usize>| match arguments.get(at) {
        Some(text) => text
            .parse()
            .with_context(|| format!("'{text}' is no number")),
        None => default.context("usage: measure scan|graph DIMS ROWS"),
    };
    let (dims, rows) = (number(1, None)?, number(2, None)?);
    let mut recipe = GraphRecipe {
        above: usize::MAX,
        connections: number(3, Some(16))?,
        ef_construction: number(4, Some(200))?,
    };
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let dir = tempfile::tempdir()?;
    let mut clusters = Clusters::new(dims, (rows / 40).max(8), 7);
    match arguments.first().map(String::as_str) {
        Some("scan") => {
            let index = synthetic::index(dir.path(), &mut clusters, rows, &recipe)?;
            let questions = questions(&mut clusters);
            println!("{rows} rows of {dims} values, top {LIMIT}, {QUESTIONS} questions");
            single.install(|| scan(&index, &questions))?;
            report("quire, all threads, wall", wall(&index, &questions)?);
            Ok(())
        }
        Some("graph") => {
            recipe.above = 0;
            let (wall, cpu) = (Instant::now(), ProcessTime::now());
            let index = synthetic::index(dir.path(), &mut clusters, rows, &recipe)?;
            let questions = questions(&mut clusters);
            println!(
                "{rows} rows of {dims} values, M {}, efConstruction {}: made in {:.1?} wall, {:.1?} CPU",
                recipe.connections,
                recipe.ef_construction,
                wall.elapsed(),
                cpu.elapsed()
            );
            for file in [VECTORS_FILE, GRAPH_FILE] {
                let bytes = std::fs::metadata(dir.path().join(file))?.len();
                println!(
                    "{file}: {bytes} bytes, {:.1} a row",
                    bytes as f64 / rows as f64
                );
            }
            single.install(|| graph(&index, &questions))
        }
        _ => bail!("usage: measure scan|graph DIMS ROWS [CONNECTIONS EF_CONSTRUCTION]"),
    }
}

fn questions(clusters: &mut Clusters) -> Vec<Vec<f32>> {
    (0..QUESTIONS).map(|_| clusters.row()).collect()
}

/// Scans by a plain loop, by ndarray, and by quire.
fn scan(index: &DenseIndex, questions: &[Vec<f32>]) -> Result<()> {
    let values = index.vectors().values();
    let dims = index.vectors().dims();
    let matrix = ArrayView2::from_shape((index.vectors().len(), dims), values)?;
    let (mut naive, mut gemv, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions {
        let start = ProcessTime::now();
        let scores = values
            .chunks_exact(dims)
            .map(|row| row.iter().zip(question).map(|(a, b)| a * b).sum::<f32>());
        std::hint::black_box(top(scores.collect()));
        naive.push(start.elapsed());

        let start = ProcessTime::now();
        let scores = matrix.dot(&ArrayView1::from(question));
        std::hint::black_box(top(scores.to_vec()));
        gemv.push(start.elapsed());

        let start = ProcessTime::now();
        std::hint::black_box(index.search_exact(question, LIMIT)?);
        ours.push(start.elapsed());
    }
    report("plain loop", naive);
    report("ndarray gemv", gemv);
    report("quire", ours);
    Ok(())
}

/// The best rows, as anybody would find them.
fn top(scores: Vec<f32>) -> Vec<(f32, usize)> {
    let mut scored: Vec<(f32, usize)> = scores.into_iter().zip(0..).collect();
    let limit = LIMIT.min(scored.len());
    scored.select_nth_unstable_by(limit - 1, |a, b| b.0.total_cmp(&a.0));
    scored.truncate(limit);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
}

fn wall(index: &DenseIndex, questions: &[Vec<f32>]) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for question in questions {
        let start = Instant::now();
        std::hint::black_box(index.search_exact(question, LIMIT)?);
        times.push(start.elapsed());
    }
    Ok(times)
}

fn graph(index: &DenseIndex, questions: &[Vec<f32>]) -> Result<()> {
    let mut times = Vec::new();
    let mut truth = Vec::new();
    for question in questions {
        let start = ProcessTime::now();
        let ranking = index.search_exact(question, LIMIT)?;
        times.push(start.elapsed());
        truth.push(ranking.chunks().collect::<BTreeSet<_>>());
    }
    report("exact", times);
    for ef in [64, 128, 256, 512, 1024] {
        let (mut times, mut found) = (Vec::new(), 0);
        for (question, truth) in questions.iter().zip(&truth) {
            let start = ProcessTime::now();
            let ranking = index.search(question, LIMIT, ef)?;
            times.push(start.elapsed());
            found += ranking.chunks().filter(|c| truth.contains(c)).count();
        }
        let recall = found as f64 / (QUESTIONS * LIMIT) as f64;
        report(&format!("graph, ef {ef:4}, recall {recall:.4}"), times);
    }
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e3;
    println!(
        "{what:32} p50 {:8.3} ms   p95 {:8.3} ms",
        at(0.50),
        at(0.95)
    );
}
