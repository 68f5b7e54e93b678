//! How far each stage of a query goes.

use serde::{Deserialize, Serialize};

/// Fixed for a run, so that every question costs the same; recorded in every
/// trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// Passages taken from BM25.
    pub lexical: usize,
    /// Passages taken from the dense view.
    pub dense: usize,
    /// Candidates followed where the dense view has a graph (`ef`); without
    /// meaning where the scan is exact.
    pub dense_ef: usize,
    /// Fused candidates that are reranked; 0 leaves the reranker out.
    pub rerank: usize,
    /// Passages in the result at most.
    pub evidence_passages: usize,
    /// Tokens in the result at most, by the embedder's tokenizer.
    pub evidence_tokens: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            lexical: 100,
            dense: 100,
            dense_ef: quire_dense::DEFAULT_EF,
            rerank: 20,
            evidence_passages: 10,
            evidence_tokens: 4096,
        }
    }
}

impl Budgets {
    /// The largest value any budget may take: what keeps one query from
    /// reading a whole library.
    pub const MOST: usize = 10_000;

    /// Says which budget is out of range.
    ///
    /// # Errors
    /// When a budget other than `rerank` is 0 or one is above [`Self::MOST`]
    /// (tokens: a thousand times that).
    pub fn check(&self) -> Result<(), BudgetError> {
        let counts = [
            ("lexical", self.lexical, 1, Self::MOST),
            ("dense", self.dense, 1, Self::MOST),
            ("dense_ef", self.dense_ef, 1, Self::MOST),
            ("rerank", self.rerank, 0, Self::MOST),
            ("evidence_passages", self.evidence_passages, 1, Self::MOST),
            (
                "evidence_tokens",
                self.evidence_tokens,
                1,
                Self::MOST * 1000,
            ),
        ];
        for (name, value, least, most) in counts {
            if value < least || value > most {
                return Err(BudgetError {
                    name,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

/// A budget out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the budget {name} is {value}; it must be from {least} to {most}")]
pub struct BudgetError {
    name: &'static str,
    value: usize,
    least: usize,
    most: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_in_range_and_nothing_else_passes_unseen() {
        Budgets::default().check().unwrap();
        let none = Budgets {
            dense: 0,
            ..Budgets::default()
        };
        assert!(none.check().unwrap_err().to_string().contains("dense is 0"));
        let no_rerank = Budgets {
            rerank: 0,
            ..Budgets::default()
        };
        no_rerank.check().unwrap();
        let much = Budgets {
            lexical: 10_001,
            ..Budgets::default()
        };
        assert!(much.check().is_err());
    }
}
