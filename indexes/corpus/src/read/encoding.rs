//! Names of encodings.

use std::fmt;
use std::str::FromStr;

/// A character encoding of the WHATWG Encoding Standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(pub(super) &'static encoding_rs::Encoding);

impl Encoding {
    /// The standard's name of the encoding.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no encoding has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not an encoding this program reads: try utf-8, utf-16le, utf-16be, gb18030, gbk, \
     big5, shift_jis, euc-jp, euc-kr, windows-1252 or another label of the WHATWG Encoding Standard"
)]
pub struct UnknownEncoding(String);

/// Code page numbers and names that people use and the standard lacks.
const ALSO: &[(&str, &str)] = &[
    ("cp936", "gbk"),
    ("cp950", "big5"),
    ("cp932", "shift_jis"),
    ("cp949", "euc-kr"),
    ("cp65001", "utf-8"),
    ("hkscs", "big5-hkscs"),
    ("big5hkscs", "big5-hkscs"),
    ("gb-18030", "gb18030"),
    ("latin-1", "latin1"),
    ("utf16", "utf-16"),
    ("utf16le", "utf-16le"),
    ("utf16be", "utf-16be"),
    ("utf-8-sig", "utf-8"),
];

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(label: &str) -> Result<Self, Self::Err> {
        let lower = label.trim().to_ascii_lowercase().replace('_', "-");
        let also = ALSO.iter().find(|(other, _)| *other == lower);
        let known = also.map_or(&*lower, |(_, standard)| standard);
        // The standard's own labels have underscores too.
        let encoding = [label, known]
            .iter()
            .find_map(|label| encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()));
        match encoding {
            Some(encoding) if encoding != encoding_rs::X_USER_DEFINED => Ok(Self(encoding)),
            _ => Err(UnknownEncoding(label.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_code_pages_are_understood() {
        for (label, name) in [
            ("UTF-8", "UTF-8"),
            ("gb2312", "GBK"),
            ("GB18030", "gb18030"),
            ("cp936", "GBK"),
            ("Big5-HKSCS", "Big5"),
            ("big5_hkscs", "Big5"),
            ("Shift_JIS", "Shift_JIS"),
            ("shift-jis", "Shift_JIS"),
            ("latin1", "windows-1252"),
            ("Latin-1", "windows-1252"),
            ("utf_16", "UTF-16LE"),
        ] {
            assert_eq!(label.parse::<Encoding>().unwrap().name(), name, "{label}");
        }
    }

    #[test]
    fn an_unknown_label_is_answered_with_names_to_try() {
        for wrong in ["", "klingon", "x-user-defined", "hz-gb-2312"] {
            let error = wrong.parse::<Encoding>().unwrap_err().to_string();
            assert!(error.contains("gb18030, gbk, big5"), "{error}");
        }
    }
}
