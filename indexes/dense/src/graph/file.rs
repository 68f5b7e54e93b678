//! The file of a graph.
//!
//! After the header come `u32`s: the number of parts, and the entry of each;
//! for each layer, from the lowest, its number of nodes and of edges; then each layer's nodes, starts and
//! targets (see [`Layer`]).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use quire_index::IoError;

use super::{Graph, Layer};
use crate::error::DenseError;
use crate::header::{HEADER, Header, Kind};

impl Graph {
    /// Writes the graph and waits until it is on the disk.
    pub(super) fn write(&self, path: &Path) -> Result<(), DenseError> {
        File::create(path)
            .and_then(|mut file| {
                file.write_all(&self.to_bytes())?;
                file.sync_all()
            })
            .map_err(IoError::of("write", path))?;
        Ok(())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![self.entries.len() as u32];
        words.extend_from_slice(&self.entries);
        for layer in &self.layers {
            words.push(layer.nodes.len() as u32);
            words.push(layer.targets.len() as u32);
        }
        for layer in &self.layers {
            words.extend_from_slice(&layer.nodes);
            words.extend_from_slice(&layer.starts);
            words.extend_from_slice(&layer.targets);
        }
        let payload: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let header = Header {
            kind: Kind::Graph,
            width: self.layers.len() as u32,
            rows: u64::from(self.rows),
            payload_bytes: payload.len() as u64,
            payload_crc: crc32fast::hash(&payload),
        };
        [&header.to_bytes()[..], &payload].concat()
    }

    /// Reads and checks all of a graph's file: after this, every edge leads
    /// to a row and no search can fail.
    pub(super) fn from_bytes(file: &[u8], path: &Path) -> Result<Self, DenseError> {
        let header = Header::read(Kind::Graph, file, path)?;
        header.check_payload(&file[HEADER..], path)?;
        let rows = u32::try_from(header.rows).map_err(|_| {
            DenseError::damaged(path, "it has more rows than a row number can hold")
        })?;
        let mut words = Words {
            rest: &file[HEADER..],
            path,
        };
        let parts = words.one()? as usize;
        let entries = words.many(parts)?;
        if parts == 0 || entries.iter().any(|entry| *entry >= rows) || header.width == 0 {
            return Err(words.damaged("its entry is no row"));
        }
        let mut sizes = Vec::new();
        for _ in 0..header.width {
            sizes.push((words.one()?, words.one()?));
        }
        let mut layers = Vec::new();
        for (nodes, edges) in sizes {
            let layer = Layer {
                nodes: words.many(nodes as usize)?,
                starts: words.many(nodes as usize + 1)?,
                targets: words.many(edges as usize)?,
            };
            if let Some(what) = layer.flaw(rows) {
                return Err(words.damaged(what));
            }
            layers.push(layer);
        }
        if layers[0].nodes.len() != rows as usize {
            return Err(words.damaged("a row is missing from its lowest layer"));
        }
        if !words.rest.is_empty() {
            return Err(words.damaged("it goes on after its last edge"));
        }
        Ok(Self {
            entries,
            rows,
            layers,
        })
    }
}

impl Layer {
    /// What a search would stumble over.
    fn flaw(&self, rows: u32) -> Option<&'static str> {
        let ascending = self.nodes.is_sorted_by(|a, b| a < b);
        let bounds = (self.starts.first(), self.starts.last());
        let ends_meet = bounds == (Some(&0), Some(&(self.targets.len() as u32)));
        if !ascending || self.nodes.last().is_some_and(|node| *node >= rows) {
            Some("its nodes are not ascending rows")
        } else if !ends_meet || !self.starts.is_sorted() {
            Some("its edges do not belong to nodes one after the other")
        } else if self.targets.iter().any(|target| *target >= rows) {
            Some("one of its edges leads to no row")
        } else {
            None
        }
    }
}

/// The numbers of a payload, in order.
struct Words<'a> {
    rest: &'a [u8],
    path: &'a Path,
}

impl Words<'_> {
    fn one(&mut self) -> Result<u32, DenseError> {
        Ok(self.many(1)?[0])
    }

    fn many(&mut self, count: usize) -> Result<Vec<u32>, DenseError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count * 4) else {
            return Err(self.damaged("it ends before its last edge"));
        };
        self.rest = rest;
        let (words, _) = taken.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn damaged(&self, what: &str) -> DenseError {
        DenseError::damaged(self.path, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> Graph {
        Graph {
            entries: vec![2],
            rows: 3,
            layers: vec![
                Layer {
                    nodes: vec![0, 1, 2],
                    starts: vec![0, 1, 2, 4],
                    targets: vec![2, 2, 0, 1],
                },
                Layer {
                    nodes: vec![2],
                    starts: vec![0, 1],
                    targets: vec![1],
                },
            ],
        }
    }

    fn read(bytes: &[u8]) -> Result<Graph, DenseError> {
        Graph::from_bytes(bytes, Path::new("graph.bin"))
    }

    /// The same file with other words, and checksums that agree with them.
    fn forged(change: impl FnOnce(&mut Vec<u32>)) -> Vec<u8> {
        let whole = small().to_bytes();
        let mut words: Vec<u32> = whole[HEADER..]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        change(&mut words);
        let payload: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let header = Header {
            payload_bytes: payload.len() as u64,
            payload_crc: crc32fast::hash(&payload),
            ..Header::read(Kind::Graph, &whole, Path::new("graph.bin")).unwrap()
        };
        [&header.to_bytes()[..], &payload].concat()
    }

    #[test]
    fn a_graph_is_read_back_as_written() {
        assert_eq!(read(&small().to_bytes()).unwrap(), small());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let whole = small().to_bytes();
        for bit in 0..whole.len() * 8 {
            let mut file = whole.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&file).is_err(), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_a_search_would_stumble_over_is_refused() {
        // Words: 1 part, its entry; 3, 4, 1, 1; nodes 0 1 2; starts 0 1 2 4; targets ...
        for (at, value, expected) in [
            (0, 0, "entry is no row"),
            (0, u32::MAX, "ends before its last edge"),
            (1, 3, "entry is no row"),
            (2, 2, "do not belong to nodes"),
            (6, 1, "nodes are not ascending"),
            (8, 3, "nodes are not ascending"),
            (9, 1, "do not belong to nodes"),
            (10, 3, "do not belong to nodes"),
            (12, 5, "do not belong to nodes"),
            (13, 3, "leads to no row"),
            (3, u32::MAX, "ends before its last edge"),
        ] {
            let error = read(&forged(|words| words[at] = value)).unwrap_err();
            assert!(error.to_string().contains(expected), "{at}: {error}");
        }
        let gap = vec![1, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let gap = read(&forged(|words| *words = gap)).unwrap_err();
        assert!(gap.to_string().contains("a row is missing"), "{gap}");
        let longer = read(&forged(|words| words.push(0))).unwrap_err();
        assert!(longer.to_string().contains("goes on after"), "{longer}");
    }

    proptest! {
        #[test]
        fn no_words_however_wrong_make_reading_panic(
            words in proptest::collection::vec(0u32..6, 0..30)
        ) {
            let file = forged(|payload| *payload = words);
            if let Ok(graph) = read(&file) {
                prop_assert_eq!(graph.to_bytes(), file);
            }
        }
    }
}
