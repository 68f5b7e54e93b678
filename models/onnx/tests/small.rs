//! The small profile's model, as `scripts/setup.sh` builds it.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use quire_model::{Call, Embedder as _, Embedding, Reranker as _, Role, Tokenizer as _};
use quire_onnx::{
    CrossEncoder, LateInteraction, OnnxEmbedder, OnnxModel, Precision, SessionOptions,
};
use support::{built, plain, small};

/// Texts of many lengths, in both languages.
fn texts() -> Vec<String> {
    let english = "The lamplighter crossed the harbour before dawn and counted the boats. ";
    let chinese = "天还没有亮，点灯的人走过码头，一只一只地数着船。";
    (0..20)
        .flat_map(|n| {
            [
                format!("{n} {}", english.repeat(n % 7)),
                format!("第{n}回 {}", chinese.repeat(n % 5)),
            ]
        })
        .collect()
}

fn embedder(precision: Precision, options: &SessionOptions) -> OnnxEmbedder {
    OnnxEmbedder::new(small(precision, options)).unwrap()
}

fn embed(embedder: &OnnxEmbedder, texts: &[&str]) -> Vec<Embedding> {
    embedder.embed(texts, Role::Passage, &Call::new()).unwrap()
}

fn dot(a: &Embedding, b: &Embedding) -> f64 {
    let products = a.vector.iter().zip(&b.vector);
    products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Bit for bit, whatever runs beside a text: this is what makes an index the
/// same bytes on every run.
fn vectors_depend_on_their_text_alone(precision: Precision) {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let one = embedder(precision, &plain());
    let alone: Vec<Embedding> = texts.iter().flat_map(|text| embed(&one, &[text])).collect();

    // A permutation: 7 and 40 have no common divisor.
    let shuffled: Vec<usize> = (0..texts.len()).map(|n| n * 7 % texts.len()).collect();
    let two_threads = SessionOptions {
        threads: 2,
        ..plain()
    };
    let two_workers = SessionOptions {
        workers: 2,
        token_budget: Some(4096),
        ..plain()
    };
    for (name, embedder) in [
        ("one thread", one),
        ("two threads", embedder(precision, &two_threads)),
        ("two workers", embedder(precision, &two_workers)),
    ] {
        for size in [2, 7, 32] {
            for group in shuffled.chunks(size) {
                let mates: Vec<&str> = group.iter().map(|&index| texts[index]).collect();
                for (index, embedding) in group.iter().zip(embed(&embedder, &mates)) {
                    assert_eq!(embedding, alone[*index], "{name}, {size} at a time");
                }
            }
        }
    }
}

#[test]
fn int8_vectors_depend_on_their_text_alone() {
    vectors_depend_on_their_text_alone(Precision::Int8);
}

#[test]
fn fp32_vectors_depend_on_their_text_alone() {
    vectors_depend_on_their_text_alone(Precision::Fp32);
}

#[test]
fn int8_is_close_to_fp32_and_tells_meanings_apart() {
    let texts = [
        "A dog runs over the meadow.",
        "一只狗跑过草地。",
        "The bank raised its interest rate.",
    ];
    let fp32 = embed(&embedder(Precision::Fp32, &plain()), &texts);
    let int8 = embed(&embedder(Precision::Int8, &plain()), &texts);
    for (exact, rounded) in fp32.iter().zip(&int8) {
        assert!(dot(exact, rounded) > 0.995);
    }
    for vectors in [&fp32, &int8] {
        assert!(dot(&vectors[0], &vectors[1]) > dot(&vectors[0], &vectors[2]) + 0.02);
        assert!((dot(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_model_tells_what_it_read() {
    let embedder = embedder(Precision::Int8, &plain());
    let long = "word ".repeat(600);
    let texts = ["", "  \n", "word", long.as_str(), "</s> <mask> <s>"];
    let read = embed(&embedder, &texts);
    assert_eq!(read[0].tokens, read[1].tokens);
    assert_eq!(read[0], read[1]);
    assert_eq!(read[2].tokens, read[0].tokens + 1);
    assert_eq!((read[3].tokens, read[3].truncated), (512, true));
    assert!(read.iter().filter(|text| text.truncated).count() == 1);
    // Written marks are read as characters, more than one token each.
    assert!(read[4].tokens > read[0].tokens + 6, "{}", read[4].tokens);

    let question = embedder
        .embed(&["word"], Role::Question, &Call::new())
        .unwrap();
    assert_ne!(question[0].vector, read[2].vector);

    let stats = embedder.model().stats();
    assert_eq!((stats.texts, stats.truncated), (6, 1));
    assert!(stats.padding_share() < 0.2, "{stats:?}");
    assert!(!stats.model_time.is_zero());
    embedder.probe().unwrap();
}

#[test]
fn late_interaction_prefers_the_passage_that_answers() {
    let model = small(Precision::Int8, &plain());
    let reranker = LateInteraction::new(Arc::clone(&model)).unwrap();
    let passages = [
        "The harbour master's name was Ilse Brandt.",
        "It rained for nine days in the valley.",
        "港务长名叫布兰特。",
    ];
    let question = "Who was the harbour master?";
    let scores = reranker.rerank(question, &passages, &Call::new()).unwrap();
    assert!(scores[0].score > scores[1].score + 0.02, "{scores:?}");
    assert!(scores[2].score > scores[1].score, "{scores:?}");
    assert!(scores.iter().all(|s| s.score <= 1.0001 && !s.truncated));
    for (passage, together) in passages.iter().zip(&scores) {
        let alone = reranker.rerank(question, &[passage], &Call::new()).unwrap();
        assert_eq!(alone, [*together]);
    }
    assert!(
        reranker
            .rerank(question, &[], &Call::new())
            .unwrap()
            .is_empty()
    );

    let long = "why ".repeat(600);
    let flagged = reranker
        .rerank(&long, &passages[..1], &Call::new())
        .unwrap();
    assert!(flagged[0].truncated);
}

#[test]
fn the_cross_encoder_prefers_the_passage_that_answers_whatever_runs_beside_it() {
    let load = |precision, options: &SessionOptions| {
        CrossEncoder::new(built("quire-reranker-small", precision, options)).unwrap()
    };
    let reranker = load(Precision::Int8, &plain());
    let asked = [
        (
            "Who was the harbour master?",
            [
                "It rained for nine days in the valley, and the road to the mill was lost.",
                "Ilse Brandt had been the harbour master for eleven years, as her father was.",
                "The boats came home late, and nobody counted them that night.",
            ],
        ),
        (
            "港务长叫什么名字？",
            [
                "山谷里下了九天的雨，去磨坊的路都看不见了。",
                "港务长名叫布兰特，在码头上做了十一年。",
                "船很晚才回来，那天夜里没有人去数。",
            ],
        ),
    ];
    let two_threads = SessionOptions {
        threads: 2,
        ..plain()
    };
    let others = [
        load(Precision::Int8, &two_threads),
        load(Precision::Fp32, &plain()),
    ];
    for (question, passages) in asked {
        let scores = reranker.rerank(question, &passages, &Call::new()).unwrap();
        assert!(scores[1].score > scores[0].score + 1.0, "{scores:?}");
        assert!(scores[1].score > scores[2].score + 1.0, "{scores:?}");
        for (passage, together) in passages.iter().zip(&scores) {
            let alone = reranker.rerank(question, &[passage], &Call::new()).unwrap();
            assert_eq!(alone, [*together]);
        }
        let threaded = others[0].rerank(question, &passages, &Call::new()).unwrap();
        assert_eq!(threaded, scores);
        let exact = others[1].rerank(question, &passages, &Call::new()).unwrap();
        for (exact, rounded) in exact.iter().zip(&scores) {
            assert!(
                (exact.score - rounded.score).abs() < 0.5,
                "{exact:?} {rounded:?}"
            );
        }
    }
    let long = "why ".repeat(600);
    let flagged = reranker.rerank("Why?", &[&long], &Call::new()).unwrap();
    assert!(flagged[0].truncated && flagged[0].tokens == 512);
}

fn model() -> Arc<OnnxModel> {
    use std::sync::OnceLock;
    static MODEL: OnceLock<Arc<OnnxModel>> = OnceLock::new();
    Arc::clone(MODEL.get_or_init(|| small(Precision::Int8, &plain())))
}

#[test]
fn a_text_without_white_space_is_split_in_linear_time() {
    let tokenizer = model().tokenizer();
    let line = "天还没有亮点灯的人走过码头一只一只地数着船".repeat(8_000);
    let start = std::time::Instant::now();
    let ends = tokenizer.token_ends(&line).unwrap();
    assert_eq!(ends.last(), Some(&line.len()));
    assert!(ends.len() > 50_000);
    // Half a megabyte takes well under a second; quadratic work takes minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn token_ends_ascend_on_character_boundaries(
        text in "(\\PC|[a-z ]|[\u{4e00}-\u{4fff}]|[\u{fb01}½～Ⅳ\u{301}\u{3099}カ]|\\s){0,60}",
    ) {
        let ends = model().tokenizer().token_ends(&text).unwrap();
        prop_assert!(ends.is_sorted());
        prop_assert!(ends.iter().all(|end| text.is_char_boundary(*end)));
        prop_assert!(ends.last().is_none_or(|end| *end <= text.len()));
    }

    #[test]
    fn no_token_crosses_white_space(
        words in prop::collection::vec("[a-z]{1,12}|[\u{4e00}-\u{4fff}]{1,9}", 1..6),
    ) {
        let tokenizer = model().tokenizer();
        let mut expected = Vec::new();
        let mut start = 0;
        for word in &words {
            let ends = tokenizer.token_ends(word).unwrap();
            prop_assert_eq!(ends.last(), Some(&word.len()));
            expected.extend(ends.iter().map(|end| start + end));
            start += word.len() + 1;
        }
        prop_assert_eq!(tokenizer.token_ends(&words.join(" ")).unwrap(), expected);
    }
}
