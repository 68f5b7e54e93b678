//! Cutting a book into passages.
//!
//! A passage is as many whole sentences as a model reads at once. The cut
//! depends on the text, the policy and the splitter alone: the same three give
//! the same passages on any machine and any number of threads.

mod fill;
mod split;
#[cfg(test)]
mod tests;
mod units;

use std::error::Error;
use std::ops::Range;

use rayon::prelude::*;

use crate::structure::{Chapter, LineStyle, Section, structure};
use fill::Filler;
use units::stretches;

/// The version of the cutting rules. It rises whenever the same text, policy
/// and splitter would give other passages than before.
pub const CUT_VERSION: u32 = 1;

/// How a book is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPolicy {
    /// Tokens in a passage at most, without prefix and special tokens; at
    /// least 1. The default is 256.
    pub max_tokens: usize,
    /// Whether a publisher's front and back matter (licence, imprint,
    /// colophon) is cut as well.
    pub keep_boilerplate: bool,
}

impl Default for CutPolicy {
    fn default() -> Self {
        Self {
            max_tokens: 256,
            keep_boilerplate: false,
        }
    }
}

/// What a splitter can fail with.
pub type SplitterError = Box<dyn Error + Send + Sync>;

/// Splits text into the tokens a model counts by.
pub trait TokenSplitter: Sync {
    /// The ascending byte offsets where each token of `text` ends, no special
    /// tokens. White space has no tokens. Equal for equal texts.
    ///
    /// # Errors
    /// When the text cannot be read.
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError>;
}

/// A book cut into passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passages {
    /// The part of the text that is cut: all but front and back matter that is
    /// left out on purpose.
    pub body: Range<usize>,
    /// The chapters in order.
    pub chapters: Vec<Chapter>,
    /// The passages in order. Their spans follow each other without a gap and
    /// cover the body; white space between two passages belongs to the first.
    /// A body of nothing but white space has none.
    pub chunks: Vec<Chunk>,
}

/// A passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Byte offsets into the canonical text.
    pub span: Range<usize>,
    /// Index of the chapter whose text this is, none before the first heading.
    /// The headings above a chapter that have no text of their own (a part's)
    /// stand in its first passage.
    pub chapter: Option<u32>,
    /// The splitter's count of this text: at most the policy's budget, except
    /// where a single character, as readers see it, already has more tokens.
    pub tokens: u32,
}

/// Why a text was not cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// No passage could hold anything.
    #[error("a passage of 0 tokens holds nothing: set max_tokens to at least 1")]
    NoBudget,
    /// The splitter failed.
    #[error("cannot count the tokens of bytes {start}..{end} of the text")]
    Tokens {
        /// Where the text that could not be split starts.
        start: usize,
        /// Where it ends.
        end: usize,
        /// What the splitter said.
        #[source]
        source: SplitterError,
    },
    /// The splitter broke its contract.
    #[error(
        "the tokenizer put a token's end outside bytes {start}..{end} of the text, or out of order: its file is damaged or does not fit this version"
    )]
    Offsets {
        /// Where the text that was split starts.
        start: usize,
        /// Where it ends.
        end: usize,
    },
}

/// Cuts a canonical text into passages.
///
/// Passages break at chapter headings; within a chapter at the end of a
/// paragraph or a sentence; inside a sentence only where it alone exceeds the
/// budget, and then after a clause, a word, a token or a character, in that
/// order. The text is read by the splitter about one and a half times in all,
/// in pieces of bounded length.
///
/// # Errors
/// When the budget is 0 or the splitter fails.
pub fn cut(
    text: &str,
    policy: &CutPolicy,
    splitter: &dyn TokenSplitter,
) -> Result<Passages, CutError> {
    if policy.max_tokens == 0 {
        return Err(CutError::NoBudget);
    }
    let structure = structure(text);
    let style = LineStyle::of(&text[structure.body.clone()]);
    let mut sections = structure.sections;
    let mut body = structure.body;
    if policy.keep_boilerplate {
        sections = with_boilerplate(sections, body, text.len());
        body = 0..text.len();
    }

    let stretches: Vec<_> = sections
        .iter()
        .flat_map(|section| {
            stretches(text, section.span.clone(), style)
                .into_iter()
                .map(|stretch| (section.chapter, stretch))
        })
        .collect();
    // Failures are looked at in the text's order, so that which one is
    // reported does not depend on the threads.
    let filled: Vec<Result<Vec<Chunk>, CutError>> = stretches
        .into_par_iter()
        .map(|(chapter, stretch)| Filler::new(text, policy, splitter, stretch).chunks(chapter))
        .collect();
    let mut chunks = Vec::new();
    for passages in filled {
        chunks.extend(passages?);
    }
    Ok(Passages {
        body,
        chapters: structure.chapters,
        chunks,
    })
}

/// The sections with what stands before and after the body, which belongs to
/// no chapter.
fn with_boilerplate(sections: Vec<Section>, body: Range<usize>, length: usize) -> Vec<Section> {
    let outside = |span: Range<usize>| Section {
        span,
        chapter: None,
    };
    std::iter::once(outside(0..body.start))
        .chain(sections)
        .chain([outside(body.end..length)])
        .filter(|section| !section.span.is_empty())
        .collect()
}
