//! What a library may be called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name, in characters; also on disk it is then short enough.
const LONGEST: usize = 64;

/// The name of a library: 1 to 64 letters and digits of any script, and
/// `-`, `_` and `.` after the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryName(String);

/// What is given is no name of a library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no name for a library: it takes 1 to {LONGEST} letters and digits, \
     and - _ . after the first"
)]
pub struct ParseLibraryNameError(String);

impl LibraryName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LibraryName {
    type Err = ParseLibraryNameError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let mut characters = given.chars();
        let begins_well = characters.next().is_some_and(char::is_alphanumeric);
        let goes_on_well = characters.all(|c| c.is_alphanumeric() || "-_.".contains(c));
        if begins_well && goes_on_well && given.chars().count() <= LONGEST && given.len() <= 200 {
            Ok(Self(given.to_owned()))
        } else {
            Err(ParseLibraryNameError(given.to_owned()))
        }
    }
}

impl fmt::Display for LibraryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for LibraryName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LibraryName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        given.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_letters_and_digits_and_never_a_path() {
        for good in ["dickens", "狄更斯", "a", "19th-century_novels.v2", "é"] {
            assert_eq!(good.parse::<LibraryName>().unwrap().as_str(), good);
        }
        let long = "x".repeat(LONGEST + 1);
        for bad in [
            "", ".", "..", "a/b", "a\\b", "-rf", ".a", "a b", "a\n", "a\0", &long,
        ] {
            let said = bad.parse::<LibraryName>().unwrap_err().to_string();
            assert!(said.contains("is no name for a library"), "{said}");
        }
    }
}
