//! The `quire` command: settings in, engine called, results printed.

mod answering;
mod args;
mod commands;
mod context;
mod home;
mod loader;
mod output;
mod progress;
mod settings;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::iter;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};

use crate::args::{Cli, Command, LogFormat, ModelsCommand, PromptsCommand, TraceCommand};
use crate::context::Context;

/// How a command that did not fail ended.
pub enum Ending {
    /// All of it is done.
    Done,
    /// Some inputs failed, or something stored is damaged; it was said which.
    Partly,
}

fn main() -> ExitCode {
    restore_broken_pipe();
    let cli = Cli::parse();
    match run(cli) {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Partly) => ExitCode::from(3),
        Err(error) => {
            eprintln!(
                "quire: {}",
                output::printable_line(&one_line(error.as_ref()))
            );
            ExitCode::from(1)
        }
    }
}

fn run(cli: Cli) -> Result<Ending> {
    let mut context = Context::new(&cli.global)?;
    let (level, format) = match &cli.command {
        Command::Serve(args) => (
            "info",
            context
                .settings
                .or("log-format", args.log_format, LogFormat::Text)?,
        ),
        _ => ("warn", LogFormat::Text),
    };
    start_log(&context.log_level(level), format, &cli.command)?;
    match cli.command {
        Command::Index(args) => commands::index::run(&mut context, args),
        Command::Search(args) => commands::search::run(&mut context, args),
        Command::Ask(args) => commands::ask::run(&mut context, *args),
        Command::Prompts(PromptsCommand::List(args)) => commands::prompts::list(&mut context, args),
        Command::Prompts(PromptsCommand::Export(args)) => {
            commands::prompts::export(&mut context, args)
        }
        Command::Serve(args) => commands::serve::run(&mut context, *args),
        Command::Mcp(args) => commands::mcp::run(&mut context, *args),
        Command::Trace(TraceCommand::Show(args)) => commands::trace::show(&context, args),
        Command::Trace(TraceCommand::Replay(args)) => commands::trace::replay(&mut context, args),
        Command::Books(args) => commands::books::run(&context, args),
        Command::Show(args) => commands::show::run(&context, args),
        Command::Rm(args) => commands::rm::run(&context, args),
        Command::Library(command) => commands::library::run(&mut context, command),
        Command::Verify(args) => commands::verify::run(&context, args),
        Command::Eval(args) => commands::eval::run(&mut context, args),
        Command::Bench(args) => commands::bench::run(&mut context, *args),
        Command::Models(ModelsCommand::List(args)) => commands::models::list(&mut context, args),
        Command::Models(ModelsCommand::Pull(args)) => commands::models::pull(&mut context, args),
        Command::Models(ModelsCommand::Verify(args)) => {
            commands::models::verify(&mut context, args)
        }
        Command::Config(args) => commands::config::run(&mut context, args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "quire", &mut io::stdout());
            Ok(Ending::Done)
        }
    }
}

/// What, where, why and what to do, in one line: an error and its causes.
fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for cause in iter::successors(Some(error), |&error| error.source()) {
        let said = cause
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        // Some errors already carry their cause's words.
        if !line.contains(&said) {
            if !line.is_empty() {
                line += ": ";
            }
            line += &said;
        }
    }
    line
}

fn start_log(level: &str, format: LogFormat, command: &Command) -> Result<()> {
    let filter: LevelFilter = level.parse().map_err(|_| {
        anyhow::anyhow!("'{level}' is no log level: say error, warn, info, debug or trace")
    })?;
    // Agents come and go with every call; what they do is logged as requests.
    let agents = filter.min(LevelFilter::ERROR);
    let agents = if filter > LevelFilter::INFO {
        filter
    } else {
        agents
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{filter},rmcp={agents}")))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match (command, format) {
        (Command::Serve(_), LogFormat::Json) => log.json().flatten_event(true).init(),
        (Command::Serve(_), LogFormat::Text) => log.init(),
        // What a command says while somebody looks on needs no time.
        _ => log.without_time().init(),
    }
    Ok(())
}

/// A reader that has seen enough, as in `quire books | head`, ends the command
/// quietly: the standard library ignores the signal that does so.
fn restore_broken_pipe() {
    #[cfg(unix)]
    // SAFETY: called before any thread is started, with a valid signal and the
    // default disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_error_is_one_line_with_its_causes() {
        let cause = io::Error::other("no space\nleft");
        let error = anyhow::Error::new(cause).context("cannot write x");
        assert_eq!(one_line(error.as_ref()), "cannot write x: no space left");
    }
}
