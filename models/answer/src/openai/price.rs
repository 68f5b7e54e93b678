//! What tokens cost.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::{Cost, Usage};

/// Prices by model.
///
/// ```toml
/// currency = "USD"
/// [models."some-model"]
/// prompt = 0.15        # for a million tokens
/// completion = 0.60
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The currency's label, shown with every amount.
    pub currency: String,
    /// Each model's price, by the name it is asked under.
    #[serde(default)]
    pub models: BTreeMap<String, Price>,
}

/// One model's price.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens of prompt.
    pub prompt: f64,
    /// For a million tokens of completion.
    pub completion: f64,
}

/// A price table that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadPrices {
    /// It is not the TOML that was expected.
    #[error(
        "the price table cannot be read: expected a currency and, for each model, prompt and completion"
    )]
    Read(#[source] Box<toml::de::Error>),
    /// A price is negative or not a number.
    #[error("the price of {model} is not usable: expected numbers of at least 0")]
    Price {
        /// The model.
        model: String,
    },
}

impl PriceTable {
    /// Reads a table from TOML.
    ///
    /// # Errors
    /// When it is not such a table, or a price is negative or not finite.
    pub fn parse(text: &str) -> Result<Self, BadPrices> {
        let table: Self = toml::from_str(text).map_err(|e| BadPrices::Read(Box::new(e)))?;
        for (model, price) in &table.models {
            let usable = |price: f64| price.is_finite() && price >= 0.0;
            if !usable(price.prompt) || !usable(price.completion) {
                return Err(BadPrices::Price {
                    model: model.clone(),
                });
            }
        }
        Ok(table)
    }

    /// What these tokens of a model cost; `None` when its price is not known.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<Cost> {
        let price = self.models.get(model)?;
        let prompt = usage.prompt_tokens as f64 * price.prompt;
        let completion = usage.completion_tokens as f64 * price.completion;
        Some(Cost {
            amount: (prompt + completion) / 1e6,
            currency: self.currency.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "currency = \"USD\"\n[models.\"m/1\"]\nprompt = 0.5\ncompletion = 2\n";

    #[test]
    fn tokens_cost_what_the_table_says() {
        let table = PriceTable::parse(TABLE).unwrap();
        let usage = Usage {
            prompt_tokens: 4_000_000,
            completion_tokens: 500_000,
        };
        let cost = table.cost("m/1", usage).unwrap();
        assert_eq!((cost.amount, cost.currency.as_str()), (3.0, "USD"));
        assert_eq!(table.cost("m/2", usage), None);
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused() {
        for wrong in [
            "",
            "currency = 1",
            &TABLE.replace("0.5", "-0.5"),
            &TABLE.replace("0.5", "nan"),
            &TABLE.replace("prompt", "promt"),
        ] {
            assert!(PriceTable::parse(wrong).is_err(), "{wrong}");
        }
    }
}
