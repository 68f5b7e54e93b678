//! Two runs over the same questions.

use std::collections::BTreeMap;
use std::fmt;

use quire_engine::Ranked;
use serde::Serialize;

use crate::measures::Measure;
use crate::report::stage_name;
use crate::run::{Answered, Found, Key, RunFile};
use crate::statistics::{Difference, mean};

/// A run that is there, with its results.
pub struct Finished {
    /// What it is.
    pub run: RunFile,
    /// What was found.
    pub found: Vec<Found>,
    /// What was answered.
    pub answered: Vec<Answered>,
}

/// What of a question is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The answer's score.
    Score,
    /// A measure of a stage's list, by the criterion that tells most of the
    /// question.
    Retrieval(Measure),
}

/// One of the ways in which a run asked its questions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Variant {
    /// How books were cut.
    pub passages: String,
    /// Over what questions were asked.
    pub over: String,
    /// The way of answering, by its place in the run; or the stage.
    #[serde(skip)]
    pub way: Way,
    /// The same in words.
    pub named: String,
}

/// A way of answering, or a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// An arm's place in the run.
    Arm(usize),
    /// A stage's place in [`STAGES`](crate::report::STAGES).
    Stage(Ranked),
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passages,
            over,
            named,
            ..
        } = self;
        write!(f, "{named}; passages: {passages}; over {over}")
    }
}

/// Runs that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// They have no set in common.
    #[error(
        "the two runs have no set in common: they can only be compared over the same questions"
    )]
    NoSetInCommon,
    /// Nobody said which way is meant.
    #[error("{run} has {} ways to choose from; say which with {flag}:\n{}", .ways.len(), .ways.join("\n"))]
    Ambiguous {
        /// Which run.
        run: String,
        /// How to say it.
        flag: &'static str,
        /// The ways, a line each.
        ways: Vec<String>,
    },
    /// There is no such way.
    #[error("{run} has no way number {number}; it has {most}")]
    NoWay {
        /// Which run.
        run: String,
        /// What was asked for.
        number: usize,
        /// How many there are.
        most: usize,
    },
    /// The run has none of what is compared.
    #[error("{run} has no {what} to compare")]
    Nothing {
        /// Which run.
        run: String,
        /// Of what there is none.
        what: String,
    },
}

/// Two runs, set by set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What is compared: `score`, or a measure's name.
    pub what: String,
    /// The first run's way.
    pub a: Variant,
    /// The second's.
    pub b: Variant,
    /// The sets both have.
    pub rows: Vec<Row>,
}

/// One set in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The set.
    pub set: String,
    /// Questions that only one of them has a value of; they are left out.
    pub unpaired: usize,
    /// What the second has more than the first.
    pub difference: Difference,
}

impl Finished {
    /// The ways to choose from: of answering, or the stages.
    pub fn variants(&self, what: What, stage: Option<Ranked>) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        let mut add = |key: Key, way: Way, named: String| {
            let scope = &self.run.scopes[key.scope];
            let variant = Variant {
                passages: self.run.cuts[scope.cut].clone(),
                over: scope.over.clone(),
                way,
                named,
            };
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        };
        match what {
            What::Score => self.answered.iter().for_each(|answered| {
                let arm = &self.run.identity.arms[answered.arm];
                add(answered.key, Way::Arm(answered.arm), arm.to_string());
            }),
            What::Retrieval(_) => self.found.iter().for_each(|found| {
                let last = match found.reranked.is_empty() {
                    true => Ranked::Fused,
                    false => Ranked::Reranked,
                };
                let stage = stage.unwrap_or(last);
                add(found.key, Way::Stage(stage), stage_name(stage).to_owned());
            }),
        }
        variants
    }

    /// One of the ways, by its number from 1; or the only one.
    ///
    /// # Errors
    /// When there are several and none is named, or there is no such one.
    pub fn choose(
        &self,
        name: &str,
        flag: &'static str,
        what: What,
        stage: Option<Ranked>,
        number: Option<usize>,
    ) -> Result<Variant, CompareError> {
        let variants = self.variants(what, stage);
        match (number, variants.len()) {
            (_, 0) => Err(CompareError::Nothing {
                run: name.to_owned(),
                what: what.to_string(),
            }),
            (Some(number), most) => {
                let chosen = number.checked_sub(1).and_then(|at| variants.get(at));
                chosen.cloned().ok_or_else(|| CompareError::NoWay {
                    run: name.to_owned(),
                    number,
                    most,
                })
            }
            (None, 1) => Ok(variants[0].clone()),
            (None, _) => Err(CompareError::Ambiguous {
                run: name.to_owned(),
                flag,
                ways: (1..)
                    .zip(&variants)
                    .map(|(number, variant)| format!("  {number}  {variant}"))
                    .collect(),
            }),
        }
    }

    /// One value a question, of a set by its place: the mean over scopes and
    /// seeds.
    fn values(&self, set: usize, what: What, variant: &Variant) -> BTreeMap<usize, f64> {
        let matches = |key: Key| {
            let scope = &self.run.scopes[key.scope];
            key.set == set
                && self.run.cuts[scope.cut] == variant.passages
                && scope.over == variant.over
        };
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut add = |key: Key, value: Option<f64>| {
            if let Some(value) = value {
                values.entry(key.question).or_default().push(value);
            }
        };
        match (what, variant.way) {
            (What::Score, Way::Arm(arm)) => {
                let answered = self.answered.iter();
                answered
                    .filter(|answered| answered.arm == arm && matches(answered.key))
                    .for_each(|answered| add(answered.key, answered.score));
            }
            (What::Retrieval(measure), Way::Stage(stage)) => {
                for found in self.found.iter().filter(|found| matches(found.key)) {
                    let relevant = found.best_criterion().and_then(|by| found.relevant(by));
                    let list = found.ranked(stage);
                    add(found.key, relevant.map(|r| measure.of(&list, &r)));
                }
            }
            _ => {}
        }
        let means = values.into_iter();
        means
            .filter_map(|(question, values)| Some((question, mean(&values)?)))
            .collect()
    }
}

/// What the second run has more than the first, set by set, on the questions
/// that both have.
///
/// # Errors
/// When they have no set in common.
pub fn compare(
    (a, way_a): (&Finished, Variant),
    (b, way_b): (&Finished, Variant),
    what: What,
) -> Result<Comparison, CompareError> {
    let mut rows = Vec::new();
    for (at, set) in a.run.identity.sets.iter().enumerate() {
        let others = b.run.identity.sets.iter();
        let Some(other) = others.clone().position(|other| other.digest == set.digest) else {
            continue;
        };
        let before = a.values(at, what, &way_a);
        let after = b.values(other, what, &way_b);
        let both: Vec<(f64, f64)> = before
            .iter()
            .filter_map(|(question, before)| Some((*before, *after.get(question)?)))
            .collect();
        let (left, right): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
        if let Ok(Some(difference)) = Difference::of(&left, &right) {
            rows.push(Row {
                set: set.name.clone(),
                unpaired: before.len() + after.len() - 2 * both.len(),
                difference,
            });
        }
    }
    match rows.is_empty() {
        true => Err(CompareError::NoSetInCommon),
        false => Ok(Comparison {
            what: what.to_string(),
            a: way_a,
            b: way_b,
            rows,
        }),
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Score => f.write_str("score"),
            What::Retrieval(measure) => measure.fmt(f),
        }
    }
}
