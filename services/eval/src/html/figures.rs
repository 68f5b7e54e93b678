//! The pictures.

use std::collections::BTreeMap;

use quire_pages::{
    Axis, Figure, Line, MOST_SERIES, NARROW, PlotError, WIDE, cell, lines, number, table,
};

use crate::measures::DEPTHS;
use crate::report::{AnswerRow, Estimate, Report, RetrievalRow};
use crate::support::Criterion;

/// Stages, in the order of a query and of their colours.
const STAGES: [&str; 4] = ["bm25", "dense", "fused", "reranked"];

/// Those pictures for which there are figures.
pub(super) fn all(report: &Report) -> Result<Vec<Figure>, PlotError> {
    let mut figures = Vec::new();
    let levels = levels(report);
    if !levels.is_empty() {
        figures.push(by_stage(&levels)?);
        for (at, level) in levels.iter().enumerate().take(MOST_SERIES) {
            figures.push(by_depth(at, level)?);
        }
    }
    figures.extend(by_size(report)?);
    figures.extend(against_cost(report)?);
    figures.extend(latency(report)?);
    Ok(figures)
}

/// The rows of one set, cut and scope, by the criterion that tells most.
struct Shown<'a> {
    name: String,
    criterion: Criterion,
    rows: Vec<&'a RetrievalRow>,
}

fn levels(report: &Report) -> Vec<Shown<'_>> {
    let mut levels: Vec<Shown<'_>> = Vec::new();
    for row in &report.retrieval {
        let same = levels.iter_mut().find(|of| of.rows[0].level == row.level);
        match same {
            Some(of) if of.criterion == row.criterion => of.rows.push(row),
            // Rows come in the order of criteria.
            Some(_) => {}
            None => levels.push(Shown {
                name: format!(
                    "{}, {}, {}",
                    row.level.set, row.level.over, row.level.passages
                ),
                criterion: row.criterion,
                rows: vec![row],
            }),
        }
    }
    levels
}

fn by_stage(levels: &[Shown<'_>]) -> Result<Figure, PlotError> {
    const MEASURE: &str = "mrr@10";
    let drawn = &levels[..levels.len().min(MOST_SERIES)];
    let of = |level: &Shown<'_>, stage: &str| -> Option<Estimate> {
        let row = level.rows.iter().find(|row| row.stage == stage)?;
        row.measures.get(MEASURE).copied()
    };
    let series: Vec<Line> = COLORS
        .into_iter()
        .enumerate()
        .zip(drawn)
        .map(|((at, color), level)| {
            // Beside each other, so that whiskers do not cover each other.
            let aside = (at as f64 - (drawn.len() - 1) as f64 / 2.0) * 0.04;
            let points = STAGES.iter().enumerate();
            let points = points.filter_map(|(at, stage)| Some((at, of(level, stage)?)));
            let points: Vec<(usize, Estimate)> = points.collect();
            Line {
                color,
                points: points
                    .iter()
                    .map(|(at, of)| (*at as f64 + aside, of.mean))
                    .collect(),
                marks: vec![String::new(); points.len()],
                errors: points
                    .iter()
                    .map(|(_, of)| of.standard_error.unwrap_or(0.0))
                    .collect(),
            }
        })
        .collect();
    let (x, y) = (Axis::columns("stage", &STAGES), Axis::linear("MRR@10", 1.0));
    let rows = levels.iter().map(|level| {
        let mut row = vec![
            cell(level.name.clone()),
            cell(level.criterion.to_string()),
            cell(level.rows[0].questions.to_string()),
        ];
        row.extend(STAGES.map(|stage| cell(told(of(level, stage)))));
        row
    });
    let header = [
        "set, searched, passages",
        "by",
        "questions",
        "bm25",
        "dense",
        "fused",
        "reranked",
    ];
    Ok(Figure {
        id: "stages".to_owned(),
        heading: "Quality by stage".to_owned(),
        described: "A line for each set and scope: the mean reciprocal rank at 10 of BM25, the \
                    dense view, fusion and the reranked list, with whiskers of one standard \
                    error. The table below holds the same figures."
            .to_owned(),
        wide: lines("quality by stage", WIDE, &x, &y, &series)?,
        narrow: lines("quality by stage", NARROW, &x, &y, &series)?,
        series: numbered(drawn.iter().map(|level| level.name.clone())),
        note: format!(
            "Where the first supporting passage stands. Whiskers are one standard error.{}",
            left_out(drawn.len(), levels.len())
        ),
        table: table(&header, rows.collect()),
    })
}

fn by_depth(number: usize, level: &Shown<'_>) -> Result<Figure, PlotError> {
    let of = |row: &RetrievalRow, depth: usize| -> Option<f64> {
        Some(row.measures.get(&format!("recall@{depth}"))?.mean)
    };
    let series: Vec<Line> = level
        .rows
        .iter()
        .map(|row| Line {
            color: color_of(&row.stage),
            points: DEPTHS
                .iter()
                .filter_map(|&depth| Some((depth as f64, of(row, depth)?)))
                .collect(),
            marks: vec![String::new(); DEPTHS.len()],
            errors: Vec::new(),
        })
        .collect();
    let depths = DEPTHS.map(|depth| depth as f64);
    let (x, y) = (
        Axis::steps("passages looked at", &depths),
        Axis::linear("recall", 1.0),
    );
    let rows = level.rows.iter().map(|row| {
        let mut cells = vec![cell(row.stage.clone())];
        cells.extend(DEPTHS.map(|depth| {
            cell(of(row, depth).map_or_else(|| "–".to_owned(), |value| format!("{value:.3}")))
        }));
        cells
    });
    let names = DEPTHS.map(|depth| depth.to_string());
    let mut header = vec!["recall at"];
    header.extend(names.iter().map(String::as_str));
    Ok(Figure {
        id: format!("depth-{number}"),
        heading: format!("Recall by depth: {}", level.name),
        described: "A line for each stage: the share of the supporting passages among the first \
                    ones of its list, by how many are looked at. The table below holds the same \
                    figures."
            .to_owned(),
        wide: lines("recall by depth", WIDE, &x, &y, &series)?,
        narrow: lines("recall by depth", NARROW, &x, &y, &series)?,
        series: level
            .rows
            .iter()
            .map(|row| (row.stage.clone(), color_of(&row.stage)))
            .collect(),
        note: format!(
            "{} of {} questions, by {}.",
            level.rows[0].questions, level.rows[0].asked, level.criterion
        ),
        table: table(&header, rows.collect()),
    })
}

/// The score against the number of books, where there are several sizes.
fn by_size(report: &Report) -> Result<Option<Figure>, PlotError> {
    let mut series: BTreeMap<String, Vec<(f64, Estimate)>> = BTreeMap::new();
    for row in &report.answers {
        if let (Some(score), Some(size)) = (row.score, size(report, row)) {
            let name = format!("{}, {}, {}", row.level.set, row.task, row.arm);
            series.entry(name).or_default().push((size, score));
        }
    }
    let sizes = |points: &[(f64, Estimate)]| points.iter().any(|(size, _)| *size != points[0].0);
    series.retain(|_, points| sizes(points));
    if series.is_empty() {
        return Ok(None);
    }
    let drawn: Vec<(&String, &Vec<(f64, Estimate)>)> = series.iter().take(MOST_SERIES).collect();
    let plotted: Vec<Line> = COLORS
        .into_iter()
        .zip(&drawn)
        .map(|(color, (_, points))| Line {
            color,
            points: points.iter().map(|(size, of)| (*size, of.mean)).collect(),
            marks: vec![String::new(); points.len()],
            errors: points
                .iter()
                .map(|(_, of)| of.standard_error.unwrap_or(0.0))
                .collect(),
        })
        .collect();
    let mut all: Vec<f64> = series.values().flatten().map(|(size, _)| *size).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    let (x, y) = (
        Axis::steps("books searched", &all),
        Axis::linear("score", 1.0),
    );
    let rows = series.iter().flat_map(|(name, points)| {
        points.iter().map(move |(size, of)| {
            vec![
                cell(name.clone()),
                cell(number(*size)),
                cell(told(Some(*of))),
            ]
        })
    });
    Ok(Some(Figure {
        id: "size".to_owned(),
        heading: "Score against library size".to_owned(),
        described: "A line for each set: the mean score of its answers by how many books were \
                    searched, with whiskers of one standard error. The table below holds the same \
                    figures."
            .to_owned(),
        wide: lines("score against size", WIDE, &x, &y, &plotted)?,
        narrow: lines("score against size", NARROW, &x, &y, &plotted)?,
        series: numbered(drawn.iter().map(|(name, _)| (*name).clone())),
        note: format!(
            "Accuracy of choices, F1 of free answers. Whiskers are one standard error, over \
             bundles where these were drawn, else over questions.{}",
            left_out(drawn.len(), series.len())
        ),
        table: table(&["set, task, way", "books", "score"], rows.collect()),
    }))
}

/// How many books a row's questions were asked over, on average.
fn size(report: &Report, row: &AnswerRow) -> Option<f64> {
    let scopes = report.run.scopes.iter().filter(|scope| {
        scope.over == row.level.over && report.run.cuts[scope.cut] == row.level.passages
    });
    let sizes: Vec<f64> = scopes.map(|scope| scope.books.len() as f64).collect();
    crate::statistics::mean(&sizes)
}

/// The score against what the answer model had to read.
fn against_cost(report: &Report) -> Result<Option<Figure>, PlotError> {
    let mut series: BTreeMap<String, Vec<(f64, Estimate, &AnswerRow)>> = BTreeMap::new();
    let counted = report.answers.iter().all(|row| row.tokens.prompt.is_some());
    for row in &report.answers {
        let tokens = match counted {
            true => row.tokens.prompt.unwrap_or_default(),
            false => row.tokens.evidence,
        };
        if let Some(score) = row.score {
            let name = format!("{}, {}, {}", row.level.set, row.task, row.level.over);
            series.entry(name).or_default().push((tokens, score, row));
        }
    }
    if series.is_empty() {
        return Ok(None);
    }
    series
        .values_mut()
        .for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let drawn: Vec<_> = series.iter().take(MOST_SERIES).collect();
    let plotted: Vec<Line> = COLORS
        .into_iter()
        .zip(&drawn)
        .map(|(color, (_, points))| Line {
            color,
            points: points.iter().map(|(at, of, _)| (*at, of.mean)).collect(),
            marks: vec![String::new(); points.len()],
            errors: points
                .iter()
                .map(|(_, of, _)| of.standard_error.unwrap_or(0.0))
                .collect(),
        })
        .collect();
    let most = series.values().flatten().map(|(at, ..)| *at);
    let (x, y) = (
        Axis::linear(
            match counted {
                true => "tokens of the prompt",
                false => "tokens of evidence",
            },
            most.fold(0.0, f64::max),
        ),
        Axis::linear("score", 1.0),
    );
    let rows = series.iter().flat_map(|(name, points)| {
        points.iter().map(move |(tokens, of, row)| {
            let cost = row.cost.as_ref().map_or_else(
                || "–".to_owned(),
                |(amount, currency)| format!("{} {currency}", number(*amount)),
            );
            vec![
                cell(name.clone()),
                cell(row.arm.to_string()),
                cell(number(*tokens)),
                cell(cost),
                cell(told(Some(*of))),
            ]
        })
    });
    Ok(Some(Figure {
        id: "cost".to_owned(),
        heading: "Cost against score".to_owned(),
        described: "A line for each set: the mean score of its answers by the tokens that the \
                    answer model read for a question, one point for each way of answering. The \
                    table below holds the same figures."
            .to_owned(),
        wide: lines("cost against score", WIDE, &x, &y, &plotted)?,
        narrow: lines("cost against score", NARROW, &x, &y, &plotted)?,
        series: numbered(drawn.iter().map(|(name, _)| (*name).clone())),
        note: format!(
            "Mean of a question. Tokens are all that were read, cached or not: an upper bound of \
             what is paid for.{}",
            left_out(drawn.len(), series.len())
        ),
        table: table(
            &[
                "set, task, searched",
                "way",
                "tokens",
                "cost of all",
                "score",
            ],
            rows.collect(),
        ),
    }))
}

/// How long searches took, as a distribution.
fn latency(report: &Report) -> Result<Option<Figure>, PlotError> {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for question in &report.questions {
        for look in &question.looks {
            let over = look.over.split(", seed").next().unwrap_or(&look.over);
            let name = format!("{}, {over}, {}", question.set, look.passages);
            times.entry(name).or_default().push(look.wall_ms);
        }
    }
    if times.is_empty() {
        return Ok(None);
    }
    times
        .values_mut()
        .for_each(|times| times.sort_unstable_by(f64::total_cmp));
    let most = times.values().map(Vec::len).max().unwrap_or(1);
    let x = Axis::percentile("share of questions", most as u64);
    let drawn: Vec<_> = times.iter().take(MOST_SERIES).collect();
    let plotted: Vec<Line> = COLORS
        .into_iter()
        .zip(&drawn)
        .map(|(color, (_, times))| Line {
            color,
            points: curve(times, x.high),
            ..Line::default()
        })
        .collect();
    let values: Vec<f64> = plotted
        .iter()
        .flat_map(|line| line.points.iter().map(|(_, ms)| *ms))
        .collect();
    let y = Axis::log("milliseconds", &values);
    let rows = report.latency.iter().map(|row| {
        let of = &row.wall_ms;
        let level = &row.level;
        let mut cells = vec![
            cell(format!("{}, {}, {}", level.set, level.over, level.passages)),
            cell(row.stage.clone()),
        ];
        cells.extend([of.mean, of.p50, of.p90, of.p95, of.p99, of.max].map(|ms| cell(number(ms))));
        cells
    });
    let header = [
        "set, searched, passages",
        "stage",
        "mean ms",
        "p50",
        "p90",
        "p95",
        "p99",
        "max",
    ];
    Ok(Some(Figure {
        id: "latency".to_owned(),
        heading: "Time of a search".to_owned(),
        described: "A line for each set and scope: within how many milliseconds each share of \
                    the searches was done. The table below holds the same figures."
            .to_owned(),
        wide: lines("time of a search", WIDE, &x, &y, &plotted)?,
        narrow: lines("time of a search", NARROW, &x, &y, &plotted)?,
        series: numbered(drawn.iter().map(|(name, _)| (*name).clone())),
        note: format!(
            "From the question to the evidence, without the answer model and without indexing. \
             Several questions are searched at once, so these are not the times of an idle \
             machine.{}",
            left_out(drawn.len(), times.len())
        ),
        table: table(&header, rows.collect()),
    }))
}

/// Share and milliseconds, up to the last percentile the count tells.
fn curve(sorted: &[f64], highest: f64) -> Vec<(f64, f64)> {
    const STEPS: usize = 120;
    let told = (sorted.len() as f64).log10().min(highest);
    let places = (0..=STEPS).map(|step| told * step as f64 / STEPS as f64);
    places
        .map(|place| 1.0 - 10f64.powf(-place))
        .map(|share| {
            let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
            (share, sorted[rank.min(sorted.len()) - 1])
        })
        .collect()
}

/// Colours that are easily told apart, before those that are less so.
const COLORS: [usize; MOST_SERIES] = [0, 6, 2, 5, 7, 4, 1, 3];

fn color_of(stage: &str) -> usize {
    COLORS[STAGES.iter().position(|name| *name == stage).unwrap_or(0)]
}

fn told(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate {
            mean,
            standard_error: Some(error),
            ..
        }) => format!("{mean:.3} ± {error:.3}"),
        Some(of) => format!("{:.3}", of.mean),
    }
}

fn left_out(drawn: usize, all: usize) -> String {
    match drawn < all {
        true => format!(" {drawn} of {all} are drawn; the table has all."),
        false => String::new(),
    }
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    names.zip(COLORS).collect()
}
