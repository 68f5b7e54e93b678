//! The measured time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Length;

/// From the end of the warm-up until the time or the requests are used up.
#[derive(Debug)]
pub(crate) struct Window {
    begin: Instant,
    end: Option<Instant>,
    left: AtomicU64,
}

impl Window {
    /// Begins after a warm-up that begins now.
    pub(crate) fn after(warmup: Duration, length: Length) -> Self {
        let begin = Instant::now() + warmup;
        let (end, left) = match length {
            Length::Time(time) => (Some(begin + time), u64::MAX),
            Length::Requests(requests) => (None, requests),
        };
        Self {
            begin,
            end,
            left: AtomicU64::new(left),
        }
    }

    pub(crate) fn begin(&self) -> Instant {
        self.begin
    }

    /// When it ends, where that is a matter of time.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.end
    }

    pub(crate) fn contains(&self, moment: Instant) -> bool {
        moment >= self.begin && self.end.is_none_or(|end| moment < end)
    }

    /// Whether a request due then is still to be sent; it is counted as sent.
    pub(crate) fn admits(&self, due: Instant) -> bool {
        if due < self.begin {
            return true;
        }
        if let Some(end) = self.end {
            return due < end;
        }
        let take = |left: u64| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_requests_are_admitted_besides_those_of_the_warm_up() {
        let window = Window::after(Duration::from_secs(1), Length::Requests(2));
        let (early, late) = (Instant::now(), window.begin());
        let admitted = [early, late, early, late, late, early].map(|due| window.admits(due));
        assert_eq!(admitted, [true, true, true, true, false, true]);
    }

    #[test]
    fn a_window_of_time_holds_its_begin_and_not_its_end() {
        let window = Window::after(Duration::from_secs(1), Length::Time(Duration::from_secs(2)));
        let end = window.end().unwrap();
        assert!(window.contains(window.begin()) && window.admits(window.begin()));
        assert!(!window.contains(end) && !window.admits(end));
        assert!(!window.contains(window.begin() - Duration::from_nanos(1)));
    }
}
