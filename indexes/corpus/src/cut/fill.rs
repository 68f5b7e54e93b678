//! Filling passages with units up to the budget.

use std::ops::Range;

use super::split;
use super::units::{Break, Stretch, Unit};
use super::{Chunk, CutError, CutPolicy, TokenSplitter};

/// A paragraph end is preferred once this share of the budget is filled.
/// Measured on whole novels: lower gives shorter passages, higher finds fewer
/// paragraph ends.
const PARAGRAPH_FROM: f64 = 0.7;

/// Below this share a passage is too short to end for the sake of a better
/// break.
const SHORT: f64 = 0.5;

/// When no more than this share of the budget is left in a stretch, it is
/// parted evenly, so that the last passage is no scrap.
const TWO_PASSAGES: f64 = 1.9;

/// What the estimate keeps of what it knew, passage by passage: dialogue and
/// description differ.
const FORGETTING: f64 = 0.7;

/// Fills one stretch of text.
pub(super) struct Filler<'a> {
    text: &'a str,
    budget: usize,
    splitter: &'a dyn TokenSplitter,
    /// Where the passage that is being filled starts.
    start: usize,
    units: Vec<Unit>,
    /// The first unit of the passage that is being filled.
    at: usize,
    /// Estimated weight of all units from `at` on.
    rest: f64,
    /// True tokens and estimated weight of the passages so far, from which
    /// estimates are calibrated.
    tokens_seen: f64,
    weight_seen: f64,
}

/// Where the passage could end: after `units[end - 1]`, with about so many
/// tokens.
#[derive(Debug, Clone, Copy)]
struct Choice {
    end: usize,
    tokens: f64,
}

impl<'a> Filler<'a> {
    pub(super) fn new(
        text: &'a str,
        policy: &CutPolicy,
        splitter: &'a dyn TokenSplitter,
        stretch: Stretch,
    ) -> Self {
        let rest = stretch.units.iter().map(|unit| unit.weight).sum();
        Self {
            text,
            budget: policy.max_tokens,
            splitter,
            start: stretch.start,
            units: stretch.units,
            at: 0,
            rest,
            // A weak belief that the weights are right, outweighed by the
            // first passage.
            tokens_seen: 8.0,
            weight_seen: 8.0,
        }
    }

    /// The passages of the stretch, in order.
    pub(super) fn chunks(mut self, chapter: Option<u32>) -> Result<Vec<Chunk>, CutError> {
        let mut chunks = Vec::new();
        while self.at < self.units.len() {
            let (end, tokens) = self.passage()?;
            let stop = self.units[end - 1].end;
            chunks.push(Chunk {
                span: self.start..stop,
                chapter,
                tokens: tokens as u32,
            });
            let weight = self.weight(self.at..end);
            self.rest -= weight;
            self.tokens_seen = FORGETTING * self.tokens_seen + tokens as f64;
            self.weight_seen = FORGETTING * self.weight_seen + weight;
            self.start = stop;
            self.at = end;
        }
        Ok(chunks)
    }

    /// Where the next passage ends, and its tokens.
    ///
    /// Chooses an end by estimate, counts the text's tokens, and moves the end
    /// back when there are too many or forward when a good part of the budget
    /// is left.
    fn passage(&mut self) -> Result<(usize, usize), CutError> {
        self.part_if_too_long(self.at)?;
        let mut choice = self.choose(self.ratio(), self.units.len());
        if choice.tokens < SHORT * self.budget as f64 && self.part_if_too_long(choice.end)? {
            choice = self.choose(self.ratio(), self.units.len());
        }
        let mut end = choice.end;
        let mut ends = self.token_ends(self.start, self.units[end - 1].end)?;
        if ends.len() <= self.budget {
            return self.extend(end, ends.len());
        }
        // Counts of a part of the text do not simply follow from the whole's,
        // so every shorter end is counted anew.
        while ends.len() > self.budget {
            if end > self.at + 1 {
                end = self.choose_within(&ends, end - 1);
            } else if self.part(self.at, &ends) {
                end = self.choose(self.ratio(), self.units.len()).end;
            } else {
                break;
            }
            ends = self.token_ends(self.start, self.units[end - 1].end)?;
        }
        Ok((end, ends.len()))
    }

    /// Moves an end that fits forward while that is worth another count.
    fn extend(&self, end: usize, tokens: usize) -> Result<(usize, usize), CutError> {
        const MOST_EXTENSIONS: usize = 2;
        /// Share of the budget.
        const WORTH_A_COUNT: f64 = 0.12;
        let (mut end, mut tokens) = (end, tokens);
        for _ in 0..MOST_EXTENSIONS {
            let weight = self.weight(self.at..end);
            let ratio = if weight > 0.0 {
                tokens as f64 / weight
            } else {
                self.ratio()
            };
            let longer = self.choose(ratio, self.units.len());
            let gain = longer.tokens - tokens as f64;
            let is_last = longer.end == self.units.len();
            let worth_it = gain >= WORTH_A_COUNT * self.budget as f64 || is_last;
            if longer.end <= end || !worth_it {
                break;
            }
            let ends = self.token_ends(self.start, self.units[longer.end - 1].end)?;
            if ends.len() > self.budget {
                break;
            }
            (end, tokens) = (longer.end, ends.len());
        }
        Ok((end, tokens))
    }

    /// Chooses an end by estimate.
    fn choose(&self, ratio: f64, last_end: usize) -> Choice {
        /// Estimates are off by a few per cent, and one too many costs a count.
        const CAUTION: f64 = 0.97;
        let cap = CAUTION * self.budget as f64;
        let mut weight = 0.0;
        let options = self.units[self.at..last_end].iter().map(|unit| {
            weight += unit.weight;
            weight * ratio
        });
        self.select(options, cap, self.rest * ratio)
    }

    /// Chooses an end before `last_end + 1` by the tokens of a longer text.
    fn choose_within(&self, token_ends: &[usize], last_end: usize) -> usize {
        let options = self.units[self.at..last_end].iter().map(|unit| {
            let length = unit.end - self.start;
            token_ends.partition_point(|&end| end <= length) as f64
        });
        let beyond = self.weight(last_end + 1..self.units.len()) * self.ratio();
        let rest = token_ends.len() as f64 + beyond;
        self.select(options, self.budget as f64, rest).end
    }

    /// The best of the ends whose tokens are given in order, of which `cap`
    /// may be used, when `rest` are left in the stretch.
    fn select(&self, options: impl Iterator<Item = f64>, cap: f64, rest: f64) -> Choice {
        let budget = self.budget as f64;
        let choices: Vec<Choice> = options
            .take_while(|&tokens| tokens <= cap)
            .enumerate()
            .map(|(index, tokens)| Choice {
                end: self.at + index + 1,
                tokens,
            })
            .collect();
        let Some(last) = choices.last().copied() else {
            return Choice {
                end: self.at + 1,
                tokens: cap,
            };
        };
        let takes_all = last.end == self.units.len();
        if takes_all {
            return last;
        }
        if rest < TWO_PASSAGES * budget
            && let Some(even) = self.even(&choices, rest - cap, rest / 2.0)
        {
            return even;
        }
        let paragraph = choices.iter().rev().find(|choice| {
            self.ends(choice) == Break::Paragraph && choice.tokens >= PARAGRAPH_FROM * budget
        });
        let best = choices
            .iter()
            .filter(|choice| choice.tokens >= SHORT * budget)
            .max_by_key(|choice| (self.ends(choice).min(Break::Sentence), choice.end));
        paragraph.or(best).copied().unwrap_or(last)
    }

    /// The end that best parts what is left in two, if the second part fits.
    fn even(&self, choices: &[Choice], least: f64, half: f64) -> Option<Choice> {
        let cost = |choice: &Choice| {
            let worse_break = match self.ends(choice) {
                Break::Paragraph => 0.0,
                Break::Sentence => 0.12,
                Break::Clause => 0.6,
                Break::Word => 0.9,
                Break::Character => 1.2,
            };
            (choice.tokens - half).abs() / self.budget as f64 + worse_break
        };
        choices
            .iter()
            .filter(|choice| choice.tokens >= least)
            .min_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.end.cmp(&b.end)))
            .copied()
    }

    fn ends(&self, choice: &Choice) -> Break {
        self.units[choice.end - 1].ends
    }

    /// Parts a unit that alone exceeds the budget. Says whether it did.
    fn part_if_too_long(&mut self, index: usize) -> Result<bool, CutError> {
        let mut parted = false;
        while let Some(unit) = self.units.get(index).copied() {
            // Only a unit that looks long is worth counting alone.
            if unit.weight * self.ratio() < 0.9 * self.budget as f64 {
                break;
            }
            let start = if index == self.at {
                self.start
            } else {
                self.units[index - 1].end
            };
            let ends = self.token_ends(start, unit.end)?;
            if ends.len() <= self.budget || !self.part(index, &ends) {
                break;
            }
            parted = true;
        }
        Ok(parted)
    }

    /// Replaces a unit by smaller ones. Says whether there are any.
    fn part(&mut self, index: usize, token_ends: &[usize]) -> bool {
        let start = if index == self.at {
            self.start
        } else {
            self.units[index - 1].end
        };
        let parts = split::smaller(self.text, start, self.units[index], token_ends);
        let parted = parts.len() > 1;
        self.units.splice(index..=index, parts);
        parted
    }

    /// Estimated weight of some units.
    fn weight(&self, units: Range<usize>) -> f64 {
        self.units
            .get(units)
            .map_or(0.0, |units| units.iter().map(|unit| unit.weight).sum())
    }

    /// Tokens to a unit of weight, as the last passages had them.
    fn ratio(&self) -> f64 {
        // A bound keeps one strange passage from making the next endless.
        (self.tokens_seen / self.weight_seen).max(0.05)
    }

    fn token_ends(&self, start: usize, end: usize) -> Result<Vec<usize>, CutError> {
        let piece = &self.text[start..end];
        let ends = self
            .splitter
            .token_ends(piece)
            .map_err(|source| CutError::Tokens { start, end, source })?;
        let in_order = ends.is_sorted() && ends.last().is_none_or(|&last| last <= piece.len());
        if in_order {
            Ok(ends)
        } else {
            Err(CutError::Offsets { start, end })
        }
    }
}
