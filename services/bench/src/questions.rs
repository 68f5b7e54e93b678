//! The questions that are asked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::BenchError;
use crate::rng::Rng;

/// Questions of one or more files, in an order decided by a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    asked: Vec<String>,
    sha256: String,
    files: Vec<String>,
}

impl Questions {
    /// Reads JSON lines with a `question`, or plain text with one question a
    /// line; which of the two, the first line of a file tells. The questions of
    /// all files are mixed by the seed, so that a short run meets each file.
    ///
    /// # Errors
    /// When a file cannot be read or holds no question.
    pub fn read(files: &[PathBuf], seed: u64) -> Result<Self, BenchError> {
        let mut asked = Vec::new();
        for path in files {
            let text = fs::read_to_string(path).map_err(|source| BenchError::Read {
                path: path.clone(),
                source,
            })?;
            let before = asked.len();
            asked.append(&mut of_text(&text, path)?);
            if asked.len() == before {
                return Err(BenchError::NoQuestion(path.clone()));
            }
        }
        if asked.is_empty() {
            return Err(BenchError::Options(
                "no questions are given; name a file with --questions FILE".to_owned(),
            ));
        }
        let names = files.iter().map(|path| path.display().to_string());
        Ok(Self::of(asked, names.collect(), seed))
    }

    fn of(mut asked: Vec<String>, files: Vec<String>, seed: u64) -> Self {
        let mut hasher = Sha256::new();
        for question in &asked {
            // The length keeps "ab", "c" apart from "a", "bc".
            hasher.update((question.len() as u64).to_le_bytes());
            hasher.update(question);
        }
        let digest = hasher.finalize();
        Rng::new(seed).shuffle(&mut asked);
        Self {
            asked,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            files,
        }
    }

    /// In the order they are asked.
    pub fn as_slice(&self) -> &[String] {
        &self.asked
    }

    /// SHA-256 over the questions in the order of the files, each after its
    /// length in bytes.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The names of the files.
    pub fn files(&self) -> &[String] {
        &self.files
    }
}

fn of_text(text: &str, path: &Path) -> Result<Vec<String>, BenchError> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let json = text.trim_start().starts_with('{');
    lines
        .map(|(at, line)| {
            if !json {
                return Ok(line.trim().to_owned());
            }
            let wrong = |source| BenchError::QuestionLine {
                path: path.to_owned(),
                line: at + 1,
                source,
            };
            let record: Value = serde_json::from_str(line).map_err(|error| wrong(Some(error)))?;
            match record.get("question").and_then(Value::as_str) {
                Some(question) => Ok(question.to_owned()),
                None => Err(wrong(None)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_and_plain_text_are_told_apart() {
        let path = Path::new("q");
        let json = "{\"id\": 1, \"question\": \"Who?\"}\n\n{\"question\": \"谁？\"}\n";
        assert_eq!(of_text(json, path).unwrap(), ["Who?", "谁？"]);
        assert_eq!(
            of_text("Who?\n  Where?\n\n", path).unwrap(),
            ["Who?", "Where?"]
        );
    }

    #[test]
    fn a_line_without_a_question_is_named() {
        let error = of_text(
            "{\"question\": \"x\"}\n{\"text\": \"y\"}\n",
            Path::new("q.jsonl"),
        );
        let said = error.unwrap_err().to_string();
        assert!(said.contains("line 2 of q.jsonl"), "{said}");
    }

    #[test]
    fn the_digest_depends_on_the_questions_and_not_on_the_seed() {
        let of = |questions: &[&str], seed| {
            let asked = questions.iter().map(ToString::to_string).collect();
            Questions::of(asked, Vec::new(), seed)
        };
        assert_eq!(of(&["ab", "c"], 1).sha256(), of(&["ab", "c"], 2).sha256());
        assert_ne!(of(&["ab", "c"], 1).sha256(), of(&["a", "bc"], 1).sha256());
    }
}
