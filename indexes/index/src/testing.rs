//! What this crate's tests build their stores from.

use std::collections::BTreeMap;

use quire_corpus::BookId;

use crate::*;

/// A recipe of no model there is.
pub(crate) fn recipe() -> Recipe {
    Recipe {
        format: 1,
        cut: CutRecipe {
            version: 1,
            max_tokens: 256,
            keep_boilerplate: false,
            tokenizer: "0".repeat(64),
        },
        analyzer: AnalyzerRecipe {
            name: "mixed/1".into(),
            k1: 1.2,
            b: 0.75,
        },
        embedder: EmbedderRecipe {
            name: "a-model".into(),
            revision: "1".into(),
            digest: "1".repeat(64),
            precision: "int8".into(),
            pooling: "mean".into(),
            passage_prefix: "passage: ".into(),
            max_tokens: 512,
            dims: 4,
        },
        vectors: VectorRecipe {
            encoding: "f32".into(),
            graph: GraphRecipe {
                above: 40_000,
                connections: 16,
                ef_construction: 200,
            },
        },
    }
}

/// Another recipe than [`recipe`].
pub(crate) fn other_recipe() -> Recipe {
    Recipe {
        format: 2,
        ..recipe()
    }
}

pub(crate) fn build() -> Build {
    Build {
        tool: "quire 0.0.0".into(),
        started: rfc3339(std::time::SystemTime::now()),
        seconds: BTreeMap::from([("embed".into(), 0.1 + 0.2)]),
        embedded_tokens: 12,
        tokens_per_second: Some(1.0 / 3.0),
        machine: Machine::detect(),
        device: "cpu".into(),
    }
}

/// A title, two passages of a chapter, and an end that is in no passage.
pub(crate) const TEXT: &str = "第一章\nThe first passage. 第二段。\nThe end";

/// The passages of [`TEXT`], or of another text with the same beginning.
pub(crate) fn table(text: &str) -> PassageTable {
    let (second, end) = (TEXT.find("第二").unwrap(), TEXT.find("The end").unwrap());
    let passage = |start: usize, end: usize, chapter| PassageRecord {
        start: start as u64,
        end: end as u64,
        chapter,
        tokens: 5,
    };
    let chapters = vec![ChapterRecord {
        title: "第一章".into(),
        start: 0,
    }];
    let passages = vec![passage(0, second, Some(0)), passage(second, end, None)];
    PassageTable::new(passages, chapters, text).unwrap()
}

/// The key of a text's artifact.
pub(crate) fn key(text: &str) -> ArtifactKey {
    ArtifactKey::new(BookId::of_text(text), recipe().key())
}

pub(crate) fn manifest(text: &str, recipe: Recipe) -> Manifest {
    let table = table(text);
    let counts = Counts {
        passages: table.len() as u64,
        tokens: table.tokens(),
        text_bytes: text.len() as u64,
        body: table.body(),
        chapters: table.chapters().len() as u64,
        terms: 7,
    };
    let mut manifest = Manifest::of_book(BookId::of_text(text), recipe, counts, build());
    manifest.source = Some(SourceRecord {
        path: Some("books/a book.txt".into()),
        format: "txt".into(),
        confidence: 0.7,
        ..SourceRecord::default()
    });
    manifest
}

/// All that is in a book's artifact, besides its manifest.
pub(crate) fn write_files(staging: &Staging, text: &str) {
    table(text).write(text, staging).unwrap();
    staging.write("bm25/meta.json", b"{}").unwrap();
    staging.write("vectors.bin", &[1, 2, 3, 4]).unwrap();
}

/// The staging folder of a text that was not built yet.
pub(crate) fn begin(store: &Store, key: ArtifactKey) -> Staging {
    match store.begin_or_wait(key, || panic!("nobody else is building")) {
        Ok(Begin::Staging(staging)) => staging,
        other => panic!("expected a staging folder, found {other:?}"),
    }
}

/// A text's artifact, committed.
pub(crate) fn commit(store: &Store, text: &str, recipe: Recipe) -> ArtifactDir {
    let key = ArtifactKey::new(BookId::of_text(text), recipe.key());
    let staging = begin(store, key);
    write_files(&staging, text);
    staging.commit(manifest(text, recipe)).unwrap()
}

/// A store in a folder that lives as long as the first of the two.
pub(crate) fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("data")).unwrap();
    (folder, store)
}

/// Set for a child process to the folder it works in.
const CHILD: &str = "QUIRE_INDEX_TEST_CHILD";

/// The folder to work in, if this process is a child started by
/// [`in_child`]. A test that is a child's work returns at once otherwise.
pub(crate) fn as_child() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD).map(Into::into)
}

/// Runs the test of that full name, and no other, in a process of its own.
pub(crate) fn in_child(test: &str, folder: &std::path::Path) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, folder)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}
