//! The chapters of whole novels, counted by hand.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use encoding_rs::{Encoding, GB18030, UTF_8, WINDOWS_1252};

use super::*;

/// The folder of shared test data, or a note that the test is skipped.
fn data(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("QUIRE_TEST_DATA") {
        return Some(folder.into());
    }
    let line = format!("SKIPPED quire-corpus::{test}: QUIRE_TEST_DATA is not set");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("QUIRE_SKIP_LOG") {
        let mut log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .expect("the skip log can be written");
        writeln!(log, "{line}").expect("the skip log can be written");
    }
    None
}

fn read(folder: &Path, file: &str, encoding: &'static Encoding) -> String {
    let bytes = fs::read(folder.join(file)).expect(file);
    encoding.decode(&bytes).0.replace("\r\n", "\n")
}

fn titles(structure: &Structure) -> Vec<&str> {
    structure
        .chapters
        .iter()
        .map(|chapter| chapter.title.as_str())
        .collect()
}

#[test]
fn numbered_novels_have_the_chapters_they_are_known_for() {
    let Some(data) = data("numbered_novels_have_the_chapters_they_are_known_for") else {
        return;
    };
    // Front matter with a heading, the notes of a transcriber and the appendix of
    // 西游记 count as chapters too.
    for (file, encoding, count, first, last) in [
        ("books/1342-0.txt", UTF_8, 61, "Chapter 1", "Chapter 61"),
        (
            "books/10321-8.txt",
            WINDOWS_1252,
            21,
            "CHAPTER I. A LADY AND A GRIFFIN",
            "CHAPTER XXI. THE DRAGON'S SHADOW",
        ),
        (
            "books/41603-8.txt",
            UTF_8,
            16,
            "CHAPTER I.",
            "Transcriber's Notes:",
        ),
        (
            "books/13951-8.txt",
            WINDOWS_1252,
            69,
            "INTRODUCTION",
            "ÉPILOGUE",
        ),
        (
            "books/44557-8.txt",
            WINDOWS_1252,
            14,
            "DAY THE FIRST",
            "DAYS FOURTEENTH, FIFTEENTH, AND SIXTEENTH--",
        ),
        (
            "messy/utf8bom_crlf_35-0.txt",
            UTF_8,
            17,
            "I. Introduction",
            "Epilogue",
        ),
        (
            "books/水浒传.txt",
            UTF_8,
            121,
            "楔子 张天师祈禳瘟疫 洪太尉误走妖魔",
            "第一百二十回 宋公明神聚蓼儿 徽宗帝梦游梁山泊",
        ),
        (
            "books/西游记.txt",
            UTF_8,
            101,
            "第一回 灵根育孕源流出 心性修持大道生",
            "第一百回 径回东土 五圣成真",
        ),
        (
            "messy/三国演义.txt",
            UTF_8,
            120,
            "第一回 宴桃园豪杰三结义 斩黄巾英雄首立功",
            "第一百二十回 荐杜预老将献新谋 降孙皓三分归一统",
        ),
        (
            "messy/紅樓夢_GBK.txt",
            GB18030,
            120,
            "第一回 甄士隱夢幻識通靈 賈雨村風塵懷閨秀",
            "第一二零回 甄士隱詳說太虛情 賈雨村歸結紅樓夢",
        ),
        (
            "books/老殘遊記.txt",
            UTF_8,
            20,
            "第一回土不制水歷年成患風能鼓浪到處可危",
            "第二十回浪子金銀伐性斧道人冰雪返魂香",
        ),
    ] {
        let text = read(&data, file, encoding);
        let structure = structure(&text);
        let titles = titles(&structure);
        assert_eq!(titles.len(), count, "{file}: {titles:#?}");
        assert_eq!(titles[0], first, "{file}");
        assert_eq!(titles[count - 1], last, "{file}");
        assert!(
            structure.chapters.is_sorted_by_key(|chapter| chapter.start),
            "{file}"
        );
        let levels: Vec<u8> = structure
            .chapters
            .iter()
            .map(|chapter| chapter.level)
            .collect();
        assert!(levels.iter().all(|&level| level == 1), "{file}: {levels:?}");
    }
}

#[test]
fn collections_have_their_stories_above_their_parts() {
    let Some(data) = data("collections_have_their_stories_above_their_parts") else {
        return;
    };
    let text = read(&data, "books/5956-0.txt", UTF_8);
    let structure_ = structure(&text);
    assert_eq!(
        titles(&structure_),
        [
            "GALLEGHER. A Newspaper Story",
            "A WALK UP THE AVENUE",
            "MY DISREPUTABLE FRIEND, MR. RAEGEN",
            "THE OTHER WOMAN",
            "THE TRAILER FOR ROOM NO. 8",
            "“THERE WERE NINETY AND NINE”",
            "THE CYNICAL MISS CATHERWAIGHT",
            "VAN BIBBER AND THE SWAN-BOATS",
            "VAN BIBBER'S BURGLAR",
            "VAN BIBBER AS BEST MAN",
        ]
    );
    let text = read(&data, "books/2544-0.txt", UTF_8);
    let structure = structure(&text);
    let paths: Vec<String> = (0..structure.chapters.len())
        .map(|at| chapter_path(&structure.chapters, at as u32))
        .collect();
    assert!(
        paths.contains(&"A NIECE OF SNAPSHOT HARRY'S > III".to_owned()),
        "{paths:#?}"
    );
    assert!(
        paths.contains(&"WHAT HAPPENED AT THE FONDA > PART II".to_owned()),
        "{paths:#?}"
    );
    assert_eq!(
        paths.last().map(String::as_str),
        Some("MR. BILSON'S HOUSEKEEPER > III")
    );
}

#[test]
fn the_body_of_every_gutenberg_book_is_the_book() {
    let Some(data) = data("the_body_of_every_gutenberg_book_is_the_book") else {
        return;
    };
    for (file, encoding, first, last) in [
        (
            "books/1342-0.txt",
            UTF_8,
            "PRIDE AND PREJUDICE",
            "means of uniting them.",
        ),
        ("books/10321-8.txt", WINDOWS_1252, "DRAGON'S BLOOD", ""),
        ("books/13951-8.txt", WINDOWS_1252, "Alexandre Dumas", "FIN"),
        (
            "books/2544-0.txt",
            UTF_8,
            "FROM SAND HILL TO PINE",
            "Caltons.",
        ),
        ("books/41603-8.txt", UTF_8, "TOTO'S MERRY WINTER.", ""),
        (
            "books/44557-8.txt",
            WINDOWS_1252,
            "AN UNSENTIMENTAL JOURNEY",
            "",
        ),
        (
            "books/5956-0.txt",
            UTF_8,
            "GALLEGHER AND OTHER STORIES",
            "leave it alone.”",
        ),
        ("messy/utf8bom_crlf_35-0.txt", UTF_8, "The Time Machine", ""),
        (
            "graphrag-novel/books/Novel-44557.txt",
            UTF_8,
            "AN UNSENTIMENTAL JOURNEY",
            "BREAD STREET HILL, E.C.",
        ),
        (
            "graphrag-novel/books/Novel-2544.txt",
            UTF_8,
            "Produced by Donald Lainson FROM SAND HILL",
            "Caltons.",
        ),
    ] {
        let text = read(&data, file, encoding);
        let body = text[structure(&text).body].trim();
        assert!(body.starts_with(first), "{file}: {:?}", body.get(..80));
        assert!(
            body.ends_with(last),
            "{file}: {:?}",
            body.get(body.len() - 80..)
        );
        assert!(!body.contains("Gutenberg"), "{file}");
    }
    for file in [
        "books/水浒传.txt",
        "messy/singleline_吶喊.txt",
        "books/老殘遊記.txt",
    ] {
        let text = read(&data, file, UTF_8);
        assert_eq!(structure(&text).body, 0..text.len(), "{file}");
    }
}
