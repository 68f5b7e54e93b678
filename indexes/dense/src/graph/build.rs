//! Building a graph with `hnsw_rs`.

use std::any::Any;
use std::cmp::Reverse;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use hnsw_rs::prelude::{Distance, Hnsw, Point};
use quire_index::GraphRecipe;
use rayon::prelude::*;

use super::{Graph, Layer};
use crate::error::{DenseError, check_unit};
use crate::kernel::Kernel;
use crate::vectors::VectorFile;

/// The library stores a layer's number of connections in a byte, and ends the
/// process when asked for more than fits; below 2 it has no levels.
const CONNECTIONS: (usize, usize) = (2, 255);
/// Wider searches than this cost more than scanning and gain nothing.
const EF_CONSTRUCTION: (usize, usize) = (1, 4096);
/// The most layers the library knows.
const MAX_LAYERS: usize = 16;

/// The distance between two rows of a file. The library's points are row
/// numbers, so it copies no vector.
struct Between<'a> {
    vectors: &'a VectorFile,
    kernel: Kernel,
}

impl Distance<u32> for Between<'_> {
    fn eval(&self, a: &[u32], b: &[u32]) -> f32 {
        let a = self.vectors.row(a[0] as usize);
        let b = self.vectors.row(b[0] as usize);
        // The library asserts that no distance is negative, and rounding
        // can take the dot product of a vector with itself beyond 1.
        (1. - self.kernel.dot(a, b)).max(0.)
    }
}

/// Builds the graphs over all rows, at least one, in parts of `part_rows` rows
/// or a little less.
pub(super) fn build(
    vectors: &VectorFile,
    recipe: &GraphRecipe,
    part_rows: usize,
    on_row: impl FnMut(usize) + Send,
) -> Result<Graph, DenseError> {
    within("connections", recipe.connections, CONNECTIONS)?;
    within("ef_construction", recipe.ef_construction, EF_CONSTRUCTION)?;
    // So that all edges of a layer can be counted in a u32.
    let most_rows = u32::MAX as usize / (4 * recipe.connections);
    within("vectors", vectors.len(), (1, most_rows))?;
    // NaN makes the library panic half-way, or worse, not at all.
    for (row, vector) in vectors.values().chunks_exact(vectors.dims()).enumerate() {
        check_unit(vector, vectors.dims()).map_err(|problem| DenseError::BadRow {
            path: vectors.path().to_owned(),
            row,
            problem,
        })?;
    }
    let done = Mutex::new((0, on_row));
    let on_row = || {
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += 1;
        let rows = done.0;
        (done.1)(rows);
    };
    let parts = parts(vectors.len(), part_rows);
    let built = catch_unwind(AssertUnwindSafe(|| {
        let parts = parts.into_par_iter();
        parts
            .map(|rows| part(vectors, rows, recipe, &on_row))
            .collect()
    }));
    vectors.check()?;
    let built: Vec<Part> = built.map_err(|panic| DenseError::GraphBuild {
        path: vectors.path().to_owned(),
        message: said(panic.as_ref()),
    })?;
    Ok(Graph::of_parts(built, vectors.len() as u32))
}

/// The rows of each part: as few parts as can be, of about one size.
fn parts(rows: usize, part_rows: usize) -> Vec<Range<usize>> {
    let parts = rows.div_ceil(part_rows);
    (0..parts)
        .map(|part| rows * part / parts..rows * (part + 1) / parts)
        .collect()
}

/// Builds the graph of some rows.
fn part(
    vectors: &VectorFile,
    rows: Range<usize>,
    recipe: &GraphRecipe,
    on_row: &(impl Fn() + Sync),
) -> Part {
    let distance = Between {
        vectors,
        kernel: Kernel::detect(),
    };
    let hnsw = Hnsw::new(
        recipe.connections,
        rows.len(),
        MAX_LAYERS,
        recipe.ef_construction,
        distance,
    );
    for row in rows {
        hnsw.insert_slice((&[row as u32], row));
        on_row();
    }
    edges(&hnsw)
}

fn within(
    name: &'static str,
    value: usize,
    (least, most): (usize, usize),
) -> Result<(), DenseError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(DenseError::GraphParameter {
        name,
        value,
        least,
        most,
    })
}

/// The edges of one part's rows, as the library has them.
struct Part {
    entry: u32,
    /// The rows with edges in each layer, and the rows they lead to.
    by_layer: Vec<Vec<(u32, Vec<u32>)>>,
}

/// Takes the edges out of the library's graph.
fn edges(hnsw: &Hnsw<'_, u32, Between<'_>>) -> Part {
    let mut by_layer: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); MAX_LAYERS];
    // The library enters at the first row of the highest level.
    let mut entry: Option<(u8, Reverse<u32>)> = None;
    for point in hnsw.get_point_indexation() {
        let row = point.get_origin_id() as u32;
        entry = entry.max(Some((point.get_point_id().0, Reverse(row))));
        for (layer, targets) in targets(&point).into_iter().enumerate() {
            if layer == 0 || !targets.is_empty() {
                by_layer[layer].push((row, targets));
            }
        }
    }
    Part {
        entry: entry.map_or(0, |(_, Reverse(row))| row),
        by_layer,
    }
}

impl Graph {
    fn of_parts(parts: Vec<Part>, rows: u32) -> Self {
        let entries = parts.iter().map(|part| part.entry).collect();
        let mut by_layer: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); MAX_LAYERS];
        for part in parts {
            for (all, nodes) in by_layer.iter_mut().zip(part.by_layer) {
                all.extend(nodes);
            }
        }
        while by_layer.last().is_some_and(Vec::is_empty) {
            by_layer.pop();
        }
        Self {
            entries,
            rows,
            layers: by_layer.into_iter().map(Layer::of_nodes).collect(),
        }
    }
}

/// A point's neighbours in each layer, nearest first.
fn targets(point: &Point<'_, u32>) -> Vec<Vec<u32>> {
    point
        .get_neighborhood_id()
        .into_iter()
        .map(|layer| layer.into_iter().map(|n| n.d_id as u32).collect())
        .collect()
}

impl Layer {
    fn of_nodes(mut nodes: Vec<(u32, Vec<u32>)>) -> Self {
        nodes.sort_unstable_by_key(|(row, _)| *row);
        let mut layer = Self {
            nodes: Vec::with_capacity(nodes.len()),
            starts: vec![0],
            targets: Vec::new(),
        };
        for (row, targets) in nodes {
            layer.nodes.push(row);
            layer.targets.extend(targets);
            layer.starts.push(layer.targets.len() as u32);
        }
        layer
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    if let Some(message) = panic.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = panic.downcast_ref::<String>() {
        message.clone()
    } else {
        "it gave no reason".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{GRAPH_FILE, write_graph, write_parts};
    use crate::synthetic::Clusters;
    use crate::{VECTORS_FILE, VectorWriter};
    use std::fs;
    use tempfile::TempDir;

    fn vectors(dims: usize, values: &[f32]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(VECTORS_FILE);
        let mut writer = VectorWriter::create(&path, dims, values.len() / dims).unwrap();
        for row in values.chunks_exact(dims) {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        dir
    }

    fn recipe(connections: usize, ef_construction: usize) -> GraphRecipe {
        GraphRecipe {
            above: 0,
            connections,
            ef_construction,
        }
    }

    fn built(dir: &TempDir, recipe: &GraphRecipe) -> Graph {
        let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        build(&file, recipe, usize::MAX, |_| {}).unwrap()
    }

    #[test]
    fn the_same_vectors_make_the_same_bytes_on_any_number_of_threads() {
        let dir = vectors(32, &Clusters::new(32, 12, 2).rows(1500));
        let mut files = Vec::new();
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| write_parts(dir.path(), &recipe(8, 40), 400, |_| {}))
                .unwrap();
            files.push(fs::read(dir.path().join(GRAPH_FILE)).unwrap());
        }
        assert!(files[0] == files[1] && files[0] == files[2]);
    }

    #[test]
    fn the_graph_has_the_librarys_own_edges_and_entry() {
        let dir = vectors(16, &Clusters::new(16, 5, 8).rows(400));
        let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        let distance = Between {
            vectors: &file,
            kernel: Kernel::detect(),
        };
        let hnsw = Hnsw::new(4, 400, MAX_LAYERS, 30, distance);
        for row in 0..400 {
            hnsw.insert_slice((&[row as u32], row));
        }
        let graph = Graph::of_parts(vec![edges(&hnsw)], 400);
        assert_eq!(graph, built(&dir, &recipe(4, 30)));
        let top = graph.layers.len() - 1;
        assert!(top > 0 && graph.layers[0].nodes.len() == 400);
        for point in hnsw.get_point_indexation() {
            let row = point.get_origin_id() as u32;
            for (layer, targets) in targets(&point).into_iter().enumerate() {
                let ours = graph
                    .layers
                    .get(layer)
                    .map_or(&[][..], |l| l.neighbours(row));
                assert_eq!(ours, targets, "row {row}, layer {layer}");
            }
            if row == graph.entries[0] {
                assert_eq!(point.get_point_id().0, hnsw.get_max_level_observed());
            }
        }
    }

    #[test]
    fn parts_are_of_one_size_and_no_edge_leaves_its_own() {
        assert_eq!(parts(7, 3), [0..2, 2..4, 4..7]);
        assert_eq!(parts(6, 3), [0..3, 3..6]);
        assert_eq!(parts(2, 3).len(), 1);
        let dir = vectors(16, &Clusters::new(16, 5, 8).rows(300));
        let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        let graph = build(&file, &recipe(4, 30), 100, |_| {}).unwrap();
        assert_eq!(graph.entries.len(), 3);
        for (part, entry) in graph.entries.iter().enumerate() {
            assert_eq!(*entry as usize / 100, part);
        }
        for layer in &graph.layers {
            for row in 0..300 {
                let targets = layer.neighbours(row).iter();
                assert!(targets.clone().all(|target| target / 100 == row / 100));
            }
        }
        let alone = build(&file, &recipe(4, 30), 300, |_| {}).unwrap();
        assert_eq!(alone.entries.len(), 1);
    }

    #[test]
    fn one_row_two_rows_and_equal_rows_make_graphs() {
        for rows in [1, 2, 40] {
            let values = [0.6, 0.8].repeat(rows);
            let dir = vectors(2, &values);
            let graph = built(&dir, &recipe(3, 10));
            assert_eq!(graph.layers[0].nodes.len(), rows);
        }
    }

    #[test]
    fn parameters_that_would_end_the_process_are_refused() {
        let dir = vectors(2, &[0.6, 0.8]);
        for (connections, ef_construction, expected) in [
            (256, 100, "connections = 256; it must be from 2 to 255"),
            (1, 100, "connections = 1"),
            (16, 0, "ef_construction = 0; it must be from 1 to 4096"),
            (16, usize::MAX, "ef_construction = "),
        ] {
            let result = write_graph(dir.path(), &recipe(connections, ef_construction), |_| {});
            let error = result.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(!dir.path().join(GRAPH_FILE).exists());
    }

    #[test]
    fn damaged_vectors_are_named_before_the_library_sees_them() {
        let dir = vectors(2, &[0.6, 0.8, 1., 0., 0., 1.]);
        let path = dir.path().join(VECTORS_FILE);
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 4;
        bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let result = write_graph(dir.path(), &recipe(4, 10), |_| {});
        assert!(matches!(result, Err(DenseError::BadRow { row: 2, .. })));
    }

    #[test]
    fn a_panic_while_building_is_an_error() {
        let dir = vectors(2, &[0.6, 0.8, 1., 0.]);
        let file = VectorFile::open(&dir.path().join(VECTORS_FILE)).unwrap();
        let stop = |row| assert!(row < 2, "stopped at row {row}");
        let error = build(&file, &recipe(4, 10), 2, stop).unwrap_err();
        assert!(error.to_string().contains("stopped at row 2"), "{error}");
    }

    #[test]
    fn a_graph_is_built_above_the_threshold_only_and_every_row_is_reported() {
        let dir = vectors(2, &[0.6, 0.8].repeat(5));
        let mut recipe = recipe(4, 10);
        recipe.above = 5;
        let mut seen = Vec::new();
        assert!(!write_graph(dir.path(), &recipe, |row| seen.push(row)).unwrap());
        assert!(seen.is_empty() && !dir.path().join(GRAPH_FILE).exists());
        recipe.above = 4;
        assert!(write_graph(dir.path(), &recipe, |row| seen.push(row)).unwrap());
        assert_eq!(seen, [1, 2, 3, 4, 5]);
    }
}
