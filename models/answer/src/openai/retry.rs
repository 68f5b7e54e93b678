//! When to try again, and how long to wait before.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::{Duration, SystemTime};

use super::config::RetryPolicy;

/// Whether a status says "not now" rather than "no".
pub(super) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The wait that a `Retry-After` header asks for, in seconds or as a date
/// (RFC 9110, section 10.2.3).
pub(super) fn asked_wait(retry_after: &str, now: SystemTime) -> Option<Duration> {
    let value = retry_after.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Draws one call's waits.
pub(super) struct Waits {
    policy: RetryPolicy,
    state: u64,
    failures: u32,
}

impl Waits {
    /// The waits of the `call`-th call of a process.
    pub(super) fn new(policy: RetryPolicy, call: u64) -> Self {
        let seed = policy
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(call));
        Self {
            policy,
            state: seed.wrapping_add(call.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            failures: 0,
        }
    }

    /// How long to wait after one more failure: drawn evenly from zero to the
    /// doubled backoff ("full jitter"), and no less than the server asks for.
    /// `None` when it asks for more than the longest wait, or the tries are
    /// used up.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        self.failures += 1;
        let longest = self.policy.longest_wait;
        let too_long = asked.is_some_and(|asked| asked > longest);
        if self.failures >= self.policy.attempts || too_long {
            return None;
        }
        let doublings = (self.failures - 1).min(16);
        let most = (self.policy.first_wait * 2_u32.pow(doublings)).min(longest);
        let drawn = most.mul_f64(self.draw());
        // Jitter comes on top of what is asked, so that those who were told
        // the same time do not come back together.
        Some(asked.map_or(drawn, |asked| asked + drawn.min(asked / 10)))
    }

    /// Evenly from 0 to 1 (SplitMix64: Steele, Lea and Flood 2014).
    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(seed: u64) -> RetryPolicy {
        RetryPolicy {
            attempts: 6,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_millis(700),
            seed: Some(seed),
        }
    }

    #[test]
    fn waits_lie_between_zero_and_the_doubled_backoff_and_use_all_of_it() {
        let mut widest = [0.0_f64; 5];
        for seed in 0..500 {
            let mut waits = Waits::new(policy(seed), 0);
            for (failure, most) in [100, 200, 400, 700, 700].into_iter().enumerate() {
                let wait = waits.next(None).unwrap();
                assert!(wait <= Duration::from_millis(most), "{wait:?}");
                widest[failure] = widest[failure].max(wait.as_secs_f64() * 1e3 / most as f64);
            }
            assert_eq!(waits.next(None), None);
        }
        assert!(widest.iter().all(|share| *share > 0.95), "{widest:?}");
    }

    #[test]
    fn a_seed_fixes_a_calls_waits_and_calls_differ() {
        let waits = |seed, call| {
            let mut waits = Waits::new(policy(seed), call);
            [waits.next(None), waits.next(None)]
        };
        assert_eq!(waits(7, 3), waits(7, 3));
        assert_ne!(waits(7, 3), waits(7, 4));
        assert_ne!(waits(7, 3), waits(8, 3));
    }

    #[test]
    fn what_the_server_asks_is_the_least_wait_unless_it_is_too_long() {
        let asked = Duration::from_millis(600);
        let wait = Waits::new(policy(1), 0).next(Some(asked)).unwrap();
        assert!((asked..=asked * 11 / 10).contains(&wait), "{wait:?}");
        assert_eq!(Waits::new(policy(1), 0).next(Some(asked * 2)), None);
    }

    #[test]
    fn a_wait_is_read_in_each_of_its_forms() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let seconds = |value| asked_wait(value, now).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds(" 7 "), Some(7.0));
        assert_eq!(seconds("0.25"), Some(0.25));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10.0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0.0));
        for wrong in ["soon", "-1", "nan", "inf", "1e300", ""] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
