//! Token vectors of passages, remembered between questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

/// A passage's text, as the cache knows it.
pub(crate) type TextKey = [u8; 32];

/// What the model made of one passage.
#[derive(Debug, Clone)]
pub(crate) struct PassageTokens {
    /// Unit vectors, token after token.
    pub(crate) vectors: Arc<[f32]>,
    /// Tokens the model read.
    pub(crate) tokens: u32,
    /// Whether the passage was cut short.
    pub(crate) truncated: bool,
}

/// The most recently used passages' token vectors, up to a number of bytes.
/// Since a passage's vectors depend on its text alone, a score does not depend
/// on whether they were remembered.
#[derive(Debug)]
pub(crate) struct TokenCache {
    most_bytes: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    passages: HashMap<TextKey, (PassageTokens, u64)>,
    bytes: usize,
    /// Counts uses; what was used longest ago has the lowest number.
    clock: u64,
}

impl TokenCache {
    /// A cache that holds at most `most_bytes` of vectors; 0 holds nothing.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            held: Mutex::default(),
        }
    }

    /// The key of a passage's text.
    pub(crate) fn key(text: &str) -> TextKey {
        Sha256::digest(text.as_bytes()).into()
    }

    /// What is remembered of a passage.
    pub(crate) fn get(&self, key: &TextKey) -> Option<PassageTokens> {
        let mut held = self.lock();
        held.clock += 1;
        let now = held.clock;
        let (passage, used) = held.passages.get_mut(key)?;
        *used = now;
        Some(passage.clone())
    }

    /// Remembers a passage, and forgets those used longest ago if there are
    /// too many bytes.
    pub(crate) fn insert(&self, key: TextKey, passage: PassageTokens) {
        let bytes = size_of_val(&*passage.vectors);
        if bytes > self.most_bytes {
            return;
        }
        let mut held = self.lock();
        held.clock += 1;
        let now = held.clock;
        if let Some((old, _)) = held.passages.insert(key, (passage, now)) {
            held.bytes -= size_of_val(&*old.vectors);
        }
        held.bytes += bytes;
        if held.bytes > self.most_bytes {
            held.forget_down_to(self.most_bytes / 8 * 7);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Forgets what was used longest ago. An eighth at a time, so that the
    /// sorting is paid for once in many insertions.
    fn forget_down_to(&mut self, bytes: usize) {
        let mut by_use: Vec<(u64, TextKey)> = self
            .passages
            .iter()
            .map(|(key, (_, used))| (*used, *key))
            .collect();
        by_use.sort_unstable();
        for (_, key) in by_use {
            if self.bytes <= bytes {
                break;
            }
            if let Some((passage, _)) = self.passages.remove(&key) {
                self.bytes -= size_of_val(&*passage.vectors);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(values: usize) -> PassageTokens {
        PassageTokens {
            vectors: vec![0.5; values].into(),
            tokens: 1,
            truncated: false,
        }
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let cache = TokenCache::new(400);
        let [a, b, c] = ["a", "b", "c"].map(TokenCache::key);
        cache.insert(a, passage(40));
        cache.insert(b, passage(40));
        assert!(cache.get(&a).is_some());
        cache.insert(c, passage(40));
        assert!(cache.get(&b).is_none());
        assert!(cache.get(&a).is_some() && cache.get(&c).is_some());
    }

    #[test]
    fn bytes_stay_within_the_bound() {
        let cache = TokenCache::new(4_000);
        for number in 0..100 {
            cache.insert(TokenCache::key(&number.to_string()), passage(40));
            cache.insert(TokenCache::key("the same"), passage(60));
            assert!(cache.lock().bytes <= 4_000);
        }
        let held = cache.lock();
        let sum: usize = held
            .passages
            .values()
            .map(|(p, _)| size_of_val(&*p.vectors))
            .sum();
        assert_eq!(sum, held.bytes);
    }

    #[test]
    fn a_passage_larger_than_the_cache_is_not_held() {
        let cache = TokenCache::new(100);
        cache.insert(TokenCache::key("a"), passage(26));
        assert!(cache.get(&TokenCache::key("a")).is_none());
    }
}
