//! Fuzzes rows of the catalog: changes bytes (under a valid checksum) or fields, and opens an index
//! with each row that is not refused.

use super::engine::{Base, exercise};
use super::input::FuzzInput;
use crate::ReadMode;
use crate::format::catalog::{Listed, Row, SegmentEntry, WalEntry};

pub(super) fn run(data: &[u8]) {
    let mut input = FuzzInput::new(data);
    match input.u8() % 4 {
        0 => drop(check(input.rest())),
        1 => drop(check(&sealed(1, input.rest()))),
        2 => changed_bytes(&mut input),
        _ => changed_values(&mut input),
    }
}

/// Encodes version, checksum and body.
pub(super) fn sealed(version: u8, body: &[u8]) -> Vec<u8> {
    [&[version][..], &crc32fast::hash(body).to_le_bytes(), body].concat()
}

/// Checks that the row is refused, or that it encodes and decodes to the same value.
fn check(bytes: &[u8]) -> Option<Row> {
    let row = Row::decode(bytes).ok()?;
    let again = Row::decode(&row.encode()).expect("it was decoded before");
    // Compared as text, because NaN is not equal to itself.
    assert_eq!(format!("{row:?}"), format!("{again:?}"));
    Some(row)
}

/// Changes, cuts or extends the bytes of a valid row, then recomputes the checksum.
fn changed_bytes(input: &mut FuzzInput<'_>) {
    let mut row = Base::get().row.encode();
    let (version, mut body) = (row[0], row.split_off(5));
    for _ in 0..=input.u8() % 4 {
        let at = input.below(body.len());
        match input.u8() % 6 {
            0 => body.truncate(at + 1),
            1 => body.insert(at, input.u8()),
            2 => drop(body.splice(at..=at, input.number().to_le_bytes())),
            3 if body.len() > 1 => drop(body.remove(at)),
            _ => body[at] = input.u8(),
        }
    }
    if let Some(row) = check(&sealed(version, &body)) {
        open(&row, input);
    }
}

/// Changes some values of a valid row.
fn changed_values(input: &mut FuzzInput<'_>) {
    let mut row = Base::get().row.clone();
    for _ in 0..=input.u8() % 3 {
        let at = input.below(row.segments.len().max(1));
        let choice = input.u8() % 14;
        let value = input.number();
        match (choice, row.segments.get_mut(at), &mut row.wal) {
            (0, ..) => row.floor = value,
            (1, ..) => row.file_next = value,
            (2, _, Some(wal)) => wal.length = value,
            (3, _, Some(wal)) => wal.number = value,
            (4, ..) => row.wal = None,
            (5, _, wal) => *wal = Some(WalEntry { number: value, salt: value, length: value }),
            (6, Some(entry), _) => entry.docs = narrow(value),
            (7, Some(entry), _) => entry.dead = narrow(value),
            (8, Some(entry), _) => (entry.time_min, entry.time_max) = (value.min(9), value),
            (9, Some(entry), _) => entry.length = value,
            (10, Some(entry), _) => {
                let file = Listed { number: value, length: value, tail_hash: value };
                entry.dead_file = entry.dead_file.is_none().then_some(file);
            }
            (11, Some(_), _) => drop(row.segments.remove(at)),
            (12, Some(entry), _) => {
                let entry = SegmentEntry { number: value, ..*entry };
                row.segments.push(entry);
            }
            _ => row.unicode = "x".repeat(usize::from(input.u8())),
        }
    }
    // Encoded here, because `Row::encode` panics on an impossible row.
    let config = bincode::config::standard();
    let body = bincode::serde::encode_to_vec(&row, config).expect("to memory");
    if let Some(row) = check(&sealed(Base::get().row.encode()[0], &body)) {
        open(&row, input);
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn open(row: &Row, input: &mut FuzzInput<'_>) {
    let base = Base::get();
    if let Ok(index) = base.open_as(&base.disk(), row, ReadMode::Mmap) {
        exercise(index, input);
    }
}
