//! `quire eval`

mod compare;
mod plan;
mod progress;
mod run;
mod show;
mod vary;

use anyhow::Result;
use quire_engine::Ranked;

use crate::Ending;
use crate::args::{EvalBy, EvalCommand};
use crate::context::Context;

pub fn run(context: &mut Context, command: EvalCommand) -> Result<Ending> {
    match command {
        EvalCommand::Run(args) => run::run(context, *args),
        EvalCommand::Report(args) => show::run(&args),
        EvalCommand::Compare(args) => compare::run(&args),
    }
}

fn stage(by: EvalBy) -> Ranked {
    match by {
        EvalBy::Lexical => Ranked::Lexical,
        EvalBy::Dense => Ranked::Dense,
        EvalBy::Fusion => Ranked::Fused,
        EvalBy::Rerank => Ranked::Reranked,
    }
}
