//! The client's name of a file, as a label.

/// Bytes of a label at most.
const LONGEST: usize = 255;
/// Bytes of an extension that is worth keeping.
const EXTENSION: usize = 16;

/// What is kept of the name a client gives a file: its last part, without
/// control characters and the marks that reverse the direction of text, at
/// most 255 bytes, the extension kept. Only ever a label: it names no file.
pub(super) fn label(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let printable: String = last
        .chars()
        .filter(|c| !c.is_control())
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect();
    let label = printable.trim();
    if label.trim_matches('.').is_empty() {
        return "book".to_owned();
    }
    if label.len() <= LONGEST {
        return label.to_owned();
    }
    let extension = match label.rfind('.') {
        Some(dot) if label.len() - dot <= EXTENSION => &label[dot..],
        _ => "",
    };
    let stem = label.floor_char_boundary(LONGEST - extension.len());
    format!("{}{extension}", &label[..stem])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_reduced_to_their_last_part() {
        for (name, kept) in [
            ("novel.epub", "novel.epub"),
            ("../../etc/passwd", "passwd"),
            ("C:\\books\\novel.txt", "novel.txt"),
            ("a/b\\c/红楼梦.txt", "红楼梦.txt"),
            ("line\r\nend\u{0}.txt", "lineend.txt"),
            ("\u{202e}txt.evil", "txt.evil"),
            ("  spaced .txt ", "spaced .txt"),
            ("..", "book"),
            ("a/", "book"),
            ("", "book"),
            ("\n", "book"),
        ] {
            assert_eq!(label(name), kept, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let long = label(&format!("{}.epub", "书".repeat(200)));
        assert!(long.len() <= 255 && long.len() > 250);
        assert!(
            long.starts_with("书书") && long.ends_with("书.epub"),
            "{long}"
        );
        assert_eq!(label(&"x".repeat(300)).len(), 255);
        assert_eq!(label(&format!("x.{}", "y".repeat(300))).len(), 255);
    }

    proptest! {
        #[test]
        fn a_label_is_never_a_path_nor_more_than_a_line(name in any::<String>()) {
            let label = label(&name);
            prop_assert!(!label.is_empty() && label.len() <= 255);
            prop_assert!(!label.contains(['/', '\\']) && label != "." && label != "..");
            prop_assert!(!label.chars().any(char::is_control));
        }
    }
}
