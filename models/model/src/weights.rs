//! How much each stage's score counts in the next.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::RerankMethod;

/// How a profile weighs its stages: what serves depends on its models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// In fusion.
    pub fusion: Fusion,
    /// In the final order.
    pub blend: Blend,
}

impl Weights {
    /// The published fusion, and the blend of a method.
    pub fn of(method: RerankMethod) -> Self {
        Self {
            fusion: Fusion::default(),
            blend: Blend::of(method),
        }
    }
}

/// Reciprocal rank fusion's constant, and what each list's ranks count.
///
/// The default is the published formula: k = 60, weights 1 (Cormack, Clarke
/// and Büttcher, SIGIR 2009).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fusion {
    /// Added to every rank.
    pub k: f64,
    /// The weight of BM25's ranks.
    pub lexical: f64,
    /// The weight of the dense view's ranks.
    pub dense: f64,
}

impl Default for Fusion {
    fn default() -> Self {
        Self {
            k: 60.0,
            lexical: 1.0,
            dense: 1.0,
        }
    }
}

impl Fusion {
    /// Whether these can fuse.
    ///
    /// # Errors
    /// When a number is negative or not finite, or both weights are 0.
    pub fn check(self) -> Result<Self, WeightsError> {
        let Self { k, lexical, dense } = self;
        checked("fusion", &[k, lexical, dense], lexical + dense)?;
        Ok(self)
    }
}

/// The weight of each standardized score in the final one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blend {
    /// The weight of the reranker's score.
    pub rerank: f64,
    /// The weight of the dense score.
    pub dense: f64,
    /// The weight of the BM25 score.
    pub lexical: f64,
}

impl Blend {
    /// What a method is blended with where a profile does not say. A
    /// cross-encoder reads question and passage together and decides alone.
    /// Late interaction is weaker than that and is blended with both
    /// retrievers, at weights that were measured (docs/notes-fusion.md).
    pub fn of(method: RerankMethod) -> Self {
        let (dense, lexical) = match method {
            RerankMethod::CrossEncoder => (0.0, 0.0),
            RerankMethod::LateInteraction | RerankMethod::Ensemble => (0.5, 0.75),
        };
        Self {
            rerank: 1.0,
            dense,
            lexical,
        }
    }

    /// Whether the reranker decides alone.
    pub fn is_pure(&self) -> bool {
        self.dense == 0.0 && self.lexical == 0.0
    }

    /// Whether these can blend.
    ///
    /// # Errors
    /// When a number is negative or not finite, or all are 0.
    pub fn check(self) -> Result<Self, WeightsError> {
        let Self {
            rerank,
            dense,
            lexical,
        } = self;
        checked("blend", &[rerank, dense, lexical], rerank + dense + lexical)?;
        Ok(self)
    }
}

/// What is wrong with weights.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// A number that cannot be a weight.
    #[error("{what} holds {value}; each of its numbers must be finite and 0 or more")]
    Value {
        /// `fusion` or `blend`.
        what: &'static str,
        /// The number.
        value: String,
    },
    /// Nothing counts.
    #[error("the weights of {0} are all 0, so that nothing decides; make one greater")]
    Nothing(&'static str),
    /// Not three numbers.
    #[error("'{text}' is no {what}: expected {form}, such as {example}")]
    Form {
        /// What was read.
        text: String,
        /// `fusion` or `blend`.
        what: &'static str,
        /// The numbers in their order.
        form: &'static str,
        /// One that works.
        example: &'static str,
    },
}

fn checked(what: &'static str, numbers: &[f64], sum: f64) -> Result<(), WeightsError> {
    let wrong = |number: &&f64| !(number.is_finite() && **number >= 0.0);
    match numbers.iter().find(wrong) {
        Some(number) => Err(WeightsError::Value {
            what,
            value: number.to_string(),
        }),
        None if sum <= 0.0 => Err(WeightsError::Nothing(what)),
        None => Ok(()),
    }
}

/// Three numbers between commas.
fn three(text: &str) -> Option<[f64; 3]> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    numbers.ok()?.try_into().ok()
}

impl fmt::Display for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.k, self.lexical, self.dense)
    }
}

impl FromStr for Fusion {
    type Err = WeightsError;

    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let [k, lexical, dense] = three(text).ok_or_else(|| WeightsError::Form {
            text: text.to_owned(),
            what: "fusion",
            form: "K,LEXICAL,DENSE",
            example: "60,1,1",
        })?;
        Self { k, lexical, dense }.check()
    }
}

impl fmt::Display for Blend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.rerank, self.dense, self.lexical)
    }
}

impl FromStr for Blend {
    type Err = WeightsError;

    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let [rerank, dense, lexical] = three(text).ok_or_else(|| WeightsError::Form {
            text: text.to_owned(),
            what: "blend",
            form: "RERANK,DENSE,LEXICAL",
            example: "1,0,0",
        })?;
        Self {
            rerank,
            dense,
            lexical,
        }
        .check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_written_as_they_are_read() {
        let fusion: Fusion = "20, 2,1".parse().unwrap();
        assert_eq!((fusion.k, fusion.lexical, fusion.dense), (20.0, 2.0, 1.0));
        assert_eq!(fusion.to_string().parse(), Ok(fusion));
        let blend: Blend = "1,0.5,0.25".parse().unwrap();
        assert_eq!(blend.to_string(), "1,0.5,0.25");
        assert!(!blend.is_pure() && Blend::of(RerankMethod::CrossEncoder).is_pure());
    }

    #[test]
    fn weights_that_decide_nothing_are_told_with_the_remedy() {
        let told = |error: WeightsError| error.to_string();
        assert!(told("60,1".parse::<Fusion>().unwrap_err()).contains("such as 60,1,1"));
        assert!(told("60,0,0".parse::<Fusion>().unwrap_err()).contains("all 0"));
        assert!(told("60,-1,1".parse::<Fusion>().unwrap_err()).contains("holds -1"));
        assert!(told("inf,1,1".parse::<Fusion>().unwrap_err()).contains("finite"));
        assert!(told("0,0,0".parse::<Blend>().unwrap_err()).contains("all 0"));
        assert!(told("a,b,c".parse::<Blend>().unwrap_err()).contains("such as 1,0,0"));
    }
}
