//! What the benchmarks search: synthetic passages whose words follow Zipf's
//! law and whose vectors are clustered, as a book's are.

use std::sync::Arc;
use std::time::Duration;

use quire_bm25::Bm25Index;
use quire_corpus::BookId;
use quire_dense::DenseIndex;
use quire_dense::synthetic::{Clusters, index};
use quire_index::{GraphRecipe, PassageIds};
use tempfile::TempDir;

/// Words in a passage, about 256 tokens.
const WORDS: usize = 190;
/// Distinct words.
const VOCABULARY: usize = 60_000;
/// Values in a vector, as the small profile's.
pub const DIMS: usize = 384;

/// Both views of `passages` synthetic passages, and questions to ask.
pub struct Corpus {
    /// The lexical view.
    pub lexical: Bm25Index,
    /// The dense view, without a graph.
    pub dense: DenseIndex,
    /// Questions of eight words.
    pub questions: Vec<String>,
    /// Their vectors.
    pub vectors: Vec<Vec<f32>>,
    _folder: TempDir,
}

impl Corpus {
    /// Builds both views in a temporary folder.
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn of(passages: usize) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut words = Words::new();
        let texts: Vec<String> = (0..passages).map(|_| words.text(WORDS)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let lexical = folder.path().join("bm25");
        quire_bm25::build(&lexical, &texts).expect("the lexical view is built");
        let ids = PassageIds::of_books([(BookId::of_text("synthetic"), passages as u32)]);
        let mut clusters = Clusters::new(DIMS, passages / 40 + 8, 7);
        let exact = GraphRecipe {
            above: usize::MAX,
            connections: 16,
            ef_construction: 200,
        };
        let dense =
            index(folder.path(), &mut clusters, passages, &exact).expect("the dense view is built");
        Self {
            lexical: Bm25Index::open(&lexical, Arc::new(ids), &quire_bm25::recipe())
                .expect("the lexical view opens"),
            dense,
            questions: (0..200).map(|_| words.text(8)).collect(),
            vectors: (0..200).map(|_| clusters.row()).collect(),
            _folder: folder,
        }
    }
}

/// Words drawn by Zipf's law.
pub struct Words {
    state: u64,
    cumulative: Vec<f64>,
}

impl Default for Words {
    fn default() -> Self {
        Self::new()
    }
}

impl Words {
    /// The same words every time.
    pub fn new() -> Self {
        let mut sum = 0.0;
        let cumulative = (0..VOCABULARY).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7).powf(1.07);
            sum
        });
        Self {
            cumulative: cumulative.collect(),
            state: 3,
        }
    }

    /// The next so many words.
    pub fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| format!("w{} ", self.next())).collect()
    }

    fn next(&mut self) -> usize {
        // splitmix64 (Steele, Lea and Flood 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let total = self.cumulative[VOCABULARY - 1];
        let drawn = (mixed >> 11) as f64 / (1u64 << 53) as f64 * total;
        self.cumulative
            .partition_point(|sum| *sum < drawn)
            .min(VOCABULARY - 1)
    }
}

/// Processor time of the whole process so far, all threads together: what a
/// query costs, however busy the machine is.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on every Unix and `time` is a valid place.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the processor time clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The value below which the share `share` of the sorted values lies.
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}
