//! The laws of cutting, on made-up texts.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::sentences::sentence_ends;

/// Counts a word a token, and a Chinese character a token.
struct Words;

impl TokenSplitter for Words {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError> {
        let mut ends = Vec::new();
        let mut open = false;
        for (at, c) in text.char_indices() {
            let alone = !c.is_ascii() && !c.is_whitespace();
            if open && (alone || c.is_whitespace()) {
                ends.push(at);
            }
            open = !alone && !c.is_whitespace();
            if alone {
                ends.push(at + c.len_utf8());
            }
        }
        if open {
            ends.push(text.len());
        }
        Ok(ends)
    }
}

/// Takes three characters a token, sentence ends and all, from wherever the
/// text starts, and adds a token when the text starts with a vowel: counts of
/// parts neither add up nor bound each other.
struct Nasty;

impl TokenSplitter for Nasty {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError> {
        let inked: Vec<usize> = text
            .char_indices()
            .filter(|(_, c)| !c.is_whitespace())
            .map(|(at, c)| at + c.len_utf8())
            .collect();
        let mut ends: Vec<usize> = inked
            .chunks(3)
            .filter_map(|token| token.last().copied())
            .collect();
        if text.starts_with(['a', 'e', 'i', 'o', 'u', '一', '他']) {
            ends.insert(0, inked[0]);
        }
        Ok(ends)
    }
}

/// Counts what it is asked for.
struct Counting<'s> {
    splitter: &'s dyn TokenSplitter,
    bytes: AtomicUsize,
    longest: AtomicUsize,
}

impl<'s> Counting<'s> {
    fn new(splitter: &'s dyn TokenSplitter) -> Self {
        Self {
            splitter,
            bytes: AtomicUsize::new(0),
            longest: AtomicUsize::new(0),
        }
    }

    fn passes_over(&self, text: &str) -> f64 {
        self.bytes.load(Ordering::Relaxed) as f64 / text.len() as f64
    }
}

impl TokenSplitter for Counting<'_> {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError> {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        self.longest.fetch_max(text.len(), Ordering::Relaxed);
        self.splitter.token_ends(text)
    }
}

fn policy(max_tokens: usize) -> CutPolicy {
    CutPolicy {
        max_tokens,
        ..CutPolicy::default()
    }
}

fn passages_of<'t>(text: &'t str, max_tokens: usize, splitter: &dyn TokenSplitter) -> Vec<&'t str> {
    cut(text, &policy(max_tokens), splitter)
        .expect("these splitters do not fail")
        .chunks
        .into_iter()
        .map(|chunk| &text[chunk.span])
        .collect()
}

/// Checks every law that holds for any text.
fn assert_laws(text: &str, max_tokens: usize, splitter: &dyn TokenSplitter) -> Passages {
    let passages = cut(text, &policy(max_tokens), splitter).expect("these splitters do not fail");
    let body = passages.body.clone();
    if text[body.clone()].trim().is_empty() {
        assert_eq!(passages.chunks, []);
        return passages;
    }
    let characters: HashSet<usize> = text
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let mut at = body.start;
    for chunk in &passages.chunks {
        assert_eq!(chunk.span.start, at, "a gap or an overlap");
        at = chunk.span.end;
        let piece = &text[chunk.span.clone()];
        assert!(!piece.trim().is_empty(), "white space alone");
        assert!(characters.contains(&chunk.span.end), "inside a character");
        let rest = &text[chunk.span.end..body.end];
        let next = rest.graphemes(true).next().unwrap_or("x");
        assert!(!next.trim().is_empty(), "white space starts a passage");
        let tokens = splitter
            .token_ends(piece)
            .expect("these splitters do not fail")
            .len();
        assert_eq!(chunk.tokens as usize, tokens, "a wrong count");
        let one_character = piece.trim().graphemes(true).count() == 1;
        assert!(
            tokens <= max_tokens || one_character,
            "{tokens} tokens: {piece:?}"
        );
    }
    assert_eq!(at, body.end, "the body's end is left out");

    // No sentence that fits is parted.
    let style = LineStyle::of(&text[body.clone()]);
    let edges: Vec<usize> = passages.chunks.iter().map(|chunk| chunk.span.end).collect();
    for section in structure(text).sections {
        let mut start = section.span.start;
        for end in sentence_ends(&text[section.span.clone()], style) {
            let end = section.span.start + end.at;
            let parted = edges.iter().any(|edge| (start + 1..end).contains(edge));
            let tokens = splitter
                .token_ends(&text[start..end])
                .expect("these do not fail")
                .len();
            assert!(
                !parted || tokens > max_tokens,
                "parted: {:?}",
                &text[start..end]
            );
            start = end;
        }
    }
    passages
}

#[test]
fn a_text_of_nothing_has_no_passages() {
    assert_eq!(passages_of("", 8, &Words), Vec::<&str>::new());
    assert_eq!(
        passages_of(" \n\n\u{3000}\t", 8, &Words),
        Vec::<&str>::new()
    );
}

#[test]
fn a_flag_and_half_a_flag_are_two_characters() {
    let texts = passages_of("🇦🇦🇦", 1, &Words);
    assert_eq!(texts, ["🇦🇦", "🇦"]);
    assert_laws("🇦🇦🇦", 1, &Nasty);
}

#[test]
fn one_word_is_one_passage() {
    assert_eq!(passages_of("\n word \n", 1, &Words), ["\n word \n"]);
}

#[test]
fn no_budget_is_refused() {
    let error = cut("word", &policy(0), &Words).expect_err("nothing fits");
    assert!(matches!(error, CutError::NoBudget));
}

#[test]
fn passages_are_filled_with_whole_sentences() {
    let text = "One two three. Four five six. Seven eight nine. Ten eleven. Twelve.";
    assert_eq!(
        passages_of(text, 8, &Words),
        [
            "One two three. Four five six. ",
            "Seven eight nine. Ten eleven. Twelve."
        ]
    );
}

#[test]
fn a_paragraph_end_is_preferred_where_one_is_near_the_budget() {
    let sentence = "One two three four. ";
    let text = format!("{}\n\n{}", sentence.repeat(4).trim(), sentence.repeat(12));
    let passages = passages_of(&text, 20, &Words);
    assert_eq!(passages[0].trim_end(), sentence.repeat(4).trim());
}

#[test]
fn the_last_passages_are_even() {
    let text = "One two three four. ".repeat(6);
    let tokens: Vec<usize> = passages_of(&text, 20, &Words)
        .iter()
        .map(|passage| passage.split_whitespace().count())
        .collect();
    assert_eq!(tokens, [12, 12]);
}

#[test]
fn a_passage_stays_in_its_chapter() {
    let text =
        "CHAPTER I\n\nHe came.\n\nCHAPTER II\n\nHe saw.\n\nPART II\n\nCHAPTER III\n\nHe left.\n";
    let passages = assert_laws(text, 100, &Words);
    let seen: Vec<_> = passages
        .chunks
        .iter()
        .map(|chunk| (text[chunk.span.clone()].trim_end(), chunk.chapter))
        .collect();
    assert_eq!(
        seen,
        [
            ("CHAPTER I\n\nHe came.", Some(0)),
            ("CHAPTER II\n\nHe saw.", Some(1)),
            ("PART II\n\nCHAPTER III\n\nHe left.", Some(3)),
        ]
    );
}

#[test]
fn a_long_sentence_is_parted_at_clauses_then_words() {
    assert_eq!(
        passages_of("One two three, four five six, seven eight nine.", 7, &Words),
        ["One two three, four five six, ", "seven eight nine."]
    );
    assert_eq!(
        passages_of("one two three four five six", 4, &Words),
        ["one two three ", "four five six"]
    );
    assert_eq!(
        passages_of("他走过了一座很长的桥", 4, &Words).concat(),
        "他走过了一座很长的桥"
    );
}

#[test]
fn boilerplate_is_cut_only_when_asked_for() {
    let text = "Header\n\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nHe came.\n\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\nLicence\n";
    assert_eq!(passages_of(text, 100, &Words).concat().trim(), "He came.");
    let keep = CutPolicy {
        keep_boilerplate: true,
        ..policy(100)
    };
    let passages = cut(text, &keep, &Words).expect("these splitters do not fail");
    assert_eq!(passages.body, 0..text.len());
    let all: String = passages
        .chunks
        .iter()
        .map(|chunk| &text[chunk.span.clone()])
        .collect();
    assert_eq!(all, text);
}

#[test]
fn a_failing_splitter_is_reported_with_its_cause() {
    struct Failing;
    impl TokenSplitter for Failing {
        fn token_ends(&self, _: &str) -> Result<Vec<usize>, SplitterError> {
            Err("out of ink".into())
        }
    }
    struct Lying;
    impl TokenSplitter for Lying {
        fn token_ends(&self, text: &str) -> Result<Vec<usize>, SplitterError> {
            Ok(vec![text.len() + 1])
        }
    }
    let error = cut("word", &policy(8), &Failing).expect_err("it fails");
    assert_eq!(
        error.to_string(),
        "cannot count the tokens of bytes 0..4 of the text"
    );
    let cause = std::error::Error::source(&error).expect("a cause");
    assert_eq!(cause.to_string(), "out of ink");
    let error = cut("word", &policy(8), &Lying).expect_err("it lies");
    assert!(matches!(error, CutError::Offsets { start: 0, end: 4 }));
}

/// A book of about that many bytes, by a fixed rule: sentences of 4 to 23
/// pieces.
fn book(piece: &[&str], comma: &str, end: &str, bytes: usize) -> String {
    let mut text = String::new();
    let mut state = 1u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    while text.len() < bytes {
        for _ in 0..4 + next(20) {
            text.push_str(piece[next(piece.len() as u32) as usize]);
            if next(7) == 0 {
                text.push_str(comma);
            }
        }
        text.push_str(end);
    }
    text
}

fn english_book(bytes: usize) -> String {
    let words = [
        "He ",
        "went ",
        "over ",
        "the ",
        "water ",
        "and ",
        "nevertheless ",
        "saw ",
        "it ",
    ];
    book(&words, ", ", ". The end. ", bytes)
}

fn chinese_book(bytes: usize) -> String {
    book(
        &["他", "走过", "那", "座", "很长的", "桥", "天黑"],
        "，",
        "。",
        bytes,
    )
}

#[test]
fn a_book_of_three_megabytes_on_one_line_is_cut_in_one_and_a_half_passes() {
    for text in [english_book(3_000_000), chinese_book(3_000_000)] {
        assert!(!text.contains('\n'));
        let counting = Counting::new(&Words);
        let passages = cut(&text, &policy(256), &counting).expect("these splitters do not fail");
        let passes = counting.passes_over(&text);
        assert!(passes < 1.5, "{passes} passes");
        assert!(counting.longest.into_inner() <= 64 * 1024);
        let tokens: u32 = passages.chunks.iter().map(|chunk| chunk.tokens).sum();
        let mean = f64::from(tokens) / passages.chunks.len() as f64;
        assert!(mean > 0.85 * 256.0, "passages of {mean} tokens on average");
        let whole = |chunk: &Chunk| text[chunk.span.clone()].trim_end().ends_with(['.', '。']);
        assert!(passages.chunks.iter().all(whole));
    }
}

#[test]
fn a_text_without_sentence_ends_is_cut_between_words() {
    let words = "word after word ".repeat(60_000);
    let han = "没有句号的文字".repeat(20_000);
    for (text, inside_a_word) in [(&words, true), (&han, false)] {
        let passages = cut(text, &policy(256), &Words).expect("these splitters do not fail");
        for chunk in &passages.chunks {
            assert!(chunk.tokens <= 256);
            assert!(!inside_a_word || text[chunk.span.clone()].ends_with(' '));
        }
        let fill = passages
            .chunks
            .iter()
            .filter(|chunk| chunk.tokens > 200)
            .count();
        assert!(fill * 10 > passages.chunks.len() * 9);
    }
}

#[test]
fn an_endless_word_is_cut_between_characters_in_bounded_pieces() {
    let text = "e\u{301}".repeat(300_000);
    let counting = Counting::new(&Nasty);
    let passages = cut(&text, &policy(64), &counting).expect("these splitters do not fail");
    assert!(counting.longest.into_inner() <= 64 * 1024);
    for chunk in &passages.chunks {
        assert!(chunk.tokens <= 64);
        assert!(text[chunk.span.clone()].starts_with('e'));
    }
}

#[test]
fn the_laws_hold_on_whole_books() {
    let chapters: String = (1..12)
        .map(|n| format!("CHAPTER {n}\n\n{}\n\n", english_book(9_000)))
        .collect();
    for text in [chapters, english_book(40_000), chinese_book(40_000)] {
        for max_tokens in [1, 5, 64, 256] {
            assert_laws(&text, max_tokens, &Words);
            assert_laws(&text, max_tokens, &Nasty);
        }
    }
}

fn with_threads(threads: usize, text: &str) -> Passages {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool of threads")
        .install(|| cut(text, &policy(40), &Nasty))
        .expect("these splitters do not fail")
}

#[test]
fn threads_change_nothing() {
    let text = english_book(400_000);
    let one = with_threads(1, &text);
    assert_eq!(one, with_threads(4, &text));
    assert_eq!(one, with_threads(4, &text));
}

/// Texts that look like books in places and like nothing in others.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z]{1,12}",
        "[他走了一座很长的桥天黑]{1,9}",
        Just(" ".to_owned()),
        "[.!?,;:。，！？…]{1,2}",
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\n\nCHAPTER II\n\n".to_owned()),
        Just("\n\n第三章 桥\n\n".to_owned()),
        Just("\n\nI\n\n".to_owned()),
        Just("“Mr. Smith!”".to_owned()),
        "\\PC{1,3}",
        "[\u{301}\u{200d}\u{1f1e6}\u{1f468}\u{600}\u{94d}\u{915}\u{1100}\u{1161}\u{a0}\u{3000}]{1,4}",
    ];
    proptest::collection::vec(part, 0..120).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_laws_hold_on_any_text(text in texts(), max_tokens in 1usize..40) {
        let first = assert_laws(&text, max_tokens, &Words);
        prop_assert_eq!(&first, &assert_laws(&text, max_tokens, &Words));
        assert_laws(&text, max_tokens, &Nasty);
    }

    #[test]
    fn no_word_is_parted_that_fits(text in "([a-z]{1,9}( |, |\\. |\n)){1,80}", max_tokens in 4usize..20) {
        // At most nine letters and a mark: four tokens of the nasty splitter.
        for splitter in [&Words as &dyn TokenSplitter, &Nasty] {
            for chunk in assert_laws(&text, max_tokens + 1, splitter).chunks {
                let before = text[..chunk.span.end].chars().next_back();
                let after = text[chunk.span.end..].chars().next();
                let inside = before.is_some_and(char::is_alphanumeric)
                    && after.is_some_and(char::is_alphanumeric);
                prop_assert!(!inside);
            }
        }
    }
}
