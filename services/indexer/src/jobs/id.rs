//! The name of a job.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of a job, `TIME-COUNT-RANDOM` in hexadecimal digits, such as
/// `019a3c5d7e10-0000-9f3a2c11`. Sorts by acceptance: milliseconds since 1970,
/// then a count within the millisecond. The random part keeps others' jobs
/// from being guessed by mistake, not by intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    millisecond: u64,
    count: u16,
    random: u32,
}

/// The largest time that has twelve digits.
const LATEST: u64 = (1 << 48) - 1;

impl JobId {
    /// A name for a job accepted at `now`, behind `last` in order even if the
    /// clock was set back.
    pub(super) fn after(last: Option<JobId>, now: SystemTime) -> Self {
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = since
            .map_or(0, |since| since.as_millis() as u64)
            .min(LATEST);
        let (millisecond, count) = match last {
            Some(last) if last.millisecond >= now => match last.count.checked_add(1) {
                Some(count) => (last.millisecond, count),
                None => (last.millisecond + 1, 0),
            },
            _ => (now, 0),
        };
        Self {
            millisecond,
            count,
            random: random() as u32,
        }
    }
}

/// A number that another process does not choose as well.
pub(super) fn random() -> u64 {
    // Each state is keyed anew; names need no stronger chance than that.
    RandomState::new().hash_one(0)
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            millisecond,
            count,
            random,
        } = self;
        write!(f, "{millisecond:012x}-{count:04x}-{random:08x}")
    }
}

/// Not the name of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a job's id: expected one such as 019a3c5d7e10-0000-9f3a2c11")]
pub struct ParseJobIdError;

impl FromStr for JobId {
    type Err = ParseJobIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '-');
        let mut part = || {
            let digits = parts.next().ok_or(ParseJobIdError)?;
            u64::from_str_radix(digits, 16).map_err(|_| ParseJobIdError)
        };
        let id = Self {
            millisecond: part()?,
            count: part()?.try_into().map_err(|_| ParseJobIdError)?,
            random: part()?.try_into().map_err(|_| ParseJobIdError)?,
        };
        // Refuses signs, other widths and upper case, which the parser lets
        // through.
        if id.millisecond <= LATEST && id.to_string() == text {
            Ok(id)
        } else {
            Err(ParseJobIdError)
        }
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn ids_are_read_back_as_written_and_nothing_else_is() {
        let id = JobId::after(None, SystemTime::now());
        assert_eq!(id.to_string().parse(), Ok(id));
        let upper = "019A3C5D7E10-0000-9f3a2c11";
        for wrong in [
            "",
            "../x",
            "..",
            "a/../b",
            "019a3c5d7e10-0000-9f3a2c1",
            "019a3c5d7e10-0000-9f3a2c11/..",
            "019a3c5d7e10-00000-9f3a2c11",
            "+19a3c5d7e10-0000-9f3a2c11",
            "1019a3c5d7e10-0000-9f3a2c11",
            upper,
            "receiving-0000-9f3a2c11",
        ] {
            assert_eq!(wrong.parse::<JobId>(), Err(ParseJobIdError), "{wrong}");
        }
        assert!(upper.to_lowercase().parse::<JobId>().is_ok());
    }

    #[test]
    fn ids_sort_by_acceptance_even_when_the_clock_goes_back() {
        let noon = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_000);
        let mut last = JobId::after(None, noon);
        for step in 0..70_000u64 {
            // More in one millisecond than the count holds, then backwards.
            let id = JobId::after(Some(last), noon - Duration::from_millis(step / 66_000));
            assert!(id > last && id.to_string() > last.to_string());
            last = id;
        }
    }
}
