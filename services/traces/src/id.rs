//! The name of one record.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of one record, given by the log. It says where the record lies, so
/// that finding it costs one read: `FILE-OFFSET-RANDOM`, such as
/// `000001-0000002a-9c1f`. The random part tells a record from one that lay
/// at the same place before a power cut took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId {
    /// The number of the file, from 1.
    pub(crate) file: u64,
    /// Bytes before the record in that file.
    pub(crate) offset: u32,
    random: u16,
}

impl TraceId {
    pub(crate) fn new(file: u64, offset: u32) -> Self {
        // Each state is keyed anew; names need no stronger chance than that.
        let random = RandomState::new().hash_one((file, offset)) as u16;
        Self {
            file,
            offset,
            random,
        }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            offset,
            random,
        } = self;
        write!(f, "{file:06}-{offset:08x}-{random:04x}")
    }
}

/// Not the name of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a trace's id: expected one such as 000001-0000002a-9c1f")]
pub struct ParseTraceIdError;

impl FromStr for TraceId {
    type Err = ParseTraceIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().ok_or(ParseTraceIdError);
        let (file, offset, random) = (part()?, part()?, part()?);
        let id = Self {
            file: file.parse().map_err(|_| ParseTraceIdError)?,
            offset: u32::from_str_radix(offset, 16).map_err(|_| ParseTraceIdError)?,
            random: u16::from_str_radix(random, 16).map_err(|_| ParseTraceIdError)?,
        };
        // Refuses signs, other widths and upper case, which the parsers let
        // through.
        if id.to_string() == text {
            Ok(id)
        } else {
            Err(ParseTraceIdError)
        }
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back_as_written_and_nothing_else_is() {
        for id in [
            TraceId::new(1, 42),
            TraceId::new(1_234_567, u32::MAX),
            TraceId::new(u64::MAX, 0),
        ] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for wrong in [
            "",
            "../../x",
            "000001",
            "1-0000002a-9c1f",
            "000001-2a-9c1f",
            "000001-0000002A-9c1f",
            "000001-0000002a-9c1f-",
            "000001-0000002a-9c1f/..",
            "+00001-0000002a-9c1f",
            "000001-+000002a-9c1f",
            "0000001-0000002a-9c1f",
        ] {
            assert_eq!(wrong.parse::<TraceId>(), Err(ParseTraceIdError), "{wrong}");
        }
    }

    #[test]
    fn ids_sort_by_when_they_were_given() {
        let given = [TraceId::new(1, 7), TraceId::new(1, 900), TraceId::new(2, 0)];
        assert!(given.is_sorted());
        assert!(given.map(|id| id.to_string()).is_sorted());
    }
}
