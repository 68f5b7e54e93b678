//! Models of BGE's graphs with random weights, external data and all, against
//! an independent forward pass.

#![allow(clippy::unwrap_used)]

mod support;

use std::ops::ControlFlow;
use std::path::Path;

use quire_model::{Call, Embedder as _, RerankMethod, Reranker as _, Role};
use quire_onnx::{
    CrossEncoder, Device, DigestCache, LateInteraction, LoadError, OnnxEmbedder, OnnxModel,
    Precision, SessionError, SessionOptions,
};
use support::{RandomModel, Sizes, TINY, numbers, plain, runtime};

const TEXTS: [&str; 5] = [
    "the old captain and the whale",
    "第一章回 孙悟空问师父什么问题",
    "a question about the river, the city and the night of the king",
    "",
    "who </s> made <mask> this",
];

fn ids(tokenizer: &tokenizers::Tokenizer, text: &str) -> Vec<u32> {
    let mut tokenizer = tokenizer.clone();
    tokenizer.set_encode_special_tokens(true);
    tokenizer.encode(text, true).unwrap().get_ids().to_vec()
}

/// All but the text whose marks an untouched tokenizer would let through.
fn plain_texts() -> &'static [&'static str] {
    &TEXTS[..4]
}

fn close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-5,
            "{found} {expected}"
        );
    }
}

#[test]
fn cls_vectors_are_those_of_the_independent_forward_pass() {
    let random = RandomModel::embedder(&TINY);
    let embedder = OnnxEmbedder::new(random.load(&plain())).unwrap();
    let tokenizer = random.plain_tokenizer();
    let all: Vec<Vec<u32>> = plain_texts()
        .iter()
        .map(|text| ids(&tokenizer, text))
        .collect();
    let expected = random.oracle("sentence_embedding", &all);
    let found = embedder
        .embed(plain_texts(), Role::Passage, &Call::new())
        .unwrap();
    for ((found, expected), ids) in found.iter().zip(&expected).zip(&all) {
        close(&found.vector, &numbers(expected));
        assert_eq!(found.tokens as usize, ids.len());
    }
    assert_eq!(embedder.info().dims, 64);
    assert_eq!(embedder.info().precision, "fp32");
}

#[test]
fn eight_thousand_tokens_are_read_and_the_rest_is_flagged() {
    let long = Sizes {
        layers: 1,
        hidden: 8,
        heads: 1,
        max_tokens: 8192,
    };
    let random = RandomModel::embedder(&long);
    let embedder = OnnxEmbedder::new(random.load(&plain())).unwrap();
    let text = "whale ship captain ".repeat(2731);
    let found = &embedder
        .embed(&[&text], Role::Passage, &Call::new())
        .unwrap()[0];
    assert_eq!((found.tokens, found.truncated), (8192, true));

    let mut ids = ids(&random.plain_tokenizer(), &text);
    let end = ids.pop().unwrap();
    ids.truncate(8191);
    ids.push(end);
    let expected = random.oracle("sentence_embedding", &[ids]);
    close(&found.vector, &numbers(&expected[0]));
}

#[test]
fn late_interaction_is_max_sim_over_all_tokens() {
    let random = RandomModel::embedder(&TINY);
    let reranker = LateInteraction::new(random.load(&plain())).unwrap();
    let tokenizer = random.plain_tokenizer();
    let question = "what did the captain answer?";
    let mut all = vec![ids(&tokenizer, question)];
    all.extend(plain_texts().iter().map(|text| ids(&tokenizer, text)));
    let vectors: Vec<Vec<Vec<f64>>> = random
        .oracle("token_embeddings", &all)
        .iter()
        .map(|text| text.as_array().unwrap().iter().map(numbers).collect())
        .collect();
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let max_sim = |passage: &[Vec<f64>]| {
        let best = |token: &Vec<f64>| {
            let cosines = passage.iter().map(|other| cosine(token, other));
            cosines.fold(f64::NEG_INFINITY, f64::max)
        };
        vectors[0].iter().map(best).sum::<f64>() / vectors[0].len() as f64
    };
    let scores = reranker
        .rerank(question, plain_texts(), &Call::new())
        .unwrap();
    for (score, passage) in scores.iter().zip(&vectors[1..]) {
        close(&[score.score], &[max_sim(passage)]);
    }
    assert_eq!(reranker.info().method, RerankMethod::LateInteraction);
}

#[test]
fn a_cross_encoders_score_is_the_pairs_logit() {
    let random = RandomModel::cross_encoder(&TINY);
    let reranker = CrossEncoder::new(random.load(&plain())).unwrap();
    let tokenizer = random.plain_tokenizer();
    let question = "who is the king of the river?";
    let pairs: Vec<Vec<u32>> = plain_texts()
        .iter()
        .map(|text| {
            let pair = tokenizer.encode((question, *text), true).unwrap();
            pair.get_ids().to_vec()
        })
        .collect();
    // <s> question </s></s> passage </s>
    assert_eq!(pairs[3][pairs[3].len() - 3..], [2, 2, 2]);
    let expected = random.oracle("logits", &pairs);
    let scores = reranker
        .rerank(question, plain_texts(), &Call::new())
        .unwrap();
    for ((score, logit), pair) in scores.iter().zip(&expected).zip(&pairs) {
        close(&[score.score], &[numbers(logit)[0]]);
        assert_eq!(score.tokens as usize, pair.len());
        assert!(!score.truncated);
    }
    for (text, together) in TEXTS
        .iter()
        .zip(reranker.rerank(question, &TEXTS, &Call::new()).unwrap())
    {
        assert_eq!(
            reranker.rerank(question, &[text], &Call::new()).unwrap(),
            [together]
        );
    }
    reranker.probe().unwrap();
}

#[test]
fn of_a_pair_that_is_too_long_the_passage_is_cut_and_flagged() {
    let random = RandomModel::cross_encoder(&TINY);
    let reranker = CrossEncoder::new(random.load(&plain())).unwrap();
    let question = "who is the king?";
    let long = "whale ship captain ".repeat(300);
    let longer = "whale ship captain ".repeat(400);
    let scores = reranker
        .rerank(question, &["king", &long, &longer], &Call::new())
        .unwrap();
    let flags: Vec<(u32, bool)> = scores.iter().map(|s| (s.tokens, s.truncated)).collect();
    assert_eq!(flags[1..], [(512, true), (512, true)]);
    assert!(!flags[0].1);
    // What was cut off makes no difference.
    assert_eq!(scores[1].score, scores[2].score);

    // A question that leaves too little room is cut, and every score says so.
    let scores = reranker
        .rerank(&long, &["king", "queen"], &Call::new())
        .unwrap();
    assert!(
        scores
            .iter()
            .all(|score| score.truncated && score.tokens < 512)
    );
    assert_ne!(scores[0].score, scores[1].score);
}

#[test]
fn finished_batches_come_as_they_are_ready_and_each_text_once() {
    let random = RandomModel::embedder(&TINY);
    let two = SessionOptions {
        workers: 2,
        ..plain()
    };
    let embedder = OnnxEmbedder::new(random.load(&two)).unwrap();
    let texts: Vec<String> = (0..700)
        .map(|n| "king ".repeat(n % 60) + &n.to_string())
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut seen = vec![0; texts.len()];
    let mut calls = 0;
    embedder
        .embed_each(&texts, Role::Passage, &Call::bulk(), &mut |batch| {
            calls += 1;
            batch.iter().for_each(|(index, _)| seen[*index] += 1);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(seen.iter().all(|times| *times == 1));
    assert!(calls > 10);

    let mut got = 0;
    embedder
        .embed_each(&texts, Role::Passage, &Call::bulk(), &mut |batch| {
            got += batch.len();
            ControlFlow::Break(())
        })
        .unwrap();
    assert!((1..=texts.len() / 10).contains(&got), "{got}");
}

#[test]
fn a_failed_run_fails_its_request_and_the_next_one_works() {
    let random = RandomModel::embedder(&TINY);
    // A tokenizer with more pieces than the graph has embeddings.
    let larger = tempfile::tempdir().unwrap();
    support::write_model(larger.path(), "embedder", &TINY, &["--vocab", "1400"]);
    let tokenizer = "tokenizer.json";
    std::fs::copy(
        larger.path().join(tokenizer),
        random.folder.path().join(tokenizer),
    )
    .unwrap();
    let embedder = OnnxEmbedder::new(random.load(&plain())).unwrap();
    let beyond = (0x4e00..0x9fff)
        .filter_map(char::from_u32)
        .take(2000)
        .collect::<String>();
    let before = embedder
        .embed(&["king"], Role::Passage, &Call::new())
        .unwrap();
    let error = embedder
        .embed(&["king", &beyond], Role::Passage, &Call::new())
        .unwrap_err();
    assert_eq!(error.to_string(), "the model random failed");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("1 texts of 512 tokens"), "{cause}");
    assert_eq!(
        embedder
            .embed(&["king"], Role::Passage, &Call::new())
            .unwrap(),
        before
    );
}

#[test]
fn a_hubs_cache_of_links_loads_as_it_is() {
    let random = RandomModel::embedder(&TINY);
    let cache = tempfile::tempdir().unwrap();
    let blobs = cache.path().join("blobs");
    let snapshot = cache.path().join("snapshots/1234/onnx");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::create_dir_all(&snapshot).unwrap();
    let link = |from: &Path, blob: &str| {
        std::fs::copy(from, blobs.join(blob)).unwrap();
        let link = snapshot.join(from.file_name().unwrap());
        std::os::unix::fs::symlink(Path::new("../../../blobs").join(blob), &link).unwrap();
        link
    };
    let mut files = random.files();
    files.graph = link(&files.graph, "aaaa");
    files.data = vec![link(&files.data[0], "bbbb")];
    files.tokenizer = link(&files.tokenizer, "cccc");
    let linked = OnnxModel::load(
        &runtime(),
        &random.spec,
        Precision::Fp32,
        &files,
        &DigestCache::none(),
        &plain(),
    )
    .unwrap();
    assert_eq!(linked.identity(), random.load(&plain()).identity());
}

/// The error of loading, with its causes.
fn refused(random: &RandomModel, options: &SessionOptions) -> String {
    let error = random.try_load(options).err().expect("loads");
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[test]
fn a_damaged_or_incomplete_model_is_a_clear_error() {
    let random = RandomModel::embedder(&TINY);
    let files = random.files();

    let data = std::fs::read(&files.data[0]).unwrap();
    std::fs::write(&files.data[0], &data[..data.len() / 2]).unwrap();
    let error = refused(&random, &plain());
    assert!(error.contains("the model random"), "{error}");
    assert!(error.contains("model.onnx"), "{error}");

    std::fs::write(&files.data[0], data).unwrap();
    let graph = std::fs::read(&files.graph).unwrap();
    std::fs::write(&files.graph, &graph[..graph.len() / 2]).unwrap();
    let error = refused(&random, &plain());
    assert!(error.contains("damaged"), "{error}");

    std::fs::write(&files.graph, "not a graph").unwrap();
    assert!(refused(&random, &plain()).contains("damaged"));

    std::fs::write(&files.graph, graph).unwrap();
    std::fs::remove_file(&files.data[0]).unwrap();
    let missing = quire_onnx::ModelFiles::locate(&random.spec, Precision::Fp32, &mut |_, file| {
        Some(random.folder.path().join(&file.path))
    });
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("lacks its file model.onnx_data"), "{error}");
}

#[test]
fn a_graph_without_the_catalogues_output_is_refused_with_what_it_has() {
    let mut random = RandomModel::embedder(&TINY);
    random.spec.output = vec!["hidden".to_owned()];
    let error = refused(&random, &plain());
    assert!(error.contains("hidden"), "{error}");
    assert!(error.contains("sentence_embedding"), "{error}");
}

#[test]
fn a_vector_length_that_is_not_the_catalogues_is_an_error() {
    let mut random = RandomModel::embedder(&TINY);
    random.spec.embedder.as_mut().unwrap().dims = 32;
    let embedder = OnnxEmbedder::new(random.load(&plain())).unwrap();
    let error = embedder
        .embed(&["king"], Role::Passage, &Call::new())
        .unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("[1, 8, 64]"), "{cause}");
}

#[test]
fn a_model_does_only_what_the_catalogue_says() {
    let embedder = RandomModel::embedder(&TINY).load(&plain());
    assert!(matches!(
        CrossEncoder::new(embedder),
        Err(LoadError::Kind { .. })
    ));
    let cross = RandomModel::cross_encoder(&TINY).load(&plain());
    assert!(OnnxEmbedder::new(cross.clone()).is_err());
    assert!(LateInteraction::new(cross).is_err());
}

#[test]
fn cuda_is_used_or_refused_and_auto_says_what_it_chose() {
    let random = RandomModel::embedder(&TINY);
    let on = |device| SessionOptions { device, ..plain() };
    let auto = random.load(&on(Device::Auto));
    assert_ne!(auto.device().device, Device::Auto);
    assert!(!auto.device().reason.is_empty());
    // Device 99 is nowhere, whatever the library and the machine.
    match random.try_load(&on(Device::Cuda(99))) {
        Err(LoadError::Session {
            source: SessionError::Device(error),
            ..
        }) => assert!(
            error.to_string().contains("cuda:99 was asked for"),
            "{error}"
        ),
        other => panic!("{:?}", other.err()),
    }
    if !runtime().has_cuda() {
        assert_eq!(auto.device().device, Device::Cpu);
        assert!(refused(&random, &on(Device::Cuda(0))).contains("built without CUDA"));
    }
}
