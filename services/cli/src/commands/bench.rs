//! `quire bench`

mod index;
mod show;
mod watch;

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use quire_bench::{
    Arrivals, BenchError, Key, Length, Load, Loads, Plan, Questions, Report, SCHEMA, Target,
    compare, html,
};
use serde_json::{Map, Value, json};

use crate::Ending;
use crate::args::{
    BenchArgs, BenchArrivals, BenchCommand, BenchCompareArgs, BenchLoadArgs, BenchPutArgs,
    BenchRequestArgs,
};
use crate::context::Context;
use crate::output::print_json;

pub fn run(context: &mut Context, args: BenchArgs) -> Result<Ending> {
    match args.command {
        Some(BenchCommand::Compare(args)) => compare_reports(&args),
        Some(BenchCommand::Index(args)) => index::run(context, args),
        None => load(args.load),
    }
}

fn load(args: BenchLoadArgs) -> Result<Ending> {
    let url = args.url.as_deref().unwrap_or("http://127.0.0.1:8080");
    let put = &args.put;
    let plan = Plan {
        target: Target::parse(url)?,
        key: env::var("QUIRE_KEY")
            .ok()
            .filter(|key| !key.is_empty())
            .map(Key),
        questions: Questions::read(&args.questions, put.seed)?,
        request: request(&args.request)?,
        loads: loads(put),
        warmup: seconds("--warmup", put.warmup)?,
        length: match put.requests {
            Some(requests) => Length::Requests(requests),
            None => Length::Time(seconds("--duration", put.duration)?),
        },
        seed: put.seed,
        check: args.check,
        give_up: seconds("--give-up", put.give_up)?,
        most_connections: put.connections,
        pid: args.pid,
        command: env::args().collect(),
    };
    // What cannot be written is better known before the measurement.
    let json = args.json.as_ref().and_then(Option::as_ref);
    json.into_iter()
        .chain(&args.html)
        .try_for_each(|file| writable(file))?;
    let watch = watch::Terminal::new();
    let report = quire_bench::run(&plan, &watch);
    watch.finish();
    let report = report?;

    if let Some(file) = &args.html {
        write(file, html::page(&report)?.as_bytes())?;
    }
    match &args.json {
        Some(Some(file)) => {
            let mut text = serde_json::to_vec_pretty(&report)?;
            text.push(b'\n');
            write(file, &text)?;
            show::report(&report)?;
        }
        Some(None) => print_json(&report)?,
        None => show::report(&report)?,
    }
    Ok(match report.mismatches() {
        0 => Ending::Done,
        _ => Ending::Partly,
    })
}

fn loads(put: &BenchPutArgs) -> Loads {
    let arrivals = match put.arrivals {
        BenchArrivals::Poisson => Arrivals::Poisson,
        BenchArrivals::Fixed => Arrivals::Fixed,
    };
    let closed = put.concurrency.iter();
    let closed = closed.map(|&concurrency| Load::Closed { concurrency });
    let open = put.rate.iter().map(|&rate| Load::Open { rate, arrivals });
    let mut loads: Vec<Load> = closed.chain(open).collect();
    if loads.is_empty() && put.sweep {
        return Loads::Doubling;
    }
    if loads.is_empty() {
        loads.push(Load::Closed { concurrency: 1 });
    }
    match put.sweep {
        true => Loads::Sweep(loads),
        false => Loads::Each(loads),
    }
}

/// The members of each request besides its question.
fn request(args: &BenchRequestArgs) -> Result<Map<String, Value>> {
    let mut request = match &args.body {
        None => Map::new(),
        Some(body) => match serde_json::from_str(body) {
            Ok(Value::Object(body)) => body,
            Ok(_) => bail!("--body must be a JSON object, such as '{{\"explain\": true}}'"),
            Err(error) => return Err(anyhow!(error).context("--body is not valid JSON")),
        },
    };
    if let Some(rerank) = args.rerank {
        let budgets = request.entry("budgets").or_insert_with(|| json!({}));
        let budgets = budgets
            .as_object_mut()
            .ok_or_else(|| anyhow!("the \"budgets\" of --body must be a JSON object"))?;
        budgets.insert("rerank".to_owned(), rerank.into());
    }
    if !args.book.is_empty() {
        request.insert("scope".to_owned(), json!({"books": args.book}));
    }
    for (name, value) in [
        ("timeout_ms", args.timeout_ms),
        ("deadline_ms", args.deadline_ms),
    ] {
        if let Some(value) = value {
            request.insert(name.to_owned(), value.into());
        }
    }
    Ok(request)
}

fn seconds(flag: &str, value: f64) -> Result<Duration> {
    /// A day.
    const MOST: f64 = 86_400.0;
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|_| value <= MOST)
        .ok_or_else(|| anyhow!("{flag} {value} is no number of seconds from 0 to {MOST}"))
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

/// Whether a file can be written; what it holds stays until there is something
/// to put in its place.
fn writable(file: &Path) -> Result<()> {
    let new = !file.exists();
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))?;
    if new {
        fs::remove_file(file)?;
    }
    Ok(())
}

fn compare_reports(args: &BenchCompareArgs) -> Result<Ending> {
    let comparison = compare(&read(&args.a)?, &read(&args.b)?);
    if args.json {
        print_json(&comparison)?;
    } else {
        show::comparison(&comparison)?;
    }
    Ok(Ending::Done)
}

fn read(path: &Path) -> Result<Report> {
    let text = fs::read_to_string(path).map_err(|source| BenchError::Read {
        path: path.to_owned(),
        source,
    })?;
    let report: Report = serde_json::from_str(&text).map_err(|source| BenchError::Report {
        path: path.to_owned(),
        source,
    })?;
    if report.schema != SCHEMA {
        let found = io::Error::other(format!("schema {} in place of {SCHEMA}", report.schema));
        return Err(anyhow!(found).context(format!("cannot compare {}", path.display())));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn parsed(line: &str) -> BenchArgs {
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        match cli.command {
            Command::Bench(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_of_the_request_are_merged_into_its_body() {
        let args = parsed(
            "quire bench --questions q --body {\"budgets\":{\"dense\":9}} --rerank 0 \
             --book 3f9a --timeout-ms 50",
        );
        assert_eq!(
            Value::Object(request(&args.load.request).unwrap()),
            json!({
                "budgets": {"dense": 9, "rerank": 0},
                "scope": {"books": ["3f9a"]},
                "timeout_ms": 50,
            })
        );
        let args = parsed("quire bench --questions q --body [1]");
        assert!(request(&args.load.request).is_err());
    }

    #[test]
    fn loads_are_those_named_or_one_client_or_a_doubling_sweep() {
        let of = |line: &str| loads(&parsed(line).load.put);
        let client = |concurrency| Load::Closed { concurrency };
        assert_eq!(
            of("quire bench --questions q"),
            Loads::Each(vec![client(1)])
        );
        assert_eq!(of("quire bench --questions q --sweep"), Loads::Doubling);
        let rates = of("quire bench --questions q --concurrency 1,8 --rate 2.5 --arrivals fixed");
        let rate = Load::Open {
            rate: 2.5,
            arrivals: Arrivals::Fixed,
        };
        assert_eq!(rates, Loads::Each(vec![client(1), client(8), rate]));
    }

    #[test]
    fn a_load_needs_questions_and_a_comparison_does_not() {
        assert!(Cli::try_parse_from(["quire", "bench"]).is_err());
        assert!(parsed("quire bench compare a b").command.is_some());
    }
}
