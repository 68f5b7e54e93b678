use super::*;
use crate::graph::write_parts;
use crate::synthetic::{self, Clusters};
use crate::{VectorWriter, write_graph};
use quire_corpus::BookId;
use std::fs;
use tempfile::TempDir;

const DIMS: usize = 48;

fn recipe(above: usize) -> GraphRecipe {
    GraphRecipe {
        above,
        connections: 12,
        ef_construction: 60,
    }
}

fn chunk(ordinal: u32) -> ChunkId {
    ChunkId {
        book: BookId::of_text("synthetic"),
        ordinal,
    }
}

/// An index of `rows` rows, and questions like them.
fn index(rows: usize, above: usize) -> (TempDir, DenseIndex, Vec<Vec<f32>>) {
    let dir = tempfile::tempdir().unwrap();
    let mut clusters = Clusters::new(DIMS, 25, 3);
    let index = synthetic::index(dir.path(), &mut clusters, rows, &recipe(above)).unwrap();
    let questions = (0..20).map(|_| clusters.row()).collect();
    (dir, index, questions)
}

#[test]
fn the_exact_search_ranks_every_passage_by_its_dot_product() {
    let (_dir, index, questions) = index(300, usize::MAX);
    assert!(index.is_exact());
    for question in &questions {
        let ranking = index.search(question, 300, DEFAULT_EF).unwrap();
        assert_eq!(ranking.len(), 300);
        for hit in ranking.hits() {
            let row = index.vectors().row(hit.chunk.ordinal as usize);
            let dot: f64 = row
                .iter()
                .zip(question)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum();
            assert!((hit.score - dot).abs() < 1e-6);
        }
    }
}

#[test]
fn a_passage_asked_for_alone_scores_as_in_a_search_to_the_bit() {
    let (_exact_dir, exact, questions) = index(700, usize::MAX);
    let (_dir, approximate, _) = index(700, 0);
    for question in &questions {
        for ranking in [
            exact.search(question, 50, DEFAULT_EF).unwrap(),
            approximate.search(question, 50, DEFAULT_EF).unwrap(),
        ] {
            let chunks: Vec<ChunkId> = ranking.chunks().collect();
            let scores = exact.scores(question, &chunks).unwrap();
            let searched: Vec<f64> = ranking.hits().iter().map(|hit| hit.score).collect();
            assert_eq!(scores, searched);
        }
    }
}

#[test]
fn a_graph_finds_nearly_all_that_a_scan_finds_and_all_with_every_row_a_candidate() {
    let (_dir, index, questions) = index(3000, 2999);
    assert!(!index.is_exact());
    let (mut found, mut wanted) = (0, 0);
    for question in &questions {
        let exact = index.search_exact(question, 10).unwrap();
        let near = index.search(question, 10, 100).unwrap();
        wanted += exact.len();
        found += exact
            .chunks()
            .filter(|c| near.chunks().any(|n| n == *c))
            .count();
        assert_eq!(index.search(question, 10, 3000).unwrap(), exact);
    }
    assert!(found * 100 >= wanted * 97, "{found} of {wanted}");
}

#[test]
fn several_parts_are_searched_as_one_graph() {
    let (dir, index, questions) = index(3000, 2999);
    assert!(write_parts(dir.path(), &recipe(2999), 700, |_| {}).unwrap());
    let parts = DenseIndex::open(dir.path(), Arc::clone(&index.passages), &recipe(2999)).unwrap();
    let (mut found, mut wanted) = (0, 0);
    for question in &questions {
        let exact = index.search_exact(question, 10).unwrap();
        let near = parts.search(question, 10, 64).unwrap();
        assert_eq!(near.len(), 10);
        wanted += exact.len();
        found += exact
            .chunks()
            .filter(|c| near.chunks().any(|n| n == *c))
            .count();
        assert_eq!(parts.search(question, 10, 3000).unwrap(), exact);
    }
    assert!(found * 100 >= wanted * 97, "{found} of {wanted}");
}

#[test]
fn one_question_has_one_answer_whatever_runs_beside_it() {
    let (_dir, index, questions) = index(2000, 0);
    let alone: Vec<Ranking> = questions
        .iter()
        .map(|question| index.search(question, 20, 64).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for (question, alone) in questions.iter().zip(&alone) {
                    assert_eq!(index.search(question, 20, 64).unwrap(), *alone);
                }
            });
        }
    });
}

#[test]
fn limits_beyond_the_index_and_of_nothing_are_fine() {
    for above in [0, usize::MAX] {
        let (_dir, index, questions) = index(5, above);
        assert_eq!(index.search(&questions[0], 9, 0).unwrap().len(), 5);
        assert_eq!(index.search(&questions[0], usize::MAX, 1).unwrap().len(), 5);
        assert!(index.search(&questions[0], 0, 9).unwrap().is_empty());
    }
    let (_dir, empty, questions) = index(0, 0);
    assert!(empty.search(&questions[0], 9, 9).unwrap().is_empty());
}

#[test]
fn a_question_that_is_no_unit_vector_is_refused_by_every_search() {
    let (_dir, index, _) = index(40, 0);
    let short = vec![1.; 3];
    let long = vec![1.; DIMS];
    let mut broken = vec![0.; DIMS];
    broken[7] = f32::NAN;
    for (bad, expected) in [
        (&short, "has 3 values instead of 48"),
        (&long, "has length 6.928203 instead of 1"),
        (&broken, "the one at 7"),
    ] {
        for result in [
            index.search(bad, 5, 50).map(|_| ()),
            index.search_exact(bad, 5).map(|_| ()),
            index.scores(bad, &[chunk(0)]).map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[test]
fn a_passage_of_another_book_has_no_score_here() {
    let (_dir, index, questions) = index(4, usize::MAX);
    let unknown = index.scores(&questions[0], &[chunk(0), chunk(4)]);
    assert!(matches!(unknown, Err(DenseError::UnknownPassage(c)) if c == chunk(4)));
}

#[test]
fn an_artifact_whose_files_do_not_fit_is_not_opened() {
    let (dir, index, _) = index(30, 0);
    let passages = |rows| Arc::new(PassageIds::of_books([(chunk(0).book, rows)]));
    drop(index);
    let other = DenseIndex::open(dir.path(), passages(31), &recipe(0));
    assert!(matches!(
        other,
        Err(DenseError::Count {
            rows: 30,
            passages: 31,
            ..
        })
    ));

    let graph = dir.path().join(GRAPH_FILE);
    let bytes = fs::read(&graph).unwrap();
    fs::remove_file(&graph).unwrap();
    let missing = DenseIndex::open(dir.path(), passages(30), &recipe(0)).unwrap_err();
    assert!(missing.to_string().contains(GRAPH_FILE), "{missing}");
    assert!(DenseIndex::open(dir.path(), passages(30), &recipe(30)).is_ok());

    fs::write(&graph, &bytes[..bytes.len() - 3]).unwrap();
    let cut = DenseIndex::open(dir.path(), passages(30), &recipe(0));
    assert!(matches!(cut, Err(DenseError::Length { .. })));

    let (smaller, _index, _) = super::tests::index(29, 0);
    fs::copy(smaller.path().join(GRAPH_FILE), &graph).unwrap();
    let foreign = DenseIndex::open(dir.path(), passages(30), &recipe(0)).unwrap_err();
    assert!(
        foreign.to_string().contains("29 vectors, not 30"),
        "{foreign}"
    );
}

#[test]
fn damaged_vectors_never_rank() {
    let (dir, index, questions) = index(600, 0);
    let path = dir.path().join(VECTORS_FILE);
    let mut bytes = fs::read(&path).unwrap();
    drop(index);
    let at = 64 + 4 * DIMS * 555;
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
        bytes[at..at + 4].copy_from_slice(&bad.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let passages = Arc::new(PassageIds::of_books([(chunk(0).book, 600)]));
        let index = DenseIndex::open(dir.path(), passages, &recipe(0)).unwrap();
        let scanned = index.search_exact(&questions[0], 5).unwrap_err();
        assert!(scanned.to_string().contains("row 555"), "{scanned}");
        assert!(index.scores(&questions[0], &[chunk(555)]).is_err());
        assert!(index.search(&questions[0], 5, 600).is_err());
        assert!(index.verify().is_err());
    }
}

#[test]
fn vectors_that_changed_under_a_search_are_an_error() {
    for above in [0, usize::MAX] {
        let (dir, index, questions) = index(900, above);
        fs::OpenOptions::new()
            .write(true)
            .open(dir.path().join(VECTORS_FILE))
            .and_then(|file| file.set_len(5000))
            .unwrap();
        assert!(matches!(
            index.search(&questions[0], 5, 50),
            Err(DenseError::Changed(_))
        ));
        assert!(matches!(
            index.scores(&questions[0], &[chunk(899)]),
            Err(DenseError::Changed(_))
        ));
    }
}

#[test]
fn a_library_joined_from_books_answers_as_one_built_at_once() {
    let mut clusters = Clusters::new(DIMS, 9, 4);
    let books = [clusters.rows(200), clusters.rows(1), clusters.rows(150)];
    let question = clusters.row();
    let mut files = Vec::new();
    for rows in &books {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), rows);
        files.push(dir);
    }
    let joined = tempfile::tempdir().unwrap();
    let path = joined.path().join(VECTORS_FILE);
    let mut writer = VectorWriter::create(&path, DIMS, 351).unwrap();
    for dir in &files {
        let book = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        writer.append(&book).unwrap();
    }
    writer.finish().unwrap();
    let fresh = tempfile::tempdir().unwrap();
    write(fresh.path(), &books.concat());

    let passages = Arc::new(PassageIds::of_books([(chunk(0).book, 351)]));
    let mut answers = Vec::new();
    for dir in [&joined, &fresh] {
        assert!(write_graph(dir.path(), &recipe(100), |_| {}).unwrap());
        let index = DenseIndex::open(dir.path(), Arc::clone(&passages), &recipe(100)).unwrap();
        answers.push(index.search(&question, 30, 40).unwrap());
    }
    assert_eq!(answers[0], answers[1]);
    for file in [VECTORS_FILE, GRAPH_FILE] {
        let bytes = |dir: &TempDir| fs::read(dir.path().join(file)).unwrap();
        assert!(bytes(&joined) == bytes(&fresh), "{file} differs");
    }
}

fn write(dir: &Path, rows: &[f32]) {
    let path = dir.join(VECTORS_FILE);
    let mut writer = VectorWriter::create(&path, DIMS, rows.len() / DIMS).unwrap();
    for row in rows.chunks_exact(DIMS) {
        writer.push(row).unwrap();
    }
    writer.finish().unwrap();
}
