//! The artifact of a set of books, put together from theirs.

use std::collections::BTreeMap;
use std::time::SystemTime;

use quire_corpus::BookId;
use quire_index::{
    ArtifactDir, ArtifactKey, Begin, BookArtifact, Build, Counts, Kind, LibraryId, Machine,
    Manifest, Recipe, Store, rfc3339,
};

use crate::build::{Clock, DENSE, build_lexical, tool};
use crate::{EngineError, dense};

/// The artifact of these books, built if it is not there. Nothing is embedded
/// again: vectors are copied, and BM25 is built anew over all passages, since
/// its statistics are the set's own.
pub(crate) fn open_or_build(
    store: &Store,
    books: &BTreeMap<BookId, ArtifactDir>,
    recipe: &Recipe,
) -> Result<ArtifactDir, EngineError> {
    let ids: Vec<BookId> = books.keys().copied().collect();
    let key = ArtifactKey::new(LibraryId::of_books(&ids), recipe.key());
    if let Some(artifact) = store.find(key.subject, key.recipe)? {
        return Ok(artifact);
    }
    // Before anything is begun, so that a damaged book leaves nothing behind.
    books.values().try_for_each(ArtifactDir::check)?;
    let staging = match store.begin(key)? {
        Begin::Committed(artifact) => return Ok(*artifact),
        Begin::Staging(staging) => staging,
    };
    let started = SystemTime::now();
    let mut clock = Clock::start();

    // Ascending by id, as the rows of an artifact are.
    let mut texts = Vec::new();
    let mut vectors = Vec::new();
    let mut counts = Counts::default();
    for artifact in books.values() {
        let book = BookArtifact::open(artifact)?;
        for ordinal in 0..book.table().len() as u32 {
            texts.push(book.passage(ordinal)?.text);
        }
        let of_book = &artifact.manifest().counts;
        counts.passages += of_book.passages;
        counts.tokens += of_book.tokens;
        counts.text_bytes += of_book.text_bytes;
        counts.chapters += of_book.chapters;
        vectors.push(dense::vectors(&artifact.path().join(DENSE))?);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    counts.terms = clock.time("lexical", || build_lexical(&staging, &texts))?;
    let folder = staging.dir().join(DENSE);
    clock.time("dense", || dense::write_joined(&folder, recipe, &vectors))?;
    let manifest = Manifest {
        kind: Kind::Library,
        books: ids,
        recipe_key: recipe.key().to_string(),
        recipe: recipe.clone(),
        files: Vec::new(),
        counts,
        reranker: None,
        build: Build {
            tool: tool(),
            started: rfc3339(started),
            seconds: clock.finish(),
            embedded_tokens: 0,
            tokens_per_second: None,
            machine: Machine::detect(),
            device: "none".to_owned(),
        },
        source: None,
    };
    Ok(staging.commit(manifest)?)
}
