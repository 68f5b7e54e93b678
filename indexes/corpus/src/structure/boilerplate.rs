//! Front and back matter that publishers of free books put around a text.
//!
//! Nothing is recognised without the publisher's own wording, close to the
//! start or the end of the text, so that a book which merely speaks of such
//! things keeps every byte.

use std::ops::Range;

/// How far from either end the wording is looked for. The longest licence
/// appended to a book is about 19,000 bytes, the longest header 14,000.
const REACH: usize = 32 * 1024;

/// The part of a text that is the book itself, without a licence, a header or
/// an imprint.
pub(super) fn body(text: &str) -> Range<usize> {
    let start = gutenberg_start(text)
        .into_iter()
        .chain(imprint_end(text))
        .max()
        .unwrap_or(0);
    let end = gutenberg_end(text, start)
        .into_iter()
        .chain(colophon_start(text, start))
        .min()
        .unwrap_or(text.len());
    start..end
}

/// Where Project Gutenberg's header ends: after the start marker, or after the
/// small print of the 1990s, or after header paragraphs without a marker; then
/// after the credits that stand directly below.
fn gutenberg_start(text: &str) -> Option<usize> {
    let head = &text[..floor(text, REACH)];
    let marker = [
        "START OF THE PROJECT GUTENBERG",
        "START OF THIS PROJECT GUTENBERG",
    ]
    .iter()
    .filter_map(|words| find(head, words))
    .filter(|&at| head[..at].trim_end().ends_with("**"))
    .min()
    .map(|at| marker_end(head, at));
    let small_print = ["*END*THE SMALL PRINT", "*END THE SMALL PRINT"]
        .iter()
        .filter_map(|words| find(head, words))
        .max()
        .map(|at| line_end(text, at));
    let below = marker.into_iter().chain(small_print).max();
    let header = below
        .or_else(|| unmarked_header(head))
        .map(|below| after_credits(text, below));
    let start = header.unwrap_or(0);
    let credit = one_line_credit(&text[start..floor(text, start + REACH)]);
    credit.map(|credit| start + credit).or(header)
}

/// The end of a marker that names the book between two runs of asterisks,
/// sometimes over two lines.
fn marker_end(head: &str, at: usize) -> usize {
    let line = line_end(head, at);
    let rest = &head[at..floor(head, at + 400)];
    let paragraph = rest.find("\n\n").unwrap_or(rest.len());
    match rest[..paragraph].find("***") {
        Some(stars) => {
            let after = at + stars;
            after + head[after..].bytes().take_while(|&b| b == b'*').count()
        }
        None => line,
    }
}

/// A header from before there were markers: the first paragraph names Project
/// Gutenberg and each one after it is of the header's fixed kinds.
fn unmarked_header(head: &str) -> Option<usize> {
    const FIELDS: &[&str] = &[
        "title:",
        "author:",
        "translator:",
        "illustrator:",
        "editor:",
        "release date:",
        "posting date:",
        "last updated:",
        "most recently updated:",
        "edition:",
        "language:",
        "character set encoding:",
        "this ebook is for the use of anyone anywhere",
        "this etext is for the use of anyone anywhere",
        "copyright laws are changing all over the world",
        "**welcome to the world of free plain vanilla",
        "**etexts readable by both humans and by computers",
        "*****these etexts",
        "*****these ebooks",
    ];
    let mut end = None;
    for (index, paragraph) in paragraphs(head, 0).enumerate() {
        let words = head[paragraph.clone()].trim().to_lowercase();
        let of_the_header = if index == 0 {
            words.len() < 400 && words.contains("project gutenberg") && words.contains('\'')
                || words.starts_with("the project gutenberg e")
        } else {
            FIELDS.iter().any(|field| words.starts_with(field))
        };
        // Without line breaks the header and the book are one paragraph.
        if !of_the_header || words.len() > 1500 {
            break;
        }
        // One paragraph alone could be a book about the project.
        if index > 0 {
            end = Some(paragraph.end);
        }
    }
    end
}

/// The credit of a header whose marker and line breaks are gone, if it says
/// where it ends.
fn one_line_credit(head: &str) -> Option<usize> {
    let indent = head.len() - head.trim_start().len();
    let lead = &head[..floor(head, indent + 600)];
    if !is_credit(lead.trim_start()) {
        return None;
    }
    let team = find(lead, "Distributed Proofreading Team")
        .or_else(|| find(lead, "Distributed Proofreaders"))?;
    let words = &lead[team..];
    let mut end = team + words.find("Proofread")? + "Proofread".len();
    end += lead[end..].find(|c: char| !c.is_alphabetic())?;
    if lead[end..].starts_with(" Team") {
        end += " Team".len();
    }
    let rest = &lead[end..];
    if let Some(address) = rest.strip_prefix(" at http") {
        let length = address.find(char::is_whitespace)?;
        end += " at http".len() + length;
    }
    let rest = &lead[end..];
    let gap = rest.len() - rest.trim_start().len();
    if rest.trim_start().starts_with("(This file was produced") {
        end += gap + rest.trim_start().find(')')? + 1;
    }
    Some(end)
}

/// Past the paragraphs below the header that say who made the file.
fn after_credits(text: &str, from: usize) -> usize {
    let mut end = from;
    for paragraph in paragraphs(text, from) {
        let words = text[paragraph.clone()].trim();
        if !is_credit(words) || words.len() > 600 {
            break;
        }
        end = paragraph.end;
    }
    end
}

fn is_credit(words: &str) -> bool {
    const CREDITS: &[&str] = &[
        "produced by ",
        "e-text prepared by ",
        "etext prepared by ",
        "this etext was prepared by ",
        "this etext was produced by ",
        "this ebook was prepared by ",
        "this ebook was produced by ",
        "credits: ",
        "scanned by ",
        "transcribed from the ",
    ];
    let lead = words[..floor(words, 40)].to_lowercase();
    CREDITS.iter().any(|credit| lead.starts_with(credit))
}

/// Where Project Gutenberg's footer begins: at the line that says the book
/// ends, or at the end marker.
fn gutenberg_end(text: &str, start: usize) -> Option<usize> {
    let from = ceil(text, text.len().saturating_sub(REACH)).max(start);
    let tail = &text[from..];
    let marker = [
        "END OF THE PROJECT GUTENBERG E",
        "END OF THIS PROJECT GUTENBERG E",
    ]
    .iter()
    .filter_map(|words| find(tail, words))
    .filter(|&at| tail[..at].trim_end().ends_with("**"))
    .min()
    .map(|at| tail[..at].trim_end().trim_end_matches('*').len());
    let upto = marker.unwrap_or(tail.len());
    let farewell = [
        "End of Project Gutenberg's ",
        "End of Project Gutenberg’s ",
        "End of the Project Gutenberg E",
        "End of this Project Gutenberg E",
        "End of Project Gutenberg E",
    ]
    .iter()
    .filter_map(|words| find(&tail[..upto], words))
    .filter(|&at| opens_a_line(tail, at) || is_last_words(&tail[at..upto]))
    .min();
    farewell.or(marker).map(|at| from + at)
}

fn opens_a_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    // A start of the tail in mid-line is no start of a line.
    line > 0 && text[line..at].trim().is_empty()
}

/// Whether nothing but the name of the book can follow.
fn is_last_words(text: &str) -> bool {
    text.trim_end().len() <= 240
}

/// Where the imprint of a Standard Ebooks edition ends.
fn imprint_end(text: &str) -> Option<usize> {
    let head = &text[..floor(text, REACH)];
    let imprint = find(
        head,
        "This ebook is the product of many hours of hard work by volunteers for",
    )?;
    let last = find(
        &head[imprint..],
        "Standard Ebooks is a volunteer-driven project that produces ebook editions",
    )?;
    let at = imprint + last;
    Some(line_end(text, at))
}

/// Where the colophon of a Standard Ebooks edition begins.
fn colophon_start(text: &str, start: usize) -> Option<usize> {
    let from = ceil(text, text.len().saturating_sub(REACH)).max(start);
    let tail = &text[from..];
    let colophon = find(tail, "This ebook was produced for")
        .filter(|&at| find(&tail[at..], "The volunteer-driven Standard Ebooks project").is_some())
        .and_then(|at| heading_above(&tail[..at], "Colophon"));
    let uncopyright = find(tail, "Copyright pages exist to tell you that you")
        .filter(|&at| find(&tail[at..], "Standard Ebooks").is_some())
        .and_then(|at| heading_above(&tail[..at], "Uncopyright"));
    colophon
        .into_iter()
        .chain(uncopyright)
        .min()
        .map(|at| from + at)
}

/// The start of the last line that holds that word alone, if it is near the
/// end of the text.
fn heading_above(text: &str, word: &str) -> Option<usize> {
    let mut end = text.len();
    for line in text.rsplit('\n').take(24) {
        let start = end - line.len();
        if line.trim_start_matches('#').trim() == word {
            return Some(start);
        }
        end = start.saturating_sub(1);
    }
    None
}

/// The paragraphs from a place on, each up to the next blank line.
fn paragraphs(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = from;
    std::iter::from_fn(move || {
        let start = at + (text[at..].len() - text[at..].trim_start().len());
        if start == text.len() {
            return None;
        }
        let mut end = start;
        for line in text[start..].split_inclusive('\n') {
            if line.trim().is_empty() {
                break;
            }
            end += line.len();
        }
        at = end;
        Some(start..end)
    })
}

/// The first place of some ASCII words, in capitals or not.
fn find(text: &str, words: &str) -> Option<usize> {
    text.as_bytes()
        .windows(words.len())
        .position(|window| window.eq_ignore_ascii_case(words.as_bytes()))
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |line| at + line + 1)
}

/// The character boundary at or before a byte offset.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// The character boundary at or after a byte offset.
fn ceil(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "It was a dark night.\n\nThe ferry was late.";

    fn body_of(text: &str) -> &str {
        text[body(text)].trim()
    }

    #[test]
    fn every_wording_of_the_gutenberg_markers_is_left_out() {
        for (start, end) in [
            (
                "*** START OF THE PROJECT GUTENBERG EBOOK THE FERRY ***",
                "*** END OF THE PROJECT GUTENBERG EBOOK THE FERRY ***",
            ),
            (
                "***START OF THIS PROJECT GUTENBERG EBOOK THE\nFERRY***\n\n\nProduced by A. Volunteer",
                "***END OF THIS PROJECT GUTENBERG EBOOK THE FERRY***",
            ),
            (
                "*** START OF THIS PROJECT GUTENBERG EBOOK FERRY ***\n\nE-text prepared by B. Typist\n\n",
                "End of Project Gutenberg's The Ferry, by Nobody\n\n*** END OF THIS PROJECT GUTENBERG EBOOK FERRY ***",
            ),
            (
                "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
                "End of the Project Gutenberg EBook of The Ferry",
            ),
            (
                "Project Gutenberg's The Ferry, by Nobody\n\nThis eBook is for the use of anyone anywhere at no cost\n\nTitle: The Ferry\n\nLanguage: English\n\nProduced by A. Volunteer",
                "End of this Project Gutenberg Etext of The Ferry",
            ),
        ] {
            let text = format!("{start}\n\n{STORY}\n\n{end}\n\nLicence follows.\n");
            assert_eq!(body_of(&text), STORY, "{text}");
        }
    }

    #[test]
    fn a_farewell_at_the_end_of_a_one_line_text_is_left_out() {
        let text = format!(
            " Produced by C. Curnow and the Online Distributed Proofreading Team at http://www.pgdp.net (This file was produced from images) {} End of Project Gutenberg's The Ferry, by Nobody \u{a0}",
            STORY.replace('\n', " ")
        );
        assert_eq!(body_of(&text), STORY.replace('\n', " "));
    }

    #[test]
    fn an_imprint_and_a_colophon_are_left_out() {
        let text = format!(
            "# The Ferry\n\n## Imprint\n\nThis ebook is the product of many hours of hard work by volunteers for Standard Ebooks.\n\nStandard Ebooks is a volunteer-driven project that produces ebook editions of books.\n\n{STORY}\n\n## Colophon\n\nThe Ferry\nwas published.\n\nThis ebook was produced for\nStandard Ebooks\n\nThe volunteer-driven Standard Ebooks project relies on readers.\n\n## Uncopyright\n\nCopyright pages exist to tell you that you can’t. Standard Ebooks.\n"
        );
        assert_eq!(body_of(&text), STORY);
    }

    #[test]
    fn an_ordinary_book_keeps_every_byte() {
        for text in [
            "",
            "Project Gutenberg was founded in 1971.\n\nIt is a library.",
            "Produced by the sea, the fog came in.\n\nColophon\n\nSet in Garamond.",
            "He read: START OF THE PROJECT GUTENBERG EBOOK.\n\nThen he slept.",
            "The End of Project Gutenberg's first year came. He went on to found a press, and then another press, and after that a third and last one, of which we shall hear more in the second volume of this history, where the reader will find the whole story told.",
        ] {
            assert_eq!(body(text), 0..text.len(), "{text}");
        }
    }
}
