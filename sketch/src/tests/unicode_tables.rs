//! Builds the tables of `sketch/src/unicode/` from the crates that were their source. The layouts
//! are described there. `tools/tables` includes this file and writes the tables; a test compares
//! them.

use std::collections::BTreeMap;

use unicode_normalization::char::{canonical_combining_class, compose};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{definition, tables};

/// The first character beyond `chars.bin`.
const CHARS: u32 = 0x3_3480;
const BLOCK: usize = 64;
const RECORDS: usize = 256;

/// The word classes, with the numbers of `unicode::words::class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordBreak {
    Other,
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    ExtendNumLet,
    Extend,
    Zwj,
    MidLetter,
    MidNum,
    MidNumLet,
    SingleQuote,
    DoubleQuote,
    Regional,
    Space,
    Newline,
}

/// Each file of the folder, with its bytes.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("chars", chars()),
        ("composed", composed()),
        ("decomposed", char_map(decomposed)),
        ("lower", char_map(lower)),
        ("folded", folded()),
    ]
}

fn all_chars() -> impl Iterator<Item = char> {
    (0..=0x10_ffff).filter_map(char::from_u32)
}

fn is_syllable(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

fn decomposed(c: char) -> Option<String> {
    let parts: String = [c].into_iter().nfd().collect();
    (!is_syllable(c) && parts != c.to_string()).then_some(parts)
}

fn lower(c: char) -> Option<String> {
    let text: String = definition::lower(&c.to_string()).collect();
    (text != c.to_string()).then_some(text)
}

fn chars() -> Vec<u8> {
    let mut numbers: BTreeMap<[u8; 3], u8> = BTreeMap::new();
    let mut records = Vec::new();
    let mut of_chars = Vec::new();
    for c in (0..CHARS).map(char::from_u32) {
        let record = c.map_or([0; 3], record);
        let number = *numbers.entry(record).or_insert_with(|| {
            records.extend(record);
            u8::try_from(records.len() / 3 - 1).expect("few records")
        });
        of_chars.push(number);
    }
    records.resize(RECORDS * 3, 0);
    let (mut first, mut blocks, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
    for block in of_chars.chunks(BLOCK) {
        let new = known.len();
        let at = *known.entry(block).or_insert(new);
        if at == new {
            blocks.extend(block);
        }
        first.extend(u16::try_from(at).expect("few blocks").to_le_bytes());
    }
    [records, first, blocks].concat()
}

fn record(c: char) -> [u8; 3] {
    let text = c.to_string();
    let with_joiner: String = ['!', '\u{200d}', c].into_iter().collect();
    let class = word_break(c);
    let joins = !matches!(class, WordBreak::Extend | WordBreak::Zwj);
    let flags = [
        text.unicode_words().next().is_some(),
        joins && with_joiner.split_word_bounds().count() == 1,
        is_nfc_quick(text.chars()) == IsNormalized::No,
        is_nfc_quick(text.chars()) == IsNormalized::Maybe,
        decomposed(c).is_some(),
        lower(c).is_some(),
    ];
    let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
    [class as u8, flags, canonical_combining_class(c)]
}

/// The word class of a character, from the boundaries that `unicode-segmentation` sets beside it.
fn word_break(c: char) -> WordBreak {
    let one = |before: &str, after: &str| {
        let text: String = before.chars().chain([c]).chain(after.chars()).collect();
        text.split_word_bounds().count() == 1
    };
    if !one("", "\u{301}") {
        return WordBreak::Newline;
    }
    if one("!", "") {
        return if one("!", "\u{2764}") { WordBreak::Zwj } else { WordBreak::Extend };
    }
    let [letter, katakana, hebrew] = ["a", "\u{30a2}", "\u{5d0}"].map(|near| one(near, near));
    let number = one("1", "1");
    match (letter, number) {
        _ if one("\u{30a2}", "a") => WordBreak::ExtendNumLet,
        _ if one("", "'") => WordBreak::Hebrew,
        _ if one("a", "") && one("1,", "") => WordBreak::Numeric,
        _ if one("a", "") => WordBreak::Letter,
        _ if katakana => WordBreak::Katakana,
        (true, true) if one("\u{5d0}", "") => WordBreak::SingleQuote,
        (true, true) => WordBreak::MidNumLet,
        (true, false) => WordBreak::MidLetter,
        (false, true) => WordBreak::MidNum,
        _ if hebrew => WordBreak::DoubleQuote,
        _ if one("\u{1f1e6}", "") => WordBreak::Regional,
        _ if one(" ", "") => WordBreak::Space,
        _ => WordBreak::Other,
    }
}

/// The bytes of a `CharMap`.
fn char_map(of: impl Fn(char) -> Option<String>) -> Vec<u8> {
    let (mut entries, mut texts) = (Vec::new(), String::new());
    for (c, text) in all_chars().filter_map(|c| Some((c, of(c)?))) {
        let start = texts.find(&text).unwrap_or(texts.len());
        if start == texts.len() {
            texts.push_str(&text);
        }
        entries.extend(&u32::from(c).to_le_bytes()[..3]);
        entries.push(u8::try_from(text.len()).expect("a short text"));
        entries.extend(u16::try_from(start).expect("few texts").to_le_bytes());
    }
    let count = u16::try_from(entries.len() / 6).expect("few entries");
    [count.to_le_bytes().to_vec(), entries, texts.into_bytes()].concat()
}

fn composed() -> Vec<u8> {
    let mut pairs = Vec::new();
    for c in all_chars().filter(|c| !is_syllable(*c)) {
        let parts: Vec<char> = [c].into_iter().nfd().collect();
        let [start @ .., second] = &parts[..] else { continue };
        let first: Vec<char> = start.iter().copied().nfc().collect();
        if let [first] = first[..]
            && compose(first, *second) == Some(c)
        {
            pairs.push([*second, first, c]);
        }
    }
    pairs.sort_unstable();
    let bytes = |c: &char| u32::from(*c).to_le_bytes().into_iter().take(3);
    pairs.iter().flatten().flat_map(bytes).collect()
}

/// What `fold` makes of decomposed characters that have no record in `fold.bin`.
fn folded() -> Vec<u8> {
    let fold = tables::bytes(definition::fold);
    char_map(|c| {
        let text = definition::fold(&c.to_string());
        let rest = tables::is_unknown(&fold, c) && !definition::is_ignorable(c);
        (rest && !is_syllable(c) && decomposed(c).is_none() && text != c.to_string())
            .then_some(text)
    })
}
