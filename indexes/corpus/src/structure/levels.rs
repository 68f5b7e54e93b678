//! Which headings stand above which.

use std::collections::BTreeSet;

use super::chapters::Opening;
use super::heading::Kind;

/// The depth of each heading, 1 for the outermost, where the table of contents
/// lists so many titles.
pub(super) fn levels(openings: &[Opening], listed: usize) -> Vec<u8> {
    const CHAPTER: u32 = 100;
    let count = |kind: Kind| openings.iter().filter(|o| o.heading.kind == kind).count();
    // Which of part, book and volume encloses which differs from book to book;
    // the one that opens it is the outer.
    let mut enclosing: Vec<Kind> = Vec::new();
    for opening in openings {
        let kind = opening.heading.kind;
        if kind.encloses() && !enclosing.contains(&kind) {
            enclosing.push(kind);
        }
    }
    let restarts = enclosing.iter().any(|&kind| {
        let firsts = openings
            .iter()
            .filter(|o| o.heading.kind == kind && o.heading.number == Some(1));
        firsts.count() > 1
    });
    // Stories that the contents list and that have parts of their own.
    let stories_enclose = restarts && listed > 1 && count(Kind::Listed) > 1;
    let has_chapters = openings.iter().any(|o| {
        matches!(
            o.heading.kind,
            Kind::Chapter | Kind::Letter | Kind::Stave | Kind::Canto | Kind::Listed | Kind::Marked
        )
    });
    // One heading of the first depth, or two, are the book's own title.
    let first_depth = openings.iter().filter(|o| o.heading.marks == 1).count();

    let rank = |opening: &Opening| -> u32 {
        let heading = &opening.heading;
        let depth = u32::from(heading.marks.saturating_sub(2));
        match heading.kind {
            Kind::Marked if heading.marks == 1 && first_depth <= 2 => 0,
            Kind::Listed if stories_enclose => 1,
            kind if kind.encloses() => {
                let order = enclosing.iter().position(|&known| known == kind);
                10 + order.unwrap_or(0) as u32
            }
            Kind::Section | Kind::Scene => CHAPTER + 20,
            Kind::Numeral if heading.marks == 0 && has_chapters => CHAPTER + 30,
            _ => CHAPTER + depth,
        }
    };
    let ranks: BTreeSet<u32> = openings.iter().map(rank).collect();
    openings
        .iter()
        .map(|opening| {
            let rank = rank(opening);
            ranks.iter().take_while(|&&other| other <= rank).count() as u8
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::heading;
    use super::*;

    fn levels_of(lines: &[&str]) -> Vec<u8> {
        let openings: Vec<Opening> = lines
            .iter()
            .map(|line| Opening {
                span: 0..0,
                heading: heading::read(line).expect("a heading"),
                title: (*line).to_owned(),
            })
            .collect();
        levels(&openings, 0)
    }

    #[test]
    fn whichever_of_part_and_book_comes_first_is_the_outer() {
        assert_eq!(
            levels_of(&["PART I", "BOOK I", "CHAPTER I", "BOOK II"]),
            [1, 2, 3, 2]
        );
        assert_eq!(levels_of(&["BOOK I", "PART I", "CHAPTER I"]), [1, 2, 3]);
    }

    #[test]
    fn numbers_alone_stand_below_chapters_or_in_their_place() {
        assert_eq!(levels_of(&["CHAPTER I", "I", "II"]), [1, 2, 2]);
        assert_eq!(levels_of(&["PREFACE", "I", "II"]), [1, 1, 1]);
        assert_eq!(levels_of(&["ACT I", "SCENE I", "SCENE II"]), [1, 2, 2]);
    }
}
