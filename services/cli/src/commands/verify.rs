//! `quire verify`

use anyhow::Result;
use quire_engine::verify;
use quire_index::{Finding, Severity, Subject};
use serde::Serialize;

use crate::Ending;
use crate::args::VerifyArgs;
use crate::context::Context;
use crate::output::{Output, Style, print_json};

#[derive(Serialize)]
struct Document {
    artifacts: Vec<Artifact>,
    /// About what lies in the data folder and is no artifact.
    others: Vec<Said>,
}

#[derive(Serialize)]
struct Artifact {
    subject: String,
    recipe: String,
    sound: bool,
    findings: Vec<Said>,
}

#[derive(Serialize)]
struct Said {
    severity: &'static str,
    path: String,
    what: String,
    remedy: String,
}

pub fn run(context: &Context, args: VerifyArgs) -> Result<Ending> {
    let store = context.store()?;
    let books = context.books(&store, &args.books)?;
    let mut document = Document {
        artifacts: Vec::new(),
        others: Vec::new(),
    };
    for found in store.artifacts()? {
        let named = match found.key.subject {
            Subject::Book(book) => books.is_empty() || books.contains(&book),
            Subject::Library(_) => books.is_empty(),
        };
        if !named {
            continue;
        }
        let findings = verify(&store, &found)?;
        let artifact = Artifact {
            subject: found.key.subject.to_string(),
            recipe: found.key.recipe.to_string(),
            sound: findings
                .iter()
                .all(|finding| finding.severity < Severity::Error),
            findings: findings.iter().map(said).collect(),
        };
        if !args.json {
            print(context.output, &artifact);
        }
        document.artifacts.push(artifact);
    }
    if books.is_empty() {
        document.others = store.strangers()?.iter().map(said).collect();
    }
    let others = document.others.iter();
    let sound = document.artifacts.iter().all(|artifact| artifact.sound)
        && others
            .map(|said| said.severity)
            .all(|severity| severity != "error");
    if args.json {
        print_json(&document)?;
    } else {
        print_findings(&document.others);
        if document.artifacts.is_empty() {
            println!("no book is indexed in {}", context.data().display());
        }
    }
    Ok(if sound { Ending::Done } else { Ending::Partly })
}

fn said(finding: &Finding) -> Said {
    Said {
        severity: match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        path: finding.path.display().to_string(),
        what: finding.what.clone(),
        remedy: finding.remedy.clone(),
    }
}

fn print(output: Output, artifact: &Artifact) {
    let (verdict, style) = if artifact.sound {
        ("sound", Style::Good)
    } else {
        ("damaged", Style::Bad)
    };
    println!(
        "{}, recipe {}: {}",
        artifact.subject,
        artifact.recipe,
        output.paint(style, verdict)
    );
    print_findings(&artifact.findings);
}

fn print_findings(findings: &[Said]) {
    for said in findings {
        println!(
            "  {}: {}: {}; {}",
            said.severity, said.path, said.what, said.remedy
        );
    }
}
