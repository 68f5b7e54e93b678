//! The novels of GraphRAG-Bench.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{Book, Draft, Question, QuestionsError, Support, checked, not_empty, present, task_of};
use crate::answers::GoldAnswers;

/// The kind whose answers are facts that stand in the novel; those of the
/// others are summaries and inventions.
const FACTS: &str = "Fact Retrieval";

#[derive(Deserialize)]
struct Entry {
    id: String,
    source: String,
    question: String,
    answer: String,
    question_type: String,
}

/// A folder with `questions.json`, a list of `id`, `source`, `question`,
/// `answer` and `question_type`, and the novels as `books/SOURCE.txt`. Only
/// questions of the type `Fact Retrieval` are taken. Their evidence is
/// paraphrased, so a passage is judged by the words of the answer (Xiang et
/// al. 2025, "When to use Graphs in RAG").
///
/// # Errors
/// When the file cannot be read or is not of the format.
pub fn novels(folder: &Path) -> Result<Vec<Question>, QuestionsError> {
    let path = folder.join("questions.json");
    let bytes = fs::read(&path).map_err(|source| QuestionsError::Read {
        path: path.clone(),
        source,
    })?;
    let entries: Vec<Entry> =
        serde_json::from_slice(&bytes).map_err(|source| QuestionsError::File {
            path: path.clone(),
            source,
        })?;
    let mut questions = Vec::new();
    let mut places_by_id = BTreeMap::new();
    for (place, entry) in (1..).zip(entries) {
        if entry.question_type != FACTS {
            continue;
        }
        let question = present("question", Some(entry.question))
            .map(|text| Draft {
                id: Some(entry.id),
                book: Book::Named(format!("books/{}.txt", entry.source)),
                task: task_of(&text, false),
                text,
                options: Vec::new(),
                gold: GoldAnswers::new([entry.answer]),
                evidence: Vec::new(),
                support: Support::AnswerWords,
            })
            .and_then(|draft| checked(draft, place, &mut places_by_id));
        questions.push(question.map_err(|fault| QuestionsError::Line {
            path: path.clone(),
            line: place,
            fault,
        })?);
    }
    not_empty(&path, questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_asked_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |id: &str, kind: &str| {
            format!(
                r#"{{"id": "{id}", "source": "Novel-1", "question": "Who?", "answer": "Ann",
                    "question_type": "{kind}", "evidence": "x"}}"#
            )
        };
        let text = format!("[{},{}]", entry("a", FACTS), entry("b", "Summarize"));
        fs::write(folder.path().join("questions.json"), text).unwrap();
        let questions = novels(folder.path()).unwrap();
        assert_eq!(questions.len(), 1);
        assert_eq!(questions[0].book, Book::Named("books/Novel-1.txt".into()));
        assert_eq!(questions[0].support, Support::AnswerWords);
    }
}
