//! Builds the tables of `sketch/src/fold/` from their definition. The layout is described in
//! `sketch/src/fold/table.rs`. `tools/tables` includes this file and writes the tables; a test
//! compares them.

use std::collections::{BTreeMap, HashMap};

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::definition::{self, Class};

/// The first character beyond the tables.
const CHARS: u32 = 0x3_2400;
/// Characters per block.
const BLOCK: usize = 64;
/// The stored form of a record: value, bytes, class, combining class, flags.
type TableRecord = [u8; 8];

/// Number of records.
const RECORDS: usize = 1024;

/// The record for characters that have no record of their own.
const UNKNOWN: TableRecord = [0, 0, 0, 0, UNKNOWN_BYTES, 12, 0, 0];
const UNKNOWN_BYTES: u8 = 255;
/// The value is added to the code point.
const MOVED: u8 = 254;
/// The character becomes two characters.
const PAIR: u8 = 253;
/// The character may compose with the preceding one.
const MAYBE: u8 = 1;
/// The character has a canonical decomposition.
const DECOMPOSES: u8 = 2;

/// The bytes of the table for a normalisation, which is given as a function of one character.
pub(crate) fn bytes(normalise: fn(&str) -> String) -> Vec<u8> {
    let mut classes = HashMap::new();
    let of_chars: Vec<TableRecord> = (0..CHARS)
        .map(|number| match char::from_u32(number) {
            Some(c) => record(c, &normalise(&c.to_string()), &mut classes),
            None => UNKNOWN,
        })
        .collect();
    // The table has room for `RECORDS` records. First come the records of characters that do not
    // change, and of those that do not decompose, because the slow path can fold these only by the
    // table. The other records are ordered by the number of characters that share them; a character
    // below U+2100 counts as 200, because it is in common use.
    let mut weights: BTreeMap<TableRecord, u64> = BTreeMap::new();
    for (c, record) in (0..CHARS).map(char::from_u32).zip(&of_chars) {
        let Some(c) = c else { continue };
        let alone = c.nfkd().eq([c]) || record[..5] == [0, 0, 0, 0, MOVED];
        let weight = if c < '\u{2100}' { 200 } else { 1 };
        *weights.entry(*record).or_default() += if alone { 1 << 32 } else { weight };
    }
    weights.remove(&UNKNOWN);
    let mut order: Vec<(u64, TableRecord)> = weights.into_iter().map(|(r, w)| (w, r)).collect();
    order.sort_by(|a, b| b.cmp(a));
    order.truncate(RECORDS - 1);
    let records: Vec<TableRecord> =
        [UNKNOWN].into_iter().chain(order.iter().map(|(_, r)| *r)).collect();
    let number: HashMap<TableRecord, u16> = records.iter().copied().zip(0..).collect();
    let numbers: Vec<u16> = of_chars.iter().map(|r| number.get(r).copied().unwrap_or(0)).collect();
    let (mut first, mut blocks, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    for block in numbers.chunks(BLOCK) {
        let new = known.len();
        let at = *known.entry(block.to_vec()).or_insert(new);
        if at == new {
            blocks.extend(block.iter().flat_map(|number| number.to_le_bytes()));
        }
        first.extend(u16::try_from(at).expect("few blocks").to_le_bytes());
    }
    let mut bytes = records.concat();
    bytes.resize(RECORDS * size_of::<TableRecord>(), 0);
    bytes.extend(first);
    bytes.extend(blocks);
    bytes
}

/// Whether a table has no record of its own for a character.
pub(crate) fn is_unknown(table: &[u8], c: char) -> bool {
    let short = |at: usize| usize::from(u16::from_le_bytes([table[at], table[at + 1]]));
    let (number, first) = (c as usize, RECORDS * size_of::<TableRecord>());
    let blocks = first + CHARS as usize / BLOCK * 2;
    let record = |block: usize| short(blocks + 2 * (block * BLOCK + number % BLOCK));
    u32::from(c) >= CHARS || record(short(first + 2 * (number / BLOCK))) == 0
}

fn record(c: char, normal: &str, classes: &mut HashMap<char, Class>) -> TableRecord {
    if c.to_string().nfd().any(|c| c == '\u{345}') {
        return UNKNOWN;
    }
    let mut chars = normal.chars();
    let (Some(to), more) = (chars.next(), chars.next().is_some()) else {
        return [0, 0, 0, 0, 0, 0, 0, 0];
    };
    if normal.is_ascii() && normal != " " {
        if normal.len() > 4 || normal.contains(' ') {
            return UNKNOWN;
        }
        let mut record = [0; 8];
        record[..normal.len()].copy_from_slice(normal.as_bytes());
        record[4] = u8::try_from(normal.len()).expect("short");
        return record;
    }
    if more {
        return pair(normal);
    }
    let class = *classes.entry(to).or_insert_with(|| definition::class(to));
    let value = u32::from(to).wrapping_sub(u32::from(c)).to_le_bytes();
    let maybe = is_nfc_quick(normal.chars()) == IsNormalized::Maybe;
    let decomposes = normal.chars().nfd().ne(normal.chars());
    let flags = if maybe { MAYBE } else { 0 } | if decomposes { DECOMPOSES } else { 0 };
    let combining = unicode_normalization::char::canonical_combining_class(to);
    with_value(value, [MOVED, class as u8, combining, flags])
}

/// The record of a character that becomes two characters. Both must be in the first plane, and
/// neither may be white space.
fn pair(normal: &str) -> TableRecord {
    let units: Vec<u16> = normal.encode_utf16().collect();
    match units[..] {
        [first, second] if normal.chars().count() == 2 && !normal.contains(' ') => {
            let value = u32::from(first) | u32::from(second) << 16;
            with_value(value.to_le_bytes(), [PAIR, 12, 0, 0])
        }
        _ => UNKNOWN,
    }
}

/// The bytes of `composites.bin`. Its letters and marks are those that neither normalisation
/// changes.
pub(crate) fn composites() -> Vec<u8> {
    let same = |c: char| definition::fold(&c.to_string()) == definition::case(&c.to_string());
    let stays = |c: char| same(c) && definition::fold(&c.to_string()) == c.to_string();
    let is_letter = |c: char| stays(c) && definition::class(c) == Class::Letter;
    let marks = (0x300..0x340).map(|mark| char::from_u32(mark).expect("a mark"));
    let mut row_of = Vec::new();
    let mut rows = vec![vec![0_u16; 64]];
    for first in (0..0x460).map(|first| char::from_u32(first).expect("a character")) {
        let composite = |mark: char| {
            let composed: String = [first, mark].into_iter().nfc().collect();
            let (whole, more) = (composed.chars().next(), composed.chars().nth(1));
            let whole = whole.filter(|whole| more.is_none() && stays(mark) && is_letter(*whole));
            whole.and_then(|whole| u16::try_from(u32::from(whole)).ok()).unwrap_or(0)
        };
        let row: Vec<u16> = marks.clone().map(composite).collect();
        let used = is_letter(first) && row.iter().any(|whole| *whole != 0);
        row_of.push(if used { u8::try_from(rows.len()).expect("few rows") } else { 0 });
        if used {
            rows.push(row);
        }
    }
    row_of.extend(rows.concat().iter().flat_map(|whole| whole.to_le_bytes()));
    row_of
}

fn with_value(value: [u8; 4], rest: [u8; 4]) -> TableRecord {
    let mut record = [0; 8];
    record[..4].copy_from_slice(&value);
    record[4..].copy_from_slice(&rest);
    record
}
