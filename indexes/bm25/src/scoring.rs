//! The BM25 formula.

use quire_index::AnalyzerRecipe;

use crate::Bm25Error;
use crate::analyzer;

/// The analyzer of this version with the usual k1 = 1.2 and b = 0.75.
pub fn recipe() -> AnalyzerRecipe {
    AnalyzerRecipe {
        name: analyzer::NAME.to_owned(),
        k1: 1.2,
        b: 0.75,
    }
}

/// BM25 over one artifact: Robertson and Zaragoza, "The Probabilistic
/// Relevance Framework: BM25 and Beyond" (2009), with the inverse document
/// frequency `ln(1 + (N - n + 0.5) / (n + 0.5))`, which is never negative.
///
/// Lengths are exact. tantivy's own scorer rounds them to one byte, keeps k1
/// and b constant, and adds in `f32`.
#[derive(Debug)]
pub(crate) struct Bm25 {
    /// `k1 * (1 - b + b * length / average length)` of each row.
    norms: Vec<f64>,
    k1: f64,
}

impl Bm25 {
    /// # Errors
    /// When the recipe's analyzer is not ours or its parameters are out of range.
    pub(crate) fn new(
        recipe: &AnalyzerRecipe,
        lengths: impl Iterator<Item = u64> + Clone,
    ) -> Result<Self, Bm25Error> {
        check(recipe)?;
        let AnalyzerRecipe { k1, b, .. } = *recipe;
        // An artifact whose passages hold no term at all has no average, and
        // no score to spoil.
        let average = lengths.clone().sum::<u64>() as f64 / lengths.clone().count() as f64;
        let average = average.max(1.0);
        let norms = lengths
            .map(|length| k1 * (1.0 - b + b * length as f64 / average))
            .collect();
        Ok(Self { norms, k1 })
    }

    /// What every occurrence of a term is worth before saturation: the term's
    /// weight in the question times its inverse document frequency times `k1 + 1`.
    pub(crate) fn term_factor(&self, weight: f64, document_frequency: u32) -> f64 {
        let (all, with) = (self.norms.len() as f64, f64::from(document_frequency));
        let idf = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        weight * idf * (self.k1 + 1.0)
    }

    /// What a term adds to the score of a row in which it occurs `frequency`
    /// times, or `None` if there is no such row.
    #[inline]
    pub(crate) fn term_score(&self, factor: f64, row: u32, frequency: u32) -> Option<f64> {
        let norm = self.norms.get(row as usize)?;
        let frequency = f64::from(frequency);
        Some(factor * (frequency / (frequency + norm)))
    }

    /// How many rows.
    pub(crate) fn rows(&self) -> usize {
        self.norms.len()
    }
}

fn check(recipe: &AnalyzerRecipe) -> Result<(), Bm25Error> {
    if recipe.name != analyzer::NAME {
        return Err(Bm25Error::UnknownAnalyzer {
            name: recipe.name.clone(),
        });
    }
    let (k1, b) = (recipe.k1, recipe.b);
    if !k1.is_finite() || k1 < 0.0 || !(0.0..=1.0).contains(&b) {
        return Err(Bm25Error::Parameters { k1, b });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_the_published_one() {
        let bm25 = Bm25::new(&recipe(), [2, 4, 6].into_iter()).unwrap();
        // n = 1 of N = 3: ln(1 + 2.5 / 1.5) = 0.9808; length 2 of average 4:
        // norm = 1.2 * (0.25 + 0.75 * 0.5) = 0.75; 0.9808 * 2.2 * 3 / 3.75.
        let score = bm25.term_score(bm25.term_factor(1.0, 1), 0, 3).unwrap();
        assert!((score - 1.726_258_6).abs() < 1e-6, "{score}");
        assert_eq!(bm25.term_score(1.0, 3, 1), None);
    }

    #[test]
    fn a_recipe_that_is_not_ours_is_refused() {
        let named = |name: &str| AnalyzerRecipe {
            name: name.to_owned(),
            ..recipe()
        };
        assert!(matches!(
            Bm25::new(&named("mixed/0"), std::iter::once(1)),
            Err(Bm25Error::UnknownAnalyzer { .. })
        ));
        for (k1, b) in [(-1.0, 0.5), (f64::NAN, 0.5), (1.0, 1.5), (1.0, f64::NAN)] {
            let wrong = AnalyzerRecipe { k1, b, ..recipe() };
            assert!(matches!(
                Bm25::new(&wrong, std::iter::once(1)),
                Err(Bm25Error::Parameters { .. })
            ));
        }
    }
}
