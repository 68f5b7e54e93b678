//! Encodings: found, declared, given, damaged.

use super::*;
use proptest::prelude::*;

const FRENCH: &str = "L’été dernier, à la forêt, mon frère a reçu une lettre où sa mère \
    s’étonnait du silence. «Ça ne va pas», dit-elle; il répondit tout de même, très poliment, \
    qu’il viendrait à Noël avec sa nièce, et que l’âne était guéri.\n";
const GERMAN: &str = "Die Frau öffnete das Fenster und hörte die Vögel. Für Günther war der \
    Weg über die Brücke zu groß; er blieb im Häuschen und las.\n";
const SIMPLIFIED: &str = "那天早上下着小雨，老人把门打开，看见街上没有一个人。他想起昨天说过的话，\
    心里很不安。女儿在屋里做饭，听见他叹气，便问：“爸爸，你怎么了？”老人摇摇头，没有回答。\n";
const TRADITIONAL: &str = "那天早上下著小雨，老人把門打開，看見街上沒有一個人。他想起昨天說過的話，\
    心裏很不安。女兒在屋裏做飯，聽見他嘆氣，便問：「爸爸，你怎麼了？」老人搖搖頭，沒有回答。\n";
const JAPANESE: &str = "その朝は小雨が降っていた。老人が戸を開けると、通りには誰もいなかった。\
    昨日言ったことを思い出して、心が落ち着かない。娘は台所でご飯を作りながら、ため息を聞いた。\
    「お父さん、どうしたの」とカタカナのような声で言った。\n";
const KOREAN: &str = "그날 아침에는 비가 조금 내렸다. 노인이 문을 열자 거리에는 아무도 없었다. \
    그는 어제 한 말을 생각하고 마음이 편하지 않았다. 딸은 방에서 밥을 하고 있었다.\n";
const RUSSIAN: &str = "В то утро шёл мелкий дождь. Старик открыл дверь и увидел, что на улице \
    никого нет. Он вспомнил вчерашний разговор, и ему стало не по себе.\n";

fn assert_read(text: &str, label: &str, least: f32) {
    let book = read_one("a.txt", &encoded(text, label));
    assert_eq!(book.text, text, "{label}: {:?}", book.report.encoding);
    let EncodingReport {
        how, confidence, ..
    } = book.report.encoding;
    assert_eq!(how, EncodingHow::Detected);
    assert!(confidence >= least, "{label}: {confidence} for {text}");
    assert_eq!(book.report.malformed, Malformed::default());
}

#[test]
fn a_paragraph_is_read_in_every_encoding_it_can_be_written_in() {
    for (text, labels) in [
        (
            FRENCH,
            &["utf-8", "windows-1252", "utf-16le", "utf-16be"][..],
        ),
        (GERMAN, &["utf-8", "windows-1252", "utf-16le", "utf-16be"]),
        (
            SIMPLIFIED,
            &["utf-8", "gb18030", "gbk", "utf-16le", "utf-16be"],
        ),
        (
            TRADITIONAL,
            &["utf-8", "big5", "gb18030", "gbk", "utf-16le", "utf-16be"],
        ),
        (
            JAPANESE,
            &[
                "utf-8",
                "shift_jis",
                "euc-jp",
                "iso-2022-jp",
                "utf-16le",
                "utf-16be",
            ],
        ),
        (KOREAN, &["utf-8", "euc-kr", "utf-16le", "utf-16be"]),
        (RUSSIAN, &["utf-8", "windows-1251", "koi8-r", "utf-16le"]),
    ] {
        for label in labels {
            assert_read(text, label, 0.95);
        }
    }
}

#[test]
fn a_sentence_is_enough() {
    for (text, label) in [
        ("他是一個好人。", "big5"),
        ("他是一个好人。", "gbk"),
        ("我們明天去看電影", "big5"),
        ("我们明天去看电影", "gbk"),
        ("我們明天去看電影", "gbk"),
        ("彼は学生です。", "shift_jis"),
        ("他是一个好人。", "utf-16le"),
        ("他是一個好人。", "utf-16be"),
        ("He said “no” — it’s over.", "windows-1252"),
        ("un café", "windows-1252"),
        ("café", "utf-8"),
        ("联通", "utf-8"),
        ("中", "utf-8"),
    ] {
        assert_read(text, label, 0.6);
    }
}

#[test]
fn the_characters_of_hong_kong_are_read() {
    let text = "佢哋喺度食緊嘢，咁樣好唔好㗎？我冇諗過喎，嗰個人係邊個嚟㗎。";
    // Written out, because the encoder leaves HKSCS to readers.
    let bytes = b"\
        \xCA\x5C\x92\x5D\x9D\xF6\xAB\xD7\xAD\xB9\xBA\xF2\x9D\xCF\xA1\x41\xCB\xDD\xBC\xCB\
        \xA6\x6E\xAD\xF8\xA6\x6E\x9D\xEE\xA1\x48\xA7\xDA\xC9\x4E\xE7\xDC\xB9\x4C\xD8\x7B\
        \xA1\x41\x9D\xF5\xAD\xD3\xA4\x48\xAB\x59\xC3\xE4\xAD\xD3\x91\xC1\x9D\xEE\xA1\x43";
    let book = read_one("a.txt", bytes);
    assert_eq!(book.text, text);
    assert_eq!(book.report.encoding.name, "Big5");
}

#[test]
fn ascii_is_utf8_without_a_doubt() {
    let report = read_one("a.txt", b"plain\r\ntext").report.encoding;
    assert_eq!((report.name.as_str(), report.confidence), ("UTF-8", 1.));
    assert_eq!(report.runner_up, None);
}

#[test]
fn the_byte_order_mark_decides_and_is_removed() {
    for label in ["utf-8", "utf-16le", "utf-16be"] {
        let book = read_one("a.txt", &encoded("\u{FEFF}一 a\r\nb", label));
        assert_eq!(book.text, "一 a\nb");
        assert_eq!(book.report.encoding.how, EncodingHow::Bom);
        assert_eq!(book.report.encoding.confidence, 1.);
    }
}

#[test]
fn an_encoding_given_overrides_everything() {
    let bytes = encoded(TRADITIONAL, "big5");
    let given = |label: &str| ReadOptions {
        encoding: Some(label.parse().unwrap()),
        ..ReadOptions::default()
    };
    let book = &read_books("a.txt", &bytes, &given("gb18030")).unwrap()[0];
    assert_ne!(book.text, TRADITIONAL);
    assert_eq!(book.report.encoding.how, EncodingHow::Given);
    assert_eq!(book.report.encoding.name, "gb18030");
    let book = &read_books("a.txt", &bytes, &given("big5")).unwrap()[0];
    assert_eq!(book.text, TRADITIONAL);
    let marked = encoded("\u{FEFF}ab", "utf-16be");
    assert_eq!(
        read_books("a.txt", &marked, &given("utf-16")).unwrap()[0].text,
        "ab"
    );
}

#[test]
fn broken_bytes_are_counted_and_located_and_the_file_stays_utf8() {
    let mut bytes = format!("“Well,” he said — {FRENCH}").into_bytes();
    let end = bytes.len() as u64;
    bytes.extend(b"\xFF and \xE4\xB8"); // the second is a cut-off 中
    bytes[3] = 0xC0;
    let book = read_one("a.txt", &bytes);
    assert_eq!(book.report.encoding.name, "UTF-8");
    let places: Vec<(u64, u64)> = book
        .report
        .malformed
        .first
        .iter()
        .map(|span| (span.offset, span.len))
        .collect();
    assert_eq!(places, [(3, 1), (end, 1), (end + 6, 2)]);
    assert_eq!(book.report.malformed.count, 3);
    assert_eq!(book.text.matches('\u{FFFD}').count(), 3);
    assert!(book.report.encoding.confidence > 0.8);

    let error = error_of("a.txt", &bytes, &strict());
    assert!(
        error.contains("3 malformed byte sequence(s), the first at byte 3"),
        "{error}"
    );
}

#[test]
fn damage_in_double_byte_text_is_located_in_the_file() {
    for (text, label) in [
        (SIMPLIFIED, "gb18030"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
    ] {
        let mut bytes = encoded(text, label);
        bytes.pop(); // the line end
        let cut = bytes.len() as u64 - 2;
        bytes.pop(); // half of the full stop
        let book = read_one("a.txt", &bytes);
        assert_eq!(book.report.malformed.count, 1, "{label}");
        assert_eq!(book.report.malformed.first[0].offset, cut, "{label}");
        let whole = text.trim_end().chars().count();
        assert_eq!(book.text.chars().count(), whole, "{label}");
    }
}

#[test]
fn more_than_ten_broken_places_are_counted_but_not_listed() {
    let bytes = [FRENCH.as_bytes(), &b"a\xFF".repeat(30)].concat();
    let malformed = read_one("a.txt", &bytes).report.malformed;
    assert_eq!((malformed.count, malformed.first.len()), (30, 10));
}

#[test]
fn a_close_call_is_not_called_certain() {
    // 基 in GB18030, 吏 in EUC-JP, »ù in windows-1252.
    let report = read_one("a.txt", b"\xBB\xF9").report.encoding;
    assert!(report.confidence < 0.9, "{report:?}");
    assert!(report.runner_up.is_some(), "{report:?}");
}

#[test]
fn a_declaration_is_believed_when_the_bytes_agree() {
    for (text, label) in [
        (FRENCH, "windows-1252"),
        (TRADITIONAL, "big5"),
        (SIMPLIFIED, "gbk"),
    ] {
        let page = format!("<html><head><meta charset={label}></head><p>{text}</html>");
        let book = read_one("a.html", &encoded(&page, label));
        assert_eq!(book.report.encoding.how, EncodingHow::Declared, "{label}");
        assert_eq!(book.report.problems, []);
        assert_eq!(book.text.trim_end(), text.trim_end());
    }
}

#[test]
fn a_declaration_that_the_bytes_belie_is_reported() {
    let page = format!("<html><meta charset='iso-8859-1'><p>{TRADITIONAL}");
    for (label, name) in [("utf-8", "UTF-8"), ("big5", "Big5")] {
        let bytes = encoded(&page, label);
        let book = read_one("a.html", &bytes);
        assert_eq!(book.report.encoding.how, EncodingHow::Detected);
        assert_eq!(book.report.encoding.name, name);
        assert_eq!(book.text.trim_end(), TRADITIONAL.trim_end());
        let what = &book.report.problems[0].what;
        assert!(what.contains("declares the encoding iso-8859-1"), "{what}");
        assert!(error_of("a.html", &bytes, &strict()).contains("iso-8859-1"));
    }
}

#[test]
fn what_is_no_text_is_refused() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    assert!(error_of("a.txt", png, &ReadOptions::default()).contains("a PNG image"));
    let nuls = [&b"text "[..], &[0; 100]].concat();
    assert!(error_of("a.txt", &nuls, &ReadOptions::default()).contains("binary data"));
    let noise: Vec<u8> = (0..5000u32)
        .map(|i| (i.wrapping_mul(2654435761) >> 13) as u8)
        .collect();
    assert!(error_of("a.txt", &noise, &ReadOptions::default()).contains("binary data"));
}

#[test]
fn a_file_without_text_is_refused() {
    for blank in [&b""[..], b" \r\n\t", "\u{FEFF}\u{3000}".as_bytes()] {
        for name in ["a.txt", "a.md", "a.html", "a.jsonl", "-"] {
            let error = error_of(name, blank, &ReadOptions::default());
            assert!(error.contains("no text"), "{name}: {error}");
        }
    }
}

#[test]
fn a_file_larger_than_the_limit_is_refused() {
    let mut options = ReadOptions::default();
    options.limits.max_file_bytes = 3;
    assert!(error_of("a.txt", b"four", &options).contains("more than the limit of 3"));
    assert!(read_books("a.txt", b"abc", &options).is_ok());
}

/// A text of at least 200 characters out of sentences in any order.
fn prose(text: &'static str) -> impl Strategy<Value = String> {
    let sentences: Vec<&'static str> = text
        .split_inclusive(['。', '，', ',', '.', '、', '「', ';'])
        .collect();
    prop::collection::vec(prop::sample::select(sentences), 60..120)
        .prop_flat_map(|sentences| {
            let text: Vec<char> = sentences.concat().chars().collect();
            (Just(text.clone()), 200..text.len().max(201))
        })
        .prop_map(|(text, len)| text.into_iter().take(len).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_two_hundred_characters_are_read_back(
        french in prose(FRENCH),
        german in prose(GERMAN),
        simplified in prose(SIMPLIFIED),
        traditional in prose(TRADITIONAL),
        japanese in prose(JAPANESE),
    ) {
        for (text, labels) in [
            (&french, &["utf-8", "windows-1252", "utf-16le", "utf-16be"][..]),
            (&german, &["utf-8", "windows-1252", "utf-16le"]),
            (&simplified, &["utf-8", "gb18030", "utf-16le", "utf-16be"]),
            (&traditional, &["utf-8", "big5", "gb18030", "utf-16le"]),
            (&japanese, &["utf-8", "shift_jis", "euc-jp", "utf-16be"]),
        ] {
            for label in labels {
                let book = read_one("a.txt", &encoded(text, label));
                prop_assert_eq!(&book.text, text, "{} {:?}", label, &book.report.encoding);
                prop_assert!(book.report.encoding.confidence > 0.9, "{:?}", &book.report.encoding);
            }
        }
    }

    #[test]
    fn the_canonical_text_is_read_back_as_itself(text in "\\PC{1,300}") {
        prop_assume!(!text.trim().is_empty());
        if let Ok(books) = read_books("a.txt", text.as_bytes(), &ReadOptions {
            encoding: Some("utf-8".parse().unwrap()),
            ..ReadOptions::default()
        }) {
            let again = read_books("b.txt", books[0].text.as_bytes(), &ReadOptions {
                encoding: Some("utf-8".parse().unwrap()),
                ..ReadOptions::default()
            }).unwrap();
            prop_assert_eq!(again[0].id, books[0].id);
        }
    }
}
