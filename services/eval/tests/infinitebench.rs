//! Scores against those of InfiniteBench's own evaluation script, bit for bit.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use quire_eval::answers::{GoldAnswers, Task, Total, score};
use serde::Deserialize;

/// An answer and the score the script gave it.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    model: String,
    task: String,
    prediction: String,
    ground_truth: Vec<String>,
    score: f64,
}

impl Row {
    fn scored(&self) -> f64 {
        let task: Task = self.task.parse().expect("a task of ours");
        score(
            task,
            &self.prediction,
            &GoldAnswers::new(&self.ground_truth),
        )
    }
}

/// What the script says of one file: a mean, or that it cannot be read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Mean {
    Read { n: usize, mean: f64 },
    Unread { error: String },
}

/// The folder of the script's scores, or a note that the test is skipped.
fn data(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("QUIRE_TEST_DATA").filter(|folder| !folder.is_empty()) {
        return Some(Path::new(&folder).join("infinitebench"));
    }
    let line = format!("SKIPPED quire-eval::{test}: QUIRE_TEST_DATA is not set");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("QUIRE_SKIP_LOG") {
        let mut log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .expect("the skip log can be written");
        writeln!(log, "{line}").expect("the skip log can be written");
    }
    None
}

fn rows(path: &Path) -> Vec<Row> {
    fs::read_to_string(path)
        .expect("the file of scores")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

/// Asserts that every row has the script's score, bit for bit.
fn assert_all_equal(rows: &[Row]) {
    let unequal: Vec<String> = rows
        .iter()
        .filter(|row| row.scored().to_bits() != row.score.to_bits())
        .map(|row| {
            let Row {
                task,
                prediction,
                ground_truth,
                score,
                ..
            } = row;
            format!(
                "{task} {prediction:?} {ground_truth:?}: {} not {score}",
                row.scored()
            )
        })
        .collect();
    assert!(
        unequal.is_empty(),
        "{} rows:\n{}",
        unequal.len(),
        unequal.join("\n")
    );
}

#[test]
fn every_official_prediction_has_the_official_score() {
    let Some(folder) = data("every_official_prediction_has_the_official_score") else {
        return;
    };
    let rows = rows(&folder.join("golden_scores.jsonl"));
    assert_eq!(rows.len(), 5_180);
    assert_all_equal(&rows);
}

#[test]
fn every_edge_case_has_the_official_score() {
    let Some(folder) = data("every_edge_case_has_the_official_score") else {
        return;
    };
    let rows = rows(&folder.join("golden_edge_cases.jsonl"));
    assert_eq!(rows.len(), 132);
    assert_all_equal(&rows);
}

#[test]
fn every_mean_is_the_official_mean() {
    let Some(folder) = data("every_mean_is_the_official_mean") else {
        return;
    };
    let mut scores: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows(&folder.join("golden_scores.jsonl")) {
        let file = format!("{}/{}", row.model, row.task);
        scores.entry(file).or_default().push(row.scored());
    }
    let means = fs::read_to_string(folder.join("golden_means.json")).expect("the file of means");
    let means: BTreeMap<String, Mean> = serde_json::from_str(&means).expect("means by file");
    assert_eq!(means.len(), 21);
    for (file, mean) in means {
        let ours = scores.get(&file).and_then(|scores| Total::of(scores));
        match mean {
            Mean::Read { n, mean } => {
                let ours = ours.expect("scores of the file");
                assert_eq!(
                    (ours.rows, ours.mean.to_bits()),
                    (n, mean.to_bits()),
                    "{file}"
                );
                if file.ends_with(Task::ChoiceEn.name()) {
                    assert_eq!(ours.full as f64 / ours.rows as f64, mean, "{file}");
                }
            }
            // The script stops at a broken line of this file.
            Mean::Unread { error } => assert!(ours.is_none(), "{file}: {error}"),
        }
    }
}
