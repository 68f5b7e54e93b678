//! Headings in the middle of a line, for texts that lost their line breaks.

use std::ops::Range;

use super::Chapter;
use super::chapters::Placed;
use super::heading::{self, Kind};
use super::numerals;

/// A heading's place, number and title.
struct Mention {
    span: Range<usize>,
    number: u32,
    title: String,
}

/// The chapters of a text without line breaks.
///
/// Prose mentions chapters too, so a heading counts only in a series 1, 2, 3 …
/// without a gap that begins near the start of the text, where each member
/// follows the end of a sentence and has something to read below it. A series
/// that is not all of that yields nothing.
pub(super) fn chapters(text: &str, body: Range<usize>) -> Vec<Placed> {
    const LEAST: usize = 3;
    const LONG_LINE: usize = 8 * 1024;
    if text[body.clone()]
        .split('\n')
        .all(|line| line.len() < LONG_LINE)
    {
        return Vec::new();
    }
    let series = [chinese(text, body.clone()), english(text, body.clone())]
        .into_iter()
        .map(|mentions| longest_series(&mentions, &body))
        .max_by_key(Vec::len)
        .unwrap_or_default();
    if series.len() < LEAST {
        return Vec::new();
    }
    series
}

fn longest_series(mentions: &[Mention], body: &Range<usize>) -> Vec<Placed> {
    const LEAST_TEXT: usize = 500;
    /// More first chapters than these are mentions in prose.
    const MOST_STARTS: usize = 64;
    let near_the_start = body.start + body.len() / 5;
    let mut best: Vec<&Mention> = Vec::new();
    let starts = mentions
        .iter()
        .enumerate()
        .filter(|(_, first)| first.number == 1 && first.span.start <= near_the_start);
    for (at, first) in starts.take(MOST_STARTS) {
        let mut series = vec![first];
        for next in &mentions[at + 1..] {
            let last = series[series.len() - 1];
            let follows = next.number == last.number + 1;
            if follows && next.span.start >= last.span.end + LEAST_TEXT {
                series.push(next);
            }
        }
        // A table of contents starts a series too; the later one is the book's.
        if series.len() >= best.len() {
            best = series;
        }
    }
    best.into_iter()
        .map(|mention| Placed {
            text_start: mention.span.end,
            chapter: Chapter {
                title: mention.title.clone(),
                start: mention.span.start,
                level: 1,
            },
        })
        .collect()
}

/// `…分解。第二回歷山山下古帝遺蹤…話說…`.
fn chinese(text: &str, body: Range<usize>) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (at, _) in text[body.clone()].match_indices('第') {
        let start = body.start + at;
        let Some((number, Kind::Chapter, rest)) = heading::numbered(&text[start..body.end]) else {
            continue;
        };
        let before = text[body.start..start].trim_end();
        // What stands before the first chapter is the title of the book.
        if number > 1 && !before.ends_with(['。', '！', '？', '」', '”', '…', '』']) {
            continue;
        }
        let label = text[start..body.end].len() - rest.len();
        let titled = label + chinese_title(rest);
        mentions.push(Mention {
            span: start..start + titled,
            number,
            title: text[start..start + titled].trim().to_owned(),
        });
    }
    mentions
}

/// How many bytes of a text are a chapter's title: what stands before the
/// storyteller's opening words, or nothing.
fn chinese_title(text: &str) -> usize {
    const OPENINGS: &[&str] = &[
        "話說", "话说", "卻說", "却说", "且說", "且说", "詩曰", "诗曰", "詞曰", "词曰",
    ];
    let lead: usize = text.chars().take(40).map(char::len_utf8).sum();
    OPENINGS
        .iter()
        .filter_map(|opening| text[..lead].find(opening))
        .min()
        .filter(|&title| !text[..title].contains(['。', '，', '！', '？']))
        .unwrap_or(0)
}

/// `… the end came. CHAPTER II. It was …`. The title cannot be told from the
/// text, so it stays with the text.
fn english(text: &str, body: Range<usize>) -> Vec<Mention> {
    const KEYWORD: &str = "CHAPTER ";
    let mut mentions = Vec::new();
    for (at, _) in text[body.clone()].match_indices(KEYWORD) {
        let start = body.start + at;
        let after = start + KEYWORD.len();
        let Some((number, length)) = numerals::leading(&text[after..body.end]) else {
            continue;
        };
        let before = text[body.start..start].trim_end();
        let closed = before.ends_with(['.', '!', '?', '"', '”', '\'', '’', ']', ')', '*']);
        if number > 1 && !closed {
            continue;
        }
        let end = after + length;
        mentions.push(Mention {
            span: start..end,
            number,
            title: text[start..end].to_owned(),
        });
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        chapters(text, 0..text.len())
            .into_iter()
            .map(|placed| placed.chapter.title)
            .collect()
    }

    #[test]
    fn a_series_in_one_line_is_found_with_its_titles() {
        let story = "他走了很遠的路，天黑了。".repeat(200);
        let text = format!("老殘第一回渡口話說{story}第二回橋卻說{story}第三回人話說{story}");
        assert_eq!(titles(&text), ["第一回渡口", "第二回橋", "第三回人"]);
    }

    #[test]
    fn a_table_of_contents_in_one_line_is_passed_over() {
        let story = "He went a long way and it was dark. ".repeat(100);
        let text = format!(
            "CONTENTS. CHAPTER I. The way. CHAPTER II. The dark. CHAPTER III. The end. CHAPTER I. {story}CHAPTER II. {story}CHAPTER III. {story}"
        );
        assert_eq!(titles(&text), ["CHAPTER I", "CHAPTER II", "CHAPTER III"]);
        let found = chapters(&text, 0..text.len());
        assert!(found[0].chapter.start > 70);
    }

    #[test]
    fn mentions_in_prose_open_nothing() {
        let story = "他走了很遠的路，天黑了。".repeat(400);
        let text = format!("{story}第一回是去年。{story}他說第二回不同。{story}第四回完了。");
        assert_eq!(titles(&text), Vec::<String>::new());
        let late = format!("{story}{story}第一章序{story}第二章記{story}第三章跋{story}");
        assert_eq!(titles(&late), Vec::<String>::new());
    }
}
