//! The closed-ended tasks of L-Eval: choices over long texts.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::{Book, Draft, Fault, Question, QuestionsError, Support, read_drafts};
use crate::answers::{GoldAnswers, Task};

#[derive(Deserialize)]
struct Line {
    instructions: Vec<String>,
    outputs: Vec<String>,
    input: String,
}

/// Questions of one JSON object a line: `input` (the whole text),
/// `instructions` (its questions) and `outputs` (their answers). Options stand
/// in the question, as ` (A) ...` at the end of it; without any, the answer
/// begins with `True` or `False`, and these are the options (An et al. 2023,
/// "L-Eval"; quality, tpo, coursera, sci_fi).
///
/// A question's id is `LINE-NUMBER`, both from 1.
///
/// # Errors
/// When the file cannot be read or a line of it is not of the format.
pub fn leval(path: &Path) -> Result<Vec<Question>, QuestionsError> {
    read_drafts(path, |number, line| {
        let line: Line = serde_json::from_slice(line).map_err(Fault::Format)?;
        if line.outputs.len() != line.instructions.len() {
            return Err(Fault::Answers {
                questions: line.instructions.len(),
                answers: line.outputs.len(),
            });
        }
        let book: Arc<str> = line.input.into();
        let asked = (1..).zip(line.instructions.iter().zip(&line.outputs));
        asked
            .map(|(at, (instruction, output))| {
                let (text, options) = choice(instruction);
                Ok(Draft {
                    id: Some(format!("{number}-{at}")),
                    book: Book::Text(Arc::clone(&book)),
                    text,
                    gold: gold(&options, output)?,
                    options,
                    evidence: Vec::new(),
                    support: Support::AnswerText,
                    task: Task::ChoiceEn,
                })
            })
            .collect()
    })
}

/// The question and its options.
fn choice(instruction: &str) -> (String, Vec<String>) {
    let Some((question, rest)) = instruction.split_once("(A)") else {
        let bare = instruction.trim();
        return (bare.to_owned(), vec!["True".to_owned(), "False".to_owned()]);
    };
    let mut options = Vec::new();
    let mut rest = rest;
    for letter in 'B'..='Z' {
        match rest.split_once(&format!("({letter})")) {
            Some((option, after)) => {
                options.push(one_line(option));
                rest = after;
            }
            None => break,
        }
    }
    options.push(one_line(rest));
    (one_line(question), options)
}

/// The option an answer names: by its letter, or by its first word.
fn gold(options: &[String], output: &str) -> Result<GoldAnswers, Fault> {
    let output = output.trim();
    let lettered = output
        .strip_prefix('(')
        .and_then(|rest| rest.chars().next())
        .filter(char::is_ascii_uppercase)
        .and_then(|letter| options.get(letter as usize - 'A' as usize));
    let word = output.split_whitespace().next().unwrap_or_default();
    let named = lettered.map_or(word, String::as_str);
    Ok(GoldAnswers::of_choice(options, &[named])?)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(line: &str) -> Result<Vec<Question>, QuestionsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.jsonl");
        fs::write(&path, line).unwrap();
        leval(&path)
    }

    #[test]
    fn options_stand_in_the_question_or_are_true_and_false() {
        let questions = read(
            r#"{"instructions": ["Who came?\n\n (A) The cat. \n (B) A  dog.", "It rained, True or False?"],
                "outputs": ["(B) A dog.", "False [fact: True]"], "input": "The book."}"#
                .replace('\n', " ")
                .as_str(),
        )
        .unwrap();
        assert_eq!(questions[0].text, "Who came?");
        assert_eq!(questions[0].options, ["The cat.", "A dog."]);
        assert_eq!(questions[0].gold.texts(), ["A dog.", "B"]);
        assert_eq!(questions[1].gold.texts(), ["False", "B"]);
        assert_eq!(questions[1].id, "1-2");
        assert_eq!(questions[0].book, questions[1].book);
    }

    #[test]
    fn a_question_without_an_answer_is_told() {
        let told = read(r#"{"instructions": ["a"], "outputs": [], "input": "b"}"#).unwrap_err();
        assert!(
            told.to_string().contains("1 questions, but 0 answers"),
            "{told}"
        );
        let told = read(r#"{"instructions": ["a"], "outputs": ["Perhaps"], "input": "b"}"#);
        assert!(
            told.unwrap_err()
                .to_string()
                .contains("none of the options")
        );
    }
}
