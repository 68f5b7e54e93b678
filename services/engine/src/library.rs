//! The artifact of a set of books, put together from theirs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use quire_corpus::BookId;
use quire_index::{
    ArtifactDir, ArtifactError, ArtifactKey, Begin, Build, Counts, Kind, LibraryId, Machine,
    Manifest, Recipe, Staging, Store, guarded, rfc3339,
};

use crate::build::{Clock, DENSE, LEXICAL, tool};
use crate::{EngineError, StageName, dense};

/// The artifact of these books, built if it is not there. Nothing is embedded
/// or analyzed again: vectors are copied, and the BM25 indexes joined. Its
/// statistics are the set's own.
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
    let folders: Vec<&Path> = books.values().map(ArtifactDir::path).collect();
    let joined = guarded(&folders, || join(&staging, &folders, recipe, &mut clock));
    let terms = joined.map_err(ArtifactError::from)??;
    let manifest = Manifest {
        kind: Kind::Library,
        books: ids,
        recipe_key: recipe.key().to_string(),
        recipe: recipe.clone(),
        files: Vec::new(),
        counts: Counts {
            terms,
            ..sum(books.values())
        },
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

/// [`open_or_build`] for books by their ids, which may be in any order.
pub(crate) fn of_books(
    store: &Store,
    books: &[BookId],
    recipe: &Recipe,
) -> Result<ArtifactDir, EngineError> {
    let key = recipe.key();
    let found = books.iter().map(|&book| {
        let found = store.find(book, key)?;
        let missing = EngineError::NotIndexed { book, recipe: key };
        Ok((book, found.ok_or(missing)?))
    });
    let found: BTreeMap<_, _> = found.collect::<Result<_, EngineError>>()?;
    open_or_build(store, &found, recipe)
}

/// Writes both views over the books in these folders, one after the other.
/// Returns the number of terms.
fn join(
    staging: &Staging,
    folders: &[&Path],
    recipe: &Recipe,
    clock: &mut Clock,
) -> Result<u64, EngineError> {
    let within = |name| -> Vec<PathBuf> { folders.iter().map(|book| book.join(name)).collect() };
    let lexical = within(LEXICAL);
    let lexical: Vec<&Path> = lexical.iter().map(PathBuf::as_path).collect();
    let stats = clock.time("lexical", || {
        quire_bm25::join(&staging.dir().join(LEXICAL), &lexical)
    });
    let stats = stats.map_err(|error| EngineError::stage(StageName::BuildLexical, error))?;
    clock.time("dense", || {
        let vectors = within(DENSE);
        let vectors: Vec<_> = vectors
            .iter()
            .map(|folder| dense::vectors(folder))
            .collect::<Result<_, _>>()?;
        dense::write_joined(&staging.dir().join(DENSE), recipe, &vectors)
    })?;
    Ok(stats.terms)
}

/// How much is in all of these books; terms are left to be counted.
fn sum<'a>(books: impl Iterator<Item = &'a ArtifactDir>) -> Counts {
    books.fold(Counts::default(), |sum, book| {
        let counts = &book.manifest().counts;
        Counts {
            passages: sum.passages + counts.passages,
            tokens: sum.tokens + counts.tokens,
            text_bytes: sum.text_bytes + counts.text_bytes,
            chapters: sum.chapters + counts.chapters,
            ..sum
        }
    })
}
