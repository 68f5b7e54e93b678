//! Who waits for a model's result, and how long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What comes first where several wait for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Urgency {
    /// Somebody waits for the answer.
    #[default]
    Question,
    /// Nobody waits for this text in particular: a book is being indexed.
    /// Always goes on, but behind questions.
    Bulk,
}

/// Why work was not done though nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Whoever asked is gone.
    Cancelled,
    /// The time allowed has passed.
    DeadlinePassed,
    /// Too much is waiting already.
    QueueFull,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "whoever asked is gone",
            Self::DeadlinePassed => "the time allowed has passed",
            Self::QueueFull => "too much is waiting already",
        })
    }
}

impl std::error::Error for Stop {}

/// Says from any thread that nobody waits any more. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Nobody waits any more.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether nobody waits any more.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// One call of a model: how urgent it is and when it is no longer wanted. A
/// result never depends on it.
#[derive(Debug, Clone, Default)]
pub struct Call {
    urgency: Urgency,
    deadline: Option<Instant>,
    cancel: CancelFlag,
}

impl Call {
    /// A question's call without a deadline.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call of indexing.
    pub fn bulk() -> Self {
        Self {
            urgency: Urgency::Bulk,
            ..Self::default()
        }
    }

    /// The same call, of which nobody waits for one text in particular.
    #[must_use]
    pub fn as_bulk(&self) -> Self {
        Self {
            urgency: Urgency::Bulk,
            ..self.clone()
        }
    }

    /// The same call, no longer wanted after `deadline`, or after its own if
    /// that is earlier.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        let deadline = self.deadline.map_or(deadline, |own| own.min(deadline));
        Self {
            deadline: Some(deadline),
            ..self.clone()
        }
    }

    /// The same call, no longer wanted once `cancel` says so.
    #[must_use]
    pub fn cancelled_by(&self, cancel: &CancelFlag) -> Self {
        Self {
            cancel: cancel.clone(),
            ..self.clone()
        }
    }

    /// How urgent it is.
    pub fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// When it is no longer wanted.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Why it is no longer wanted, if so.
    pub fn stop(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        let passed = self.deadline.is_some_and(|at| Instant::now() >= at);
        passed.then_some(Stop::DeadlinePassed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_call_ends_at_the_earlier_deadline() {
        let now = Instant::now();
        let later = now + Duration::from_secs(3600);
        let call = Call::new().until(later);
        assert_eq!(call.stop(), None);
        assert_eq!(call.until(now).stop(), Some(Stop::DeadlinePassed));
        assert_eq!(call.until(now).until(later).deadline(), Some(now));
    }

    #[test]
    fn all_clones_of_a_flag_cancel_a_call() {
        let flag = CancelFlag::default();
        let call = Call::bulk().cancelled_by(&flag);
        assert_eq!((call.stop(), call.urgency()), (None, Urgency::Bulk));
        let same = Call::new().cancelled_by(&flag).as_bulk();
        flag.clone().cancel();
        assert_eq!(call.stop(), Some(Stop::Cancelled));
        assert_eq!(same.stop(), Some(Stop::Cancelled));
        assert_eq!(same.urgency(), Urgency::Bulk);
    }
}
