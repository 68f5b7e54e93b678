//! `quire eval run`

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use quire_engine::{Budgets, CutSettings, ModelSource, Models};
use quire_eval::report::{Report, files};
use quire_eval::run::{Answering, Over, RunFile, RunFolder, SCHEMA, execute, scopes};
use quire_eval::set::{EvalSet, SetOptions};
use quire_index::{Machine, rfc3339};

use super::plan::{identity, index, passages, plan};
use super::progress::RunProgress;
use super::vary::{Varied, order};
use super::{show, stage};
use crate::Ending;
use crate::answering::AnswerSettings;
use crate::args::{EvalOver, EvalRunArgs};
use crate::context::Context;
use crate::loader::Loader;

pub fn run(context: &mut Context, args: EvalRunArgs) -> Result<Ending> {
    let settings = &mut context.settings;
    let cut = settings.cut(&args.cut)?;
    let models = settings.models(&args.models)?;
    let budgets = settings.budgets(&args.budgets, &models)?;
    let varied = varied(&args, &budgets, &cut)?;
    let answers = AnswerSeeds::read(context, &args)?;
    let sets = read(&args)?;

    let loader = Loader::new(&context.home, &models)?;
    let store = context.store()?;
    let mut plan = plan(sets, &varied, &cut, &loader, budgets)?;
    if args.retrieval_only {
        plan.arms.clear();
    }
    let over = over(&args);
    let indexing = index(&plan, &store, &loader)?;
    let cuts = plan.cuts_of_sets();
    plan.scopes = scopes(&plan.sets, &plan.places, &cuts, &over, &answers.seeds)?;
    let models = loader.models()?;
    let seeds = answers.seeds.clone();
    let answering = match args.retrieval_only {
        true => None,
        false => Some(answers.answering(&models)),
    };
    let identity = identity(&plan, &store, &models, answering.as_ref(), over, seeds)?;
    let run = RunFile {
        schema: SCHEMA,
        id: identity.id(),
        identity,
        command: env::args().collect(),
        started: rfc3339(SystemTime::now()),
        machine: Machine::detect(),
        books: plan.books.clone(),
        question_books: plan.question_books(),
        cuts: plan.cuts.iter().map(|cut| cut.name.clone()).collect(),
        scopes: plan.scopes.clone(),
        indexing,
    };
    let path = args.out.clone();
    let path = path.unwrap_or_else(|| context.data().join("runs").join(&run.id));
    let folder = RunFolder::take(&path, run)?;
    let log = folder.log()?;
    let progress = RunProgress::new();
    let done = execute(&plan, &store, &models, answering.as_ref(), &log, &progress);
    progress.finish();
    done?;

    let (found, answered) = log.finish()?;
    let text = passages(&plan, &store);
    let finished = rfc3339(SystemTime::now());
    let report = Report::new(&folder.run, &plan.sets, &found, &answered, finished, text)?;
    for file in files(&folder.run, &plan.sets, &found, &answered) {
        folder.write(&file.name, file.content.as_bytes())?;
    }
    folder.write("report.json", &serde_json::to_vec(&report)?)?;
    let page = folder.write("report.html", quire_eval::html::page(&report)?.as_bytes())?;
    show::print(&report, args.json)?;
    eprintln!("report: {}", page.display());
    match answered.iter().filter(|answered| answered.passing).count() {
        0 => Ok(Ending::Done),
        missed => {
            eprintln!(
                "the answer model was not reached for {missed} answers; give the same command \
                 again to ask for these alone"
            );
            Ok(Ending::Partly)
        }
    }
}

fn varied(args: &EvalRunArgs, budgets: &Budgets, cut: &CutSettings) -> Result<Varied> {
    let mut varied = Varied {
        by: vec![stage(args.by)],
        order: vec![order(args.order)],
        evidence_passages: vec![budgets.evidence_passages],
        evidence_tokens: vec![budgets.evidence_tokens],
        max_tokens: vec![cut.max_tokens],
    };
    for text in &args.vary {
        varied.take(text)?;
    }
    Ok(varied)
}

fn over(args: &EvalRunArgs) -> Over {
    match (args.books.is_empty(), args.over) {
        (false, _) => Over::Bundles {
            sizes: args.books.clone(),
            bundles: args.bundles,
        },
        (true, EvalOver::Own) => Over::Own,
        (true, EvalOver::All) => Over::All,
    }
}

fn read(args: &EvalRunArgs) -> Result<Vec<EvalSet>> {
    let options = SetOptions {
        format: args.format.as_deref().map(str::parse).transpose()?,
        split: args.split.clone(),
        limit: args.limit.unwrap_or(usize::MAX),
    };
    let mut sets: Vec<EvalSet> = Vec::new();
    for path in &args.sets {
        let mut set = EvalSet::read(path, &options)?;
        // Two files of one name are told apart by their number.
        let same = sets.iter().filter(|other| other.name == set.name).count();
        if same > 0 {
            set.name = format!("{} ({})", set.name, same + 1);
        }
        sets.push(set);
    }
    Ok(sets)
}

/// The answer model's settings, by seed.
struct AnswerSeeds {
    seeds: Vec<u64>,
    settings: Vec<AnswerSettings>,
}

impl AnswerSeeds {
    fn read(context: &mut Context, args: &EvalRunArgs) -> Result<Self> {
        let mut seeds = args.seed.clone();
        if seeds.is_empty() {
            seeds.push(
                context
                    .settings
                    .or("answer-seed", args.answer.answer_seed, 0)?,
            );
        }
        let mut unique = seeds.clone();
        unique.sort_unstable();
        unique.dedup();
        if unique.len() < seeds.len() {
            bail!("--seed names a seed twice; give each once");
        }
        let mut settings = Vec::new();
        for &seed in &seeds {
            let mut answer = args.answer.clone();
            answer.answer_seed = Some(seed);
            settings.push(AnswerSettings::read(&mut context.settings, &answer)?);
        }
        Ok(Self { seeds, settings })
    }

    fn answering(self, models: &Models) -> Answering {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut by_seed = BTreeMap::new();
        let mut answering = None;
        for (seed, settings) in self.seeds.into_iter().zip(self.settings) {
            let (may_abstain, workers) = (settings.may_abstain, settings.workers);
            let answerers = settings.answerers(models);
            // The reader computes here: more at once would only wait for each
            // other.
            let at_once = match &answerers.openai {
                Some(_) => workers,
                None => workers.min(cores),
            };
            let model = answerers.openai.unwrap_or(answerers.extractive);
            by_seed.insert(seed, model);
            answering.get_or_insert((answerers.prompts, may_abstain.unwrap_or(false), at_once));
        }
        let (prompts, may_abstain, at_once) = answering.expect("there is at least one seed");
        Answering {
            models: by_seed,
            prompts,
            may_abstain,
            at_once,
        }
    }
}

/// The folder of a run that is there.
pub fn folder(path: &Path) -> Result<PathBuf> {
    match path.join("run.json").exists() {
        true => Ok(path.to_owned()),
        false => bail!(
            "{} holds no run: give the folder of one, which `quire eval run` says at its end",
            path.display()
        ),
    }
}
