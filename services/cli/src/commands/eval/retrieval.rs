//! `quire eval squad`, `cranfield`, `fairytaleqa`

use std::io::{self, IsTerminal};

use anyhow::Result;
use indicatif::ProgressBar;
use quire_engine::given_passages;
use quire_eval::datasets::{Collection, cranfield, fairytaleqa, squad};
use quire_eval::{Indexed, Report, Scope};

use crate::Ending;
use crate::args::EvalArgs;
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{print_json, print_table};
use crate::progress::BookProgress;

/// The format of a data set.
#[derive(Clone, Copy)]
pub enum Format {
    Squad,
    Cranfield,
    Fairytaleqa,
}

pub fn run(context: &mut Context, format: Format, args: EvalArgs) -> Result<Ending> {
    let budgets = context.settings.budgets(&args.budgets)?;
    let cut = context.settings.cut(&crate::args::CutArgs::default())?;
    let models = context.settings.models(&args.models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = given_passages(loader.recipe(&cut)?);
    let set = read(format, &args)?;
    let store = context.store()?;

    let progress = BookProgress::new(&set.name);
    let indexed = Indexed::build(&set, &store, &recipe, &loader, &progress);
    progress.finish();
    let indexed = indexed?;

    let scope = if args.within_group {
        Scope::Group
    } else {
        Scope::All
    };
    let bar = io::stderr()
        .is_terminal()
        .then(|| ProgressBar::new(set.questions.len() as u64));
    let report = indexed.run(scope, &store, &recipe, &loader, &budgets, |asked| {
        if let Some(bar) = &bar {
            bar.set_position(asked as u64);
        }
    })?;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    if args.json {
        print_json(&report)?
    } else {
        print(&report)?
    }
    Ok(Ending::Done)
}

fn read(format: Format, args: &EvalArgs) -> Result<Collection> {
    Ok(match format {
        Format::Squad => {
            let name = args.path.file_stem().unwrap_or_default().to_string_lossy();
            squad(&name, &args.path)?
        }
        Format::Cranfield => cranfield(&args.path)?,
        Format::Fairytaleqa => fairytaleqa(&args.path, "test")?,
    })
}

fn print(report: &Report) -> Result<()> {
    let scope = match report.scope {
        Scope::Group => "within its own group",
        Scope::All => "over all passages",
    };
    println!(
        "{}: {} questions, {} passages, each question asked {scope}",
        report.set, report.questions, report.passages
    );
    let rows: Vec<Vec<String>> = ["bm25", "dense", "fused", "reranked"]
        .iter()
        .filter_map(|&stage| {
            let m = report.stages.get(stage)?;
            let values = [m.mrr_10, m.ndcg_10, m.recall_1, m.recall_5, m.recall_20];
            let mut row = vec![stage.to_owned()];
            row.extend(values.map(|value| format!("{value:.4}")));
            Some(row)
        })
        .collect();
    print_table(&["stage", "MRR@10", "nDCG@10", "R@1", "R@5", "R@20"], &rows)
}
