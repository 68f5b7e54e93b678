//! TREC folders: documents, topics and qrels.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::beir::{asked, judge, titled};
use super::{Collection, DatasetError, Document, Numbers, format_error, name_of, read};
use crate::measures::Judgements;

/// A folder with `docs*` (files, or folders of files, of `<DOC>` records),
/// `topics*` (`<top>` records, or a number and a question a line between a
/// tab) and `qrels*` (`topic iteration document grade` a line). Each document
/// is a passage: the text of its elements but `DOCNO`. A topic's question is
/// its title. Topics without relevant documents are left out.
///
/// # Errors
/// When a file is missing, cannot be read or is not of the format.
pub fn trec(folder: &Path) -> Result<Collection, DatasetError> {
    let mut documents = Vec::new();
    for path in files(&named(folder, "docs")?)? {
        documents.extend(documents_of(&path)?);
    }
    let numbers = Numbers::of(folder, &documents)?;
    let mut judged: BTreeMap<String, Judgements<usize>> = BTreeMap::new();
    let qrels = named(folder, "qrels")?;
    for path in files(&qrels)? {
        for (line, row) in (1..).zip(read(&path)?.lines()) {
            let fields: Vec<&str> = row.split_whitespace().collect();
            match fields.as_slice() {
                [] => {}
                [topic, _, document, grade] => {
                    judge(&path, line, &mut judged, &numbers, [topic, document, grade])?;
                }
                _ => {
                    let what = format!("line {line}: not topic, iteration, document and grade");
                    return Err(format_error(&path, what));
                }
            }
        }
    }
    let mut topics = Vec::new();
    for path in files(&named(folder, "topics")?)? {
        topics.extend(topics_of(&path)?);
    }
    let questions = asked(&qrels, judged, topics.into_iter())?;
    Ok(Collection::of_one_group(
        &name_of(folder),
        documents,
        questions,
    ))
}

/// The entry of a folder whose name begins so.
fn named(folder: &Path, stem: &str) -> Result<PathBuf, DatasetError> {
    let mut found: Vec<PathBuf> = entries(folder)?;
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.to_lowercase().starts_with(stem)
    });
    match <[PathBuf; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(found) => Err(format_error(
            folder,
            format!(
                "{} entries have names that begin with {stem:?}; a TREC folder has one",
                found.len()
            ),
        )),
    }
}

/// A file, or all files of a folder, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = entries(path)?;
    found.retain(|path| path.is_file());
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let unread = |source| DatasetError::Read {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(unread)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(unread)?;
    paths.sort();
    Ok(paths)
}

fn documents_of(path: &Path) -> Result<Vec<Document>, DatasetError> {
    let text = read(path)?;
    let records = between(&text, "<DOC>", "</DOC>");
    let documents = records.map(|record| {
        let id = between(record, "<DOCNO>", "</DOCNO>").next();
        let id = id.map(str::trim).filter(|id| !id.is_empty());
        let Some(id) = id else {
            return Err(format_error(path, "a <DOC> has no <DOCNO>"));
        };
        let elements = elements(record);
        let of = |name: &str| {
            let found = elements.iter().filter(|(tag, _)| *tag == name);
            found.map(|(_, text)| text.trim()).collect::<Vec<_>>()
        };
        let title = [of("TITLE"), of("HEADLINE"), of("TI")].concat().join(" ");
        let body = [of("TEXT"), of("BODY")].concat().join("\n");
        Ok(Document {
            id: id.to_owned(),
            text: titled(&title, &body),
        })
    });
    let documents: Vec<Document> = documents.collect::<Result<_, _>>()?;
    match documents.is_empty() {
        true => Err(format_error(path, "no <DOC> record; it holds no documents")),
        false => Ok(documents),
    }
}

fn topics_of(path: &Path) -> Result<Vec<(String, String)>, DatasetError> {
    let text = read(path)?;
    if !text.contains("<top>") {
        let rows = (1..).zip(text.lines());
        let rows = rows.filter(|(_, row)| !row.trim().is_empty());
        return rows
            .map(|(line, row)| match row.split_once('\t') {
                Some((id, question)) => Ok((id.trim().to_owned(), question.trim().to_owned())),
                None => Err(format_error(
                    path,
                    format!("line {line}: not a number and a question between a tab"),
                )),
            })
            .collect();
    }
    // The classic form closes none of a topic's elements.
    let topics = between(&text, "<top>", "</top>").map(|topic| {
        let id = field(topic, "<num>").map(|id| id.trim_start_matches("Number:").trim());
        let title = field(topic, "<title>").map(|title| title.trim_start_matches("Topic:").trim());
        match (id, title) {
            (Some(id), Some(title)) if !id.is_empty() && !title.is_empty() => Ok((
                id.to_owned(),
                title.split_whitespace().collect::<Vec<_>>().join(" "),
            )),
            _ => Err(format_error(path, "a <top> has no <num> or no <title>")),
        }
    });
    topics.collect()
}

/// What follows a mark, up to the next one.
fn field<'a>(topic: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = topic.split_once(mark)?;
    Some(rest.split('<').next().unwrap_or(rest).trim())
}

/// Every text between two marks.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open)
        .skip(1)
        .map(move |rest| rest.split_once(close).map_or(rest, |(inside, _)| inside))
}

/// The elements of a record and their texts.
fn elements(record: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = record;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, inside)) = after.split_once('>') else {
            break;
        };
        let close = format!("</{tag}>");
        match inside.split_once(close.as_str()) {
            Some((text, after)) => {
                found.push((tag, text));
                rest = after;
            }
            None => rest = inside,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = "<DOC>\n<DOCNO> A-1 </DOCNO>\n<TITLE>Wings</TITLE>\n<TEXT>\nof birds\n</TEXT>\n</DOC>\n\
                        <DOC><DOCNO>A-2</DOCNO><TEXT>jets</TEXT></DOC>";

    fn folder(topics: &str, qrels: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("topics.txt"), topics).unwrap();
        fs::write(folder.path().join("qrels.txt"), qrels).unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        fs::write(folder.path().join("docs/a.sgml"), DOCS).unwrap();
        folder
    }

    #[test]
    fn classic_topics_and_plain_ones_read_alike() {
        let classic = "<top>\n<num> Number: 301\n<title> Topic: what\n flies\n<desc> Description:\nlong\n</top>\n\
                       <top><num>302</num><title>what burns</title></top>";
        let plain = "301\twhat flies\n302\twhat burns\n";
        let qrels = "301 0 A-1 2\n301 0 A-2 0\n302 Q0 A-2 1\n";
        let set = trec(folder(classic, qrels).path()).unwrap();
        let other = trec(folder(plain, qrels).path()).unwrap();
        assert_eq!(set.questions, other.questions);
        assert_eq!(set.questions[0].text, "what flies");
        assert_eq!(set.questions[0].relevant, Judgements::from([(0, 2)]));
        assert_eq!(set.passages[0].text, "Wings\nof birds");
        assert_eq!(set.passages[1].id, "A-2");
    }

    #[test]
    fn what_is_missing_is_named() {
        let told =
            |topics: &str, qrels: &str| trec(folder(topics, qrels).path()).unwrap_err().to_string();
        assert!(told("1\ta\n", "1 0 A-9 1\n").contains("no document \"A-9\""));
        assert!(told("1\ta\n", "1 A-1 1\n").contains("line 1"));
        assert!(told("<top><num>1\n</top>", "1 0 A-1 1\n").contains("no <title>"));
        let empty = tempfile::tempdir().unwrap();
        assert!(
            trec(empty.path())
                .unwrap_err()
                .to_string()
                .contains("\"docs\"")
        );
    }
}
