//! Checking stored artifacts, views included.

use std::sync::Arc;

use quire_dense::{DenseError, DenseIndex};
use quire_index::{ArtifactDir, Finding, Found, PassageIds, Severity, Store};

use crate::EngineError;
use crate::build::{DENSE, LEXICAL};

/// Everything wrong with one artifact: its files, its text and passages, its
/// BM25 index, its vectors and graph. Reads every file in full.
///
/// # Errors
/// When a folder cannot be listed.
pub fn verify(store: &Store, found: &Found) -> Result<Vec<Finding>, EngineError> {
    let mut findings = store.verify(found).map_err(quire_index::StoreError::from)?;
    let Ok(artifact) = &found.artifact else {
        return Ok(findings);
    };
    // A damaged file is named already; what its view makes of it says nothing
    // more.
    if findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
    {
        return Ok(findings);
    }
    let passages = artifact.manifest().counts.passages;
    let mut add = |folder: &str, outcome: Result<(), String>| {
        if let Err(what) = outcome {
            findings.push(Finding {
                severity: Severity::Error,
                path: artifact.path().join(folder),
                what,
                remedy: artifact.remedy(),
            });
        }
    };
    let lexical = quire_bm25::verify(&artifact.path().join(LEXICAL), passages as usize);
    add(LEXICAL, lexical.map(|_| ()).map_err(|error| chain(&error)));
    add(DENSE, verify_dense(artifact).map_err(|error| chain(&error)));
    Ok(findings)
}

/// Vectors and graph. Which passage a row is does not matter here, only how
/// many there are.
fn verify_dense(artifact: &ArtifactDir) -> Result<(), DenseError> {
    let manifest = artifact.manifest();
    let rows = manifest.counts.passages as u32;
    let ids = PassageIds::of_books(manifest.books.first().map(|&book| (book, rows)));
    let graph = &manifest.recipe.vectors.graph;
    DenseIndex::open(&artifact.path().join(DENSE), Arc::new(ids), graph)?.verify()
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        said += &format!(": {next}");
        cause = next.source();
    }
    said
}
