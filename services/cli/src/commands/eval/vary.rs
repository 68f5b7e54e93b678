//! Settings of which a run tries several values.

use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use quire_engine::{Order, Ranked};
use quire_eval::run::Arm;

use super::stage;
use crate::args::{EvalBy, EvidenceOrder};

/// The values of each setting, one where it is not varied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Varied {
    pub by: Vec<Ranked>,
    pub order: Vec<Order>,
    pub evidence_passages: Vec<usize>,
    pub evidence_tokens: Vec<usize>,
    pub max_tokens: Vec<usize>,
}

impl Varied {
    /// Takes up `NAME=V,V`.
    pub fn take(&mut self, text: &str) -> Result<()> {
        let (name, values) = text.split_once('=').ok_or_else(|| {
            anyhow!("--vary {text}: not a setting and its values; write NAME=V,V")
        })?;
        match name {
            "by" => self.by = each(name, values, |value| Ok(stage(chosen::<EvalBy>(value)?)))?,
            "order" => {
                self.order = each(name, values, |value| {
                    Ok(order(chosen::<EvidenceOrder>(value)?))
                })?;
            }
            "evidence-passages" => self.evidence_passages = each(name, values, number)?,
            "evidence-tokens" => self.evidence_tokens = each(name, values, number)?,
            "max-tokens" => self.max_tokens = each(name, values, number)?,
            _ => bail!(
                "--vary {name}: there is no such setting; it is one of by, order, \
                 evidence-passages, evidence-tokens, max-tokens"
            ),
        }
        Ok(())
    }

    /// Every way of answering.
    pub fn arms(&self) -> Vec<Arm> {
        let mut arms = Vec::new();
        for &by in &self.by {
            for &order in &self.order {
                for &evidence_passages in &self.evidence_passages {
                    for &evidence_tokens in &self.evidence_tokens {
                        arms.push(Arm {
                            by,
                            order,
                            evidence_passages,
                            evidence_tokens,
                        });
                    }
                }
            }
        }
        arms
    }
}

pub fn order(order: EvidenceOrder) -> Order {
    match order {
        EvidenceOrder::Document => Order::Document,
        EvidenceOrder::Score => Order::Score,
    }
}

/// The values between commas, each once.
fn each<T: PartialEq>(
    name: &str,
    values: &str,
    read: impl Fn(&str) -> Result<T>,
) -> Result<Vec<T>> {
    let mut read_values = Vec::new();
    for value in values.split(',') {
        let value = read(value.trim()).map_err(|error| anyhow!("--vary {name}: {error}"))?;
        if !read_values.contains(&value) {
            read_values.push(value);
        }
    }
    Ok(read_values)
}

fn chosen<T: ValueEnum>(value: &str) -> Result<T> {
    T::from_str(value, false).map_err(|_| {
        let names = T::value_variants().iter();
        let names =
            names.filter_map(|variant| Some(variant.to_possible_value()?.get_name().to_owned()));
        let names: Vec<String> = names.collect();
        anyhow!("{value:?} is none of {}", names.join(", "))
    })
}

fn number(value: &str) -> Result<usize> {
    match usize::from_str(value) {
        Ok(number @ 1..) => Ok(number),
        _ => bail!("{value:?} is not a number from 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varied() -> Varied {
        Varied {
            by: vec![Ranked::Reranked],
            order: vec![Order::Document],
            evidence_passages: vec![10],
            evidence_tokens: vec![4096],
            max_tokens: vec![256],
        }
    }

    #[test]
    fn every_combination_is_a_way_of_answering() {
        let mut settings = varied();
        settings.take("by=lexical,fusion").unwrap();
        settings.take("evidence-tokens=512, 1024,512").unwrap();
        let arms: Vec<String> = settings.arms().iter().map(ToString::to_string).collect();
        assert_eq!(arms.len(), 4);
        assert_eq!(arms[1], "bm25, 10 passages, 1024 tokens, document order");
    }

    #[test]
    fn what_cannot_be_varied_is_told() {
        let told = |text: &str| varied().take(text).unwrap_err().to_string();
        assert!(told("by").contains("NAME=V,V"));
        assert!(told("budget=3").contains("one of by, order"));
        assert!(told("by=best").contains("none of lexical, dense, fusion, rerank"));
        assert!(told("evidence-tokens=0").contains("not a number from 1"));
    }
}
