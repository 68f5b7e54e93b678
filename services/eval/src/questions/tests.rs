use std::io::Write;

use tempfile::NamedTempFile;

use super::*;

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn read_own(text: &str) -> Result<Vec<Question>, QuestionsError> {
    own(file(text).path())
}

fn read_infinitebench(task: Task, text: &str) -> Result<Vec<Question>, QuestionsError> {
    infinitebench(Some(task), file(text).path())
}

/// The message without the path, which is another one each time.
fn told(questions: Result<Vec<Question>, QuestionsError>) -> String {
    match questions.unwrap_err() {
        QuestionsError::Line { line, fault, .. } => format!("line {line}: {fault}"),
        error => error.to_string(),
    }
}

#[test]
fn the_sample_corpus_is_read_whole() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample");
    let english = own(&sample.join("the-wet-ledger.questions.jsonl")).unwrap();
    let chinese = own(&sample.join("一庹水.questions.jsonl")).unwrap();
    let count = |questions: &[Question], task| questions.iter().filter(|q| q.task == task).count();
    assert_eq!(
        (count(&english, Task::ChoiceEn), count(&english, Task::QaEn)),
        (19, 19)
    );
    assert_eq!(
        (count(&chinese, Task::ChoiceEn), count(&chinese, Task::QaZh)),
        (20, 20)
    );
    for question in english.iter().chain(&chinese) {
        let Book::Named(book) = &question.book else {
            panic!("{} has no named book", question.id);
        };
        let book = std::fs::read_to_string(sample.join(book)).unwrap();
        assert!(!question.evidence.is_empty());
        for quote in &question.evidence {
            assert!(book.contains(quote), "{}: {quote}", question.id);
        }
    }
}

#[test]
fn a_question_of_ones_own_has_all_its_members() {
    let read = read_own(concat!(
        "\u{feff}{\"id\": \"1\", \"book\": \"b.txt\", \"question\": \"Who?\", \"answers\": [\"Wick\"]}\r\n",
        "\n",
        "{\"id\": \"2\", \"book\": \"b.txt\", \"question\": \"Where?\", \"answers\": [\"bay\"], ",
        "\"options\": [\"sea\", \"bay\"], \"evidence\": [\"in the bay\"]}",
    ));
    let read = read.unwrap();
    assert_eq!(read[0].task, Task::QaEn);
    assert_eq!(read[0].gold.texts(), ["Wick"]);
    let second = Question {
        id: "2".to_owned(),
        book: Book::Named("b.txt".to_owned()),
        text: "Where?".to_owned(),
        options: vec!["sea".to_owned(), "bay".to_owned()],
        gold: GoldAnswers::new(["bay", "B"]),
        evidence: vec!["in the bay".to_owned()],
        support: Support::AnswerText,
        task: Task::ChoiceEn,
    };
    assert_eq!(read[1], second);
}

#[test]
fn a_question_is_chinese_if_half_of_its_letters_are_han() {
    let task = |question: &str| {
        let line =
            serde_json::json!({"id": "1", "book": "b", "question": question, "answers": ["x"]});
        read_own(&line.to_string()).unwrap()[0].task
    };
    assert_eq!(task("Who is 阿紫?"), Task::QaEn);
    assert_eq!(task("谁是 Wick？"), Task::QaEn);
    assert_eq!(task("船工 Wick 是谁？"), Task::QaZh);
    assert_eq!(task("1 + 1?"), Task::QaEn);
}

#[test]
fn infinitebench_choices_take_their_answer_in_each_of_its_shapes() {
    let options = r#""options": ["x", "y", "z", "w"], "context": "book", "input": "?""#;
    for answer in [r#""y""#, r#"["y"]"#, r#"["y", "B"]"#] {
        let line = format!("{{\"id\": 3, {options}, \"answer\": {answer}}}");
        let read = read_infinitebench(Task::ChoiceEn, &line).unwrap();
        assert_eq!(read[0].gold.texts(), ["y", "B"]);
        assert_eq!(read[0].id, "3");
    }
    for (answer, second) in [(r#"["y", "C"]"#, "C"), (r#"["y", "b"]"#, "b")] {
        let line = format!("{{{options}, \"answer\": {answer}}}");
        assert_eq!(
            told(read_infinitebench(Task::ChoiceEn, &line)),
            format!(
                "line 1: the answer {second:?} is none of the options; copy the option's text exactly"
            )
        );
    }
}

#[test]
fn an_infinitebench_file_that_says_no_task_tells_it_line_by_line() {
    let text = concat!(
        "{\"context\": \"b\", \"input\": \"Who?\", \"answer\": \"a\"}\n",
        "{\"context\": \"b\", \"input\": \"谁？\"}\n",
        "{\"context\": \"b\", \"input\": \"Which?\", \"options\": [\"x\", \"y\"]}\n",
    );
    let read = infinitebench(None, file(text).path()).unwrap();
    let tasks: Vec<Task> = read.iter().map(|question| question.task).collect();
    assert_eq!(tasks, [Task::QaEn, Task::QaZh, Task::ChoiceEn]);
    // Without an answer they are asked all the same.
    assert!(read[1].gold.texts().is_empty() && read[2].gold.texts().is_empty());
    let own = read_own(r#"{"id": "1", "book": "b", "question": "?"}"#).unwrap();
    assert!(own[0].gold.texts().is_empty());
}

#[test]
fn infinitebench_questions_about_one_book_share_its_text() {
    let read = read_infinitebench(
        Task::QaEn,
        concat!(
            "{\"context\": \"one book\", \"input\": \"Who?\", \"answer\": [\"a\", \"b\"], \"options\": []}\n",
            "{\"context\": \"one book\", \"input\": \"Why?\", \"answer\": \"c\", \"len\": 9}\n",
        ),
    );
    let read = read.unwrap();
    let (Book::Text(first), Book::Text(second)) = (&read[0].book, &read[1].book) else {
        panic!("books without text");
    };
    assert!(Arc::ptr_eq(first, second));
    assert_eq!(read[0].gold.texts(), ["a", "b"]);
    assert_eq!(read[1].gold.texts(), ["c"]);
    assert_eq!(
        (read[0].id.as_str(), read[1].id.as_str()),
        ("line-1", "line-2")
    );
}

#[test]
fn a_line_that_breaks_the_format_is_named_with_a_remedy() {
    let good = r#"{"id": "1", "book": "b", "question": "?", "answers": ["x"]}"#;
    let broken = told(read_own(&format!("{good}\n\n{}", &good[..40])));
    assert!(
        broken.starts_with("line 3: not a question of this format: EOF"),
        "{broken}"
    );
    assert!(broken.contains("one whole JSON object a line"), "{broken}");

    let misspelt = told(read_own(&good.replace("answers", "answer")));
    assert!(misspelt.contains("unknown field `answer`"), "{misspelt}");
    assert_eq!(
        told(read_own(&good.replace("\"b\"", "\" \""))),
        "line 1: no \"book\", or nothing in it; add it, or remove the line"
    );
    assert_eq!(
        told(read_own(&good.replace("\"x\"", "\" \""))),
        "line 1: no answer, or only blank ones; give one that counts as right, or remove the line"
    );
    assert_eq!(
        told(read_own(&format!("{good}\n{good}"))),
        "line 2: the id \"1\" is that of line 1 too; give each question its own"
    );
    assert_eq!(
        told(read_own(&good.replace("}", ", \"options\": [\"x\"]}"))),
        "line 1: 1 options; a multiple choice has 2 to 26"
    );
    assert_eq!(
        told(read_infinitebench(
            Task::QaZh,
            r#"{"id": 1, "input": "?", "answer": "x"}"#
        )),
        "line 1: no \"context\", or nothing in it; add it, or remove the line"
    );
}

#[test]
fn a_file_of_another_task_is_refused() {
    let free = r#"{"context": "book", "input": "?", "answer": "x"}"#;
    assert_eq!(
        told(read_infinitebench(Task::ChoiceEn, free)),
        "line 1: no \"options\", which every question of longbook_choice_eng has; \
         choose the task the file is of"
    );
    let choice = free.replace("}", ", \"options\": [\"x\", \"y\"]}");
    assert_eq!(
        told(read_infinitebench(Task::QaEn, &choice)),
        "line 1: \"options\" in a question of longbook_qa_eng, which has none; \
         choose the task the file is of"
    );
}

#[test]
fn a_file_without_questions_is_named_with_a_remedy() {
    let empty = file("\n \n");
    let path = empty.path().display();
    assert_eq!(
        own(empty.path()).unwrap_err().to_string(),
        format!("{path} holds no questions; give a file of JSON objects, one a line")
    );
    assert_eq!(
        own(Path::new("absent.jsonl")).unwrap_err().to_string(),
        "cannot read the questions absent.jsonl; check the path and its permissions"
    );
}

#[test]
fn a_message_names_the_file_and_the_line() {
    let broken = file("[]");
    let path = broken.path().display().to_string();
    let message = own(broken.path()).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{path}, line 1: ")),
        "{message}"
    );
}
