//! The extractive reader over a model made of arithmetic.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use quire_answer::{
    AnswerError, AnswerModel as _, AnswerRequest, EvidenceText, ExtractiveReader, Language,
    ReaderOptions, Task,
};
use quire_model::{
    Call, CancelFlag, Embedder, EmbedderInfo, Embedding, ModelError, Pooling, Role, Stop,
};
use support::{ask, free_form};

/// Texts are alike as far as they share pairs of characters.
struct Pairs(EmbedderInfo);

const DIMS: usize = 256;

impl Pairs {
    fn new() -> Self {
        Self(EmbedderInfo {
            name: "pairs".into(),
            revision: "1".into(),
            digest: String::new(),
            precision: "fp32".into(),
            pooling: Pooling::Mean,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            dims: DIMS,
            max_tokens: 512,
        })
    }
}

impl Embedder for Pairs {
    fn info(&self) -> &EmbedderInfo {
        &self.0
    }

    fn embed(&self, texts: &[&str], _: Role, call: &Call) -> Result<Vec<Embedding>, ModelError> {
        if let Some(stop) = call.stop() {
            return Err(ModelError::new("pairs", stop));
        }
        let embed = |text: &&str| {
            let mut vector = vec![0.001_f32; DIMS];
            let chars: Vec<u32> = text.to_lowercase().chars().map(u32::from).collect();
            for pair in chars.windows(2) {
                vector[(pair[0] as usize * 31 + pair[1] as usize) % DIMS] += 1.0;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            Embedding {
                vector: vector.iter().map(|x| x / length).collect(),
                tokens: chars.len() as u32,
                truncated: false,
            }
        };
        Ok(texts.iter().map(embed).collect())
    }
}

fn reader() -> ExtractiveReader {
    ExtractiveReader::new(Arc::new(Pairs::new()), None, ReaderOptions::default())
}

fn request(question: &str, evidence: &[&str], options: &[&str]) -> AnswerRequest {
    let labelled = evidence.iter().enumerate();
    AnswerRequest {
        task: match options {
            [] => Task::FreeForm,
            options => Task::MultipleChoice {
                options: options.iter().map(|o| (*o).to_owned()).collect(),
            },
        },
        language: Language::of(question),
        question: question.into(),
        evidence: labelled
            .map(|(n, text)| EvidenceText {
                label: (n + 1).to_string(),
                text: (*text).to_owned(),
            })
            .collect(),
        messages: Vec::new(),
        ..free_form()
    }
}

const HARBOUR: &[&str] = &[
    "The harbour was grey. Every evening the lamp on the pier was lit by Ann Moss. Nobody thanked her.",
    "The ferry crossed twice a day. The fare was three bits, and Bob took it.",
];

#[test]
fn a_free_form_answer_is_a_quotation_and_says_where_it_stands() {
    for (question, answer) in [
        ("Who lit the lamp on the pier?", "Ann Moss"),
        // The question has said "bits" already.
        ("How many bits was the ferry's fare?", "three"),
        ("What happened to the lamp on the pier?", "lit by Ann Moss"),
    ] {
        let found = ask(&reader(), &request(question, HARBOUR, &[])).unwrap();
        assert_eq!(found.text, answer, "{question}");
        let span = found.span.unwrap();
        assert_eq!(&HARBOUR[span.evidence][span.bytes], answer, "{question}");
        assert!(found.extractive && found.supported && found.raw.contains(answer));
    }
    assert_eq!(reader().info().kind.as_str(), "extractive");
}

#[test]
fn the_option_that_the_evidence_supports_is_chosen_wherever_it_stands() {
    let question = "Who lit the lamp on the pier?";
    for (options, letter) in [
        (["Ann Moss", "Bob", "the ferryman"], 'A'),
        (["Bob", "the king's daughter of the isles", "Ann Moss"], 'C'),
    ] {
        let found = ask(&reader(), &request(question, HARBOUR, &options)).unwrap();
        assert_eq!(found.letter, Some(letter), "{options:?}");
        assert_eq!(found.text, letter.to_string());
        assert!(found.raw.contains("Ann Moss"));
    }
}

#[test]
fn chinese_is_read_as_well() {
    let evidence = [
        "码头很冷清。每天夜里，码头的灯是王三娘点的。",
        "渡船一天两趟，船钱三文。王三娘不坐船。",
    ];
    let found = ask(&reader(), &request("码头的灯是谁点的？", &evidence, &[])).unwrap();
    assert_eq!(found.text, "王三娘");
    let options = ["李四", "王三娘", "船夫"];
    let found = ask(
        &reader(),
        &request("码头的灯是谁点的？", &evidence, &options),
    )
    .unwrap();
    assert_eq!(found.letter, Some('B'));
}

#[test]
fn what_the_evidence_does_not_hold_is_said_so_only_where_that_is_allowed() {
    let question = "Which emperor abolished slavery in Brazil?";
    let mut asked = request(question, HARBOUR, &[]);
    let guess = ask(&reader(), &asked).unwrap();
    assert!(!guess.supported && guess.span.is_some());
    asked.may_abstain = true;
    let found = ask(&reader(), &asked).unwrap();
    assert!(!found.supported && found.span.is_none());
    assert_eq!(found.text, "not found in the evidence");
    let mut asked = request(question, HARBOUR, &["Pedro", "Isabel"]);
    assert!(ask(&reader(), &asked).unwrap().letter.is_some());
    asked.may_abstain = true;
    assert_eq!(ask(&reader(), &asked).unwrap().letter, None);
}

#[test]
fn without_evidence_there_is_no_answer_and_a_guess_is_marked() {
    for evidence in [&[][..], &[""][..], &["* * *"][..]] {
        let found = ask(&reader(), &request("Who?", evidence, &[])).unwrap();
        assert!(!found.supported);
        let found = ask(&reader(), &request("Who?", evidence, &["a", "b"])).unwrap();
        assert_eq!((found.letter, found.supported), (Some('A'), false));
    }
}

#[test]
fn equal_requests_get_equal_answers_and_ties_go_to_the_first() {
    let asked = request("Who lit the lamp?", &["Ann lit it.", "Ann lit it."], &[]);
    let first = ask(&reader(), &asked).unwrap();
    assert_eq!(first.span.as_ref().unwrap().evidence, 0);
    assert_eq!(first, ask(&reader(), &asked).unwrap());
}

#[test]
fn a_call_that_is_over_is_not_answered() {
    let flag = CancelFlag::default();
    let mut asked = request("Who lit the lamp?", HARBOUR, &[]);
    asked.call = Call::new().cancelled_by(&flag);
    flag.cancel();
    let error = ask(&reader(), &asked).unwrap_err();
    assert_eq!(error.stop(), Some(Stop::Cancelled));
    assert!(matches!(error, AnswerError::Stopped { .. }));
}
