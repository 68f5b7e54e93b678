//! `quire eval`

mod answers;
mod retrieval;

use anyhow::Result;

use crate::Ending;
use crate::args::EvalCommand;
use crate::context::Context;

pub fn run(context: &mut Context, command: EvalCommand) -> Result<Ending> {
    match command {
        EvalCommand::Squad(args) => retrieval::run(context, retrieval::Format::Squad, args),
        EvalCommand::Cranfield(args) => retrieval::run(context, retrieval::Format::Cranfield, args),
        EvalCommand::Fairytaleqa(args) => {
            retrieval::run(context, retrieval::Format::Fairytaleqa, args)
        }
        EvalCommand::Answers(args) => answers::run(context, *args),
    }
}
