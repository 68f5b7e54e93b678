//! Numbers as headings write them: Roman, English and French words, Chinese.

/// Words that number a heading, cardinal and ordinal. Tens and ones combine.
const WORDS: &[(&str, u32)] = &[
    ("one", 1),
    ("first", 1),
    ("premier", 1),
    ("première", 1),
    ("two", 2),
    ("second", 2),
    ("deuxième", 2),
    ("seconde", 2),
    ("three", 3),
    ("third", 3),
    ("troisième", 3),
    ("four", 4),
    ("fourth", 4),
    ("quatrième", 4),
    ("five", 5),
    ("fifth", 5),
    ("cinquième", 5),
    ("six", 6),
    ("sixth", 6),
    ("sixième", 6),
    ("seven", 7),
    ("seventh", 7),
    ("septième", 7),
    ("eight", 8),
    ("eighth", 8),
    ("huitième", 8),
    ("nine", 9),
    ("ninth", 9),
    ("neuvième", 9),
    ("ten", 10),
    ("tenth", 10),
    ("dixième", 10),
    ("eleven", 11),
    ("eleventh", 11),
    ("twelve", 12),
    ("twelfth", 12),
    ("thirteen", 13),
    ("thirteenth", 13),
    ("fourteen", 14),
    ("fourteenth", 14),
    ("fifteen", 15),
    ("fifteenth", 15),
    ("sixteen", 16),
    ("sixteenth", 16),
    ("seventeen", 17),
    ("seventeenth", 17),
    ("eighteen", 18),
    ("eighteenth", 18),
    ("nineteen", 19),
    ("nineteenth", 19),
    ("twenty", 20),
    ("twentieth", 20),
    ("thirty", 30),
    ("thirtieth", 30),
    ("forty", 40),
    ("fortieth", 40),
    ("fifty", 50),
    ("fiftieth", 50),
    ("sixty", 60),
    ("sixtieth", 60),
    ("seventy", 70),
    ("seventieth", 70),
    ("eighty", 80),
    ("eightieth", 80),
    ("ninety", 90),
    ("ninetieth", 90),
];

/// The number a Roman numeral in capitals stands for, if it is written the
/// usual way (`IV`, not `IIII`).
pub(super) fn roman(numeral: &str) -> Option<u32> {
    const STEPS: &[(&str, u32)] = &[
        ("M", 1000),
        ("CM", 900),
        ("D", 500),
        ("CD", 400),
        ("C", 100),
        ("XC", 90),
        ("L", 50),
        ("XL", 40),
        ("X", 10),
        ("IX", 9),
        ("V", 5),
        ("IV", 4),
        ("I", 1),
    ];
    let mut rest = numeral;
    let mut value = 0;
    for &(step, worth) in STEPS {
        // Powers of ten repeat up to three times, everything else stands once.
        let most = if step.len() == 1 && !"VLD".contains(step) {
            3
        } else {
            1
        };
        for _ in 0..most {
            let Some(shorter) = rest.strip_prefix(step) else {
                break;
            };
            rest = shorter;
            value += worth;
        }
    }
    (rest.is_empty() && value > 0).then_some(value)
}

/// Whether a text starts with a Roman numeral of more than one letter.
pub(crate) fn starts_with_roman(text: &str) -> bool {
    let length = text
        .bytes()
        .take(16)
        .take_while(|b| b.is_ascii_uppercase())
        .count();
    let ends = !text[length..].starts_with(char::is_alphanumeric);
    length > 1 && ends && roman(&text[..length]).is_some()
}

/// The number a text starts with and how many bytes it takes: digits, a Roman
/// numeral, or words such as `the Twenty-First`.
pub(super) fn leading(text: &str) -> Option<(u32, usize)> {
    let word = |from: usize| {
        let length = text[from..]
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(text.len() - from);
        &text[from..from + length]
    };
    let first = word(0);
    if first.len() <= 4
        && let Ok(value) = first.parse::<u32>()
    {
        return Some((value, first.len()));
    }
    if let Some(value) = roman(first) {
        return Some((value, first.len()));
    }
    let start = if first.eq_ignore_ascii_case("the") {
        first.len() + 1
    } else {
        0
    };
    if !text.is_char_boundary(start) || start > text.len() {
        return None;
    }
    let tens = word(start);
    let value = in_words(tens)?;
    let end = start + tens.len();
    let joined = text[end..].starts_with([' ', '-']);
    if value >= 20 && joined {
        let ones = word(end + 1);
        if let Some(digit) = in_words(ones).filter(|&digit| digit < 10) {
            return Some((value + digit, end + 1 + ones.len()));
        }
    }
    Some((value, end))
}

fn in_words(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    WORDS
        .iter()
        .find_map(|&(name, value)| (name == word).then_some(value))
}

/// Whether a character can stand in a Chinese number.
pub(super) fn is_chinese_digit(c: char) -> bool {
    digit(c).is_some() || unit(c).is_some()
}

/// The number that Chinese numerals stand for: everyday and financial forms,
/// plain digits in a row (`一一三`), ASCII and full-width digits.
pub(super) fn chinese(numeral: &str) -> Option<u32> {
    if numeral.is_empty() || numeral.chars().count() > 9 {
        return None;
    }
    if numeral.chars().all(|c| digit(c).is_some()) {
        return numeral.chars().try_fold(0u32, |value, c| {
            value.checked_mul(10)?.checked_add(digit(c)?)
        });
    }
    let (mut total, mut pending) = (0, None);
    for c in numeral.chars() {
        if let Some(worth) = unit(c) {
            // 十二 is 12: a unit without a digit before it counts once.
            total += pending.take().unwrap_or(1) * worth;
        } else {
            pending = Some(digit(c)?);
        }
    }
    Some(total + pending.unwrap_or(0))
}

fn digit(c: char) -> Option<u32> {
    const FULL_WIDTH_ZERO: u32 = '０' as u32;
    match c {
        '0'..='9' => Some(c as u32 - '0' as u32),
        '０'..='９' => Some(c as u32 - FULL_WIDTH_ZERO),
        '零' | '〇' | '○' => Some(0),
        '一' | '壹' | '弌' => Some(1),
        '二' | '贰' | '貳' | '两' | '兩' => Some(2),
        '三' | '叁' | '參' | '叄' => Some(3),
        '四' | '肆' => Some(4),
        '五' | '伍' => Some(5),
        '六' | '陆' | '陸' => Some(6),
        '七' | '柒' => Some(7),
        '八' | '捌' => Some(8),
        '九' | '玖' => Some(9),
        _ => None,
    }
}

fn unit(c: char) -> Option<u32> {
    match c {
        '十' | '拾' => Some(10),
        '廿' => Some(20),
        '卅' => Some(30),
        '百' | '佰' => Some(100),
        '千' | '仟' => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roman_numerals_are_read_and_lookalikes_refused() {
        let read = ["I", "IV", "XIV", "XLIX", "LXVII", "XCIX", "MDCCC"].map(roman);
        assert_eq!(read, [1, 4, 14, 49, 67, 99, 1800].map(Some),);
        for wrong in ["", "IIII", "VX", "MIX UP", "IC", "i", "VV"] {
            assert_eq!(roman(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_leading_number_is_read_in_any_notation() {
        assert_eq!(leading("12: Title"), Some((12, 2)));
        assert_eq!(leading("XII. Title"), Some((12, 3)));
        assert_eq!(leading("the First"), Some((1, 9)));
        assert_eq!(leading("Twenty-One"), Some((21, 10)));
        assert_eq!(leading("THIRTY SECOND"), Some((32, 13)));
        assert_eq!(leading("PREMIÈRE"), Some((1, 9)));
        assert_eq!(leading("Twenty years"), Some((20, 6)));
        for wrong in ["", "of his life", "the", "thé", "12345", "Mix"] {
            assert_eq!(leading(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn chinese_numerals_are_read_in_every_form() {
        for (text, value) in [
            ("一", 1),
            ("十", 10),
            ("十二", 12),
            ("二十", 20),
            ("一百零八", 108),
            ("一百二十", 120),
            ("一一三", 113),
            ("一二零", 120),
            ("壹", 1),
            ("贰拾叁", 23),
            ("廿一", 21),
            ("１２", 12),
            ("3", 3),
            ("两千", 2000),
        ] {
            assert_eq!(chinese(text), Some(value), "{text}");
        }
        for wrong in ["", "人", "一人", "9999999999"] {
            assert_eq!(chinese(wrong), None, "{wrong}");
        }
    }
}
