//! BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Collection, DatasetError, Document, Numbers, Question, format_error, name_of, read};
use crate::measures::Judgements;

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Each document is a passage, its title before its text. Only the queries
/// that the split judges are asked; grades of 0 and below are not relevant,
/// and a query with no others is left out (Thakur et al. 2021, "BEIR").
///
/// # Errors
/// When a file cannot be read or is not of the format.
pub fn beir(folder: &Path, split: &str) -> Result<Collection, DatasetError> {
    let corpus = folder.join("corpus.jsonl");
    let documents: Vec<Document> = lines::<Entry>(&corpus)?
        .into_iter()
        .map(|entry| Document {
            text: titled(&entry.title, &entry.text),
            id: entry.id,
        })
        .collect();
    let numbers = Numbers::of(&corpus, &documents)?;
    let qrels = folder.join("qrels").join(format!("{split}.tsv"));
    let judged = judged(&qrels, &numbers)?;
    let queries = lines::<Entry>(&folder.join("queries.jsonl"))?;
    let questions = asked(&qrels, judged, queries.into_iter().map(|q| (q.id, q.text)))?;
    Ok(Collection::of_one_group(
        &name_of(folder),
        documents,
        questions,
    ))
}

pub(super) fn titled(title: &str, text: &str) -> String {
    match title.trim() {
        "" => text.trim().to_owned(),
        title => format!("{title}\n{}", text.trim()),
    }
}

/// The judged ones of the queries, in the queries' order.
pub(super) fn asked(
    qrels: &Path,
    mut judged: BTreeMap<String, Judgements<usize>>,
    queries: impl Iterator<Item = (String, String)>,
) -> Result<Vec<Question>, DatasetError> {
    let mut questions = Vec::new();
    for (id, text) in queries {
        let Some(relevant) = judged.remove(&id) else {
            continue;
        };
        if !relevant.is_empty() {
            questions.push(Question {
                id,
                text,
                relevant,
                group: 0,
                answers: Vec::new(),
            });
        }
    }
    match judged.into_keys().next() {
        Some(query) => Err(format_error(
            qrels,
            format!(
                "it judges the query {query:?}, which is not among the queries; add it there, or remove its judgements"
            ),
        )),
        None if questions.is_empty() => Err(format_error(
            qrels,
            "no query has a relevant document; check that it belongs to these queries",
        )),
        None => Ok(questions),
    }
}

/// `query-id corpus-id score`, separated by tabs, below a line of names.
fn judged(
    path: &Path,
    numbers: &Numbers,
) -> Result<BTreeMap<String, Judgements<usize>>, DatasetError> {
    let text = read(path)?;
    let mut judged: BTreeMap<String, Judgements<usize>> = BTreeMap::new();
    for (line, row) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = row.split('\t').map(str::trim).collect();
        if line == 1 || row.trim().is_empty() {
            continue;
        }
        let [query, document, grade] = fields.as_slice() else {
            let what = format!("line {line}: not a query, a document and a grade between tabs");
            return Err(format_error(path, what));
        };
        judge(path, line, &mut judged, numbers, [query, document, grade])?;
    }
    Ok(judged)
}

/// Takes one judgement up. A query is known from then on, be it without
/// relevant documents.
pub(super) fn judge(
    path: &Path,
    line: usize,
    judged: &mut BTreeMap<String, Judgements<usize>>,
    numbers: &Numbers,
    [query, document, grade]: [&str; 3],
) -> Result<(), DatasetError> {
    let number = numbers.get(document).ok_or_else(|| {
        let what = format!("line {line}: there is no document {document:?} in the corpus");
        format_error(path, what)
    })?;
    let grade: i64 = grade.parse().map_err(|_| {
        let what = format!("line {line}: the grade {grade:?} is not a whole number");
        format_error(path, what)
    })?;
    let relevant = judged.entry(query.to_owned()).or_default();
    if let Ok(grade @ 1..) = u32::try_from(grade) {
        relevant.insert(number, grade);
    }
    Ok(())
}

/// The objects of a file, one a line.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, DatasetError> {
    let text = read(path)?;
    let objects = (1..).zip(text.lines());
    objects
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| format_error(path, format!("line {number}: {error}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(qrels: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let corpus = "{\"_id\": \"d1\", \"title\": \"Wings\", \"text\": \"of birds\"}\n\
                      {\"_id\": \"d2\", \"title\": \"\", \"text\": \"jets\", \"metadata\": {}}\n";
        fs::write(path.join("corpus.jsonl"), corpus).unwrap();
        let queries = "{\"_id\": \"q1\", \"text\": \"what flies\"}\n\n\
                       {\"_id\": \"q2\", \"text\": \"what burns\"}\n\
                       {\"_id\": \"q3\", \"text\": \"not judged\"}\n";
        fs::write(path.join("queries.jsonl"), queries).unwrap();
        fs::create_dir(path.join("qrels")).unwrap();
        fs::write(path.join("qrels/test.tsv"), qrels).unwrap();
        folder
    }

    #[test]
    fn judged_queries_are_asked_with_their_grades() {
        let folder = folder("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t0\n");
        let set = beir(folder.path(), "test").unwrap();
        let texts: Vec<&str> = set.passages.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(texts, ["Wings\nof birds", "jets"]);
        assert_eq!(set.questions.len(), 1);
        assert_eq!(set.questions[0].id, "q1");
        assert_eq!(set.questions[0].relevant, Judgements::from([(0, 2)]));
    }

    #[test]
    fn a_judgement_of_what_is_not_there_is_told_with_its_line() {
        let told = |qrels: &str| beir(folder(qrels).path(), "test").unwrap_err().to_string();
        let header = "query-id\tcorpus-id\tscore\n";
        assert!(told(&format!("{header}q1\td9\t1\n")).contains("line 2: there is no document"));
        assert!(told(&format!("{header}q9\td1\t1\n")).contains("the query \"q9\""));
        assert!(told(&format!("{header}q1\td1\tyes\n")).contains("not a whole number"));
        assert!(told(&format!("{header}q1 d1 1\n")).contains("line 2"));
        assert!(told(header).contains("no query has a relevant document"));
    }
}
