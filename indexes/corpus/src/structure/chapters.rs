//! From the lines of a book to its chapters.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::Chapter;
use super::contents::{self, Contents};
use super::heading::{self, Heading, Kind, is_title_case};
use super::levels::levels;
use super::lines::{Line, LineStyle, lines_in};
use super::tables::without_tables;

/// A heading in its place.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    /// From the start of the heading's line to the end of its title.
    pub span: Range<usize>,
    pub heading: Heading,
    pub title: String,
}

/// A chapter and where its own text begins, below the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub chapter: Chapter,
    pub text_start: usize,
}

/// The chapters that headings on lines of their own open.
pub(super) fn chapters(text: &str, body: Range<usize>) -> Vec<Placed> {
    let lines = lines_in(text, body.clone());
    let style = LineStyle::of(&text[body.clone()]);
    let contents = Contents::find(&lines);

    let mut found = candidates(&lines, style);
    keep_series(&mut found);
    drop_entries(&mut found, &contents);
    let openings = openings(text, &lines, style, found, &contents);
    let openings = without_tables(text, body.end, openings);

    let levels = levels(&openings, contents.len());
    openings
        .into_iter()
        .zip(levels)
        .map(|(opening, level)| Placed {
            text_start: opening.span.end,
            chapter: Chapter {
                title: opening.title,
                start: opening.span.start,
                level,
            },
        })
        .collect()
}

/// The lines that read as headings and stand as headings do.
fn candidates(lines: &[Line<'_>], style: LineStyle) -> Vec<(usize, Heading)> {
    const LONGEST_HEADING: usize = 120;
    let mut found: Vec<(usize, Heading)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !line.is_within(LONGEST_HEADING) {
            continue;
        }
        let Some(heading) = heading::read(line.text) else {
            continue;
        };
        let below_a_heading = found.last().is_some_and(|&(last, _)| last + 1 == index);
        let begins = line.after_blank || below_a_heading || style == LineStyle::Paragraphs;
        let ends = match heading.weak {
            true => line.before_blank || style == LineStyle::Paragraphs,
            false => ends_soon(lines, index, style),
        };
        if begins && ends {
            found.push((index, heading));
        }
    }
    found
}

/// Whether a heading that starts on a line is over within two more short
/// lines; a wrapped paragraph goes on.
fn ends_soon(lines: &[Line<'_>], index: usize, style: LineStyle) -> bool {
    style == LineStyle::Paragraphs
        || lines[index..]
            .iter()
            .take(3)
            .take_while(|line| line.is_within(70) || line.before_blank)
            .any(|line| line.before_blank)
}

/// Drops weak headings that are not part of a series 1, 2, 3 …, which may
/// start again for every part of the book.
fn keep_series(found: &mut Vec<(usize, Heading)>) {
    let mut keep = vec![true; found.len()];
    // Where the last series of each kind stands: its last number and its
    // first member, which is kept once a second one follows.
    let mut series: HashMap<Kind, (u32, usize)> = HashMap::new();
    for (at, (_, heading)) in found.iter().enumerate() {
        let Some(number) = heading.number else {
            continue;
        };
        let last = series.get(&heading.kind).copied();
        if !heading.weak {
            series.insert(heading.kind, (number, at));
            continue;
        }
        keep[at] = false;
        match last {
            Some((last, before)) if number == last + 1 => {
                keep[before] = true;
                keep[at] = true;
                series.insert(heading.kind, (number, at));
            }
            _ if number == 1 => {
                series.insert(heading.kind, (number, at));
            }
            _ => {}
        }
    }
    let mut kept = keep.into_iter();
    found.retain(|_| kept.next().unwrap_or(true));
}

/// Drops headings inside the table of contents that come again below it.
fn drop_entries(found: &mut Vec<(usize, Heading)>, contents: &Contents) {
    let key = |heading: &Heading| match heading.number {
        Some(number) => (heading.kind, number, String::new()),
        None => (heading.kind, 0, contents::key(&heading.label)),
    };
    let below: HashSet<_> = found
        .iter()
        .filter(|(index, _)| *index >= contents.end)
        .map(|(_, heading)| key(heading))
        .collect();
    found.retain(|(index, heading)| !contents.covers(*index) || !below.contains(&key(heading)));
}

/// Gives every heading its title and adds the headings that only the table of
/// contents knows.
fn openings(
    text: &str,
    lines: &[Line<'_>],
    style: LineStyle,
    found: Vec<(usize, Heading)>,
    contents: &Contents,
) -> Vec<Opening> {
    let mut openings = Vec::new();
    let mut listed_before = BTreeSet::new();
    let mut found = found.into_iter().peekable();
    let mut index = 0;
    while index < lines.len() {
        let Some((_, heading)) = found.next_if(|&(at, _)| at == index) else {
            let listed = (index >= contents.end)
                .then(|| contents.matches(lines, index))
                .flatten();
            if let Some(count) = listed {
                let opening = Opening::over(&lines[index..index + count], listed_title());
                // A title that comes again is a running head.
                if listed_before.insert(contents::key(&text[opening.span.clone()])) {
                    openings.push(opening);
                }
            }
            index += listed.unwrap_or(1);
            continue;
        };
        if contents::opens_contents(&heading.label) {
            index += 1;
            continue;
        }
        let count = 1 + title_below(lines, style, index, &heading, found.peek());
        // The title may have been found as a heading of its own.
        while found.next_if(|&(at, _)| at < index + count).is_some() {}
        openings.push(Opening::over(&lines[index..index + count], heading));
        index += count;
    }
    openings
}

impl Opening {
    /// The heading on the first of some lines, titled by the others.
    fn over(lines: &[Line<'_>], heading: Heading) -> Self {
        // `CHAPTER I` and `The Ferry` make `CHAPTER I. The Ferry`.
        let mut title = unmarked(lines[0].text).to_owned();
        if lines.len() > 1 && title.ends_with(char::is_alphanumeric) {
            title.push('.');
        }
        for line in &lines[1..] {
            title.push(' ');
            title.push_str(unmarked(line.text));
        }
        Self {
            span: lines[0].span.start..lines[lines.len() - 1].span.end,
            heading,
            // White space folded: a title is one line wherever it is shown.
            title: title.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

fn listed_title() -> Heading {
    Heading {
        kind: Kind::Listed,
        number: None,
        label: String::new(),
        titled: true,
        marks: 0,
        weak: false,
    }
}

/// How many lines below a heading without a title are its title.
fn title_below(
    lines: &[Line<'_>],
    style: LineStyle,
    index: usize,
    heading: &Heading,
    next: Option<&(usize, Heading)>,
) -> usize {
    const LONGEST_TITLE: usize = 3;
    let takes_a_title =
        !heading.titled && !matches!(heading.kind, Kind::Named | Kind::Listed | Kind::Marked);
    if !takes_a_title {
        return 0;
    }
    if let Some((at, below)) = next
        && *at == index + 1
    {
        // "CHAPTER LXVII" may be titled "CONCLUSION"; a part may not.
        let named = below.kind == Kind::Named && !heading.kind.encloses();
        return usize::from(named || below.kind == Kind::Marked);
    }
    let limit = next.map_or(lines.len(), |&(at, _)| at);
    let block = &lines[index + 1..limit.min(index + 1 + LONGEST_TITLE)];
    let mut count = 0;
    for line in block {
        if !line.is_within(75) || !is_title_case(unmarked(line.text)) || line.text.starts_with('[')
        {
            return 0;
        }
        count += 1;
        if line.before_blank || style == LineStyle::Paragraphs {
            return count;
        }
    }
    0
}

fn unmarked(line: &str) -> &str {
    line.trim_start_matches('#').trim().trim_matches(['*', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<(String, u8)> {
        chapters(text, 0..text.len())
            .into_iter()
            .map(|placed| (placed.chapter.title, placed.chapter.level))
            .collect()
    }

    fn named(titles: &[(&str, u8)]) -> Vec<(String, u8)> {
        titles
            .iter()
            .map(|&(title, level)| (title.to_owned(), level))
            .collect()
    }

    #[test]
    fn a_title_on_the_next_lines_joins_its_heading() {
        let text = "CHAPTER I.\n\nThe Ferry\n\nIt was late when he came.\n\nCHAPTER II\nTHE BRIDGE\n\nIt fell.\n\nChapter 3\n\nIt was a truth universally known.\n";
        assert_eq!(
            titles(text),
            named(&[
                ("CHAPTER I. The Ferry", 1),
                ("CHAPTER II. THE BRIDGE", 1),
                ("Chapter 3", 1)
            ])
        );
    }

    #[test]
    fn a_chapter_starts_at_its_heading_line() {
        let text = "Front.\n\n  CHAPTER I\n\nText.\n";
        let placed = chapters(text, 0..text.len());
        assert_eq!(
            placed[0].chapter.start,
            text.find("  CHAPTER").expect("the line")
        );
        assert_eq!(text[placed[0].text_start..].trim(), "Text.");
    }

    #[test]
    fn parts_stand_above_chapters() {
        let text = "PART I\n\nCHAPTER I\n\nHe came.\n\nCHAPTER II\n\nHe saw.\n\nPART II\n\nCHAPTER I\n\nHe left.\n\nEPILOGUE\n\nPeace.\n";
        assert_eq!(
            titles(text),
            named(&[
                ("PART I", 1),
                ("CHAPTER I", 2),
                ("CHAPTER II", 2),
                ("PART II", 1),
                ("CHAPTER I", 2),
                ("EPILOGUE", 2),
            ])
        );
    }

    #[test]
    fn a_table_of_contents_makes_no_chapters() {
        let text = "THE FERRY\n\nCONTENTS\n\nCHAPTER I\n\nCHAPTER II\n\nCHAPTER III\n\nA note.\n\nCHAPTER I\n\nHe came over the water.\n\nCHAPTER II\n\nHe saw the other side.\n\nCHAPTER III\n\nHe went.\n";
        let found = chapters(text, 0..text.len());
        assert_eq!(found.len(), 3);
        assert!(
            text[found[0].text_start..]
                .trim_start()
                .starts_with("He came")
        );
    }

    #[test]
    fn an_entry_on_a_line_of_its_own_makes_no_chapter() {
        let story = "He came over the water. ".repeat(40);
        let text = format!(
            "# The Ferry\n\n### by A. Nobody\n\n## CONTENTS\n\nI\tThe Way\nII\tThe Water\nEpilogue\n\n### I\n\n### The Way\n\n{story}\n\n### II\n\n### The Water\n\n{story}\n\n### Epilogue\n\n{story}\n"
        );
        assert_eq!(
            titles(&text),
            named(&[
                ("The Ferry", 1),
                ("I. The Way", 2),
                ("II. The Water", 2),
                ("Epilogue", 2)
            ])
        );
    }

    #[test]
    fn the_first_words_of_a_chapter_are_not_its_title() {
        let story = "他来了，天黑了。".repeat(40);
        let text = format!("# 一\n\n天黑了。\n\n{story}\n\n# 二\n\n渡口\n\n{story}\n");
        assert_eq!(titles(&text), named(&[("一", 1), ("二. 渡口", 1)]));
    }

    #[test]
    fn a_title_that_the_contents_list_opens_a_chapter() {
        let text = "STORIES\n\nContents\n\nTHE FERRY\n\nTHE BRIDGE\n\n\nTHE FERRY\n\nPART I\n\nIt was late.\n\nPART II\n\nIt came.\n\nTHE BRIDGE\n\nPART I\n\nIt fell.\n";
        assert_eq!(
            titles(text),
            named(&[
                ("THE FERRY", 1),
                ("PART I", 2),
                ("PART II", 2),
                ("THE BRIDGE", 1),
                ("PART I", 2),
            ])
        );
    }

    #[test]
    fn numerals_alone_need_a_series() {
        let text = "I\n\nHe came.\n\nII\n\nHe saw.\n\nIII\n\nHe left.\n";
        assert_eq!(titles(text), named(&[("I", 1), ("II", 1), ("III", 1)]));
        assert_eq!(
            titles("He said:\n\nI\n\nand no more.\n\nV\n\nfor victory.\n"),
            named(&[])
        );
    }

    #[test]
    fn chinese_headings_open_chapters_in_both_line_styles() {
        let blank =
            "楔子　夜\n\n天黑了。\n\n第一回　渡口　老人\n\n他来了。\n\n第二回　桥\n\n桥断了。\n";
        assert_eq!(
            titles(blank),
            named(&[("楔子 夜", 1), ("第一回 渡口 老人", 1), ("第二回 桥", 1)])
        );
        let paragraph = "他来了，天黑了。".repeat(30);
        let lines = format!(
            "卷一\n第一章 渡口\n{paragraph}\n第一回见面，他很紧张。\n第二章 桥\n{paragraph}\n"
        );
        assert_eq!(
            titles(&lines),
            named(&[("卷一", 1), ("第一章 渡口", 2), ("第二章 桥", 2)])
        );
    }

    #[test]
    fn marked_headings_that_follow_each_other_join() {
        let text = "# The Ferry\n\n## I\n\n## The Water\n\nIt was cold.\n\n## II\n\nMr. Holmes\n\nHe came.\n\n## Afterthoughts\n\nNone.\n";
        assert_eq!(
            titles(text),
            named(&[
                ("The Ferry", 1),
                ("I. The Water", 2),
                ("II. Mr. Holmes", 2),
                ("Afterthoughts", 2)
            ])
        );
    }

    #[test]
    fn prose_opens_no_chapter() {
        let text = "He had written\n\nChapter 3 of his life\n\nand stopped. Part of it was lost.\n\nChapter 4 was never begun, though he had the whole of\nit in his head and told it to anyone who came by the\nferry, day after day, until he died.\n";
        assert_eq!(titles(text), named(&[]));
    }
}
