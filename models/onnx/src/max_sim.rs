//! MaxSim: how well the tokens of a passage answer those of a question.

use std::hint::black_box;

/// Parts in which a dot product is summed: what one or two vector registers
/// hold. The order of additions is the same on any processor, and so are the
/// bits.
const LANES: usize = 8;

/// Passage tokens that are compared at a time, each with sums of its own: one
/// addition need not wait for the one before it.
const ROWS: usize = 4;

/// The mean over the question's tokens of the best cosine with a passage
/// token. Both are unit vectors of `dims` values, token after token, and
/// neither is empty.
pub(crate) fn max_sim(question: &[f32], passage: &[f32], dims: usize) -> f64 {
    let mut best = vec![f32::NEG_INFINITY; question.len() / dims];
    best_dots(question, passage, dims, &mut best);
    best.iter().copied().map(f64::from).sum::<f64>() / best.len() as f64
}

/// The best dot product of each question token with a passage token.
fn best_dots(question: &[f32], passage: &[f32], dims: usize, best: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { best_dots_avx2(question, passage, dims, best) };
        return;
    }
    best_dots_lanes(question, passage, dims, best);
}

/// The same in wider registers. Products and sums stay apart, as AVX2 alone
/// cannot fuse them, so the bits stay the same.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn best_dots_avx2(question: &[f32], passage: &[f32], dims: usize, best: &mut [f32]) {
    best_dots_lanes(question, passage, dims, best);
}

#[inline(always)]
fn best_dots_lanes(question: &[f32], passage: &[f32], dims: usize, best: &mut [f32]) {
    // A block of passage tokens stays in the first cache while all of the
    // question passes over it.
    let blocks = passage.chunks_exact(ROWS * dims);
    let rest = blocks.remainder();
    for block in blocks {
        let (a, block) = block.split_at(dims);
        let (b, block) = block.split_at(dims);
        let (c, d) = block.split_at(dims);
        for (best, token) in best.iter_mut().zip(question.chunks_exact(dims)) {
            *best = dots(token, [a, b, c, d]).into_iter().fold(*best, f32::max);
        }
    }
    for other in rest.chunks_exact(dims) {
        for (best, token) in best.iter_mut().zip(question.chunks_exact(dims)) {
            *best = dots(token, [other]).into_iter().fold(*best, f32::max);
        }
    }
}

/// The dot products of a token with several others of its length.
#[inline(always)]
fn dots<const N: usize>(token: &[f32], others: [&[f32]; N]) -> [f32; N] {
    let (token_parts, token_rest) = token.as_chunks::<LANES>();
    let parts = others.map(|other| other.as_chunks::<LANES>());
    let mut sums = [[0.0f32; LANES]; N];
    for (at, token) in token_parts.iter().enumerate() {
        for other in 0..N {
            // Always there; an index that may panic would not be vectorized.
            let Some(values) = parts[other].0.get(at) else {
                continue;
            };
            for lane in 0..LANES {
                sums[other][lane] += token[lane] * values[lane];
            }
        }
    }
    // Changes no value, but keeps the compiler from arranging the registers of
    // the loop above for the few additions below: that takes four times as long.
    let sums = black_box(sums);
    std::array::from_fn(|other| {
        let rest = token_rest.iter().zip(parts[other].1);
        let rest: f32 = rest.map(|(a, b)| a * b).sum();
        sums[other].iter().sum::<f32>() + rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_question_token_counts_with_its_best_match() {
        let question = [1.0, 0.0, 0.0, 1.0];
        let passage = [0.6, 0.8, 1.0, 0.0];
        let expected = (1.0 + f64::from(0.8f32)) / 2.0;
        assert_eq!(max_sim(&question, &passage, 2), expected);
        assert_eq!(max_sim(&question, &question, 2), 1.0);
    }

    /// The order of additions, written out: eight sums side by side, then
    /// these one after the other, then what is left.
    fn dot_by_definition(a: &[f32], b: &[f32]) -> f32 {
        let whole = a.len() / LANES * LANES;
        let mut sums = [0.0f32; LANES];
        for at in 0..whole {
            sums[at % LANES] += a[at] * b[at];
        }
        let rest: f32 = (whole..a.len()).map(|at| a[at] * b[at]).sum();
        sums.iter().sum::<f32>() + rest
    }

    proptest! {
        #[test]
        fn the_order_of_additions_is_the_same_on_any_processor(
            dims in 1usize..40,
            question in 1usize..4,
            passage in 1usize..11,
            values in prop::collection::vec(-1f32..1.0, 40 * 14),
        ) {
            let (question, rest) = values.split_at(question * dims);
            let passage = &rest[..passage * dims];
            let expected: Vec<f32> = question
                .chunks_exact(dims)
                .map(|token| {
                    let dots = passage.chunks_exact(dims).map(|o| dot_by_definition(token, o));
                    dots.fold(f32::NEG_INFINITY, f32::max)
                })
                .collect();
            let mut found = vec![f32::NEG_INFINITY; expected.len()];
            best_dots(question, passage, dims, &mut found);
            prop_assert_eq!(&found, &expected);
            found.fill(f32::NEG_INFINITY);
            best_dots_lanes(question, passage, dims, &mut found);
            prop_assert_eq!(&found, &expected);
        }

        #[test]
        fn the_fast_dot_product_is_the_plain_one(
            pairs in prop::collection::vec((-1f32..1.0, -1f32..1.0), 0..40),
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
            let plain: f64 = pairs.iter().map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            prop_assert!((f64::from(dots(&a, [&b])[0]) - plain).abs() < 1e-5);
        }
    }
}
