//! Questions' token vectors, handed from the embedder to the late interaction
//! that follows on the same model.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::token_cache::{TextKey, TokenCache};

/// Questions that are held at most, and bytes of their vectors. What is not
/// taken soon never will be: its search has ended.
const MOST_QUESTIONS: usize = 256;
const MOST_BYTES: usize = 32 << 20;

/// What the model made of one question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuestionTokens {
    /// Unit vectors, token after token.
    pub(crate) vectors: Vec<f32>,
    /// Whether the question was cut short.
    pub(crate) truncated: bool,
}

/// Holds each question until it is taken, once: so a question that is asked
/// again costs a run of the model again.
#[derive(Debug, Default)]
pub(crate) struct HandOff {
    wanted: AtomicBool,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    questions: VecDeque<(TextKey, QuestionTokens)>,
    bytes: usize,
}

impl HandOff {
    /// Somebody will take questions from now on.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether anybody takes questions.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Leaves a question, and drops the oldest if there are too many.
    pub(crate) fn leave(&self, question: &str, tokens: QuestionTokens) {
        let key = TokenCache::key(question);
        let mut held = self.lock();
        held.take(&key);
        held.bytes += size_of_val(&*tokens.vectors);
        held.questions.push_back((key, tokens));
        while held.questions.len() > MOST_QUESTIONS || held.bytes > MOST_BYTES {
            let Some((_, dropped)) = held.questions.pop_front() else {
                break;
            };
            held.bytes -= size_of_val(&*dropped.vectors);
        }
    }

    /// Takes a question out.
    pub(crate) fn take(&self, question: &str) -> Option<QuestionTokens> {
        let key = TokenCache::key(question);
        self.lock().take(&key)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn take(&mut self, key: &TextKey) -> Option<QuestionTokens> {
        let at = self.questions.iter().position(|(held, _)| held == key)?;
        let (_, tokens) = self.questions.remove(at)?;
        self.bytes -= size_of_val(&*tokens.vectors);
        Some(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(values: usize) -> QuestionTokens {
        QuestionTokens {
            vectors: vec![0.5; values],
            truncated: false,
        }
    }

    #[test]
    fn a_question_is_taken_once() {
        let hand_off = HandOff::default();
        hand_off.leave("who?", tokens(3));
        hand_off.leave("who?", tokens(3));
        assert_eq!(hand_off.take("where?"), None);
        assert_eq!(hand_off.take("who?"), Some(tokens(3)));
        assert_eq!(hand_off.take("who?"), None);
        assert_eq!(hand_off.lock().bytes, 0);
    }

    #[test]
    fn the_oldest_questions_make_room_for_new_ones() {
        let hand_off = HandOff::default();
        for number in 0..=MOST_QUESTIONS {
            hand_off.leave(&number.to_string(), tokens(1));
        }
        assert_eq!(hand_off.take("0"), None);
        assert!(hand_off.take("1").is_some());

        let half = MOST_BYTES / size_of::<f32>() / 2;
        hand_off.leave("long", tokens(half));
        hand_off.leave("longer", tokens(half + 1));
        let held = hand_off.lock();
        assert_eq!((held.questions.len(), held.bytes), (1, 4 * (half + 1)));
    }
}
