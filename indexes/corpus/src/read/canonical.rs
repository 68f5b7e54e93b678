//! The one form of a text that its identity is taken of.

/// Removes byte order marks at the start and makes every line end LF.
/// Applying it twice changes nothing.
pub(super) fn canonical(text: String) -> String {
    let start = text.len() - text.trim_start_matches('\u{FEFF}').len();
    if start == 0 && !text.contains('\r') {
        return text;
    }
    text[start..].replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_ends_become_lf_and_nothing_else_changes() {
        let text = "\u{FEFF}a\r\nb\rc\n\r\r\n　d \u{FEFF}\u{A0}".to_owned();
        assert_eq!(canonical(text), "a\nb\nc\n\n\n　d \u{FEFF}\u{A0}");
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_stable(text in "[\u{FEFF}\r\na字]{0,40}") {
            let once = canonical(text);
            prop_assert!(!once.contains('\r'));
            prop_assert_eq!(once.trim_start_matches(char::from_u32(0xFEFF).unwrap()), &once);
            prop_assert_eq!(canonical(once.clone()), once);
        }
    }
}
