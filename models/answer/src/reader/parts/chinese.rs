//! Parts of Chinese sentences, by characters: no dictionary is needed, since
//! where words end is seen from what stands around and how often two
//! characters come together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Kind, Lengths, Part};
use crate::reader::words::is_function_character;

/// Characters of a sentence that are read.
const MOST_CHARACTERS: usize = 400;
/// Characters of a part; more only from one mark to another.
const LONG: usize = 20;
const LONGEST: usize = 40;

/// Frequent family names of one character.
const FAMILY_NAMES: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高梁郑谢宋唐许韩冯邓曹彭曾肖田董袁潘蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤";
const DIGITS: &str = "0123456789〇零一二三四五六七八九十百千万亿两半";
const TIMES: &str = "年月日号时点世纪夜晨晚早期代";
/// Characters after which an answer often begins.
const LEADING: &str = "是在于为由和与及或被把从到对向以用将给让了的称叫做有";
const OPENING: &str = "《「『“\"‘";
const CLOSING: &str = "》」』”\"’";
const MARKS: &str = "，。！？；：、,.!?;:（）()《》「」『』“”\"‘’—…\n ";
const REASONS: [&str; 3] = ["因为", "由于", "为了"];

// What a part's features are worth, whatever is asked.

/// A mark stands before it, or after it.
const BEGINS_AT_A_MARK: f64 = 0.76;
const ENDS_AT_A_MARK: f64 = 1.8;
/// "Is", "at" or the like stands before it.
const IS_LED_TO: f64 = 1.93;
/// It repeats the question: who asks knows that already.
const REPEATS: f64 = -2.02;
/// It stands beside the question's characters.
const NEAR: f64 = 3.52;
/// A mark stands within it.
const PAUSES: f64 = -1.64;
/// An end of it parts characters that come together elsewhere.
const CUTS_A_WORD: f64 = -0.98;
/// An end of it parts a number or a foreign word.
const CUTS_A_NUMBER: f64 = -1.56;
const BEGINS_WITH_A_JOIN: f64 = -1.78;
const ENDS_WITH_A_JOIN: f64 = -0.61;

/// What it is worth that a part is of the kind that is asked for, and how long
/// it is.
const fn worth(kind: Kind) -> (f64, Lengths) {
    let (fits, log, squared) = match kind {
        Kind::Person => (7.08, 1.95, -0.22),
        Kind::Time => (6.80, 2.34, -1.09),
        Kind::Place => (5.83, 1.81, -0.05),
        Kind::Number => (6.05, 2.06, -1.57),
        Kind::Reason => (5.42, 1.78, 0.56),
        Kind::Manner => (5.23, 1.90, 0.82),
        Kind::Deed | Kind::Thing => (5.28, 1.85, 1.16),
    };
    (fits, Lengths { log, squared })
}

/// A sentence, read for one question.
struct Sentence {
    chars: Vec<char>,
    /// Where each character begins, and where the last ends.
    bytes: Vec<usize>,
    /// How many of the question's characters stand before each place.
    asked_before: Vec<usize>,
    /// Where they stand.
    asked: Vec<usize>,
    /// How firmly each place holds together what stands before and after it.
    bonds: Vec<f64>,
}

pub(super) fn parts(question: &str, sentence: &str, around: &str) -> Vec<Part> {
    let Some(kind) = kind(question) else {
        return Vec::new();
    };
    let sentence = Sentence::read(question, sentence, around);
    let mut parts = Vec::new();
    for first in 0..sentence.chars.len() {
        for end in first + 1..=sentence.chars.len().min(first + LONGEST) {
            parts.extend(sentence.part(kind, first..end));
        }
    }
    parts
}

impl Sentence {
    fn read(question: &str, sentence: &str, around: &str) -> Self {
        let read = sentence.char_indices().take(MOST_CHARACTERS);
        let (mut bytes, chars): (Vec<usize>, Vec<char>) = read.unzip();
        let end = chars.iter().map(|c| c.len_utf8()).sum();
        bytes.push(end);
        let questioned: BTreeSet<(char, char)> = pairs(question).collect();
        let mut is_asked = vec![false; chars.len()];
        for (at, pair) in chars.windows(2).enumerate() {
            let marks = is_mark(pair[0]) || is_mark(pair[1]);
            if !marks && questioned.contains(&(pair[0], pair[1])) {
                is_asked[at..at + 2].fill(true);
            }
        }
        let mut asked_before = vec![0];
        for is_asked in &is_asked {
            asked_before.push(asked_before[asked_before.len() - 1] + usize::from(*is_asked));
        }
        let mut together: BTreeMap<(char, char), usize> = chars
            .windows(2)
            .map(|pair| ((pair[0], pair[1]), 0))
            .collect();
        for pair in pairs(around) {
            if let Some(times) = together.get_mut(&pair) {
                *times += 1;
            }
        }
        let mut bonds = vec![0.0; chars.len() + 1];
        for (at, pair) in chars.windows(2).enumerate() {
            let elsewhere = together[&(pair[0], pair[1])].saturating_sub(1);
            bonds[at + 1] = (1.0 + elsewhere as f64).ln();
        }
        Self {
            asked: (0..chars.len()).filter(|&at| is_asked[at]).collect(),
            chars,
            bytes,
            asked_before,
            bonds,
        }
    }

    /// The part of those characters, if it can be one.
    fn part(&self, kind: Kind, at: Range<usize>) -> Option<Part> {
        let chars = &self.chars[at.clone()];
        let (first, last) = (chars[0], chars[chars.len() - 1]);
        let (opens, closes) = (self.at_a_mark(at.start), self.at_a_mark(at.end));
        let loose =
            is_mark(first) && !OPENING.contains(first) || is_mark(last) && !CLOSING.contains(last);
        let long = chars.len() > LONG && !(opens && closes);
        let dated = |place: usize| {
            let counts = |c: char| DIGITS.contains(c) || TIMES.contains(c);
            let chars = place
                .checked_sub(1)
                .and_then(|before| self.chars.get(before..=place));
            chars.is_some_and(|chars| chars.iter().all(|c| counts(*c)))
        };
        // A date is one thing, such as 二年八月.
        let cuts_a_date = kind == Kind::Time && (dated(at.start) || dated(at.end));
        // What goes on over a pause begins where a clause does, and a name in
        // quotation marks is one thing.
        let goes_on = chars.iter().any(|c| "，；,;".contains(*c));
        let straggles = goes_on && (!opens || OPENING.contains(first));
        let cuts_a_verb = self.before(at.start, "叫称") && "做作".contains(first);
        if loose
            || long
            || straggles
            || cuts_a_verb
            || cuts_a_date
            || !chars.iter().any(|c| c.is_alphanumeric())
        {
            return None;
        }
        let when = |is: bool, worth: f64| if is { worth } else { 0.0 };
        let asked = self.asked_before[at.end] - self.asked_before[at.start];
        let cut = when(!opens, self.bonds[at.start]) + when(!closes, self.bonds[at.end]);
        let (fits, lengths) = worth(kind);
        let score = fits * self.fits(kind, at.clone())
            + lengths.worth(chars.len())
            + when(opens, BEGINS_AT_A_MARK)
            + when(closes, ENDS_AT_A_MARK)
            + when(self.before(at.start, LEADING), IS_LED_TO)
            + REPEATS * asked as f64 / chars.len() as f64
            + NEAR * self.nearness(at.clone())
            + when(chars.iter().any(|c| is_mark(*c)), PAUSES)
            + CUTS_A_WORD * cut
            + CUTS_A_NUMBER * self.cut_runs(at.clone())
            + when(is_function_character(first), BEGINS_WITH_A_JOIN)
            + when(is_function_character(last), ENDS_WITH_A_JOIN);
        Some(Part {
            bytes: self.bytes[at.start]..self.bytes[at.end],
            score,
        })
    }

    /// How far a part is of the kind that is asked for, from 0 to 1.
    fn fits(&self, kind: Kind, at: Range<usize>) -> f64 {
        let chars = &self.chars[at.clone()];
        let has = |set: &str| chars.iter().any(|c| set.contains(*c));
        let yes = |is: bool| f64::from(u8::from(is));
        let word = |start: usize, words: &[&str]| {
            let word: Option<String> = self.chars.get(start..start + 2).map(|w| w.iter().collect());
            word.is_some_and(|word| words.contains(&word.as_str()))
        };
        let either = |words: &[&str]| {
            let before = at.start.checked_sub(2);
            word(at.start, words) || before.is_some_and(|before| word(before, words))
        };
        match kind {
            Kind::Person => {
                let named = FAMILY_NAMES.contains(chars[0]) && (2..=4).contains(&chars.len());
                0.7 * yes(named) + 0.3 * yes(chars.contains(&'·'))
            }
            Kind::Time => 0.5 * yes(has(DIGITS)) + 0.5 * yes(has(TIMES)),
            Kind::Number => yes(has(DIGITS)),
            Kind::Place => yes(self.before(at.start, "在于到往")),
            Kind::Reason => yes(either(&REASONS)),
            Kind::Manner => yes(self.before(at.start, "以用") || either(&["通过"])),
            Kind::Deed | Kind::Thing => yes(self.before(at.start, "是为称叫做")),
        }
    }

    /// How close the question's characters stand: 1 when all are the next.
    fn nearness(&self, at: Range<usize>) -> f64 {
        let mut near = 0.0;
        for &place in self.asked.iter().filter(|place| !at.contains(place)) {
            let away = place.abs_diff(at.start).min(place.abs_diff(at.end - 1));
            near += 1.0 / (1.0 + away as f64 / 5.0);
        }
        near / (self.asked.len().max(1) as f64)
    }

    /// How many numbers and foreign words a part's ends cut, each kind once.
    fn cut_runs(&self, at: Range<usize>) -> f64 {
        let within = |place: usize, is: &dyn Fn(char) -> bool| {
            place > 0
                && place < self.chars.len()
                && is(self.chars[place - 1])
                && is(self.chars[place])
        };
        let cut = |is: &dyn Fn(char) -> bool| {
            f64::from(u8::from(within(at.start, is) || within(at.end, is)))
        };
        cut(&|c| c.is_alphanumeric() && c < '\u{3000}') + cut(&|c| DIGITS.contains(c))
    }

    /// Whether one of these characters stands before a place.
    fn before(&self, at: usize, set: &str) -> bool {
        at > 0 && set.contains(self.chars[at - 1])
    }

    fn at_a_mark(&self, at: usize) -> bool {
        let ends = at == 0 || at == self.chars.len();
        ends || is_mark(self.chars[at]) || is_mark(self.chars[at - 1])
    }
}

fn is_mark(c: char) -> bool {
    MARKS.contains(c)
}

fn pairs(text: &str) -> impl Iterator<Item = (char, char)> {
    text.chars().zip(text.chars().skip(1))
}

/// The kind of thing a question wants; `None` for yes or no.
fn kind(question: &str) -> Option<Kind> {
    let asks = |words: &[&str]| words.iter().any(|word| question.contains(word));
    if asks(&[
        "什么时候",
        "何时",
        "哪年",
        "哪一年",
        "哪天",
        "哪一天",
        "几月",
        "几时",
        "哪月",
        "什么时间",
        "什么年",
        "几年",
        "哪个世纪",
    ]) {
        Some(Kind::Time)
    } else if asks(&[
        "哪里",
        "哪儿",
        "何处",
        "什么地方",
        "何地",
        "位于",
        "哪个国家",
        "哪个城市",
        "哪座城市",
        "哪国",
        "哪个省",
        "哪个地区",
    ]) {
        Some(Kind::Place)
    } else if asks(&["多少", "几", "多长", "多大", "多远", "多久", "多高", "多深"]) {
        Some(Kind::Number)
    } else if asks(&["为什么", "为何", "原因"]) {
        Some(Kind::Reason)
    } else if asks(&["谁", "哪位", "什么人", "名字是"]) {
        Some(Kind::Person)
    } else if asks(&["怎么", "怎样", "如何"]) {
        Some(Kind::Manner)
    } else if asks(&["吗", "是否", "是不是", "有没有"]) && !asks(&["什么", "哪"]) {
        None
    } else {
        Some(Kind::Thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer<'a>(question: &str, sentence: &'a str) -> Option<&'a str> {
        let parts = super::super::parts(question, &Vec::new(), sentence, sentence);
        parts.first().map(|part| &sentence[part.bytes.clone()])
    }

    #[test]
    fn a_question_gets_the_kind_of_thing_it_asks_for() {
        for (question, sentence, expected) in [
            (
                "码头的灯是谁点的？",
                "每天夜里，码头的灯是王三娘点的。",
                "王三娘",
            ),
            (
                "他是什么时候离开的？",
                "他是启明二年八月离开的。",
                "启明二年八月",
            ),
            (
                "每年租金多少元？",
                "造纸厂每年租金四千元，包租到底。",
                "四千元",
            ),
            (
                "船上的钟叫什么？",
                "船上的钟叫做「老大哥」，声音很响。",
                "「老大哥」",
            ),
        ] {
            assert_eq!(answer(question, sentence), Some(expected), "{question}");
        }
    }

    #[test]
    fn a_questions_own_words_say_what_it_wants() {
        for (question, expected) in [
            ("他哪一年走的？", Some(Kind::Time)),
            ("他住在哪里？", Some(Kind::Place)),
            ("绳子有多长？", Some(Kind::Number)),
            ("他为什么走？", Some(Kind::Reason)),
            ("谁点的灯？", Some(Kind::Person)),
            ("他怎么走的？", Some(Kind::Manner)),
            ("他说了什么？", Some(Kind::Thing)),
            ("他走了吗？", None),
        ] {
            assert_eq!(kind(question), expected, "{question}");
        }
    }
}
