//! SQuAD-style JSON: articles, paragraphs, questions.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::{Collection, DatasetError, Document, Question, format_error, name_of, read};
use crate::measures::Judgements;

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    question: String,
    #[serde(default)]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

/// Each paragraph is a passage; a question's paragraph is the one that answers
/// it. A question without a name has its number for one.
///
/// # Errors
/// When the file cannot be read or is not of the format.
pub fn squad(path: &Path) -> Result<Collection, DatasetError> {
    let file: File = serde_json::from_str(&read(path)?)
        .map_err(|error| format_error(path, error.to_string()))?;
    let mut passages = Vec::new();
    let mut questions = Vec::new();
    let mut ids = BTreeSet::new();
    for paragraph in file.data.into_iter().flat_map(|article| article.paragraphs) {
        for asked in paragraph.qas {
            let id = asked
                .id
                .unwrap_or_else(|| (questions.len() + 1).to_string());
            if !ids.insert(id.clone()) {
                return Err(format_error(
                    path,
                    format!("two questions have the id {id:?}; give each its own"),
                ));
            }
            let mut answers = Vec::new();
            for answer in asked.answers {
                if !answer.text.trim().is_empty() && !answers.contains(&answer.text) {
                    answers.push(answer.text);
                }
            }
            questions.push(Question {
                id,
                text: asked.question,
                relevant: Judgements::from([(passages.len(), 1)]),
                group: 0,
                answers,
            });
        }
        passages.push(Document {
            id: format!("p{}", passages.len()),
            text: paragraph.context,
        });
    }
    if questions.is_empty() {
        return Err(format_error(path, "it holds no question"));
    }
    Ok(Collection::of_one_group(
        &name_of(path),
        passages,
        questions,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_set(text: &str) -> Result<Collection, DatasetError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.json");
        std::fs::write(&path, text).unwrap();
        squad(&path)
    }

    #[test]
    fn a_paragraph_is_a_passage_and_answers_count_once() {
        let set = read_set(
            r#"{"data": [{"paragraphs": [{"context": "One.", "qas": []},
                {"context": "Two.", "qas": [{"id": "q", "question": "Which?",
                 "answers": [{"text": "Two"}, {"text": "Two"}, {"text": " "}]}]}]}]}"#,
        )
        .unwrap();
        assert_eq!(set.name, "small");
        assert_eq!(set.questions[0].relevant, Judgements::from([(1, 1)]));
        assert_eq!(set.questions[0].answers, ["Two"]);
    }

    #[test]
    fn questions_of_one_name_are_refused() {
        let qa = r#"{"id": "q", "question": "Which?"}"#;
        let text =
            format!(r#"{{"data": [{{"paragraphs": [{{"context": "", "qas": [{qa}, {qa}]}}]}}]}}"#);
        assert!(read_set(&text).unwrap_err().to_string().contains("\"q\""));
    }
}
