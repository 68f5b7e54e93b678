//! Choosing what is handed on.

use quire_corpus::ChunkId;

use crate::Budgets;
use crate::trace::EvidenceStage;

/// Takes passages best first until the budget of passages is full. One that
/// does not fit the tokens left is passed over and named.
pub(crate) fn select(
    best_first: impl IntoIterator<Item = ChunkId>,
    tokens_of: impl Fn(ChunkId) -> u32,
    budgets: &Budgets,
) -> EvidenceStage {
    let mut stage = EvidenceStage {
        chunks: Vec::new(),
        tokens: 0,
        too_long: Vec::new(),
    };
    for chunk in best_first {
        if stage.chunks.len() == budgets.evidence_passages {
            break;
        }
        let tokens = u64::from(tokens_of(chunk));
        if stage.tokens + tokens > budgets.evidence_tokens as u64 {
            stage.too_long.push(chunk);
            continue;
        }
        stage.tokens += tokens;
        stage.chunks.push(chunk);
    }
    stage
}

#[cfg(test)]
mod tests {
    use super::*;
    use quire_corpus::BookId;

    #[test]
    fn passages_are_taken_while_both_budgets_last_and_the_rest_is_named() {
        let book = BookId::of_text("a book");
        let chunk = |ordinal| ChunkId { book, ordinal };
        let budgets = Budgets {
            evidence_passages: 3,
            evidence_tokens: 100,
            ..Budgets::default()
        };
        let tokens = |chunk: ChunkId| [60, 50, 30, 10, 5][chunk.ordinal as usize];
        let stage = select((0..5).map(chunk), tokens, &budgets);
        assert_eq!(stage.chunks, [chunk(0), chunk(2), chunk(3)]);
        assert_eq!(stage.tokens, 100);
        assert_eq!(stage.too_long, [chunk(1)]);
    }
}
