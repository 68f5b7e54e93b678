//! Telling files that are no text.

/// The first bytes of common files that are no text.
const MAGICS: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive (an EPUB ends in .epub)"),
    (b"\x1F\x8B", "a gzip archive"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!\x1A", "a RAR archive"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old Word document"),
    (b"{\\rtf", "an RTF document"),
    (b"AT&TFORM", "a DjVu document"),
    (b"\x7FELF", "a program"),
];

/// Where the type of a Kindle book stands.
const PALM_TYPE: std::ops::Range<usize> = 60..68;

/// What the bytes are, if their start shows that they are no text.
pub(super) fn magic(bytes: &[u8]) -> Option<&'static str> {
    if bytes.get(PALM_TYPE) == Some(b"BOOKMOBI") {
        return Some("a Kindle book");
    }
    MAGICS
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|(_, what)| *what)
}

/// Whether more than one character in a hundred of a decoded text is a
/// control code that no text has.
pub(super) fn is_mostly_control(text: &str) -> bool {
    let mut controls = 0usize;
    let mut all = 0usize;
    for character in text.chars() {
        all += 1;
        // Besides white space: page separators, end of file, escape.
        let allowed = matches!(character, '\t'..='\r' | '\x1A' | '\x1B' | '\x1C'..='\x1F');
        controls += usize::from(character.is_control() && !allowed);
    }
    controls * 100 > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_files_are_named() {
        assert_eq!(magic(b"%PDF-1.7 ..."), Some("a PDF document"));
        let kindle = [&[b'x'; 60][..], b"BOOKMOBI"].concat();
        assert_eq!(magic(&kindle), Some("a Kindle book"));
        assert_eq!(magic(b"Chapter 1"), None);
    }

    #[test]
    fn a_stray_control_code_does_not_make_a_text_binary() {
        assert!(!is_mostly_control(&format!("{}\0", "a".repeat(100))));
        assert!(is_mostly_control("a\0b\0c\0"));
        assert!(!is_mostly_control(""));
    }
}
