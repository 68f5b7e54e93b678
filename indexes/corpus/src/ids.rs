//! The stable identifiers of books and passages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// The identity of a book: the SHA-256 of its canonical text.
///
/// The same text has the same id wherever it came from; two editions that
/// differ in one byte have different ids. Ordered by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookId([u8; 32]);

impl BookId {
    /// The id of a canonical text.
    pub fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// The first twelve hexadecimal digits, for people to read.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for BookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BookId({self})")
    }
}

/// What is wrong with a written id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    /// Not 64 lower-case hexadecimal digits.
    #[error("'{0}' is not a book id: expected 64 hexadecimal digits")]
    Book(String),
    /// Not a book id, a colon and a number.
    #[error("'{0}' is not a passage id: expected BOOK:NUMBER")]
    Chunk(String),
}

impl FromStr for BookId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdError::Book(text.to_owned());
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        let id = Self(bytes);
        // Refuses "+1" and upper case, which from_str_radix lets through.
        if id.to_string() == text {
            Ok(id)
        } else {
            Err(wrong())
        }
    }
}

/// The identity of a passage: its book and its place in it, from 0.
///
/// Written `BOOK:ORDINAL`. Ordered by book, then ordinal: the order in which
/// every artifact stores its rows and every tie is broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChunkId {
    /// The book the passage is from.
    pub book: BookId,
    /// The passage's place among the book's passages, from 0.
    pub ordinal: u32,
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.book, self.ordinal)
    }
}

impl FromStr for ChunkId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdError::Chunk(text.to_owned());
        let (book, ordinal) = text.split_once(':').ok_or_else(wrong)?;
        let id = Self {
            book: book.parse().map_err(|_| wrong())?,
            ordinal: ordinal.parse().map_err(|_| wrong())?,
        };
        if id.to_string() == text {
            Ok(id)
        } else {
            Err(wrong())
        }
    }
}

macro_rules! as_string {
    ($id:ty) => {
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(de::Error::custom)
            }
        }
    };
}
as_string!(BookId);
as_string!(ChunkId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_text_is_its_sha256() {
        let id = BookId::of_text("abc");
        assert_eq!(
            id.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(id.short(), "ba7816bf8f01");
    }

    #[test]
    fn ids_are_read_back_as_written_and_nothing_else_is() {
        let chunk = ChunkId {
            book: BookId::of_text("abc"),
            ordinal: 17,
        };
        assert_eq!(chunk.to_string().parse(), Ok(chunk));
        for wrong in [
            "",
            "ab",
            "é",
            &chunk.to_string().to_uppercase(),
            &"+1".repeat(32),
        ] {
            assert!(wrong.parse::<BookId>().is_err(), "{wrong}");
            assert!(wrong.parse::<ChunkId>().is_err(), "{wrong}");
        }
        assert!(format!("{}:07", chunk.book).parse::<ChunkId>().is_err());
        assert!(format!("{}:-1", chunk.book).parse::<ChunkId>().is_err());
    }
}
