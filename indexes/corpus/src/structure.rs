//! What a book's text says about its own structure: where the book itself
//! begins and ends, and its chapters.

mod boilerplate;
mod chapters;
mod contents;
mod heading;
mod inline;
mod levels;
mod lines;
#[cfg(test)]
mod novels;
mod numerals;
mod tables;

use std::ops::Range;

pub(crate) use lines::LineStyle;
pub(crate) use numerals::starts_with_roman;

/// A chapter, or any other part of a book that has a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// The heading with the title below it, on one line: `CHAPTER I. The Ferry`.
    pub title: String,
    /// Byte offset of the heading's line in the canonical text.
    pub start: usize,
    /// Depth, 1 for the outermost: parts stand above chapters.
    pub level: u8,
}

/// A stretch of the text that no passage crosses out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub span: Range<usize>,
    pub chapter: Option<u32>,
}

/// Where the book itself lies in a text, and its chapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Structure {
    pub body: Range<usize>,
    pub chapters: Vec<Chapter>,
    /// The body in order, without a gap.
    pub sections: Vec<Section>,
}

/// Reads the structure of a canonical text.
pub(crate) fn structure(text: &str) -> Structure {
    let body = boilerplate::body(text);
    let mut placed = chapters::chapters(text, body.clone());
    if placed.is_empty() {
        placed = inline::chapters(text, body.clone());
    }
    let sections = sections(text, body.clone(), &placed);
    Structure {
        body,
        chapters: placed.into_iter().map(|placed| placed.chapter).collect(),
        sections,
    }
}

/// Cuts the body at its headings. A heading with no text of its own, such as a
/// part's, opens the section of the chapter that follows it.
fn sections(text: &str, body: Range<usize>, placed: &[chapters::Placed]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut start = body.start;
    let mut chapter = None;
    let mut text_start = body.start;
    for (index, next) in placed.iter().enumerate() {
        let heading = next.chapter.start;
        if !text[text_start..heading].trim().is_empty() {
            sections.push(Section {
                span: start..heading,
                chapter,
            });
            start = heading;
        }
        chapter = Some(index as u32);
        text_start = next.text_start;
    }
    if start < body.end {
        sections.push(Section {
            span: start..body.end,
            chapter,
        });
    }
    sections
}

/// The title of a chapter below those of the parts that hold it, such as
/// `PART II > CHAPTER 3`. Empty when there is no such chapter.
pub fn chapter_path(chapters: &[Chapter], chapter: u32) -> String {
    let Some(upto) = chapters.get(..=chapter as usize) else {
        return String::new();
    };
    let mut level = u8::MAX;
    let mut titles = Vec::new();
    for above in upto.iter().rev() {
        if above.level < level {
            level = above.level;
            titles.push(above.title.as_str());
        }
    }
    titles.reverse();
    titles.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Front.\n\nPART I\n\nCHAPTER I\n\nHe came.\n\nCHAPTER II\n\nHe saw.\n\nPART II\n\nCHAPTER I\n\nHe left.\n";

    #[test]
    fn sections_follow_each_other_and_a_bare_heading_opens_the_next() {
        let structure = structure(TEXT);
        let seen: Vec<_> = structure
            .sections
            .iter()
            .map(|section| (TEXT[section.span.clone()].trim_end(), section.chapter))
            .collect();
        assert_eq!(
            seen,
            [
                ("Front.", None),
                ("PART I\n\nCHAPTER I\n\nHe came.", Some(1)),
                ("CHAPTER II\n\nHe saw.", Some(2)),
                ("PART II\n\nCHAPTER I\n\nHe left.", Some(4)),
            ]
        );
        let mut at = structure.body.start;
        for section in &structure.sections {
            assert_eq!(section.span.start, at);
            at = section.span.end;
        }
        assert_eq!(at, structure.body.end);
    }

    #[test]
    fn a_path_names_the_parts_above_a_chapter() {
        let chapters = structure(TEXT).chapters;
        assert_eq!(chapter_path(&chapters, 4), "PART II > CHAPTER I");
        assert_eq!(chapter_path(&chapters, 0), "PART I");
        assert_eq!(chapter_path(&chapters, 9), "");
    }
}
