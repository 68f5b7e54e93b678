//! From a question to an answer, with models made of arithmetic and an answer
//! model that says what it is told to.

#![allow(clippy::unwrap_used)] // A test may.

mod fakes;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;

use fakes::*;
use quire_answer::{
    Answer, AnswerDelta, AnswerError, AnswerModel, AnswerModelInfo, AnswerRequest, FinishReason,
    Language, ModelKind, Span, Task,
};
use quire_corpus::ChunkId;
use quire_engine::{
    Answered, Answerer, Budgets, EngineError, Evidence, LeftOut, LeftOutReason, Listener, Order,
    Prompts, Question, Ranked, Search, Unheard, View, answer_within,
};
use quire_model::{Call, CancelFlag, Stop};

/// Gives one answer and remembers what it was asked.
struct Told {
    info: AnswerModelInfo,
    asked: Mutex<Vec<AnswerRequest>>,
}

impl Told {
    fn new(kind: ModelKind) -> Self {
        let info = AnswerModelInfo {
            kind,
            name: "told".to_owned(),
            host: None,
            temperature: None,
            seed: None,
            max_tokens: None,
        };
        Self {
            info,
            asked: Mutex::default(),
        }
    }

    /// The last request.
    fn asked(&self) -> AnswerRequest {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

impl AnswerModel for Told {
    fn info(&self) -> &AnswerModelInfo {
        &self.info
    }

    fn answer(
        &self,
        request: &AnswerRequest,
        sink: &mut dyn FnMut(AnswerDelta<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError> {
        self.asked.lock().unwrap().push(request.clone());
        for piece in ["a ", "lamp"] {
            if sink(AnswerDelta::Text(piece)).is_break() {
                let raw = piece.to_owned();
                let stop = Stop::Cancelled;
                return Err(AnswerError::Stopped { stop, raw });
            }
        }
        Ok(Answer {
            text: "a lamp".to_owned(),
            letter: None,
            raw: "Answer: a lamp".to_owned(),
            finish_reason: FinishReason::Stop,
            usage: None,
            cost: None,
            model: "told-1".to_owned(),
            attempts: 1,
            extractive: false,
            supported: true,
            span: (!request.evidence.is_empty()).then_some(Span {
                evidence: 0,
                bytes: 3..8,
            }),
        })
    }
}

struct House {
    _fixture: Fixture,
    view: View,
    text: String,
}

/// One book of that text.
fn house(text: &str) -> House {
    let fixture = Fixture::new();
    let book = book("house.txt", text);
    fixture.build(&book, &good()).unwrap();
    let view = View::open(&fixture.store, &[book.id], &a_recipe()).unwrap();
    House {
        view,
        text: book.text.to_string(),
        _fixture: fixture,
    }
}

fn ask(house: &House, model: &Told, question: &Question) -> Answered {
    let prompts = Prompts::default();
    let answerer = Answerer {
        model,
        prompts: &prompts,
    };
    let call = Call::new();
    let (view, models) = (&house.view, good());
    answer_within(view, &models, answerer, question, &call, None, &mut Unheard).unwrap()
}

fn question(passages: usize, tokens: usize) -> Question {
    Question {
        budgets: Budgets {
            rerank: 8,
            evidence_passages: passages,
            evidence_tokens: tokens,
            ..Budgets::default()
        },
        ..Question::new("which lamp stood in room17")
    }
}

fn chunks(evidence: &Evidence) -> Vec<u32> {
    let items = evidence.items.iter();
    items
        .flat_map(|item| item.passages.iter().map(|p| p.chunk.ordinal))
        .collect()
}

#[test]
fn neighbours_are_one_item_whose_text_is_the_books_own() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    let answered = ask(&house, &model, &question(30, 4096));
    let evidence = &answered.evidence;
    let joined = evidence.items.iter().filter(|item| item.passages.len() > 1);
    assert!(joined.count() > 0);
    for item in &evidence.items {
        assert_eq!(item.text, house.text[item.span.clone()]);
        for passage in &item.passages {
            let own = house.view.passage(passage.chunk).unwrap();
            assert_eq!(item.text[passage.bytes.clone()], own.text);
        }
        let ordinals: Vec<u32> = item.passages.iter().map(|p| p.chunk.ordinal).collect();
        assert!(ordinals.windows(2).all(|two| two[0] + 1 == two[1]));
    }
    // Were two items neighbours, they would be one.
    for two in evidence.items.windows(2) {
        assert!(two[0].span.end < two[1].span.start);
    }
    let numbers: Vec<usize> = evidence.items.iter().map(|item| item.number).collect();
    assert_eq!(numbers, (1..=evidence.items.len()).collect::<Vec<_>>());
}

#[test]
fn both_orders_hold_the_same_passages() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    let in_order = |order| {
        let asked = Question {
            order,
            ..question(6, 4096)
        };
        ask(&house, &model, &asked).evidence
    };
    let (document, score) = (in_order(Order::Document), in_order(Order::Score));
    let ordinals = chunks(&document);
    assert!(ordinals.is_sorted(), "{ordinals:?}");
    let ranks: Vec<usize> = score.items.iter().map(|item| item.rank()).collect();
    assert!(ranks.is_sorted() && ranks[0] == 1, "{ranks:?}");
    let set = |evidence: &Evidence| chunks(evidence).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(set(&document), set(&score));
    assert_eq!(set(&document).len(), 6);
}

#[test]
fn the_token_budget_holds_with_labels_and_the_rest_is_named() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    for most in [1, 30, 60, 100, 250] {
        let answered = ask(&house, &model, &question(10, most));
        let evidence = &answered.evidence;
        assert!(
            evidence.tokens <= most as u64,
            "{} of {most}",
            evidence.tokens
        );
        let summed: u64 = evidence.items.iter().map(|item| item.tokens).sum();
        assert_eq!(summed, evidence.tokens);
        let too_long = |left_out: &&LeftOut| left_out.reason == LeftOutReason::TooLong;
        assert!(evidence.left_out.iter().filter(too_long).count() > 0);
        let shown: BTreeSet<ChunkId> = evidence
            .items
            .iter()
            .flat_map(|item| item.passages.iter().map(|p| p.chunk))
            .collect();
        assert!(
            evidence
                .left_out
                .iter()
                .all(|out| !shown.contains(&out.chunk))
        );
        assert_eq!(answered.trace.evidence.left_out, evidence.left_out);
    }
    let none = ask(&house, &model, &question(10, 1));
    assert!(none.evidence.items.is_empty() && model.asked().evidence.is_empty());
}

#[test]
fn evidence_can_be_chosen_by_an_earlier_stage() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    let chosen = |by| {
        let asked = Question {
            by,
            order: Order::Score,
            ..question(5, 4096)
        };
        let answered = ask(&house, &model, &asked);
        assert_eq!(answered.trace.by, by);
        (answered.search.trace, answered.evidence)
    };
    for by in [
        Ranked::Lexical,
        Ranked::Dense,
        Ranked::Fused,
        Ranked::Reranked,
    ] {
        let (trace, evidence) = chosen(by);
        let hits = match by {
            Ranked::Lexical => &trace.lexical.hits,
            Ranked::Dense => &trace.dense.hits,
            Ranked::Fused => &trace.fused.hits,
            Ranked::Reranked => &trace.reranked.as_ref().unwrap().hits,
        };
        let mut wanted: Vec<u32> = hits[..5].iter().map(|hit| hit.chunk.ordinal).collect();
        let mut shown = chunks(&evidence);
        wanted.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, wanted, "{by:?}");
    }
}

#[test]
fn a_passage_that_repeats_a_better_one_is_dropped_and_makes_room() {
    let refrain = "In room17 of the house stood a green lamp, they sang. ";
    let text = format!(
        "{refrain}{}{refrain}{}{refrain}",
        rooms("red", 9),
        rooms("blue", 9)
    );
    let house = house(&text);
    let model = Told::new(ModelKind::Extractive);
    let answered = ask(&house, &model, &question(6, 4096));
    let dropped: Vec<&LeftOut> = answered
        .evidence
        .left_out
        .iter()
        .filter(|out| out.reason == LeftOutReason::Duplicate)
        .collect();
    assert_eq!(dropped.len(), 2, "{:?}", answered.evidence.left_out);
    assert_eq!(chunks(&answered.evidence).len(), 6);
    let texts: Vec<&str> = answered
        .evidence
        .items
        .iter()
        .map(|i| i.text.as_str())
        .collect();
    assert_eq!(texts.concat().matches("they sang").count(), 1);
}

#[test]
fn candidates_that_found_no_room_are_named() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    let answered = ask(&house, &model, &question(3, 4096));
    let reranked = answered.search.trace.reranked.as_ref().unwrap();
    let left_out: Vec<ChunkId> = answered
        .evidence
        .left_out
        .iter()
        .map(|out| {
            assert_eq!(out.reason, LeftOutReason::NoRoom);
            out.chunk
        })
        .collect();
    let rest: Vec<ChunkId> = reranked.hits[3..].iter().map(|hit| hit.chunk).collect();
    assert_eq!(left_out, rest);
}

#[test]
fn a_reader_gets_the_best_evidence_first_and_its_citation_is_the_items() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::Extractive);
    let answered = ask(&house, &model, &question(6, 4096));
    let asked = model.asked();
    assert!(asked.evidence[0].text.contains("room17"));
    assert!(asked.messages.is_empty() && answered.trace.prompt.is_none());
    let cited = answered.outcome.as_ref().unwrap().span.as_ref().unwrap();
    let item = &answered.evidence.items[cited.evidence];
    assert_eq!((item.rank(), &item.text), (1, &asked.evidence[0].text));
}

#[test]
fn the_trace_says_how_the_answer_came_about() {
    let house = house(&rooms("green", 40));
    let model = Told::new(ModelKind::OpenAi);
    let options = vec!["red".to_owned(), "green".to_owned()];
    let asked = Question {
        task: Task::MultipleChoice {
            options: options.clone(),
        },
        may_abstain: false,
        ..question(4, 4096)
    };
    let [one, two] = [0, 1].map(|_| ask(&house, &model, &asked));
    let trace = &one.trace;
    assert_eq!(trace.options.as_ref(), Some(&options));
    assert_eq!((trace.language.as_str(), trace.may_abstain), ("en", false));
    assert_eq!(trace.outcome.raw, "Answer: a lamp");
    assert_eq!(trace.outcome.text.as_deref(), Some("a lamp"));
    assert_eq!(trace.outcome.model.as_deref(), Some("told-1"));
    let prompt = trace.prompt.as_ref().unwrap();
    assert_eq!(
        (prompt.name.as_str(), prompt.rendered.len()),
        ("choice.en", 64)
    );
    let words: usize = model
        .asked()
        .messages
        .iter()
        .map(|message| message.content.split_whitespace().count())
        .sum();
    assert_eq!(prompt.tokens, words as u64);
    assert_eq!(one.trace.prompt, two.trace.prompt);
    assert_eq!(trace.evidence.items.len(), one.evidence.items.len());
    let text = serde_json::to_string(trace).unwrap();
    let read: quire_engine::AnswerTrace = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, trace);
}

#[test]
fn a_question_is_answered_in_its_own_language_unless_told_otherwise() {
    let house = house(&rooms("green", 12));
    let model = Told::new(ModelKind::OpenAi);
    let mut asked = Question {
        text: "第十七间房里的灯是什么颜色？".to_owned(),
        ..question(4, 4096)
    };
    assert_eq!(
        ask(&house, &model, &asked).trace.prompt.unwrap().name,
        "free.zh"
    );
    assert_eq!(model.asked().language, Language::Zh);
    asked.language = Some(Language::En);
    assert_eq!(
        ask(&house, &model, &asked).trace.prompt.unwrap().name,
        "free.en"
    );
}

/// Leaves when the evidence or a piece comes.
struct Leaves {
    at_evidence: bool,
    heard: Vec<String>,
}

impl Listener for Leaves {
    fn evidence(&mut self, _: &View, _: &Search, evidence: &Evidence) -> ControlFlow<()> {
        self.heard.push(format!("{} items", evidence.items.len()));
        match self.at_evidence {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn delta(&mut self, delta: AnswerDelta<'_>) -> ControlFlow<()> {
        if let AnswerDelta::Text(text) = delta {
            self.heard.push(text.to_owned());
        }
        ControlFlow::Break(())
    }
}

#[test]
fn a_listener_that_leaves_ends_the_call_and_the_trace_says_so() {
    let house = house(&rooms("green", 12));
    let prompts = Prompts::default();
    for (at_evidence, heard) in [(true, 1), (false, 2)] {
        let model = Told::new(ModelKind::OpenAi);
        let answerer = Answerer {
            model: &model,
            prompts: &prompts,
        };
        let mut leaves = Leaves {
            at_evidence,
            heard: Vec::new(),
        };
        let (call, asked) = (Call::new(), question(2, 4096));
        let (view, models) = (&house.view, good());
        let answered =
            answer_within(view, &models, answerer, &asked, &call, None, &mut leaves).unwrap();
        let error = answered.outcome.unwrap_err();
        assert_eq!(error.stop(), Some(Stop::Cancelled));
        assert_eq!(leaves.heard.len(), heard, "{:?}", leaves.heard);
        assert!(answered.trace.outcome.failure.is_some());
        assert_eq!(model.asked.lock().unwrap().is_empty(), at_evidence);
    }
}

#[test]
fn a_call_that_is_over_asks_no_model() {
    let house = house(&rooms("green", 12));
    let model = Told::new(ModelKind::OpenAi);
    let prompts = Prompts::default();
    let answerer = Answerer {
        model: &model,
        prompts: &prompts,
    };
    let gone = CancelFlag::default();
    gone.cancel();
    let call = Call::new().cancelled_by(&gone);
    let asked = question(2, 4096);
    let (view, models) = (&house.view, good());
    let error = answer_within(view, &models, answerer, &asked, &call, None, &mut Unheard);
    assert!(matches!(error, Err(EngineError::Stopped { .. })));
    assert!(model.asked.lock().unwrap().is_empty());
}
