//! What figures are means of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Answered, Found, Key, RunFile, Scope};
use crate::set::EvalSet;
use crate::statistics::{mean, standard_error};

/// The questions that figures are means of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Level {
    /// The set's name.
    pub set: String,
    /// How books are cut: `given`, or `256 tokens`.
    pub passages: String,
    /// Over what questions are asked: `own book`, `all books`, `5 books`.
    pub over: String,
}

/// A mean and its spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean: over questions, or over the means of bundles.
    pub mean: f64,
    /// Its standard error over these; `None` for a single one.
    pub standard_error: Option<f64>,
    /// How many these are.
    pub units: usize,
}

/// A run and its results.
pub(super) struct Run<'a> {
    pub(super) run: &'a RunFile,
    pub(super) sets: &'a [EvalSet],
    pub(super) found: &'a [Found],
    pub(super) answered: &'a [Answered],
}

impl<'a> Run<'a> {
    pub(super) fn scope(&self, key: Key) -> &'a Scope {
        &self.run.scopes[key.scope]
    }

    pub(super) fn level(&self, key: Key) -> Level {
        let scope = self.scope(key);
        Level {
            set: self.sets[key.set].name.clone(),
            passages: self.run.cuts[scope.cut].clone(),
            over: scope.over.clone(),
        }
    }

    /// The searches of each level, in the run's order.
    pub(super) fn by_level(&self) -> Vec<(Level, Vec<&'a Found>)> {
        grouped(self.found, |found| self.level(found.key))
    }

    /// The mean of a value of each search.
    pub(super) fn estimate(
        &self,
        found: &[&Found],
        value: impl Fn(&Found) -> Option<f64>,
    ) -> Option<Estimate> {
        let values = found.iter();
        self.estimate_of(values.filter_map(|found| Some((found.key, value(found)?))))
    }

    /// The mean of values. Those of a bundle are averaged first: the bundle
    /// is what was drawn.
    pub(super) fn estimate_of(
        &self,
        values: impl IntoIterator<Item = (Key, f64)>,
    ) -> Option<Estimate> {
        let mut single = Vec::new();
        let mut bundles: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (key, value) in values {
            match self.scope(key).bundle {
                None => single.push(value),
                Some(_) => bundles.entry(key.scope).or_default().push(value),
            }
        }
        single.extend(bundles.values().filter_map(|values| mean(values)));
        Some(Estimate {
            mean: mean(&single)?,
            standard_error: standard_error(&single),
            units: single.len(),
        })
    }
}

/// Items by what they have in common, in the order of its first.
pub(super) fn grouped<T, K: PartialEq>(items: &[T], common: impl Fn(&T) -> K) -> Vec<(K, Vec<&T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = common(item);
        match groups.iter_mut().rev().find(|(of, _)| *of == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
