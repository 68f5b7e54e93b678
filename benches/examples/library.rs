//! What it costs to put a library together and to add a book to it: see
//! docs/performance.md.
//!
//! `library BOOKS PASSAGES` makes so many synthetic books of so many passages
//! each, and one more, and times what `quire library` does with their
//! artifacts: joining BM25 indexes and vectors. Times are processor time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quire_benches::{DIMS, Words, cpu_time};
use quire_dense::synthetic::Clusters;
use quire_dense::{VECTORS_FILE, VectorFile, VectorWriter};

/// Words in a passage, about 256 tokens.
const WORDS: usize = 190;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let [books, passages] = numbers[..] else {
        return Err("usage: library BOOKS PASSAGES".into());
    };
    let folder = tempfile::tempdir()?;
    let at = |name: String| folder.path().join(name);
    let mut words = Words::new();
    let mut clusters = Clusters::new(DIMS, books * passages / 40 + 8, 7);
    let mut texts = Vec::new();
    let mut apart = Vec::new();
    for book in 0..=books {
        let of_book: Vec<String> = (0..passages).map(|_| words.text(WORDS)).collect();
        let place = at(format!("book{book}"));
        lexical_of(&place, &of_book)?;
        vectors_of(&place, (0..passages).map(|_| clusters.row()), passages)?;
        texts.extend(of_book);
        apart.push(place);
    }
    println!("{books} books of {passages} passages, and one more; ms of CPU");
    let all = &texts[..books * passages];
    time("BM25 of the texts, as without the books' indexes", || {
        lexical_of(&at("texts".to_owned()), all)
    })?;
    time("the library put together", || {
        join(&at("old".to_owned()), &apart[..books])
    })?;
    time("the library with one book more", || {
        join(&at("new".to_owned()), &apart)
    })?;
    // The book's id happens to be the last: the rows are in the same order.
    let grown = [at("old".to_owned()), apart[books].clone()];
    time("the same from the old library and the book", || {
        join(&at("grown".to_owned()), &grown)
    })?;
    Ok(())
}

fn time(what: &str, run: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let before = cpu_time();
    run()?;
    let took = cpu_time() - before;
    println!("{what}: {:.0}", took.as_secs_f64() * 1e3);
    Ok(took)
}

fn lexical_of(place: &Path, texts: &[String]) -> Result<(), Failure> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    quire_bm25::build(&place.join("bm25"), &texts)?;
    Ok(())
}

fn vectors_of(
    place: &Path,
    vectors: impl Iterator<Item = Vec<f32>>,
    rows: usize,
) -> Result<(), Failure> {
    let mut writer = VectorWriter::create(&place.join(VECTORS_FILE), DIMS, rows)?;
    for vector in vectors {
        writer.push(&vector)?;
    }
    Ok(writer.finish()?)
}

/// What the engine does: both views of the parts, one after the other.
fn join(place: &Path, parts: &[PathBuf]) -> Result<(), Failure> {
    fs::create_dir_all(place)?;
    let lexical: Vec<PathBuf> = parts.iter().map(|part| part.join("bm25")).collect();
    let lexical: Vec<&Path> = lexical.iter().map(PathBuf::as_path).collect();
    quire_bm25::join(&place.join("bm25"), &lexical)?;
    let vectors: Vec<VectorFile> = parts
        .iter()
        .map(|part| VectorFile::open(&part.join(VECTORS_FILE)))
        .collect::<Result<_, _>>()?;
    let rows = vectors.iter().map(VectorFile::len).sum();
    let mut writer = VectorWriter::create(&place.join(VECTORS_FILE), DIMS, rows)?;
    vectors.iter().try_for_each(|part| writer.append(part))?;
    Ok(writer.finish()?)
}
