//! What a model thinks aloud, told apart from what it answers.
//!
//! Two customs are known: a field of its own on the wire, and a block between
//! `<think>` and `</think>` in the text. Some prompts open the block before
//! the model writes, so that only its end arrives.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A completion without its blocks of reasoning. An unclosed block runs to the
/// end; an end without a beginning ends what stands before it.
pub(crate) fn without_reasoning(completion: &str) -> String {
    let mut answer = String::new();
    let mut rest = completion;
    loop {
        let open = rest.find(OPEN);
        match rest.find(CLOSE) {
            Some(close) if open.is_none_or(|open| close < open) => {
                answer.clear();
                rest = &rest[close + CLOSE.len()..];
                continue;
            }
            _ => {}
        }
        let Some(open) = open else {
            answer.push_str(rest);
            return answer;
        };
        answer.push_str(&rest[..open]);
        let Some(close) = rest[open..].find(CLOSE) else {
            return answer;
        };
        rest = &rest[open + close + CLOSE.len()..];
    }
}

/// Tells a stream's text apart, piece by piece. What may be the beginning of
/// a tag is held back until more arrives.
#[derive(Debug, Default)]
pub(crate) struct ThinkFilter {
    held: String,
    thinking: bool,
}

/// A piece that was told apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Reasoning(String),
}

impl ThinkFilter {
    /// The pieces that are certain once `more` has arrived.
    pub(crate) fn push(&mut self, more: &str) -> Vec<Piece> {
        self.held.push_str(more);
        let mut pieces = Vec::new();
        loop {
            let tag = if self.thinking { CLOSE } else { OPEN };
            match self.held.find(tag) {
                Some(at) => {
                    let rest = self.held.split_off(at + tag.len());
                    self.held.truncate(at);
                    let before = std::mem::replace(&mut self.held, rest);
                    self.emit(before, &mut pieces);
                    self.thinking = !self.thinking;
                }
                None => {
                    let certain = self.held.len() - tag_start(&self.held, tag);
                    let rest = self.held.split_off(certain);
                    let before = std::mem::replace(&mut self.held, rest);
                    self.emit(before, &mut pieces);
                    return pieces;
                }
            }
        }
    }

    /// What was still held back.
    pub(crate) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let held = std::mem::take(&mut self.held);
        self.emit(held, &mut pieces);
        pieces
    }

    fn emit(&self, text: String, pieces: &mut Vec<Piece>) {
        if !text.is_empty() {
            pieces.push(if self.thinking {
                Piece::Reasoning(text)
            } else {
                Piece::Text(text)
            });
        }
    }
}

/// Bytes at the end of `text` that may begin `tag`.
fn tag_start(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|&length| text.ends_with(&tag[..length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reasoning_is_no_part_of_the_answer() {
        for (completion, answer) in [
            ("B", "B"),
            ("<think>A? No.</think>B", "B"),
            ("<think>A</think>B<think>C</think>D", "BD"),
            ("A? No.</think>B", "B"),
            ("<think>A", ""),
            ("x <think> y", "x "),
            ("1 < 2 and <thinker>", "1 < 2 and <thinker>"),
        ] {
            assert_eq!(without_reasoning(completion), answer, "{completion}");
        }
    }

    proptest! {
        #[test]
        fn a_stream_is_told_apart_as_the_whole_is(
            parts in prop::collection::vec("[a<>/ 答]{0,3}|<think>[a答]{0,4}</think>", 0..6),
            cuts in prop::collection::vec(1_usize..5, 0..60),
        ) {
            let whole = parts.concat();
            prop_assume!(whole.matches(CLOSE).count() == whole.matches(OPEN).count());
            let chars: Vec<char> = whole.chars().collect();
            let mut filter = ThinkFilter::default();
            let (mut pieces, mut at, mut cuts) = (Vec::new(), 0, cuts.into_iter());
            while at < chars.len() {
                let end = chars.len().min(at + cuts.next().unwrap_or(7));
                pieces.extend(filter.push(&chars[at..end].iter().collect::<String>()));
                at = end;
            }
            pieces.extend(filter.finish());
            let text: String = pieces
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Text(text) => Some(text.as_str()),
                    Piece::Reasoning(_) => None,
                })
                .collect();
            prop_assert_eq!(text, without_reasoning(&whole));
        }
    }
}
