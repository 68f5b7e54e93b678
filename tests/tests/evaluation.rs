//! `quire eval` from a data set to a report.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use quire_answer::fake::{FakeOpenAi, Reply};
use quire_tests::{Quire, Ran, binary, clients_python, copy_folder, run_client, sample, skip};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The first questions of the English book, both kinds.
fn english() -> PathBuf {
    sample().join("the-wet-ledger.questions.jsonl")
}

/// A run of the sample, made once for all tests of this binary: its folder,
/// and what it printed.
fn sample_run() -> &'static (TempDir, Value) {
    static RUN: OnceLock<(TempDir, Value)> = OnceLock::new();
    RUN.get_or_init(|| {
        let quire = Quire::indexed();
        let out = TempDir::new().unwrap();
        let mut args = vec!["eval", "run", "--json", "--limit", "6", "--books", "1,2"];
        args.extend([
            "--bundles",
            "2",
            "--seed",
            "1,2",
            "--vary",
            "by=lexical,rerank",
            "--out",
        ]);
        let ran = eval(&quire, &args, out.path(), &sets());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let report = ran.json();
        (out, report)
    })
}

fn sets() -> Vec<PathBuf> {
    vec![english(), sample().join("一庹水.questions.jsonl")]
}

fn eval(quire: &Quire, args: &[&str], out: &Path, sets: &[PathBuf]) -> Ran {
    let mut command = quire.command(args);
    command.arg(out).args(sets);
    Ran::of(&mut command)
}

/// Without what varies between equal runs.
fn unvarying(report: &Value) -> Value {
    fn strip(value: &mut Value) {
        if let Value::Object(members) = value {
            for varies in [
                "wall_ms", "latency", "command", "started", "finished", "indexing",
            ] {
                members.remove(varies);
            }
            members.values_mut().for_each(strip);
        } else if let Value::Array(items) = value {
            items.iter_mut().for_each(strip);
        }
    }
    let mut bare = report.clone();
    strip(&mut bare);
    bare
}

#[test]
fn a_report_has_every_stage_every_way_and_every_size() {
    let (out, report) = sample_run();
    let rows = report["retrieval"].as_array().unwrap();
    let of = |over: &str, stage: &str| {
        rows.iter().find(|row| {
            row["over"] == over
                && row["stage"] == stage
                && row["criterion"] == "quoted"
                && row["set"] == "the-wet-ledger"
        })
    };
    for stage in ["bm25", "dense", "fused", "reranked"] {
        for over in ["1 book", "2 books"] {
            let row = of(over, stage).unwrap();
            let hit = &row["measures"]["hit@5"]["mean"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(hit), "{row}");
            assert!(row["measures"]["map@100"]["mean"].is_number());
        }
    }
    // Two sets, two sizes, two tasks, two ways.
    assert_eq!(report["answers"].as_array().unwrap().len(), 16);
    let first = &report["answers"][0];
    assert!(first["over_seeds"][1].is_number(), "{first}");
    assert!(first["tokens"]["evidence"].as_f64().unwrap() > 100.0);
    let routing = report["routing"].as_array().unwrap();
    assert!(routing.iter().all(|row| row["over"] == "2 books"));
    assert!(routing[0]["measures"]["share@5"]["mean"].is_number());
    assert_eq!(report["indexing"][0]["books"], 2);
    let question = &report["questions"][0];
    assert_eq!(question["gold"], json!(["one bit", "1 bit"]));
    let look = &question["looks"][0];
    assert!(look["lost"].is_string() && look["relevant"].as_u64().unwrap() > 0);
    for file in [
        "report.html",
        "report.json",
        "measures.jsonl",
        "records.jsonl",
    ] {
        assert!(
            out.path().join(file).metadata().unwrap().len() > 1000,
            "{file}"
        );
    }
    let shown = Quire::new().json(["eval".as_ref(), "report".as_ref(), out.path().as_os_str()]);
    assert_eq!(&shown, report);
}

#[test]
fn measures_are_those_of_trec_eval_to_the_last_digit() {
    const TEST: &str = "measures_are_those_of_trec_eval_to_the_last_digit";
    if clients_python(TEST).is_some() {
        let env = [("QUIRE_RUN", sample_run().0.path().as_os_str())];
        run_client(TEST, "trec_measures.py", "", &env);
    }
}

#[test]
fn the_report_is_a_page_that_a_browser_shows() {
    const TEST: &str = "the_report_is_a_page_that_a_browser_shows";
    if clients_python(TEST).is_none() {
        return;
    }
    for program in ["chromium", "chromedriver"] {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return skip(TEST, &format!("{program} is not installed"));
        }
    }
    let screenshots = binary().ancestors().nth(2).unwrap().join("screenshots");
    let env = [
        ("QUIRE_RUN", sample_run().0.path().as_os_str()),
        ("QUIRE_SCREENSHOTS", screenshots.as_os_str()),
    ];
    run_client(TEST, "report_page.py", "file://", &env);
}

#[test]
fn a_run_that_is_killed_goes_on_and_asks_nothing_twice() {
    let quire = Quire::indexed();
    let out = TempDir::new().unwrap();
    let fake = FakeOpenAi::new();
    fake.always(Reply::whole("A").after(Duration::from_millis(60)));
    let url = fake.base_url();
    let mut args = vec![
        "eval",
        "run",
        "--json",
        "--limit",
        "20",
        "--answer-url",
        &url,
    ];
    args.extend([
        "--answer-model",
        "some-model",
        "--answer-workers",
        "1",
        "--out",
    ]);
    let records = out.path().join("records.jsonl");
    let answered = || {
        let log = fs::read_to_string(&records).unwrap_or_default();
        log.lines()
            .filter(|line| line.starts_with("{\"answered\""))
            .count()
    };
    let mut command = quire.command(&args);
    command.arg(out.path()).arg(english());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while answered() < 5 {
        assert!(Instant::now() < patience, "nothing is answered");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = answered();
    assert!(before < 20, "it was done before it was killed");
    let asked = fake.seen().len();
    // The one that was under way when it was killed.
    assert!(asked <= before + 1, "{asked} asked, {before} answered");
    // As a kill in the middle of a line leaves it.
    let log = fs::read(&records).unwrap();
    fs::write(&records, [&log[..], b"{\"answered\":{\"sc"].concat()).unwrap();

    let went_on = eval(&quire, &args, out.path(), &[english()]);
    assert_eq!(went_on.code, 0, "{}", went_on.stderr);
    assert!(
        went_on
            .stderr
            .contains("questions were asked by an earlier run")
    );
    assert_eq!(fake.seen().len() - asked, 20 - before);
    let whole = TempDir::new().unwrap();
    let at_once = eval(&quire, &args, whole.path(), &[english()]);
    assert_eq!(unvarying(&went_on.json()), unvarying(&at_once.json()));
    // Nothing is left to ask.
    let asked = fake.seen().len();
    let again = eval(&quire, &args, out.path(), &[english()]);
    assert_eq!((again.code, fake.seen().len()), (0, asked));
}

#[test]
fn results_of_other_settings_are_never_put_together() {
    let (out, _) = sample_run();
    let quire = Quire::indexed();
    let copy = TempDir::new().unwrap();
    copy_folder(out.path(), copy.path());
    let args = ["eval", "run", "--limit", "6", "--retrieval-only", "--out"];
    let refused = eval(&quire, &args, copy.path(), &sets());
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("holds another run"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--out"));
    // Nor is somebody's folder written into.
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("letter.txt"), "Dear").unwrap();
    let refused = eval(&quire, &args, folder.path(), &sets());
    assert!(
        refused.stderr.contains("holds no run"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_model_that_fails_for_good_ends_the_run_and_what_is_done_is_kept() {
    let quire = Quire::indexed();
    let out = TempDir::new().unwrap();
    let fake = FakeOpenAi::new();
    for _ in 0..3 {
        fake.reply(Reply::whole("B"));
    }
    fake.always(Reply::json(
        401,
        &json!({"error": {"message": "no such key"}}),
    ));
    let url = fake.base_url();
    let mut args = vec!["eval", "run", "--limit", "8", "--answer-url", &url];
    args.extend([
        "--answer-model",
        "some-model",
        "--answer-workers",
        "1",
        "--out",
    ]);
    let ended = eval(&quire, &args, out.path(), &[english()]);
    assert_eq!(ended.code, 1);
    for told in ["refuses the key", "give the same command again"] {
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
    assert_eq!(fake.seen().len(), 4);
    assert!(!out.path().join("report.json").exists());
    fake.always(Reply::whole("B"));
    let went_on = eval(&quire, &args, out.path(), &[english()]);
    assert_eq!(went_on.code, 0, "{}", went_on.stderr);
    assert_eq!(fake.seen().len(), 4 + 5);
}

#[test]
fn one_set_reads_alike_from_every_format_it_comes_in() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), text).unwrap();
    };
    let documents = [
        "the bell rang at dusk",
        "a lamp burned in the tower",
        "salt lay on the quay",
    ];
    let queries = ["when did the bell ring", "what lay on the quay"];
    let answers = [0, 2];
    let id = |number: usize| format!("p{number}");
    let lines = |texts: &[&str], query: bool| {
        let lines = texts.iter().enumerate().map(|(at, text)| {
            let id = if query { format!("q{at}") } else { id(at) };
            json!({"_id": id, "text": text}).to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    write("beir/corpus.jsonl", &lines(&documents, false));
    write("beir/queries.jsonl", &lines(&queries, true));
    write(
        "beir/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq0\tp0\t1\nq1\tp2\t1\n",
    );
    let docs = documents.iter().enumerate();
    let docs =
        docs.map(|(at, text)| format!("<DOC><DOCNO>p{at}</DOCNO><TEXT>{text}</TEXT></DOC>\n"));
    write("trec/docs/all.txt", &docs.collect::<String>());
    write(
        "trec/topics.tsv",
        &format!("q0\t{}\nq1\t{}\n", queries[0], queries[1]),
    );
    write("trec/qrels.txt", "q0 0 p0 1\nq1 0 p2 1\n");
    let paragraphs = documents.iter().enumerate().map(|(at, text)| {
        let asked = (0..2).filter(|&query| answers[query] == at);
        let asked =
            asked.map(|query| json!({"id": format!("q{query}"), "question": queries[query]}));
        json!({"context": text, "qas": asked.collect::<Vec<_>>()})
    });
    let mut paragraphs: Vec<Value> = paragraphs.collect();
    let blank = json!({"id": "q9", "question": " "});
    paragraphs[0]["qas"].as_array_mut().unwrap().push(blank);
    let squad = json!({"data": [{"paragraphs": paragraphs}]});
    write("squad.json", &squad.to_string());

    let quire = Quire::new();
    let measured = |set: &str| {
        let args = ["eval", "run", "--json", "--retrieval-only", "--out"];
        let ran = eval(&quire, &args, &at("runs").join(set), &[at(set)]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let report = ran.json();
        let mut rows = report["retrieval"].clone();
        for row in rows.as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("set");
        }
        rows
    };
    let beir = measured("beir");
    assert_eq!(beir[0]["measures"]["mrr@10"]["mean"], 1.0);
    assert_eq!(measured("trec"), beir);
    // SQuAD passages have their own names, p0 and so on, as these have.
    assert_eq!(measured("squad.json"), beir);
    let shown = quire.run([
        "eval".as_ref(),
        "report".as_ref(),
        at("runs/squad.json").as_os_str(),
    ]);
    let told = "2 questions, 1 book; 1 question without text left out";
    assert!(shown.stdout.contains(told), "{}", shown.stdout);
}

#[test]
fn two_runs_are_weighed_question_by_question() {
    let (out, _) = sample_run();
    let path = out.path().to_str().unwrap();
    let quire = Quire::new();
    let ambiguous = quire.run(["eval", "compare", path, path]);
    assert_eq!(ambiguous.code, 1);
    assert!(ambiguous.stderr.contains("--way-a"), "{}", ambiguous.stderr);
    let args = [
        "eval", "compare", path, path, "--way-a", "1", "--way-b", "1",
    ];
    let same = quire.json(args.iter().chain(&[
        "--measure",
        "mrr@10",
        "--stage-a",
        "lexical",
        "--stage-b",
        "lexical",
    ]));
    assert_eq!(same["rows"][0]["difference"]["mean"], 0.0);
    assert_eq!(same["rows"][0]["difference"]["p"], 1.0);
    let stages = quire.json(args.iter().chain(&[
        "--measure",
        "mrr@10",
        "--stage-a",
        "lexical",
        "--stage-b",
        "fusion",
    ]));
    let difference = &stages["rows"][0]["difference"];
    let (before, after) = (&difference["before"], &difference["after"]);
    let gain = after.as_f64().unwrap() - before.as_f64().unwrap();
    assert!((difference["mean"].as_f64().unwrap() - gain).abs() < 1e-12);
    assert_eq!(difference["questions"], 6);
}

#[test]
fn what_is_no_set_is_told_with_the_formats_there_are() {
    let quire = Quire::new();
    let folder = TempDir::new().unwrap();
    let told = |name: &str, text: &str, more: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let mut command = quire.command(["eval", "run"]);
        let ran = Ran::of(command.args(more).arg(path));
        assert_ne!(ran.code, 0);
        ran.stderr
    };
    assert!(told("a.txt", "a letter", &[]).contains("one of quire, infinitebench"));
    assert!(told("b.json", "{\"data\": [{}]}", &[]).contains("b.json"));
    let line =
        "{\"id\": \"1\", \"book\": \"none.txt\", \"question\": \"Who?\", \"answers\": [\"I\"]}";
    assert!(told("c.jsonl", line, &[]).contains("cannot read the book"));
    assert!(told("d.jsonl", line, &["--format", "mine"]).contains("there is no format"));
    let missing = quire.run(["eval", "run", "nowhere.jsonl"]);
    assert!(
        missing.stderr.contains("cannot read nowhere.jsonl"),
        "{}",
        missing.stderr
    );
}
