//! Finding the encoding of a file by reading it in every plausible one.
//!
//! One detector's guess is not enough: a Big5 novel also decodes as GB18030,
//! into nonsense and without an error. So the whole file is decoded with each
//! candidate, the readings are compared by [`Plausibility`], and chardetng's
//! guess only tips the scale. The confidence is the winner's share of the
//! likelihood.

use std::ops::ControlFlow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE,
    UTF_16LE, WINDOWS_1252,
};

use super::decode::decode_with;
use super::plausible::{Cost, Plausibility};
use super::report::Malformed;

/// So many multi-byte sequences are not valid UTF-8 by chance.
const CLEARLY_UTF8: usize = 16;
/// A reading that has come to cost so much more than another at the same place
/// is given up: some six thousand characters that look wrong.
const HOPELESS: Cost = 2_000_000;
/// A reading that costs no more than this above the best, which is a
/// thousandth of its likelihood, is a runner-up.
const NEAR: Cost = 2_300;
/// How much chardetng's guess is favoured, at once and for each character
/// beyond ASCII. It settles ties between alphabets; a reading that is really
/// wrong costs many times as much.
const GUESS_BONUS: (Cost, Cost) = (300, 20);
/// The same for a declaration.
const DECLARED_BONUS: (Cost, Cost) = (1500, 50);
/// Of a nat. The models take characters as independent, so they are surer
/// than they should be.
const TEMPERATURE: f64 = 0.3;

/// The winning reading.
pub(super) struct Detection {
    pub(super) encoding: &'static Encoding,
    pub(super) text: String,
    pub(super) malformed: Malformed,
    pub(super) confidence: f64,
    pub(super) runner_up: Option<&'static Encoding>,
    /// Whether the declared encoding reads the bytes the same way.
    pub(super) as_declared: bool,
    /// Whether even the winner looks like no writing.
    pub(super) is_noise: bool,
}

struct Reading {
    encoding: &'static Encoding,
    text: String,
    malformed: Malformed,
    plausibility: Plausibility,
    /// The cost less the bonuses.
    cost: Cost,
    /// The cost after each piece of the bytes.
    course: Vec<Cost>,
}

/// Reads bytes without a byte order mark in the likeliest encoding.
pub(super) fn detect(bytes: &[u8], declared: Option<&'static Encoding>) -> Detection {
    if let Some(text) = clearly_utf8(bytes) {
        let as_declared = match declared {
            Some(declared) if text.is_ascii() => declared.is_ascii_compatible(),
            declared => declared == Some(UTF_8),
        };
        return Detection {
            encoding: UTF_8,
            text: text.to_owned(),
            malformed: Malformed::default(),
            confidence: 1.,
            runner_up: None,
            as_declared,
            is_noise: false,
        };
    }
    let declared = declared.map(superset);
    let guess = superset(guess(bytes));
    let mut readings: Vec<Reading> = Vec::new();
    for encoding in candidates(bytes, guess, declared) {
        let best = readings.iter().min_by_key(|reading| reading.cost);
        readings.extend(read(bytes, encoding, guess, declared, best));
    }
    choose(readings, bytes, declared)
}

fn clearly_utf8(bytes: &[u8]) -> Option<&str> {
    // Control codes make it UTF-16, ISO-2022-JP or no text at all.
    let is_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C);
    if bytes.iter().any(is_control) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let sequences = text.chars().filter(|character| !character.is_ascii());
    let clear = text.is_ascii() || sequences.take(CLEARLY_UTF8).count() == CLEARLY_UTF8;
    clear.then_some(text)
}

/// How much of a file chardetng sees, in bytes. It is many times slower than
/// the comparison of the whole readings, and only a hint to it.
const HINT_FROM: usize = 128 << 10;

/// chardetng's guess, from where the bytes are no longer ASCII.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let telling = |byte: &u8| !byte.is_ascii() || *byte == 0x1B;
    let start = bytes.iter().position(telling).unwrap_or(0);
    let end = bytes.len().min(start + HINT_FROM);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[start..end], end == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// The two names of one decoder count as one candidate.
fn superset(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == GBK { GB18030 } else { encoding }
}

fn candidates(
    bytes: &[u8],
    guess: &'static Encoding,
    declared: Option<&'static Encoding>,
) -> Vec<&'static Encoding> {
    // The likeliest first: the rest is given up as soon as it falls behind.
    let likeliest = [Some(guess), declared];
    let escapes = bytes.contains(&0x1B).then_some(ISO_2022_JP);
    let usual = [
        UTF_8,
        GB18030,
        BIG5,
        SHIFT_JIS,
        WINDOWS_1252,
        EUC_KR,
        EUC_JP,
        UTF_16LE,
        UTF_16BE,
    ];
    let mut candidates: Vec<&'static Encoding> = Vec::new();
    for encoding in likeliest
        .into_iter()
        .chain([escapes])
        .flatten()
        .chain(usual)
    {
        if !candidates.contains(&encoding) {
            candidates.push(encoding);
        }
    }
    candidates
}

/// The surprise of meeting an encoding at all. It matters for a few words
/// only: a paragraph outweighs it.
fn rarity(encoding: &'static Encoding) -> Cost {
    match encoding {
        _ if encoding == UTF_8 => 0,
        _ if [GB18030, BIG5, WINDOWS_1252].contains(&encoding) => 50,
        _ if encoding == SHIFT_JIS => 150,
        _ if encoding == EUC_JP || encoding == EUC_KR => 500,
        // Without a byte order mark.
        _ if encoding == UTF_16LE || encoding == UTF_16BE => 600,
        _ => 400,
    }
}

/// Reads the bytes, or gives up when the reading is hopeless beside the best.
fn read(
    bytes: &[u8],
    encoding: &'static Encoding,
    guess: &'static Encoding,
    declared: Option<&'static Encoding>,
    best: Option<&Reading>,
) -> Option<Reading> {
    let mut plausibility = Plausibility::new();
    let mut course = Vec::new();
    let cost = |plausibility: &Plausibility| {
        let beyond_ascii = plausibility.beyond_ascii as Cost;
        let bonus = |applies: bool, (once, each): (Cost, Cost)| {
            if applies {
                once + each * beyond_ascii
            } else {
                0
            }
        };
        plausibility.cost() + rarity(encoding)
            - bonus(encoding == guess, GUESS_BONUS)
            - bonus(Some(encoding) == declared, DECLARED_BONUS)
    };
    let (text, malformed) = decode_with(encoding, bytes, |piece| {
        plausibility.read(piece);
        let so_far = cost(&plausibility);
        let best_here = best.and_then(|best| best.course.get(course.len()));
        course.push(so_far);
        match best_here {
            Some(best) if so_far > best + HOPELESS => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    Some(Reading {
        encoding,
        text,
        malformed,
        cost: cost(&plausibility),
        plausibility,
        course,
    })
}

fn choose(
    mut readings: Vec<Reading>,
    bytes: &[u8],
    declared: Option<&'static Encoding>,
) -> Detection {
    // Stable, so that a tie goes to the earlier candidate.
    readings.sort_by_key(|reading| reading.cost);
    let mut readings = readings.into_iter();
    let Some(winner) = readings.next() else {
        unreachable!("the first candidate is never given up");
    };
    let mut as_declared = declared == Some(winner.encoding);
    let mut runner_up = None;
    let mut all = 1.;
    for other in readings {
        if other.text == winner.text {
            as_declared |= declared == Some(other.encoding);
            continue;
        }
        let behind = other.cost - winner.cost;
        all += (-TEMPERATURE * behind as f64 / 100.).exp();
        runner_up = runner_up.or(Some(other.encoding).filter(|_| behind < NEAR));
    }
    let sound = 1. - malformed_share(bytes, &winner.malformed);
    Detection {
        encoding: winner.encoding,
        confidence: winner.plausibility.fit() * sound / all,
        is_noise: winner.plausibility.is_noise(),
        text: winner.text,
        malformed: winner.malformed,
        runner_up,
        as_declared,
    }
}

/// The share of malformed sequences among the bytes beyond ASCII, at most 1.
pub(super) fn malformed_share(bytes: &[u8], malformed: &Malformed) -> f64 {
    let beyond_ascii = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    (malformed.count as f64 / beyond_ascii.max(1) as f64).min(1.)
}
