//! `quire eval compare`

use std::path::{Path, PathBuf};

use anyhow::Result;
use quire_eval::compare::{Finished, What, compare};
use quire_eval::measures::{Kind, Measure};
use quire_eval::run::RunFolder;

use super::run::folder;
use super::stage;
use crate::Ending;
use crate::args::EvalCompareArgs;
use crate::output::{print_json, print_table};

pub fn run(args: &EvalCompareArgs) -> Result<Ending> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let both_answered = !a.answered.is_empty() && !b.answered.is_empty();
    let what = match args.measure.as_deref() {
        None if both_answered => What::Score,
        None => What::Retrieval(Measure::at(Kind::Mrr, 10)),
        Some("score") => What::Score,
        Some(name) => What::Retrieval(name.parse()?),
    };
    let name = |path: &PathBuf| path.display().to_string();
    let (stage_a, stage_b) = (args.stage_a.map(stage), args.stage_b.map(stage));
    let way_a = a.choose(&name(&args.a), "--way-a", what, stage_a, args.way_a)?;
    let way_b = b.choose(&name(&args.b), "--way-b", what, stage_b, args.way_b)?;
    let comparison = compare((&a, way_a), (&b, way_b), what)?;
    if args.json {
        print_json(&comparison)?;
        return Ok(Ending::Done);
    }
    println!(
        "{}\nA: {}\nB: {}\n",
        comparison.what, comparison.a, comparison.b
    );
    let rows = comparison.rows.iter().map(|row| {
        let of = &row.difference;
        vec![
            row.set.clone(),
            of.questions.to_string(),
            format!("{:.4}", of.before),
            format!("{:.4}", of.after),
            format!("{:+.4}", of.mean),
            format!("{:+.4} .. {:+.4}", of.low, of.high),
            format!("{:.4}", of.p),
            format!("{}/{}", of.better, of.worse),
            row.unpaired.to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "set",
        "questions",
        "A",
        "B",
        "B - A",
        "95 % interval",
        "p",
        "better/worse",
        "unpaired",
    ];
    print_table(&header, &rows)?;
    Ok(Ending::Done)
}

fn read(path: &Path) -> Result<Finished> {
    let (run, found, answered) = RunFolder::read(&folder(path)?)?;
    Ok(Finished {
        run,
        found,
        answered,
    })
}
