//! The Cranfield collection: 1,400 abstracts, 225 queries, graded judgements.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Collection, DatasetError, Document, Question, format_error, read};
use crate::measures::Judgements;

/// Title and text of a document are its passage. Grades 1 to 4 are relevant,
/// all alike. The judgements number queries by their position in the query
/// file, not by the number printed there; the position is a question's id.
///
/// # Errors
/// When a file cannot be read or is not of the format.
pub fn cranfield(folder: &Path) -> Result<Collection, DatasetError> {
    let documents = records(&read(&folder.join("cran.all.1400"))?);
    let queries = records(&read(&folder.join("cran.qry"))?);
    let judged_path = folder.join("cranqrel");
    let judged = read(&judged_path)?;

    let numbers: BTreeMap<&str, usize> = (0..)
        .zip(&documents)
        .map(|(at, record)| (record.number.as_str(), at))
        .collect();
    let mut relevant = vec![Judgements::<usize>::new(); queries.len()];
    for (line, text) in (1..).zip(judged.lines()) {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [query, document, rest @ ..] = fields.as_slice() else {
            continue;
        };
        if !matches!(rest.first(), Some(&("1" | "2" | "3" | "4"))) {
            continue;
        }
        let query: usize = query
            .parse()
            .ok()
            .filter(|query| (1..=queries.len()).contains(query))
            .ok_or_else(|| format_error(&judged_path, format!("line {line}: no query {query}")))?;
        if let Some(&passage) = numbers.get(document) {
            relevant[query - 1].insert(passage, 1);
        }
    }
    let passages = documents.iter().map(|record| Document {
        id: record.number.clone(),
        text: format!("{} {}", record.field('T'), record.field('W'))
            .trim()
            .to_owned(),
    });
    let questions = (1..)
        .zip(queries.iter().zip(relevant))
        .filter(|(_, (_, relevant))| !relevant.is_empty())
        .map(|(position, (record, relevant))| Question {
            id: position.to_string(),
            text: record.field('W').to_owned(),
            relevant,
            group: 0,
            answers: Vec::new(),
        });
    Ok(Collection::of_one_group(
        "cranfield",
        passages.collect(),
        questions.collect(),
    ))
}

struct Record {
    number: String,
    fields: BTreeMap<char, String>,
}

impl Record {
    fn field(&self, name: char) -> &str {
        self.fields.get(&name).map_or("", String::as_str)
    }
}

/// `.I NUMBER` begins a record, a line such as `.T` a field of it.
fn records(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut field = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(number) = bare.strip_prefix(".I") {
            records.push(Record {
                number: number.trim().to_owned(),
                fields: BTreeMap::new(),
            });
            field = None;
        } else if let [b'.', name @ b'A'..=b'Z'] = bare.as_bytes() {
            field = Some(*name as char);
        } else if let (Some(record), Some(field)) = (records.last_mut(), field) {
            record.fields.entry(field).or_default().push_str(line);
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgements_number_queries_by_position() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "cran.all.1400",
            ".I 1\n.T\nwings\n.W\nof birds .\n.I 2\n.T\njets\n.W\nhot .\n",
        );
        write(
            "cran.qry",
            ".I 001\n.W\nwhat flies\n.I 004\n.W\nwhat burns\n",
        );
        write("cranqrel", "1 1 2\n2 2 3\n2 1 5\n1 2 -1\n");
        let set = cranfield(folder.path()).unwrap();
        let texts: Vec<&str> = set.passages.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(texts, ["wings\n of birds .", "jets\n hot ."]);
        assert_eq!(set.questions[1].text, "what burns\n");
        assert_eq!(set.questions[1].relevant, Judgements::from([(1, 1)]));
        assert_eq!(set.questions[0].relevant, Judgements::from([(0, 1)]));
    }
}
