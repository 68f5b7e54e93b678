//! From token vectors to unit vectors.

use quire_model::Pooling;

/// How far from 1 the length of a stored vector may be: rounding each of a
/// thousand values to 32 bits stays well below it.
const UNIT_TOLERANCE: f64 = 1e-4;

/// Token vectors that cannot become a unit vector.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the model gave a vector of length {length}, which has no direction")]
pub struct NoDirection {
    length: f64,
}

/// One unit vector for a text's token vectors (`tokens * dims` values, without
/// padding). Sums are 64-bit and in token order, so nothing depends on how
/// many texts or threads there were.
pub(crate) fn pool(tokens: &[f32], dims: usize, pooling: Pooling) -> Result<Vec<f32>, NoDirection> {
    match pooling {
        Pooling::Cls => unit(tokens[..dims].iter().copied().map(f64::from).collect()),
        Pooling::Mean => {
            let mut sums = vec![0.0; dims];
            for token in tokens.chunks_exact(dims) {
                for (sum, value) in sums.iter_mut().zip(token) {
                    *sum += f64::from(*value);
                }
            }
            // The length divides out of the mean.
            unit(sums)
        }
    }
}

/// The vector scaled to unit length.
pub(crate) fn unit(values: Vec<f64>) -> Result<Vec<f32>, NoDirection> {
    let length = length(&values);
    if !length.is_finite() || length <= f64::MIN_POSITIVE {
        return Err(NoDirection { length });
    }
    let vector: Vec<f32> = values.iter().map(|value| (value / length) as f32).collect();
    let rounded = self::length(&vector.iter().copied().map(f64::from).collect::<Vec<_>>());
    if (rounded - 1.0).abs() <= UNIT_TOLERANCE {
        Ok(vector)
    } else {
        Err(NoDirection { length: rounded })
    }
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Token vectors, each scaled to unit length.
pub(crate) fn unit_tokens(tokens: &[f32], dims: usize) -> Result<Vec<f32>, NoDirection> {
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens.chunks_exact(dims) {
        all.extend(unit(token.iter().copied().map(f64::from).collect())?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mean_is_over_the_texts_tokens_and_the_first_token_alone_is_cls() {
        let tokens = [3.0, 0.0, 0.0, 4.0, 3.0, 4.0];
        assert_eq!(pool(&tokens, 2, Pooling::Cls).unwrap(), [1.0, 0.0]);
        assert_eq!(pool(&tokens, 2, Pooling::Mean).unwrap(), [0.6, 0.8]);
    }

    #[test]
    fn a_vector_without_a_direction_is_an_error() {
        assert!(pool(&[0.0, 0.0], 2, Pooling::Mean).is_err());
        assert!(pool(&[f32::NAN, 1.0], 2, Pooling::Cls).is_err());
        assert!(pool(&[f32::INFINITY, 1.0], 2, Pooling::Mean).is_err());
    }

    proptest! {
        #[test]
        fn pooled_vectors_have_unit_length(
            tokens in prop::collection::vec(-1e6f32..1e6, 19 * 3),
        ) {
            for pooling in [Pooling::Cls, Pooling::Mean] {
                let vector = pool(&tokens, 19, pooling).unwrap();
                let length = vector.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                prop_assert!((length - 1.0).abs() < 1e-6);
            }
        }
    }
}
