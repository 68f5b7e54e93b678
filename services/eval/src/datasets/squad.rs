//! SQuAD-style JSON: articles, paragraphs, questions.

use std::path::Path;

use serde::Deserialize;

use super::{Collection, DatasetError, Question, format_error, read};
use crate::metrics::Judgements;

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
    question: String,
}

/// Each paragraph is a passage; a question's paragraph is the one that answers
/// it.
///
/// # Errors
/// When the file cannot be read or is not of the format.
pub fn squad(name: &str, path: &Path) -> Result<Collection, DatasetError> {
    let file: File = serde_json::from_str(&read(path)?)
        .map_err(|error| format_error(path, error.to_string()))?;
    let mut passages = Vec::new();
    let mut questions = Vec::new();
    for paragraph in file.data.into_iter().flat_map(|article| article.paragraphs) {
        for asked in paragraph.qas {
            let relevant = Judgements::from([(passages.len(), 1)]);
            questions.push(Question {
                text: asked.question,
                relevant,
                group: 0,
            });
        }
        passages.push(paragraph.context);
    }
    let everything = 0..passages.len();
    Ok(Collection {
        name: name.to_owned(),
        passages,
        groups: std::iter::once(everything).collect(),
        questions,
    })
}
