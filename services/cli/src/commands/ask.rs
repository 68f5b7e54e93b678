//! `quire ask`

use anyhow::{Result, bail};
use quire_answer::{Language, Task};
use quire_engine::{
    AnswerTrace, Answered, Answerer, ModelSource, Order, Question, Ranked, Timing, Trace, Unheard,
    answer_within,
};
use quire_model::Call;
use quire_server::wire::{Answer, AnswerBasis, Item, PassageLeftOut, Span};
use serde::Serialize;

use crate::Ending;
use crate::answering::AnswerSettings;
use crate::args::{AnswerLanguage, AskArgs, EvidenceOrder};
use crate::commands::scope::Scope;
use crate::commands::search::{question, stages, timings};
use crate::context::Context;
use crate::loader::Loader;
use crate::output::{Output, Style, print_json, printable_line};

#[derive(Serialize)]
struct Document<'a> {
    answer: &'a Answer,
    #[serde(flatten)]
    basis: &'a AnswerBasis,
    trace: Traces<'a>,
}

#[derive(Serialize)]
struct Traces<'a> {
    search: &'a Trace,
    answer: &'a AnswerTrace,
}

pub fn run(context: &mut Context, args: AskArgs) -> Result<Ending> {
    let text = question(&args.question)?;
    let answers = AnswerSettings::read(&mut context.settings, &args.answer)?;
    let cut = context.settings.cut(&args.cut)?;
    let models = context.settings.models(&args.models)?;
    let budgets = context.settings.budgets(&args.budgets, &models)?;
    let loader = Loader::new(&context.home, &models)?;
    let recipe = loader.recipe(&cut)?;
    let store = context.store()?;
    let scope = Scope::read(context, &store, &recipe, args.scope)?;
    let mut asked = Question {
        text,
        task: task(args.options)?,
        language: args.language.map(|language| match language {
            AnswerLanguage::En => Language::En,
            AnswerLanguage::Zh => Language::Zh,
        }),
        by: Ranked::default(),
        order: match args.order {
            EvidenceOrder::Document => Order::Document,
            EvidenceOrder::Score => Order::Score,
        },
        may_abstain: false,
        budgets,
    };

    let view = scope.open(&store, &recipe)?;
    let models = loader.models()?;
    let answerers = answers.answerers(&models);
    let model = answerers.openai.as_ref().unwrap_or(&answerers.extractive);
    asked.may_abstain = answerers.may_abstain(&**model, None);
    let answerer = Answerer {
        model: &**model,
        prompts: &answerers.prompts,
    };
    let call = Call::new();
    let answered = answer_within(&view, &models, answerer, &asked, &call, None, &mut Unheard)?;
    let Answered {
        search,
        evidence,
        outcome,
        trace,
    } = answered;
    let given = outcome.inspect_err(|error| {
        let raw = printable_line(error.raw());
        if !raw.is_empty() {
            eprintln!("the model gave: {raw}");
        }
    })?;
    let answer = Answer::of(&given, &asked.task, &evidence, &trace);
    let basis = AnswerBasis::of(&view, &search, &evidence, args.explain, Vec::new());
    if args.json {
        print_json(&Document {
            answer: &answer,
            basis: &basis,
            trace: Traces {
                search: &search.trace,
                answer: &trace,
            },
        })?;
    } else {
        print(context.output, &answer, &basis, args.explain);
        if args.explain {
            print_how(&basis, &search.trace, &trace);
        }
    }
    Ok(Ending::Done)
}

fn task(options: Vec<String>) -> Result<Task> {
    if options.is_empty() {
        return Ok(Task::FreeForm);
    }
    if !(2..=26).contains(&options.len()) {
        bail!(
            "--option was given {} times; a multiple-choice question has 2 to 26 options",
            options.len()
        );
    }
    if options.iter().any(|option| option.trim().is_empty()) {
        bail!("an --option is empty; give each some text");
    }
    Ok(Task::MultipleChoice { options })
}

fn print(output: Output, answer: &Answer, basis: &AnswerBasis, explain: bool) {
    let mut text = answer.text.clone();
    if let Some(option) = &answer.option {
        text += &format!(". {option}");
    }
    println!("{}", output.paint(Style::Heading, &printable_line(&text)));
    println!("{}", output.paint(Style::Faint, &about(answer)));
    for item in &basis.evidence.items {
        let cited = answer
            .citation
            .filter(|citation| citation.evidence == item.number);
        let mut heading = format!("[{}] {}", item.number, item.title);
        if let Some(chapter) = &item.chapter {
            heading += &format!(" | {chapter}");
        }
        println!(
            "\n{}",
            output.paint(Style::Heading, &printable_line(&heading))
        );
        println!("    {}", output.paint(Style::Faint, &passages(item)));
        if explain {
            for passage in &item.passages {
                println!("    #{} {}", passage.rank, stages(&passage.stages));
            }
        }
        if explain || cited.is_some() {
            let marks = match cited {
                Some(citation) => vec![citation.span],
                None => item.highlights.clone(),
            };
            let marks: Vec<_> = marks
                .iter()
                .map(|&Span { start, end }| start..end)
                .collect();
            for line in output.highlight(&item.text, &marks).trim().lines() {
                println!("    {line}");
            }
        }
    }
    if basis.evidence.items.is_empty() {
        println!("\nno evidence fits the budgets");
    }
}

/// What is not shown, and what each stage took.
fn print_how(basis: &AnswerBasis, search: &Trace, answer: &AnswerTrace) {
    for PassageLeftOut { chunk, reason } in &basis.evidence.left_out {
        let book = chunk.book.short();
        println!("left out {book}:{}: {reason}", chunk.ordinal);
    }
    let Timing { wall_ms: assemble } = answer.assemble;
    let Timing { wall_ms: took } = answer.answer;
    println!(
        "\n{} | evidence {assemble:.1} ms | answer {took:.1} ms",
        timings(search)
    );
}

/// Who answered, on what grounds, at what cost.
fn about(answer: &Answer) -> String {
    let mut said = vec![answer.model.clone()];
    said.push(if answer.extractive && answer.citation.is_some() {
        "quoted from the evidence".to_owned()
    } else if answer.extractive {
        "extractive".to_owned()
    } else {
        "written by a language model".to_owned()
    });
    if !answer.supported {
        said.push("hardly supported by the evidence".to_owned());
    }
    if let Some(citation) = answer.citation {
        said.push(format!("from [{}]", citation.evidence));
    }
    if let Some(usage) = answer.usage {
        said.push(format!(
            "{} + {} tokens",
            usage.prompt_tokens, usage.completion_tokens
        ));
    }
    if let Some(cost) = &answer.cost {
        said.push(format!("{:.6} {}", cost.amount, cost.currency));
    }
    printable_line(&said.join(" | "))
}

fn passages(item: &Item) -> String {
    let ids = item
        .chunks
        .iter()
        .map(|chunk| format!("{}:{}", chunk.book.short(), chunk.ordinal));
    ids.collect::<Vec<_>>().join(" ")
}
