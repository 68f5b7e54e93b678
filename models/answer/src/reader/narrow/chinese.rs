//! Persons, times, numbers and places in Chinese sentences.

use std::ops::Range;

use super::Wanted;
use crate::model::{EvidenceText, is_han};
use crate::reader::words::is_function_character;

/// Frequent family names of one character.
const FAMILY_NAMES: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高梁郑谢宋唐许韩冯邓曹彭曾肖田董袁潘蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤";
const DIGITS: &str = "0123456789〇零一二三四五六七八九十百千万亿两半";
const TIMES: &str = "年月日号时点更夜晨";
const AROUND_TIMES: &str = "元正腊初季春夏秋冬早晚上下午中旬天";

pub(super) fn narrow(
    question: &str,
    sentence: &str,
    evidence: &[EvidenceText],
) -> Option<Range<usize>> {
    let chars: Vec<(usize, char)> = sentence.char_indices().collect();
    let span = match wanted(question)? {
        Wanted::Person => person(question, &chars, sentence, evidence),
        Wanted::Time => time(&chars),
        Wanted::Number => number(question, &chars),
        Wanted::Place => place(question, &chars),
    }?;
    let end = chars
        .get(span.end)
        .map_or(sentence.len(), |(byte, _)| *byte);
    Some(chars[span.start].0..end)
}

fn wanted(question: &str) -> Option<Wanted> {
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
    ]) {
        Some(Wanted::Time)
    } else if asks(&["哪里", "哪儿", "何处", "什么地方", "何地"]) {
        Some(Wanted::Place)
    } else if asks(&["多少", "几", "多长", "多大", "多远", "多久", "多高", "多深"]) {
        Some(Wanted::Number)
    } else if asks(&["谁"]) {
        Some(Wanted::Person)
    } else {
        None
    }
}

/// The first family name with one or two characters that come together in the
/// evidence more than once, and not in the question.
fn person(
    question: &str,
    chars: &[(usize, char)],
    sentence: &str,
    evidence: &[EvidenceText],
) -> Option<Range<usize>> {
    let times = |name: &str| {
        let counts = evidence
            .iter()
            .map(|piece| piece.text.matches(name).count());
        counts.sum::<usize>()
    };
    for start in 0..chars.len() {
        if !FAMILY_NAMES.contains(chars[start].1) {
            continue;
        }
        for length in [3, 2] {
            let Some(name) = chars.get(start..start + length) else {
                continue;
            };
            let plain = name[1..]
                .iter()
                .all(|(_, c)| is_han(*c) && !is_function_character(*c));
            let last = start + length;
            let end = chars.get(last).map_or(sentence.len(), |(byte, _)| *byte);
            let name = &sentence[chars[start].0..end];
            if plain && !question.contains(name) && times(name) > 1 {
                return Some(start..last);
            }
        }
    }
    None
}

/// The longest run of numbers and words of time.
fn time(chars: &[(usize, char)]) -> Option<Range<usize>> {
    let runs = runs(chars, |c| {
        DIGITS.contains(c) || TIMES.contains(c) || AROUND_TIMES.contains(c)
    });
    runs.into_iter()
        .filter(|run| {
            let run = &chars[run.clone()];
            let named = run.iter().any(|(_, c)| TIMES.contains(*c));
            named && run.len() > 1
        })
        .max_by(|a, b| a.len().cmp(&b.len()).then(b.start.cmp(&a.start)))
}

/// A number with its measure, such as 五尺一寸; one in the question's own
/// measure comes first.
fn number(question: &str, chars: &[(usize, char)]) -> Option<Range<usize>> {
    let measure = ["多少", "几"].iter().find_map(|word| {
        let (_, after) = question.split_once(word)?;
        after.chars().next()
    });
    let mut best: Option<(bool, Range<usize>)> = None;
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let mut fits = false;
        let mut end = at;
        while let Some(measured) = measured(chars, end) {
            fits |= measure == Some(chars[measured - 1].1);
            end = measured;
        }
        if end == start {
            at += 1;
            continue;
        }
        at = end;
        // A lone "one" is mostly part of another word.
        let word = end - start == 2 && matches!(chars[start].1, '一' | '半' | '万' | '千' | '两');
        let text: String = chars[start..end].iter().map(|(_, c)| c).collect();
        let better = best
            .as_ref()
            .is_none_or(|(best_fits, _)| fits && !best_fits);
        if (fits || !word) && better && !question.contains(&text) {
            best = Some((fits, start..end));
        }
    }
    best.map(|(_, span)| span)
}

/// Where digits from a place on and the measure after them end.
fn measured(chars: &[(usize, char)], start: usize) -> Option<usize> {
    let mut end = start;
    while end < chars.len() && DIGITS.contains(chars[end].1) {
        end += 1;
    }
    let measure = chars.get(end).filter(|(_, c)| end > start && is_han(*c));
    measure.map(|_| end + 1)
}

/// What follows a word of place, up to the end of its clause.
fn place(question: &str, chars: &[(usize, char)]) -> Option<Range<usize>> {
    const LONGEST: usize = 10;
    for at in 0..chars.len() {
        if !matches!(chars[at].1, '在' | '到' | '于' | '往') {
            continue;
        }
        let start = at + 1;
        let mut end = start;
        while end < chars.len() && end - start < LONGEST && is_han(chars[end].1) {
            end += 1;
            if matches!(
                chars[end - 1].1,
                '里' | '上' | '中' | '下' | '旁' | '边' | '外'
            ) {
                break;
            }
        }
        let text: String = chars[start..end].iter().map(|(_, c)| c).collect();
        if end - start >= 2 && !question.contains(&text) {
            return Some(start..end);
        }
    }
    None
}

fn runs(chars: &[(usize, char)], inside: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        while at < chars.len() && inside(chars[at].1) {
            at += 1;
        }
        if at > start {
            runs.push(start..at);
        } else {
            at += 1;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer<'a>(question: &str, sentence: &'a str) -> Option<&'a str> {
        let evidence = [EvidenceText {
            label: "1".into(),
            text: format!("{sentence}王三娘走了。"),
        }];
        narrow(question, sentence, &evidence).map(|span| &sentence[span])
    }

    #[test]
    fn a_question_gets_the_kind_of_thing_it_asks_for() {
        for (question, sentence, expected) in [
            ("谁点的灯？", "灯是王三娘点的。", "王三娘"),
            ("他什么时候走的？", "他是启明二年八月走的。", "二年八月"),
            ("租金多少元？", "有三个人，每年出四千元包租。", "四千元"),
            ("船上有几个人？", "船上有十二个人。", "十二个"),
            ("绳子有多长？", "那根绳子长五尺一寸。", "五尺一寸"),
            ("他住在哪里？", "他一直住在河边的屋子里。", "河边"),
        ] {
            assert_eq!(answer(question, sentence), Some(expected), "{question}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        for (question, sentence) in [
            ("谁点的灯？", "灯是一个女孩点的。"),
            ("他什么时候走的？", "他走了。"),
            ("船上有几个人？", "船上没有人。"),
            ("他住在哪里？", "他走了。"),
            ("他说了什么？", "王三娘出了四千元。"),
        ] {
            assert_eq!(answer(question, sentence), None, "{question}");
        }
    }
}
