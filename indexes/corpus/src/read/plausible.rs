//! How much a decoded text looks like writing.
//!
//! Any bytes decode as several encodings, and only one reading is a text. A
//! reading is judged by its cost: the surprise of its characters, -ln p, in
//! hundredths of a nat, under four rough models of writing (simplified and
//! traditional Chinese, Japanese, Korean) that share everything that is not
//! East Asian. The cheapest model counts. Wrong readings are full of rare
//! ideographs, accented letters in a row and symbols inside words, and cost
//! several nats a character more. Integers keep the sum exact and the same on
//! every machine.

use std::sync::LazyLock;

use super::common::{JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL};

/// A cost in hundredths of a nat.
pub(super) type Cost = i64;

/// One cost a model: simplified, traditional, Japanese, Korean.
type Costs = [Cost; 4];

const URO: std::ops::RangeInclusive<char> = '\u{4E00}'..='\u{9FFF}';
const URO_LEN: usize = 0x9FFF - 0x4E00 + 1;
const HANGUL: std::ops::RangeInclusive<char> = '\u{AC00}'..='\u{D7A3}';

const RARE_HAN: Cost = 1100;
const EXTENSION_HAN: Cost = 1500;
const FOREIGN: Cost = 1300;
const NO_CHARACTER: Cost = 1800;
const REPLACEMENT: Cost = 1400;
const CONTROL: Cost = 2000;

/// What a character is to its neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    Lower,
    Upper,
    /// An accented Latin letter; whether it is lower case.
    Accented(bool),
    /// A letter of another alphabet (its block), and whether it is lower case.
    Letter(u32, bool),
    Han,
    Katakana,
}

/// Adds up the cost of a text that arrives in pieces.
#[derive(Debug, Clone)]
pub(super) struct Plausibility {
    costs: Costs,
    before: Kind,
    characters: u64,
    /// Characters beyond ASCII.
    pub(super) beyond_ascii: u64,
    /// Their cost, by the cheapest model of each.
    beyond_ascii_cost: Cost,
}

impl Plausibility {
    pub(super) fn new() -> Self {
        Self {
            costs: [0; 4],
            before: Kind::Other,
            characters: 0,
            beyond_ascii: 0,
            beyond_ascii_cost: 0,
        }
    }

    /// Takes the next piece of the text.
    pub(super) fn read(&mut self, piece: &str) {
        for character in piece.chars() {
            let (costs, kind) = judge(character, self.before);
            for (sum, cost) in self.costs.iter_mut().zip(costs) {
                *sum += cost;
            }
            self.characters += 1;
            if !character.is_ascii() {
                self.beyond_ascii += 1;
                self.beyond_ascii_cost += costs.into_iter().min().unwrap_or(0);
            }
            self.before = kind;
        }
    }

    /// The cost so far; it never falls.
    pub(super) fn cost(&self) -> Cost {
        self.costs.into_iter().min().unwrap_or(0)
    }

    /// Whether no kind of writing costs so much. A few characters do not
    /// tell.
    pub(super) fn is_noise(&self) -> bool {
        const ENOUGH: u64 = 64;
        const NOISE: Cost = 1100;
        self.characters >= ENOUGH && self.cost() > NOISE * self.characters as Cost
    }

    /// From 1 for something like writing to 0 for noise: how the characters
    /// beyond ASCII cost on average. Few of them weigh little.
    pub(super) fn fit(&self) -> f64 {
        const ASSUMED: f64 = 20.;
        const WRITING: f64 = 1000.;
        const NOISE: f64 = 1300.;
        let mean =
            (self.beyond_ascii_cost as f64 + ASSUMED * 600.) / (self.beyond_ascii as f64 + ASSUMED);
        ((NOISE - mean) / (NOISE - WRITING)).clamp(0., 1.)
    }
}

fn judge(character: char, before: Kind) -> (Costs, Kind) {
    match character {
        'a'..='z' => ([300 + after_han(before); 4], Kind::Lower),
        'A'..='Z' => ([300; 4], Kind::Upper),
        ' ' => ([200; 4], Kind::Other),
        '\n' | '\r' | '\t' => ([400; 4], Kind::Other),
        '!'..='~' => ([500; 4], Kind::Other),
        '\x0C' | '\x1A' => ([800; 4], Kind::Other),
        '\0'..='\x7F' => ([CONTROL; 4], Kind::Other),
        '\u{80}'..='\u{9F}' => ([NO_CHARACTER; 4], Kind::Other),
        _ if URO.contains(&character) => (han(character, before), Kind::Han),
        'À'..='Ö' | 'Ø'..='ö' | 'ø'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => {
            accented(character, before)
        }
        '\u{370}'..='\u{1FFF}' => letter(character, before),
        _ => (sign(character, before), kind_of_sign(character)),
    }
}

/// An ASCII word does not grow out of an ideograph, except where half of a
/// letter pair was swallowed by a wrong reading.
fn after_han(before: Kind) -> Cost {
    if before == Kind::Han { 300 } else { 0 }
}

fn han(character: char, before: Kind) -> Costs {
    let sandwiched = if before == Kind::Lower { 500 } else { 0 };
    let place = character as usize - *URO.start() as usize;
    HAN_COSTS[place].map(|cost| Cost::from(cost) + sandwiched)
}

static HAN_COSTS: LazyLock<Vec<[i16; 4]>> = LazyLock::new(|| {
    let mut costs = vec![[RARE_HAN as i16, RARE_HAN as i16, RARE_HAN as i16, 1420]; URO_LEN];
    for (model, list) in [SIMPLIFIED, TRADITIONAL, JAPANESE].into_iter().enumerate() {
        for (rank, character) in list.chars().enumerate() {
            let Some(place) = (character as usize).checked_sub(*URO.start() as usize) else {
                continue;
            };
            // A bucket's cost is -ln of its share of running text divided by
            // its size.
            costs[place][model] = match rank {
                0..100 => 540,
                100..300 => 640,
                _ => 780,
            };
            costs[place][3] = 1000;
        }
    }
    costs
});

fn accented(character: char, before: Kind) -> (Costs, Kind) {
    let lower = character.is_lowercase();
    let mut cost = match character {
        'é' | 'è' | 'ê' | 'à' | 'â' | 'ç' | 'ù' | 'û' | 'î' | 'ï' | 'ô' | 'ë' | 'ü' | 'ö' | 'ä'
        | 'ß' | 'ñ' | 'á' | 'í' | 'ó' | 'ú' | 'ã' | 'õ' | 'å' | 'æ' | 'ø' | 'œ' | 'É' | 'È'
        | 'À' | 'Ä' | 'Ö' | 'Ü' | 'Ç' | 'Å' | 'Ø' | 'Ñ' | 'Á' => 450,
        '\0'..='\u{17F}' => 650,
        _ => 800,
    };
    if matches!(before, Kind::Accented(_)) {
        cost += 450;
    }
    if !lower && matches!(before, Kind::Lower | Kind::Accented(true)) {
        cost += 500;
    }
    ([cost; 4], Kind::Accented(lower))
}

/// A letter of Greek, Cyrillic, Hebrew, Arabic, Thai and the like.
fn letter(character: char, before: Kind) -> (Costs, Kind) {
    if !character.is_alphabetic() {
        return ([700; 4], Kind::Other);
    }
    let block = character as u32 >> 8;
    let lower = character.is_lowercase();
    let mut cost = match before {
        Kind::Letter(other, _) if other == block => 350,
        Kind::Lower | Kind::Upper | Kind::Accented(_) | Kind::Letter(..) => 1000,
        _ => 700,
    };
    if character.is_uppercase() && before == Kind::Letter(block, true) {
        cost += 500;
    }
    ([cost; 4], Kind::Letter(block, lower))
}

fn kind_of_sign(character: char) -> Kind {
    match character {
        '\u{30A1}'..='\u{30FF}' => Kind::Katakana,
        '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{3FFFF}' => Kind::Han,
        _ => Kind::Other,
    }
}

fn sign(character: char, before: Kind) -> Costs {
    match character {
        '‘' | '’' | '“' | '”' | '—' | '…' | '·' => [450; 4],
        '、'
        | '。'
        | '「'..='』'
        | '，'
        | '：'
        | '；'
        | '？'
        | '！'
        | '《'
        | '》'
        | '（'
        | '）'
        | '\u{3000}' => [400, 400, 400, 800],
        '»' | '–' | '„' | '‚' | '\u{A0}' | '•' | '™' => [550; 4],
        '«' | '°' | '£' | '§' | '©' | '®' | '€' | '¿' | '¡' | '½' | '†' | '‡' => {
            // As in the Latin reading of UTF-8: Ã© for é.
            [550 + if matches!(before, Kind::Accented(_)) {
                600
            } else {
                0
            }; 4]
        }
        '\u{A0}'..='\u{BF}' | '×' | '÷' => [1000; 4],
        '\u{3041}'..='\u{309F}' => [1000, 1000, 450, 1200],
        '\u{30A0}'..='\u{30FF}' => {
            let japanese = if before == Kind::Katakana { 450 } else { 600 };
            [1000, 1000, japanese, 1200]
        }
        _ if HANGUL.contains(&character) => {
            let place = character as usize - *HANGUL.start() as usize;
            [1200, 1200, 1200, Cost::from(HANGUL_COSTS[place])]
        }
        '\u{FF01}'..='\u{FF5E}' => [700, 700, 700, 900],
        '\u{FF61}'..='\u{FF9F}' => [1100; 4],
        '\u{3001}'..='\u{303F}' | '\u{2460}'..='\u{24FF}' => [900; 4],
        '\u{2010}'..='\u{206F}' | '\u{2190}'..='\u{21FF}' | '\u{2500}'..='\u{26FF}' => [1000; 4],
        '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => {
            [EXTENSION_HAN; 4]
        }
        '\u{FEFF}' => [300; 4],
        '\u{FFFD}' => [REPLACEMENT; 4],
        '\u{E000}'..='\u{F8FF}' | '\u{FFFE}' | '\u{FFFF}' | '\u{F0000}'.. => [NO_CHARACTER; 4],
        _ => [FOREIGN; 4],
    }
}

/// Of the 11,172 syllables, KS X 1001 has the 2,350 that are in use. A wrong
/// reading meets them all.
static HANGUL_COSTS: LazyLock<Vec<i16>> = LazyLock::new(|| {
    HANGUL
        .map(|syllable| {
            let mut buffer = [0; 4];
            let (bytes, _, _) = encoding_rs::EUC_KR.encode(syllable.encode_utf8(&mut buffer));
            match &*bytes {
                _ if KOREAN.contains(syllable) => 470,
                [0xA1..=0xFE, 0xA1..=0xFE] => 800,
                _ => 1250,
            }
        })
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> Cost {
        let mut plausibility = Plausibility::new();
        plausibility.read(text);
        plausibility.cost()
    }

    #[test]
    fn a_text_costs_less_than_its_wrong_readings() {
        for (text, encoding, wrong) in [
            ("他是一個好人，住在城裏。", "big5", "gb18030"),
            ("他是一个好人，住在城里。", "gb18030", "big5"),
            ("彼は東京に住んでいる。", "shift_jis", "gb18030"),
            ("彼は東京に住んでいる。", "euc-jp", "gb18030"),
            ("나는 그 사람을 모른다.", "euc-kr", "gb18030"),
            ("un été à la forêt", "windows-1252", "gb18030"),
            ("Он долго молчал.", "windows-1251", "windows-1252"),
            ("“It’s a café,” he said.", "utf-8", "windows-1252"),
            ("“It’s a fact,” he said.", "windows-1252", "shift_jis"),
        ] {
            let [encoding, wrong] = [encoding, wrong]
                .map(|label| encoding_rs::Encoding::for_label(label.as_bytes()).unwrap());
            let (bytes, _, lost) = encoding.encode(text);
            assert!(!lost);
            let (reading, _) = wrong.decode_without_bom_handling(&bytes);
            assert!(
                cost(text) + 500 < cost(&reading),
                "{text} {} vs {reading} {}",
                cost(text),
                cost(&reading)
            );
        }
    }

    #[test]
    fn the_cost_does_not_depend_on_the_pieces() {
        let text = "Café «été» 他是一個 катакана カタ";
        let mut plausibility = Plausibility::new();
        for character in text.chars() {
            plausibility.read(&character.to_string());
        }
        assert_eq!(plausibility.cost(), cost(text));
    }

    #[test]
    fn writing_fits_and_noise_does_not() {
        let fit = |text: &str| {
            let mut plausibility = Plausibility::new();
            plausibility.read(text);
            plausibility.fit()
        };
        assert_eq!(fit("plain"), 1.);
        assert_eq!(fit("½"), 1.);
        assert_eq!(fit(&"他是一個好人，住在城裏。".repeat(9)), 1.);
        assert!(fit(&"\u{E001}\u{FFFD}\u{91}".repeat(40)) < 0.2);
    }
}
