//! What one line says if it is a heading, in English, French and Chinese.

use super::numerals::{self, is_chinese_digit};

/// What a heading opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Volume,
    Book,
    Part,
    Act,
    Chapter,
    Letter,
    Stave,
    Canto,
    /// A preface, an epilogue and the like, by its usual name.
    Named,
    /// A title that the book's own table of contents lists.
    Listed,
    /// A line marked as a heading and nothing else known about it.
    Marked,
    Section,
    Scene,
    /// A number alone.
    Numeral,
}

impl Kind {
    /// Whether headings of this kind stand above those of chapters.
    pub fn encloses(self) -> bool {
        matches!(self, Self::Volume | Self::Book | Self::Part | Self::Act)
    }
}

/// A line read as a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub kind: Kind,
    pub number: Option<u32>,
    /// The line without marks of emphasis or heading.
    pub label: String,
    /// Whether the line carries a title besides its keyword and number.
    pub titled: bool,
    /// Depth given by heading marks (`##` is 2), 0 without marks.
    pub marks: u8,
    /// Could be a coincidence: counts only as part of an ascending series.
    pub weak: bool,
}

const KEYWORDS: &[(&str, Kind)] = &[
    ("chapter", Kind::Chapter),
    ("chap", Kind::Chapter),
    ("chapitre", Kind::Chapter),
    ("adventure", Kind::Chapter),
    ("volume", Kind::Volume),
    ("vol", Kind::Volume),
    ("tome", Kind::Volume),
    ("book", Kind::Book),
    ("livre", Kind::Book),
    ("part", Kind::Part),
    ("partie", Kind::Part),
    ("act", Kind::Act),
    ("acte", Kind::Act),
    ("letter", Kind::Letter),
    ("lettre", Kind::Letter),
    ("stave", Kind::Stave),
    ("canto", Kind::Canto),
    ("elegy", Kind::Canto),
    ("section", Kind::Section),
    ("scene", Kind::Scene),
    ("scène", Kind::Scene),
];

const NAMES: &[&str] = &[
    "prologue",
    "epilogue",
    "épilogue",
    "preface",
    "préface",
    "foreword",
    "avant-propos",
    "introduction",
    "introductory",
    "conclusion",
    "afterword",
    "appendix",
    "postscript",
    "author's note",
    "author's preface",
    "author's introduction",
    "translator's preface",
    "translator's note",
    "notes",
    "footnotes",
    "endnotes",
    "transcriber's note",
    "transcriber's notes",
];

const CHINESE_NAMES: &[&str] = &[
    "楔子", "引子", "引言", "序", "序言", "序章", "序幕", "自序", "前言", "代序", "緒論", "绪论",
    "尾声", "尾聲", "终章", "終章", "后记", "後記", "跋", "附录", "附錄", "番外", "結語", "结语",
];

/// Reads a trimmed line as a heading. Whether it stands as one (alone, in its
/// series) is for the caller to see.
pub(super) fn read(line: &str) -> Option<Heading> {
    let hashes = line.bytes().take_while(|&b| b == b'#').count();
    let (marks, rest) = match line[hashes..].strip_prefix(' ') {
        Some(rest) if (1..=6).contains(&hashes) => (hashes as u8, rest),
        _ => (0, line),
    };
    let label = rest.trim().trim_matches(['*', '_', '=', '~']).trim();
    if !label.contains(char::is_alphanumeric) {
        return None;
    }
    let plain = |kind| Heading {
        kind,
        number: None,
        label: label.to_owned(),
        titled: false,
        marks,
        weak: false,
    };
    let heading = western(label, &plain)
        .or_else(|| chinese(label, &plain))
        .or_else(|| numeral(label, &plain));
    match heading {
        // A mark says what the number alone leaves open.
        Some(heading) if marks > 0 => Some(Heading {
            weak: false,
            ..heading
        }),
        None if marks > 0 && !names_the_author(label) => Some(plain(Kind::Marked)),
        heading => heading,
    }
}

/// `by H. G. Wells`, below the title of a book.
fn names_the_author(label: &str) -> bool {
    let by = label
        .get(..3)
        .is_some_and(|by| by.eq_ignore_ascii_case("by "));
    by && label.len() < 60
}

fn western(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    if !label.starts_with(char::is_uppercase) {
        return None;
    }
    named(label, plain)
        .or_else(|| keyword_first(label, plain))
        .or_else(|| number_first(label, plain))
}

/// `PROLOGUE`, `Preface.`, `EPILOGUE: After the Storm`, `APPENDIX B`.
fn named(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    let lower = label.to_lowercase().replace('’', "'");
    let name = NAMES
        .iter()
        .filter(|name| lower.starts_with(**name))
        .max_by_key(|name| name.len())?;
    let rest = lower[name.len()..].trim_end_matches(['.', ':', ']']);
    let titled = rest.starts_with([':', '—', '–']) && rest.len() <= 80;
    let lettered = *name == "appendix"
        && rest.starts_with(' ')
        && rest.trim().chars().all(|c| c.is_ascii_alphanumeric())
        && rest.len() <= 6;
    (rest.is_empty() || titled || lettered).then(|| plain(Kind::Named))
}

/// `CHAPTER I.`, `Chapter 12: Title`, `BOOK THE FIRST`, `CHAPITRE PREMIER`.
fn keyword_first(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    let word = label.split(|c: char| !c.is_alphabetic()).next()?;
    let kind = keyword(word)?;
    let rest = label[word.len()..].trim_start_matches(['.', ' ', '\u{a0}']);
    let (number, length) = numerals::leading(rest)?;
    let title = &rest[length..];
    let separated = title
        .trim_start()
        .starts_with(['.', ':', '—', '–', '-', ')', ']', ',', '|']);
    let title = title.trim_matches(|c: char| !c.is_alphanumeric() && !"\"“'‘!?".contains(c));
    // "Chapter 3 of his life" goes on in small letters: it is a sentence.
    let reads_on = !separated && !title.is_empty() && !starts_like_a_title(title);
    (!reads_on).then(|| Heading {
        number: Some(number),
        titled: !title.is_empty(),
        ..plain(kind)
    })
}

/// `PREMIÈRE PARTIE`, `Second Book`.
fn number_first(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    let (ordinal, noun) = label.trim_end_matches(['.', ':']).split_once(' ')?;
    let kind = keyword(noun)?;
    let (number, length) = numerals::leading(ordinal)?;
    let spelled = length == ordinal.len() && ordinal.chars().count() > 3;
    (spelled && numerals::roman(ordinal).is_none()).then(|| Heading {
        number: Some(number),
        ..plain(kind)
    })
}

/// The kind a keyword names when written as headings write it: in capitals,
/// or with one.
fn keyword(word: &str) -> Option<Kind> {
    let lower = word.to_lowercase();
    let capitals = word.to_uppercase() == word;
    let tail_is_lower = word.chars().skip(1).all(char::is_lowercase);
    let kind = KEYWORDS
        .iter()
        .find_map(|&(name, kind)| (name == lower).then_some(kind))?;
    (word.starts_with(char::is_uppercase) && (capitals || tail_is_lower)).then_some(kind)
}

fn starts_like_a_title(title: &str) -> bool {
    title
        .trim_start_matches(['"', '“', '\'', '‘'])
        .starts_with(|c: char| {
            c.is_uppercase() || c.is_numeric() || !c.is_ascii() && !c.is_lowercase()
        })
}

/// `XIV`, `IV.`, `II. The Pied Piper`, `十二`: part of a series or nothing.
fn numeral(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    let weak = |number, titled| Heading {
        number: Some(number),
        titled,
        weak: true,
        ..plain(Kind::Numeral)
    };
    let bare = label.trim_matches(['.', '-', '—', '–', ' ', '、', '[', ']', '(', ')']);
    if let Some(number) = numerals::roman(bare) {
        return Some(weak(number, false));
    }
    if bare.chars().all(|c| is_chinese_digit(c) && !c.is_ascii()) {
        return Some(weak(numerals::chinese(bare)?, false));
    }
    let (numeral, title) = label.split_once('.')?;
    let number = numerals::roman(numeral)?;
    let title = title.trim();
    (starts_like_a_title(title) && is_title_case(title)).then(|| weak(number, true))
}

/// `第一章 标题`, `第十二回　…`, `卷一`, `楔子　…`.
fn chinese(label: &str, plain: &dyn Fn(Kind) -> Heading) -> Option<Heading> {
    let label = label
        .strip_prefix("正文")
        .map_or(label, |rest| rest.trim_start());
    let named = CHINESE_NAMES
        .iter()
        .filter_map(|name| label.strip_prefix(name))
        .min_by_key(|rest| rest.len());
    if let Some(rest) = named {
        let titled = !rest.trim().is_empty();
        return (separates(rest) && is_chinese_title(rest)).then(|| Heading {
            titled,
            ..plain(Kind::Named)
        });
    }
    let (number, kind, rest) = numbered(label)?;
    (is_chinese_title(rest)).then(|| Heading {
        number: Some(number),
        titled: !rest.trim().is_empty(),
        weak: !separates(rest),
        ..plain(kind)
    })
}

/// The number and kind of `第…章` and `卷…` at the start of a text, and what
/// follows.
pub(super) fn numbered(text: &str) -> Option<(u32, Kind, &str)> {
    let digits_of = |text: &str| -> usize {
        text.char_indices()
            .find(|&(_, c)| !is_chinese_digit(c))
            .map_or(text.len(), |(at, _)| at)
    };
    if let Some(rest) = text.strip_prefix('第') {
        let rest = rest.trim_start_matches([' ', '\u{3000}']);
        let (digits, rest) = rest.split_at(digits_of(rest));
        let number = numerals::chinese(digits)?;
        let rest = rest.trim_start_matches([' ', '\u{3000}']);
        let unit = rest.chars().next()?;
        let kind = match unit {
            '章' | '回' | '话' | '話' | '講' | '讲' | '折' | '齣' => Kind::Chapter,
            '节' | '節' => Kind::Section,
            '卷' | '集' => Kind::Volume,
            '部' => Kind::Book,
            '篇' | '編' | '编' => Kind::Part,
            '幕' => Kind::Act,
            _ => return None,
        };
        let rest = &rest[unit.len_utf8()..];
        let rest = rest.strip_prefix('分').map_or(rest, |_| rest);
        return Some((number, kind, rest));
    }
    let rest = text.strip_prefix('卷')?;
    let rest = rest.strip_prefix('之').unwrap_or(rest);
    let (digits, rest) = rest.split_at(digits_of(rest));
    let number = numerals::chinese(digits).or_else(|| {
        ["上", "中", "下"]
            .iter()
            .position(|part| rest == *part)
            .map(|at| at as u32 + 1)
    })?;
    let rest = if digits.is_empty() { "" } else { rest };
    separates(rest).then_some((number, Kind::Volume, rest))
}

/// Whether what follows a heading's number is set apart from it.
fn separates(rest: &str) -> bool {
    rest.is_empty()
        || rest.starts_with(|c: char| c.is_whitespace() || "：:、．.·—-《〈【（(".contains(c))
}

/// Chinese titles are short and hold no sentence. A quoted word is common in
/// one, somebody's speech is not.
fn is_chinese_title(rest: &str) -> bool {
    const LONGEST: usize = 50;
    let title = rest.trim_end().trim_end_matches(['。', '.']);
    let is_short = title.chars().nth(LONGEST).is_none();
    let is_sentence = title.contains(['。', '；']) || rest.trim_end().ends_with(['，', '。']);
    let speaks = ["：“", "，“", "：「", "，「"]
        .iter()
        .any(|speech| title.contains(speech));
    let is_touching = !separates(rest) && title.contains(['，', '！', '？', '“', '「']);
    is_short && !is_sentence && !speaks && !is_touching
}

/// Whether a line is written as titles are: in capitals, or every longer word
/// with one.
pub(super) fn is_title_case(line: &str) -> bool {
    if !line.contains(char::is_lowercase) {
        // Scripts without capitals tell titles by what they lack.
        let speaks = line.contains(['。', '，', '、', '！', '？', '…', '「', '“', '；', '：']);
        let is_short = line.chars().nth(20).is_none();
        return line.contains(char::is_uppercase)
            || line.contains(char::is_alphabetic) && is_short && !speaks;
    }
    let starts_high = line
        .chars()
        .find(|c| c.is_alphabetic())
        .is_some_and(char::is_uppercase);
    let sentence = line.ends_with(['.', ',', ';', ':', '"', '”', '!', '?']);
    starts_high
        && !sentence
        && line
            .split_whitespace()
            .filter(|word| word.chars().count() > 4)
            .all(|word| {
                word.chars()
                    .find(|c| c.is_alphanumeric())
                    .is_none_or(|c| !c.is_lowercase())
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_and_number(line: &str) -> Option<(Kind, Option<u32>)> {
        read(line).map(|heading| (heading.kind, heading.number))
    }

    #[test]
    fn western_headings_are_read() {
        for (line, kind, number) in [
            ("CHAPTER I.", Kind::Chapter, Some(1)),
            ("Chapter 12: Title", Kind::Chapter, Some(12)),
            ("CHAPTER THE FIRST", Kind::Chapter, Some(1)),
            ("Chapter One", Kind::Chapter, Some(1)),
            ("Chapter Twenty-Two", Kind::Chapter, Some(22)),
            ("_CHAPTER IV._", Kind::Chapter, Some(4)),
            ("CHAP. IX.", Kind::Chapter, Some(9)),
            ("CHAPTER V THE SEA", Kind::Chapter, Some(5)),
            ("CHAPITRE PREMIER", Kind::Chapter, Some(1)),
            ("CHAPITRE LXVII", Kind::Chapter, Some(67)),
            ("PREMIÈRE PARTIE", Kind::Part, Some(1)),
            ("BOOK THE FIRST", Kind::Book, Some(1)),
            ("PART II", Kind::Part, Some(2)),
            ("VOLUME I", Kind::Volume, Some(1)),
            ("LETTER 4", Kind::Letter, Some(4)),
            ("STAVE ONE", Kind::Stave, Some(1)),
            ("ACT I", Kind::Act, Some(1)),
            ("SCENE II. A room", Kind::Scene, Some(2)),
            ("PROLOGUE", Kind::Named, None),
            ("ÉPILOGUE", Kind::Named, None),
            ("AUTHOR’S NOTE", Kind::Named, None),
            ("Appendix B", Kind::Named, None),
            ("XIV", Kind::Numeral, Some(14)),
            ("II. The Pied Piper", Kind::Numeral, Some(2)),
        ] {
            assert_eq!(kind_and_number(line), Some((kind, number)), "{line}");
        }
    }

    #[test]
    fn chinese_headings_are_read() {
        for (line, kind, number) in [
            ("第一章 标题", Kind::Chapter, Some(1)),
            ("第十二回　史大郎夜走华阴县", Kind::Chapter, Some(12)),
            ("第3节", Kind::Section, Some(3)),
            ("第１２章：风", Kind::Chapter, Some(12)),
            ("第壹章", Kind::Chapter, Some(1)),
            ("第一一三回 懺宿冤鳳姐托村嫗", Kind::Chapter, Some(113)),
            ("正文 第七章 雨", Kind::Chapter, Some(7)),
            ("卷一", Kind::Volume, Some(1)),
            ("卷之二", Kind::Volume, Some(2)),
            ("卷上", Kind::Volume, Some(1)),
            ("第二卷 江湖", Kind::Volume, Some(2)),
            ("楔子　张天师祈禳瘟疫", Kind::Named, None),
            ("序", Kind::Named, None),
            ("尾聲", Kind::Named, None),
            ("后记", Kind::Named, None),
            ("十二", Kind::Numeral, Some(12)),
        ] {
            assert_eq!(kind_and_number(line), Some((kind, number)), "{line}");
        }
    }

    #[test]
    fn sentences_are_not_read_as_headings() {
        for line in [
            "Chapter 3 of his life",
            "Part of the food was for their own lunch",
            "Letter after letter came.",
            "chapter 3",
            "Bookish people",
            "Introduction of the guests",
            "第一，我不去。",
            "第一回是民国元年我初到北京的时候。当时",
            "第一回见面，他说：“你好。”",
            "卷上珠帘总不如",
            "序幕拉开了",
            "Mix",
            "* * *",
            "I. he said",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
        assert!(read("第一回见面").is_some_and(|heading| heading.weak));
    }

    #[test]
    fn marks_make_any_line_a_heading_and_set_its_depth() {
        let heading = read("## The Ferry").expect("a marked line");
        assert_eq!((heading.kind, heading.marks), (Kind::Marked, 2));
        assert_eq!(heading.label, "The Ferry");
        let heading = read("# I").expect("a marked line");
        assert_eq!((heading.kind, heading.weak), (Kind::Numeral, false));
        assert_eq!(read("####### seven"), None);
        assert_eq!(read("#hashtag"), None);
    }

    #[test]
    fn titles_are_told_from_sentences() {
        for title in [
            "THE FERRY",
            "渡口的老人",
            "The Man of the Sea",
            "Mr. Sherlock Holmes",
            "I",
        ] {
            assert!(is_title_case(title), "{title}");
        }
        for sentence in [
            "他来了。",
            "寒い。手拭を",
            "He came.",
            "It is a truth universally",
            "Come Here!",
            "123",
        ] {
            assert!(!is_title_case(sentence), "{sentence}");
        }
    }
}
