//! Writing the dense view of an artifact.

use std::fs;
use std::path::Path;

use quire_dense::{DenseError, VECTORS_FILE, VectorFile, VectorWriter, write_graph};
use quire_index::{IoError, Recipe, ResumeLog};

use crate::{EngineError, StageName};

/// Writes the vectors of `rows` passages, by `fill`, and the graph if the
/// recipe wants one over so many.
fn write(
    folder: &Path,
    recipe: &Recipe,
    rows: usize,
    fill: impl FnOnce(&mut VectorWriter) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    fs::create_dir_all(folder).map_err(IoError::of("create", folder))?;
    let mut writer = VectorWriter::create(&folder.join(VECTORS_FILE), recipe.embedder.dims, rows)
        .map_err(failed)?;
    fill(&mut writer)?;
    writer.finish().map_err(failed)?;
    write_graph(folder, &recipe.vectors.graph, |_| {}).map_err(failed)?;
    Ok(())
}

/// Writes the dense view of a book from its logged embeddings.
pub(crate) fn write_logged(
    folder: &Path,
    recipe: &Recipe,
    rows: usize,
    log: &mut ResumeLog,
) -> Result<(), EngineError> {
    write(folder, recipe, rows, |writer| {
        for row in 0..rows as u32 {
            let logged = log
                .read(row)
                .map_err(|error| EngineError::stage(StageName::BuildDense, error))?;
            let Some(logged) = logged else {
                let what = format!("the embedder gave no vector for passage {row}");
                return Err(EngineError::stage(StageName::EmbedPassages, what));
            };
            writer.push(&logged.vector).map_err(failed)?;
        }
        Ok(())
    })
}

/// Writes the dense view of a library: its books' vectors, one book after the
/// other.
pub(crate) fn write_joined(
    folder: &Path,
    recipe: &Recipe,
    books: &[VectorFile],
) -> Result<(), EngineError> {
    let rows = books.iter().map(VectorFile::len).sum();
    write(folder, recipe, rows, |writer| {
        books
            .iter()
            .try_for_each(|book| writer.append(book))
            .map_err(failed)
    })
}

/// Reads the vectors of an artifact.
pub(crate) fn vectors(folder: &Path) -> Result<VectorFile, EngineError> {
    VectorFile::open(&folder.join(VECTORS_FILE)).map_err(failed)
}

fn failed(error: DenseError) -> EngineError {
    EngineError::stage(StageName::BuildDense, error)
}
