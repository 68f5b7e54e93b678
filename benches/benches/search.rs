//! Searching without models: BM25, the exact dense scan and fusion, over one
//! book's worth of passages and over 40,000. First a table of processor time a
//! query, then criterion's statistics of the same.
//!
//! `cargo bench -p quire-benches`

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use quire_benches::{Corpus, cpu_time, percentile};
use quire_index::{RRF_K, Ranking, fuse};

const SIZES: [usize; 2] = [1_200, 40_000];
const LIMIT: usize = 100;

/// Criterion's measurement of processor time instead of wall time.
struct CpuTime;

struct Milliseconds;

impl ValueFormatter for Milliseconds {
    fn scale_values(&self, _: f64, values: &mut [f64]) -> &'static str {
        values
            .iter_mut()
            .for_each(|nanoseconds| *nanoseconds /= 1e6);
        "ms of CPU"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "queries"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns of CPU"
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        cpu_time()
    }

    fn end(&self, started: Duration) -> Duration {
        cpu_time() - started
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Milliseconds
    }
}

fn lexical(corpus: &Corpus, query: usize) -> Ranking {
    corpus
        .lexical
        .search(&corpus.questions[query], LIMIT)
        .expect("the lexical view answers")
}

fn dense(corpus: &Corpus, query: usize) -> Ranking {
    corpus
        .dense
        .search_exact(&corpus.vectors[query], LIMIT)
        .expect("the dense view answers")
}

fn table(passages: usize, corpus: &Corpus) {
    let queries = corpus.questions.len();
    let lists: Vec<(Ranking, Ranking)> = (0..queries)
        .map(|query| (lexical(corpus, query), dense(corpus, query)))
        .collect();
    let report = |stage: &str, run: &dyn Fn(usize)| {
        let mut times: Vec<Duration> = (0..queries)
            .map(|query| {
                let started = cpu_time();
                run(query);
                cpu_time() - started
            })
            .collect();
        times.sort_unstable();
        let ms = |share| percentile(&times, share).as_secs_f64() * 1e3;
        println!(
            "| {passages} | {stage} | {:.3} | {:.3} |",
            ms(0.5),
            ms(0.95)
        );
    };
    report("bm25", &|query| {
        black_box(lexical(corpus, query));
    });
    report("dense, exact", &|query| {
        black_box(dense(corpus, query));
    });
    report("fusion", &|query| {
        let (lexical, dense) = &lists[query];
        black_box(fuse(&[(lexical, 1.0), (dense, 1.0)], RRF_K));
    });
}

fn search(criterion: &mut Criterion<CpuTime>) {
    println!("\n| passages | stage | p50, ms of CPU | p95, ms of CPU |\n| --- | --- | --- | --- |");
    let corpora = SIZES.map(|passages| (passages, Corpus::of(passages)));
    for (passages, corpus) in &corpora {
        table(*passages, corpus);
    }
    println!();
    for (passages, corpus) in &corpora {
        let mut group = criterion.benchmark_group(format!("{passages} passages"));
        group.sample_size(20);
        let mut query = 0;
        let mut next = || {
            query = (query + 1) % corpus.questions.len();
            query
        };
        group.bench_function("bm25", |bench| bench.iter(|| lexical(corpus, next())));
        group.bench_function("dense", |bench| bench.iter(|| dense(corpus, next())));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = search
}
criterion_main!(benches);
