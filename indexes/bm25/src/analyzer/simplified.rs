//! Traditional Chinese characters as simplified ones, so that a question
//! finds a book in the other script.

use std::sync::LazyLock;

const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// For each character from [`FIRST`] to [`LAST`], its simplified form.
static SIMPLIFIED: LazyLock<Vec<char>> = LazyLock::new(|| {
    (FIRST..=LAST)
        .filter_map(char::from_u32)
        .map(|c| {
            // Given alone, so that no neighbour decides: equal characters
            // stay equal terms wherever they stand.
            let alone = fast2s::convert(c.encode_utf8(&mut [0; 4]));
            alone.chars().next().unwrap_or(c)
        })
        .collect()
});

/// The simplified form of a character, itself if it has none.
pub(super) fn simplified(c: char) -> char {
    match c as u32 {
        code @ FIRST..=LAST => SIMPLIFIED[(code - FIRST) as usize],
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_scripts_meet_in_the_simplified_form() {
        let traditional = "紅樓夢裡賈寶玉與薛寶釵學詩";
        let folded: String = traditional.chars().map(simplified).collect();
        assert_eq!(folded, "红楼梦里贾宝玉与薛宝钗学诗");
        assert!(folded.chars().all(|c| simplified(c) == c));
        assert_eq!(simplified('é'), 'é');
    }

    #[test]
    fn a_simplified_form_is_final() {
        for c in (FIRST..=LAST).filter_map(char::from_u32) {
            let once = simplified(c);
            assert_eq!(simplified(once), once, "{c}");
        }
    }
}
