//! The three pictures.

use std::collections::BTreeMap;

use quire_pages::{
    Axis, Bar, Figure, Line, MOST_SERIES, NARROW, WIDE, bars, cell, lines, milliseconds, number,
    table,
};

use crate::{BenchError, Latency, Report, Run};

/// Stages in the order of a query; others follow, by name.
const ORDER: [&str; 6] = ["queue", "lexical", "embed", "dense", "fuse", "rerank"];
/// The stage that is the sum of the server's work.
const TOTAL: &str = "total";

/// Those pictures for which there are figures.
pub(super) fn all(report: &Report) -> Result<Vec<Figure>, BenchError> {
    let answered: Vec<&Run> = report
        .runs
        .iter()
        .filter(|run| run.answered.count > 0)
        .collect();
    let mut figures = Vec::new();
    if !answered.is_empty() {
        figures.push(by_percentile(&answered)?);
        figures.push(against_throughput(&answered)?);
    }
    let staged: Vec<&Run> = answered
        .into_iter()
        .filter(|run| !run.stages.is_empty())
        .collect();
    if !staged.is_empty() {
        figures.push(by_stage(&staged)?);
    }
    Ok(figures)
}

fn by_percentile(runs: &[&Run]) -> Result<Figure, BenchError> {
    let shown = spread(runs);
    let most = shown.iter().map(|run| run.answered.count).max();
    let x = Axis::percentile("share of answers", most.unwrap_or(1));
    let mut drawn = Vec::new();
    for (color, run) in shown.iter().enumerate() {
        drawn.push(Line {
            color,
            points: curve(&run.answered, x.high),
            ..Line::default()
        });
    }
    let values: Vec<f64> = drawn
        .iter()
        .flat_map(|line| line.points.iter().map(|(_, ms)| *ms))
        .collect();
    let y = Axis::log("milliseconds", &values);
    let rows = runs.iter().map(|run| {
        let latency = &run.answered;
        let shares = [
            latency.p50_us,
            latency.p90_us,
            latency.p95_us,
            latency.p99_us,
            latency.p999_us,
            latency.max_us,
        ];
        let mut row = vec![cell(run.load.to_string())];
        row.extend(shares.map(|us| cell(milliseconds(us as f64))));
        row
    });
    let left_out = if shown.len() < runs.len() {
        format!(" {} of {} loads are drawn.", shown.len(), runs.len())
    } else {
        String::new()
    };
    Ok(Figure {
        id: "percentiles".to_owned(),
        heading: "Latency by percentile".to_owned(),
        described: format!(
            "A line for each of {} loads: how many milliseconds each share of the answers \
             stayed within. The table below holds the same figures.",
            shown.len()
        ),
        wide: lines("latency by percentile", WIDE, &x, &y, &drawn)?,
        narrow: lines("latency by percentile", NARROW, &x, &y, &drawn)?,
        series: numbered(shown.iter().map(|run| run.load.to_string())),
        note: format!(
            "So many of the accepted requests were answered within so long. Each nine has the \
             same room.{left_out}"
        ),
        table: table(
            &["ms", "p50", "p90", "p95", "p99", "p99.9", "max"],
            rows.collect(),
        ),
    })
}

/// Share and milliseconds, up to the last percentile the count tells.
fn curve(latency: &Latency, highest: f64) -> Vec<(f64, f64)> {
    const STEPS: usize = 120;
    let told = (latency.count as f64).log10().min(highest);
    let places = (0..=STEPS).map(|step| told * step as f64 / STEPS as f64);
    places
        .map(|place| 1.0 - 10f64.powf(-place))
        .map(|share| (share, latency.at(share) as f64 / 1000.0))
        .collect()
}

fn against_throughput(runs: &[&Run]) -> Result<Figure, BenchError> {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| a.load.size().total_cmp(&b.load.size()));
    let line = |color, percentile: fn(&Latency) -> u64, marked: bool| Line {
        color,
        points: runs
            .iter()
            .map(|run| (run.throughput, percentile(&run.answered) as f64 / 1000.0))
            .collect(),
        marks: runs
            .iter()
            .map(|run| match marked {
                true => run.load.size().to_string(),
                false => String::new(),
            })
            .collect(),
        errors: Vec::new(),
    };
    let drawn = [
        line(6, |latency| latency.p99_us, true),
        line(1, |latency| latency.p50_us, false),
    ];
    let values: Vec<f64> = drawn
        .iter()
        .flat_map(|line| line.points.iter().map(|(_, ms)| *ms))
        .collect();
    let most = runs.iter().map(|run| run.throughput).fold(0.0, f64::max);
    // Room for what is written beside the last point.
    let x = Axis::linear("answers a second", most * 1.1);
    let y = Axis::log("milliseconds", &values);
    let rows = runs.iter().map(|run| {
        vec![
            cell(run.load.to_string()),
            cell(number(run.throughput)),
            cell(milliseconds(run.answered.p50_us as f64)),
            cell(milliseconds(run.answered.p99_us as f64)),
        ]
    });
    Ok(Figure {
        id: "throughput".to_owned(),
        heading: "Throughput against latency".to_owned(),
        described: "Two lines, the median and the 99th percentile of latency in milliseconds, \
                    over answers a second; one point for each load. The table below holds the \
                    same figures."
            .to_owned(),
        wide: lines("throughput against latency", WIDE, &x, &y, &drawn)?,
        narrow: lines("throughput against latency", NARROW, &x, &y, &drawn)?,
        series: vec![("p99".to_owned(), 6), ("p50".to_owned(), 1)],
        note: "Each point is a load; the number beside it counts clients or requests a second. \
               Where the lines turn upwards, more load buys waiting, not answers."
            .to_owned(),
        table: table(&["load", "answers/s", "p50 ms", "p99 ms"], rows.collect()),
    })
}

fn by_stage(runs: &[&Run]) -> Result<Figure, BenchError> {
    let stages = stage_names(runs);
    let mean = |run: &Run, stage: &str| {
        let latency = run.stages.get(stage)?;
        Some(latency.mean_us / 1000.0)
    };
    let drawn: Vec<Bar> = runs
        .iter()
        .map(|run| Bar {
            pieces: stages
                .iter()
                .enumerate()
                .filter_map(|(at, stage)| Some((at, mean(run, stage)?)))
                .collect(),
            mark: Some(run.answered.mean_us / 1000.0),
        })
        .collect();
    let length = |bar: &Bar| bar.pieces.iter().map(|(_, ms)| ms).sum::<f64>();
    let longest = drawn
        .iter()
        .map(|bar| length(bar).max(bar.mark.unwrap_or(0.0)))
        .fold(0.0, f64::max);
    let names: Vec<String> = runs.iter().map(|run| run.load.to_string()).collect();
    let (x, y) = (
        Axis::linear("milliseconds, mean", longest),
        Axis::names(&names),
    );
    let height = |of: (u32, u32)| (of.0, 66 + 42 * runs.len().max(2) as u32);
    let mut header = vec!["load"];
    header.extend(stages.iter().map(String::as_str));
    header.extend([TOTAL, "client"]);
    let rows = runs.iter().map(|run| {
        let mut row = vec![cell(run.load.to_string())];
        let all = stages.iter().map(String::as_str).chain([TOTAL]);
        for stage in all {
            row.push(cell(match run.stages.get(stage) {
                Some(latency) => format!(
                    "{} · {}",
                    milliseconds(latency.mean_us),
                    milliseconds(latency.p99_us as f64)
                ),
                None => "–".to_owned(),
            }));
        }
        row.push(cell(milliseconds(run.answered.mean_us)));
        row
    });
    Ok(Figure {
        id: "stages".to_owned(),
        heading: "Where the time goes".to_owned(),
        described: "One bar for each load, made of the mean milliseconds of each stage; a mark \
                    across it shows what clients saw. The table below holds the same figures."
            .to_owned(),
        wide: bars("stages", height(WIDE), &x, &y, &drawn)?,
        narrow: bars("stages", height(NARROW), &x, &y, &drawn)?,
        series: numbered(stages.iter().cloned()),
        note: "Mean time of each stage, by the Server-Timing header; the mark is the mean that \
               clients saw. The lexical stage runs while the question is embedded, so a bar can \
               be longer than its mark. The table has mean · p99, in milliseconds."
            .to_owned(),
        table: table(&header, rows.collect()),
    })
}

/// The stages of any run, in the order of a query, without the total.
fn stage_names(runs: &[&Run]) -> Vec<String> {
    let known = |stage: &str| ORDER.iter().position(|name| *name == stage);
    let mut names: BTreeMap<(usize, &str), ()> = BTreeMap::new();
    for stage in runs.iter().flat_map(|run| run.stages.keys()) {
        if stage != TOTAL {
            names.insert((known(stage).unwrap_or(ORDER.len()), stage), ());
        }
    }
    names.into_keys().map(|(_, name)| name.to_owned()).collect()
}

/// As many runs as there are colours, the first and the last among them.
fn spread<'a>(runs: &[&'a Run]) -> Vec<&'a Run> {
    let count = runs.len().min(MOST_SERIES);
    let last = runs.len() - 1;
    let at = |number: usize| match count {
        1 => 0,
        _ => number * last / (count - 1),
    };
    (0..count).map(|number| runs[at(number)]).collect()
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    names.enumerate().map(|(at, name)| (name, at)).collect()
}
