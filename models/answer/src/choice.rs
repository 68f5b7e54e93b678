//! One option's letter out of a completion, or a typed failure.
//!
//! A letter counts only where it is said to be the choice: alone on a line,
//! after a label such as `Answer:`, or with the text of its option. Prose that
//! happens to contain a letter is never read as one: "A man walked" chooses
//! nothing.

mod phrases;
mod text;

use crate::model::LETTERS;
use crate::reasoning::without_reasoning;
use phrases::Claim;
use text::{folded, same_text};

/// Why a completion is not one option's letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAChoice {
    /// Nothing was written besides reasoning.
    #[error("the completion is empty")]
    Empty,
    /// No option is named.
    #[error("the completion names no option")]
    NoLetter,
    /// More than one option is named.
    #[error("the completion names several options: {}", .letters.iter().map(char::to_string).collect::<Vec<_>>().join(", "))]
    Several {
        /// The letters, in order.
        letters: Vec<char>,
    },
    /// The letter is none of the options'.
    #[error("the completion names {letter}, and the last option is {last}")]
    OutOfRange {
        /// The letter.
        letter: char,
        /// The last option's letter.
        last: char,
    },
}

/// The letter of the option that a completion chooses. `options` are their
/// texts in the order of their letters.
///
/// Understood are a letter alone in any usual dress (`B`, `(B)`, `B.`, `**B**`,
/// `Ｂ`, `b`), labelled letters (`Answer: B`, `The answer is B`, `答案：B`,
/// `选B`), a letter with its option's text, and the exact text of one option.
/// Explanations on other lines do no harm. A letter wins over an option whose
/// text is another letter.
///
/// # Errors
/// When no option, several, or one that does not exist is named.
pub fn parse_choice(completion: &str, options: &[String]) -> Result<char, NotAChoice> {
    let answer = without_reasoning(completion);
    let answer = folded(json_answer(&answer).as_deref().unwrap_or(&answer));
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(NotAChoice::Empty);
    }
    let lines: Vec<&str> = answer
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let alone = lines.len() == 1;

    let mut said = Vec::new();
    let mut listed = Vec::new();
    for line in &lines {
        said.extend(phrases::labelled(line, options));
        match phrases::whole_line(line, options, alone) {
            Some(Claim::Letters(letters)) => said.extend(letters),
            // A list of all options is no choice unless it has one member.
            Some(Claim::Option(letter)) => listed.push(letter),
            None => {}
        }
    }
    if !said.is_empty() {
        return one_of(said, options);
    }
    if !listed.is_empty() {
        return one_of(listed, options);
    }
    let texts: Vec<char> = LETTERS
        .iter()
        .zip(options)
        .filter(|(_, option)| same_text(answer, option))
        .map(|(letter, _)| char::from(*letter))
        .collect();
    if texts.is_empty() {
        return Err(NotAChoice::NoLetter);
    }
    one_of(texts, options)
}

fn one_of(mut letters: Vec<char>, options: &[String]) -> Result<char, NotAChoice> {
    letters.sort_unstable();
    letters.dedup();
    let [letter] = letters[..] else {
        return Err(NotAChoice::Several { letters });
    };
    let options = options.len().min(LETTERS.len());
    if (letter as usize) < usize::from(b'A') + options {
        Ok(letter)
    } else {
        Err(NotAChoice::OutOfRange {
            letter,
            last: char::from(LETTERS[options.saturating_sub(1)]),
        })
    }
}

/// The one text in a JSON object like `{"answer": "B"}`.
fn json_answer(answer: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(answer.trim()).ok()?;
    let mut values = object.into_values();
    match (values.next()?, values.next()) {
        (serde_json::Value::String(text), None) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [&str; 4] = ["the lamp", "The Deaf Aunt", "Ann, the ferryman", "六十元"];

    fn choose(completion: &str) -> Result<char, NotAChoice> {
        parse_choice(completion, &OPTIONS.map(str::to_owned))
    }

    #[test]
    fn one_letter_is_understood_however_it_is_dressed() {
        for completion in [
            "B",
            " B\n",
            "b",
            "(B)",
            "(b)",
            "[B]",
            "B.",
            "b.",
            "B)",
            "B:",
            "**B**",
            "**(B)**",
            "`B`",
            "\"B\"",
            "'B'",
            "“B”",
            "Ｂ",
            "（Ｂ）",
            "（B）",
            "【B】",
            "B。",
            "$B$",
            "\\boxed{B}",
            "$\\boxed{\\text{B}}$",
            "{\"answer\": \"B\"}",
            "```\nB\n```",
            "Answer: B",
            "answer: b",
            "Answer:B",
            "ANSWER: B",
            "Answer - B",
            "**Answer:** B",
            "**Answer: B**",
            "Answer: (B)",
            "Answer: B.",
            "Answer: **B**",
            "Final answer: B",
            "The answer is B",
            "The answer is B.",
            "The answer is: B",
            "The answer is (B).",
            "The correct answer is B",
            "The correct answer is option B.",
            "The best choice is B.",
            "Correct option: B",
            "I choose B.",
            "I would pick (B)",
            "Option B",
            "option b",
            "Choice B.",
            "Option (B)",
            "B is correct.",
            "(B) is the correct answer.",
            "Option B is the right one, so the answer is B.",
            "So the answer is B.",
            "The answer is B because she does the killing.",
            "The answer is B, not A.",
            "答案：B",
            "答案: B",
            "答案是B",
            "答案是 B。",
            "答案为B",
            "正确答案是B",
            "正确答案：（B）",
            "选B",
            "选 B",
            "选择B",
            "我选B。",
            "应选B",
            "故选：B",
            "故选B。",
            "因此答案是B。",
            "选项B",
            "B项",
            "B选项",
            "选B项",
            "B正确",
            "正确选项是B",
            "答案应该是B",
            "**答案：B**",
            "本题选Ｂ。",
        ] {
            assert_eq!(choose(completion), Ok('B'), "{completion}");
        }
    }

    #[test]
    fn a_letter_may_come_with_its_options_text_or_the_text_alone() {
        for (completion, letter) in [
            ("B. The Deaf Aunt", 'B'),
            ("B) the deaf aunt.", 'B'),
            ("(B) The Deaf Aunt", 'B'),
            ("B: The Deaf Aunt", 'B'),
            ("B The Deaf Aunt", 'B'),
            ("B. The Deaf Aunt. She does the killing.", 'B'),
            ("Answer: B. The Deaf Aunt", 'B'),
            ("The answer is B. The Deaf Aunt", 'B'),
            ("The Deaf Aunt", 'B'),
            ("the deaf aunt.", 'B'),
            ("\"The Deaf Aunt\"", 'B'),
            ("Answer: The Deaf Aunt", 'B'),
            ("The answer is The Deaf Aunt.", 'B'),
            ("A. the lamp", 'A'),
            ("Ann, the ferryman", 'C'),
            ("C. Ann, the ferryman", 'C'),
            ("D. 六十元", 'D'),
            ("D、六十元", 'D'),
            ("六十元", 'D'),
            ("六十元。", 'D'),
            ("答案：六十元", 'D'),
        ] {
            assert_eq!(choose(completion), Ok(letter), "{completion}");
        }
    }

    #[test]
    fn explanations_on_other_lines_do_no_harm() {
        for (completion, letter) in [
            ("B\n\nA man walked by, and the Aunt killed him.", 'B'),
            ("A man walked by.\n\nB", 'B'),
            ("The rocks are three.\nAnswer: B", 'B'),
            (
                "A. the lamp\nB. The Deaf Aunt\nC. Ann, the ferryman\nD. 六十元\n\nAnswer: C",
                'C',
            ),
            ("<think>The answer is A.</think>The answer is C.", 'C'),
            ("The answer is not A.\nThe answer is C.", 'C'),
            ("答案：B\n解析：A项说的是灯。", 'B'),
            ("不选A，选B。", 'B'),
        ] {
            assert_eq!(choose(completion), Ok(letter), "{completion}");
        }
    }

    #[test]
    fn a_letter_in_prose_is_not_a_choice() {
        for completion in [
            "A man walked",
            "a man walked",
            "A. Smith kept the lamp",
            "I think the lamp was lit.",
            "I",
            "The answer is A man walked",
            "The answer is a matter of taste.",
            "The answer is a.m. or later",
            "Answer: A lamp keeper",
            "Plan B failed",
            "The answer key is lost",
            "It is not A",
            "The answer is not B.",
            "I cannot choose B.",
            "I don't choose B",
            "不选B",
            "答案不是B",
            "B is not correct.",
            "B不正确",
            "Option B is wrong",
            "Vitamin C is the answer to scurvy",
            "I cannot answer that.",
            "I'm sorry, but I can't help with that.",
            "none of the above",
            "not found in the evidence",
            "ABCD",
            "Because",
            "AB",
            "lamp",
            "The Deaf",
            "42",
            "?",
            "{\"a\": 1}",
        ] {
            let failure = choose(completion).unwrap_err();
            let none = matches!(
                failure,
                NotAChoice::NoLetter | NotAChoice::OutOfRange { letter: 'I', .. }
            );
            assert!(none, "{completion}: {failure:?}");
        }
    }

    #[test]
    fn several_letters_are_refused_by_name() {
        for (completion, letters) in [
            ("A or B", "AB"),
            ("A, B", "AB"),
            ("A and B", "AB"),
            ("A/B", "AB"),
            ("A、B", "AB"),
            ("A和B", "AB"),
            ("A\nB", "AB"),
            ("Answer: A or C", "AC"),
            ("Answer: A, B and C", "ABC"),
            ("The answer is A or B.", "AB"),
            ("The answer is (A) and (B)", "AB"),
            ("答案：A、C", "AC"),
            ("答案是A或B", "AB"),
            ("Answer: A\nAnswer: B", "AB"),
            ("A\n\nThe answer is B.", "AB"),
            (
                "A. the lamp\nB. The Deaf Aunt\nC. Ann, the ferryman\nD. 六十元",
                "ABCD",
            ),
        ] {
            let several = NotAChoice::Several {
                letters: letters.chars().collect(),
            };
            assert_eq!(choose(completion), Err(several), "{completion}");
        }
    }

    #[test]
    fn a_letter_beyond_the_options_and_an_empty_text_are_failures_of_their_own() {
        let beyond = Err(NotAChoice::OutOfRange {
            letter: 'E',
            last: 'D',
        });
        assert_eq!(choose("E"), beyond);
        assert_eq!(choose("Answer: E"), beyond);
        for empty in ["", " \n ", "<think>B", "****"] {
            assert_eq!(choose(empty), Err(NotAChoice::Empty), "{empty}");
        }
    }

    #[test]
    fn options_that_read_alike_or_like_letters_are_not_guessed_at() {
        let options = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            parse_choice("Same", &options(&["same", "Same."])),
            Err(NotAChoice::Several {
                letters: vec!['A', 'B']
            })
        );
        assert_eq!(parse_choice("A", &options(&["B", "A"])), Ok('A'));
        assert_eq!(
            parse_choice("A man", &options(&["a dog", "A man"])),
            Ok('B')
        );
        let prose = options(&["it is B", "the answer is A"]);
        assert_eq!(parse_choice("The answer is A", &prose), Ok('A'));
    }
}
