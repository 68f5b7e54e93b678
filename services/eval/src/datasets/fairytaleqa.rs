//! FairytaleQA: stories in sections, questions with their gold sections.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Collection, DatasetError, Document, Group, Question, format_error, rows};
use crate::measures::Judgements;

/// Each section of a split's stories is a passage, each story a group. A
/// question without a known gold section is left out.
///
/// # Errors
/// When a file cannot be read or is not of the format.
pub fn fairytaleqa(folder: &Path, split: &str) -> Result<Collection, DatasetError> {
    let stories = folder.join("section-stories").join(split);
    let entries = fs::read_dir(&stories).map_err(|source| DatasetError::Read {
        path: stories.clone(),
        source,
    })?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    files.sort();

    let mut set = Collection {
        name: format!("fairytaleqa {split}"),
        passages: Vec::new(),
        groups: Vec::new(),
        questions: Vec::new(),
    };
    for path in files {
        let first = set.passages.len();
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        let story = file.trim_end_matches("-story").to_owned();
        let mut sections = BTreeMap::new();
        for row in rows(&path)? {
            let column = |part: &str| row.iter().find(|(name, _)| name.contains(part));
            let (Some((_, section)), Some((_, text))) = (column("section"), column("text")) else {
                return Err(format_error(&path, "no columns 'section' and 'text'"));
            };
            sections.insert(section_number(section), set.passages.len());
            set.passages.push(Document {
                id: format!("{story}:{}", section.trim()),
                text: text.clone(),
            });
        }
        let group = set.groups.len();
        set.groups.push(Group {
            title: story.clone(),
            passages: first..set.passages.len(),
        });

        let asked = folder
            .join("questions")
            .join(split)
            .join(format!("{story}-questions.csv"));
        if !asked.exists() {
            continue;
        }
        for (number, row) in (1..).zip(rows(&asked)?) {
            let gold = row.get("cor_section").map_or("", String::as_str);
            let relevant: Judgements<usize> = gold
                .split([',', ';'])
                .filter_map(|number| sections.get(&section_number(number)))
                .map(|&passage| (passage, 1))
                .collect();
            let Some(text) = row.get("question") else {
                return Err(format_error(&asked, "no column 'question'"));
            };
            if !relevant.is_empty() {
                set.questions.push(Question {
                    id: format!("{story}:{number}"),
                    text: text.clone(),
                    relevant,
                    group,
                    answers: answers(&row),
                });
            }
        }
    }
    Ok(set)
}

/// The answers of the annotators, each once: `answer1` to `answer6`.
fn answers(row: &BTreeMap<String, String>) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    for number in 1..=6 {
        let given = row.get(&format!("answer{number}")).map(|text| text.trim());
        if let Some(given) = given.filter(|given| !given.is_empty())
            && !answers.iter().any(|answer| answer == given)
        {
            answers.push(given.to_owned());
        }
    }
    answers
}

/// `3` and `3.0` are the same section.
fn section_number(text: &str) -> Option<u64> {
    let number: f64 = text.trim().parse().ok()?;
    (number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gold_sections_are_passages_of_the_questions_own_story() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "section-stories/test/a-story.csv",
            "section,text\n1,one\n2,\"two, quoted\"\n",
        );
        write(
            "section-stories/test/b-story.csv",
            "\u{feff}section,text\n1,three\n",
        );
        write(
            "questions/test/b-questions.csv",
            "question,cor_section\nWho?,1.0\nWhere?,9\n",
        );
        write(
            "questions/test/a-questions.csv",
            "question,cor_section,answer1,answer2\nWhat?,\"1,2\",a hen,a hen \n",
        );
        let set = fairytaleqa(folder.path(), "test").unwrap();
        let texts: Vec<&str> = set.passages.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(texts, ["one", "two, quoted", "three"]);
        assert_eq!(set.passages[2].id, "b:1");
        let groups: Vec<_> = set.groups.iter().map(|g| g.passages.clone()).collect();
        assert_eq!(groups, [0..2, 2..3]);
        assert_eq!(set.questions[0].answers, ["a hen"]);
        let asked: Vec<_> = set
            .questions
            .iter()
            .map(|q| (q.text.as_str(), q.group))
            .collect();
        assert_eq!(asked, [("What?", 0), ("Who?", 1)]);
        assert_eq!(
            set.questions[0].relevant,
            Judgements::from([(0, 1), (1, 1)])
        );
        assert_eq!(set.questions[1].relevant, Judgements::from([(2, 1)]));
    }
}
