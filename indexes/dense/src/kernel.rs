//! The dot product, with one summation structure on every machine.
//!
//! Floating-point addition is not associative, so a sum's bits depend on the
//! order of its additions. Here the order is fixed: value `i` of the products
//! is added to accumulator `i % LANES`, and the accumulators are folded in
//! halves. Wide registers only carry out more of those additions at a time,
//! and Rust never contracts a multiplication and an addition into one
//! rounding. So SSE2, AVX2, AVX-512 and NEON give the same bits, and so does
//! one row alone or among others.

use std::array::from_fn;
use std::hint::black_box;

/// Accumulators of one dot product. Enough to hide the latency of an addition
/// with 16-wide registers, few enough to fit in sixteen 4-wide ones.
const LANES: usize = 32;

/// The widest instruction set this machine has that the kernel is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// What every machine of this architecture has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Dot products on the widest instructions of this machine. The width changes
/// how fast the answer comes, never the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    width: Width,
}

impl Kernel {
    /// The kernel for this machine.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Self {
                    width: Width::Avx512,
                };
            }
            if is_x86_feature_detected!("avx2") {
                return Self { width: Width::Avx2 };
            }
        }
        Self {
            width: Width::Baseline,
        }
    }

    /// The dot product of two vectors of one length.
    pub(crate) fn dot(self, a: &[f32], b: &[f32]) -> f32 {
        debug_assert_eq!(a.len(), b.len());
        match self.width {
            Width::Baseline => dot_lanes(a, b),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` makes this width only where the machine has it.
            Width::Avx2 => unsafe { dot_avx2(a, b) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` makes this width only where the machine has it.
            Width::Avx512 => unsafe { dot_avx512(a, b) },
        }
    }

    /// The dot product of `query` with each row of `rows`, which holds one
    /// row of `query.len()` values a place in `out`.
    pub(crate) fn dots(self, query: &[f32], rows: &[f32], out: &mut [f32]) {
        debug_assert_eq!(rows.len(), query.len() * out.len());
        match self.width {
            Width::Baseline => dots_lanes(query, rows, out),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` makes this width only where the machine has it.
            Width::Avx2 => unsafe { dots_avx2(query, rows, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` makes this width only where the machine has it.
            Width::Avx512 => unsafe { dots_avx512(query, rows, out) },
        }
    }

    /// Every kernel this machine can run.
    #[cfg(test)]
    fn usable() -> Vec<Self> {
        let mut widths = vec![Width::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                widths.push(Width::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                widths.push(Width::Avx512);
            }
        }
        widths.into_iter().map(|width| Self { width }).collect()
    }
}

// The one body. It is inlined into a function per instruction set, so that
// the compiler vectorizes each copy for that set.
#[inline(always)]
fn dot_lanes(query: &[f32], row: &[f32]) -> f32 {
    dot_each(query, [row])[0]
}

/// The dot products of one vector with several, side by side.
#[inline(always)]
fn dot_each<const ROWS: usize>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    let mut lanes = [[0f32; LANES]; ROWS];
    let (query, query_rest) = query.as_chunks::<LANES>();
    let rows = rows.map(|row| row.as_chunks::<LANES>());
    for (at, query) in query.iter().enumerate() {
        for row in 0..ROWS {
            // Always there. An index that may panic is a branch that keeps
            // the compiler from vectorizing the loop.
            let Some(values) = rows[row].0.get(at) else {
                continue;
            };
            for lane in 0..LANES {
                lanes[row][lane] += query[lane] * values[lane];
            }
        }
    }
    // Changes no value. Without it the compiler plans the loop above from the
    // last additions below, two lanes wide, and takes twice the time.
    let mut lanes = black_box(lanes);
    for (lanes, (_, rest)) in lanes.iter_mut().zip(rows) {
        for (lane, (a, b)) in lanes.iter_mut().zip(query_rest.iter().zip(rest)) {
            *lane += a * b;
        }
    }
    lanes.map(fold)
}

#[inline(always)]
fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Stretches of rows that are read side by side. Rows that do not fit the
/// cache come from memory faster in several streams than in one.
const STREAMS: usize = 4;

#[inline(always)]
fn dots_lanes(query: &[f32], rows: &[f32], out: &mut [f32]) {
    let row = |at: usize| &rows[at * query.len()..(at + 1) * query.len()];
    let stretch = out.len() / STREAMS;
    for at in 0..stretch {
        let dots = dot_each::<STREAMS>(query, from_fn(|k| row(k * stretch + at)));
        for (k, dot) in dots.into_iter().enumerate() {
            out[k * stretch + at] = dot;
        }
    }
    for (at, out) in out.iter_mut().enumerate().skip(STREAMS * stretch) {
        *out = dot_lanes(query, row(at));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[f32], b: &[f32]) -> f32 {
    dot_lanes(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[f32], rows: &[f32], out: &mut [f32]) {
    dots_lanes(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn dot_avx512(a: &[f32], b: &[f32]) -> f32 {
    dot_lanes(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn dots_avx512(query: &[f32], rows: &[f32], out: &mut [f32]) {
    dots_lanes(query, rows, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The definition at the head of this file, written down step by step.
    fn by_definition(a: &[f32], b: &[f32]) -> f32 {
        let mut lanes = vec![0f32; LANES];
        for i in 0..a.len() {
            let product = a[i] * b[i];
            lanes[i % LANES] += product;
        }
        while lanes.len() > 1 {
            let upper = lanes.split_off(lanes.len() / 2);
            lanes.iter_mut().zip(upper).for_each(|(l, u)| *l += u);
        }
        lanes[0]
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (1usize..300).prop_flat_map(|n| (vec(-2f32..2., n), vec(-2f32..2., n)))
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_same_bits((a, b) in pair()) {
            let expected = by_definition(&a, &b).to_bits();
            for kernel in Kernel::usable() {
                prop_assert_eq!(kernel.dot(&a, &b).to_bits(), expected, "{:?}", kernel);
            }
        }

        #[test]
        fn the_dot_product_is_symmetric_to_the_bit((a, b) in pair()) {
            let kernel = Kernel::detect();
            prop_assert_eq!(kernel.dot(&a, &b).to_bits(), kernel.dot(&b, &a).to_bits());
        }

        #[test]
        fn the_sum_is_close_to_one_in_double_precision((a, b) in pair()) {
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let size: f64 = a.iter().zip(&b).map(|(a, b)| (f64::from(*a) * f64::from(*b)).abs()).sum();
            let error = (f64::from(Kernel::detect().dot(&a, &b)) - exact).abs();
            prop_assert!(error <= 1e-6 * (1. + size), "off by {}", error);
        }

        #[test]
        fn a_row_scores_alone_as_among_others(
            (query, rows) in (1usize..80).prop_flat_map(|n| (vec(-1f32..1., n), vec(-1f32..1., 11 * n)))
        ) {
            for kernel in Kernel::usable() {
                let mut out = [0f32; 11];
                kernel.dots(&query, &rows, &mut out);
                for (row, score) in rows.chunks_exact(query.len()).zip(out) {
                    prop_assert_eq!(kernel.dot(&query, row).to_bits(), score.to_bits());
                }
            }
        }
    }
}
