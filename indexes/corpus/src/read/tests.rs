//! Reading whole files.

mod encodings;
mod epubs;
mod hostile;
mod pages;
mod records;
mod shared_data;

use super::*;

/// Reads the only book of a file.
fn read_one(name: &str, bytes: &[u8]) -> SourceBook {
    let mut books = read_books(name, bytes, &ReadOptions::default()).unwrap();
    assert_eq!(books.len(), 1);
    books.remove(0)
}

fn error_of(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let error = read_books(name, bytes, options).unwrap_err().to_string();
    assert!(error.starts_with(name), "{error}");
    error
}

fn strict() -> ReadOptions {
    ReadOptions {
        strictness: Strictness::Strict,
        ..ReadOptions::default()
    }
}

/// Bytes of a text in an encoding, which must be able to hold it.
fn encoded(text: &str, label: &str) -> Vec<u8> {
    let units = |to_bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to_bytes).collect();
    match label {
        "utf-16le" => units(u16::to_le_bytes),
        "utf-16be" => units(u16::to_be_bytes),
        label => {
            let encoding = label.parse::<Encoding>().unwrap().0;
            let (bytes, _, lost) = encoding.encode(text);
            assert!(!lost, "{text} is not in {label}");
            bytes.into_owned()
        }
    }
}
