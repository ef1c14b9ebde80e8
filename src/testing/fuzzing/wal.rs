//! Makes logs from a fuzzer's input. Contains a second implementation of what
//! `docs/reference/FILE_FORMAT.md` says about replay.

use super::engine::{Base, FuzzDocument, SIGNATURE_BYTES, docs_of, exercise, names, signature};
use super::input::FuzzInput;
use crate::format::DecodeError;
use crate::format::wal::LoggedOperation;
use crate::storage::names::Ending;
use crate::testing::sim::Sim;
use crate::wal::{LogReader, WalIdentity};
use crate::{ErrorKind, ReadMode};
use std::collections::BTreeMap;

const BEGIN: usize = 4096;
const HEADER: usize = 32;

/// The expected result of replay.
#[derive(Debug, PartialEq)]
enum ExpectedReplay {
    Refused(ErrorKind),
    /// The changes, and the number of bytes cut.
    Replays(Vec<(u64, ReplayedOperations)>, u64),
}

/// Key and document of each operation in a change. `None` means a remove.
type ReplayedOperations = Vec<(Vec<u8>, Option<FuzzDocument>)>;

pub(super) fn run(data: &[u8]) {
    let base = Base::get();
    let mut input = FuzzInput::new(data);
    let entry = base.row.wal.expect("it was killed");
    let identity = WalIdentity {
        uuid: base.row.uuid,
        params_id: base.params.id(),
        number: entry.number,
        salt: entry.salt,
        length: entry.length,
        floor: base.row.floor,
    };
    let disk = base.disk();
    let path = names().numbered(entry.number, Ending::Wal);
    let mut image = disk.snapshot_of_files().remove(&path).expect("listed");
    image[BEGIN..].fill(0);
    let whole_index = input.u8().is_multiple_of(4);
    write_records(&mut input, &mut image, &identity);
    disk.overwrite(&path, &image);
    let expected = expect(&image, &identity);
    let found = match LogReader::replay(&disk, &path, &identity, SIGNATURE_BYTES) {
        Err(error) => ExpectedReplay::Refused(error.kind()),
        Ok(replay) => {
            let changes = replay.changes(SIGNATURE_BYTES);
            let changes = changes.map(|(change, operations)| (change, operations.map(to_stored)));
            let changes = changes.map(|(change, operations)| (change, operations.collect()));
            ExpectedReplay::Replays(changes.collect(), replay.bytes_cut)
        }
    };
    assert_eq!(found, expected);
    if whole_index {
        open_index(base, &disk, &expected, &mut input);
    }
}

/// Converts an operation that replay returned.
fn to_stored(
    operation: std::result::Result<LoggedOperation<'_>, DecodeError>,
) -> (Vec<u8>, Option<FuzzDocument>) {
    match operation.expect("checked before") {
        LoggedOperation::Remove { key } => (key.to_vec(), None),
        LoggedOperation::Insert { key, payload, time, shingle_count, signature } => {
            (key.to_vec(), Some((signature.to_vec(), payload.to_vec(), time, shingle_count)))
        }
    }
}

/// Checks that the index opens if and only if the log replays, and that it then contains the
/// documents of the changes.
fn open_index(base: &Base, disk: &Sim, expected: &ExpectedReplay, input: &mut FuzzInput<'_>) {
    let opened = base.open_as(disk, &base.row, ReadMode::Mmap);
    let (changes, cut) = match expected {
        ExpectedReplay::Refused(kind) => {
            assert_eq!(opened.err().map(|error| error.kind()), Some(*kind));
            return;
        }
        ExpectedReplay::Replays(changes, cut) => (changes, *cut),
    };
    let index = opened.expect("the log replays");
    let mut docs = base.docs.clone();
    for (_, operations) in changes {
        apply(&mut docs, operations);
    }
    assert_eq!(docs_of(&index).expect("nothing is damaged"), docs);
    assert_eq!(index.len(), docs.len() as u64);
    let recovery = index.stats().expect("a sound disk").recovery;
    assert_eq!((recovery.changes_replayed, recovery.bytes_cut), (changes.len() as u64, cut));
    let verified = index.verify().expect("a sound disk");
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    exercise(index, input);
}

/// Applies a change to the documents. Whether an operation changes anything was decided before it
/// was logged: each takes effect, in its order.
fn apply(docs: &mut BTreeMap<Vec<u8>, FuzzDocument>, operations: &ReplayedOperations) {
    for (key, document) in operations {
        match document {
            None => drop(docs.remove(key)),
            Some(new) => drop(docs.insert(key.clone(), new.clone())),
        }
    }
}

/// Writes records, gaps and damage after the header, as chosen by the input.
fn write_records(input: &mut FuzzInput<'_>, image: &mut [u8], identity: &WalIdentity) {
    let (mut at, mut change, mut before) = (BEGIN, identity.floor, BEGIN);
    let mut damage = Vec::new();
    while !input.is_empty() {
        let choice = input.u8();
        let mut body = Vec::new();
        let mut kind = 1;
        let mut delta = 1;
        match choice % 8 {
            0..=3 => (0..=choice / 8 % 4).for_each(|_| push_operation(input, &mut body)),
            4 => (kind, delta) = (2, 0),
            5 => {
                (kind, delta) = ([1, 1, 2, 3, 0][input.below(5)], u64::from(input.u8() % 4));
                let count = input.below(100);
                body.extend_from_slice(input.take(count));
            }
            6 => at += 8 * input.below(24),
            _ => damage.push((input.u16(), input.u8())),
        }
        if choice % 8 > 5 {
            continue;
        }
        let horizon = match input.u8() % 8 {
            0..=2 => before,
            3..=5 => BEGIN,
            6 => at,
            _ => usize::from(input.u16()),
        };
        let number = change.wrapping_add(delta);
        let record = seal(kind, number, horizon as u64, &body, identity.salt, at as u64);
        let end = at + record.len().next_multiple_of(8);
        if end > image.len() {
            break;
        }
        image[at..at + record.len()].copy_from_slice(&record);
        (before, at) = (at, end);
        if kind == 1 && delta == 1 {
            change = number;
        }
    }
    for (offset, bits) in damage {
        let room = image.len() - BEGIN;
        image[BEGIN + usize::from(offset) % room] ^= bits;
    }
}

fn push_operation(input: &mut FuzzInput<'_>, body: &mut Vec<u8>) {
    let choice = input.u8();
    let key = match choice % 4 {
        0 => vec![choice; 1 + usize::from(choice) % 9],
        _ => format!("key {}", choice / 2).into_bytes(),
    };
    let insert = choice % 4 < 3;
    let payload = if insert { input.take(usize::from(choice) % 20) } else { &[] };
    let (time, count) = if insert { (input.number(), u32::from(choice)) } else { (0, 0) };
    body.extend_from_slice(&[if insert { 1 } else { 2 }, 0]);
    body.extend_from_slice(&u16::try_from(key.len()).expect("short").to_le_bytes());
    body.extend_from_slice(&u32::try_from(payload.len()).expect("short").to_le_bytes());
    body.extend_from_slice(&time.to_le_bytes());
    body.extend_from_slice(&count.to_le_bytes());
    if insert {
        let params = &Base::get().params;
        body.extend_from_slice(signature(params, choice).as_bytes());
    }
    body.extend_from_slice(&key);
    body.extend_from_slice(payload);
}

fn crc(salt: u64, offset: u64, bytes: &[u8]) -> u32 {
    let seed = crc32fast::hash(&[salt.to_le_bytes(), offset.to_le_bytes()].concat());
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(bytes);
    hasher.finalize()
}

/// Header and body of a record of any kind, even an unknown one.
fn seal(kind: u8, change: u64, horizon: u64, body: &[u8], salt: u64, offset: u64) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short");
    let header = [
        &crc(salt, offset, body).to_le_bytes()[..],
        &length.to_le_bytes(),
        &[kind, 0, 0, 0],
        &change.to_le_bytes(),
        &horizon.to_le_bytes(),
    ]
    .concat();
    [&crc(salt, offset, &header).to_le_bytes()[..], &header, body].concat()
}

struct Header {
    kind: u8,
    change: u64,
    horizon: u64,
    body: u64,
    body_crc: u32,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"))
}

/// The valid header at an offset, if there is one.
fn header_at(image: &[u8], at: usize, salt: u64) -> Option<Header> {
    let bytes = image.get(at..at + HEADER)?;
    let valid = u32_at(bytes, 0) == crc(salt, at as u64, &bytes[4..]) && bytes[13..16] == [0; 3];
    valid.then(|| Header {
        kind: bytes[12],
        change: u64_at(bytes, 16),
        horizon: u64_at(bytes, 24),
        body: u64::from(u32_at(bytes, 8)),
        body_crc: u32_at(bytes, 4),
    })
}

/// Replays the log as `docs/reference/FILE_FORMAT.md` specifies.
fn expect(image: &[u8], identity: &WalIdentity) -> ExpectedReplay {
    let (mut at, mut change, mut horizon) = (BEGIN, identity.floor, BEGIN as u64);
    let mut records = Vec::new();
    while let Some(header) = header_at(image, at, identity.salt) {
        if header.kind != 1 && header.kind != 2 {
            return ExpectedReplay::Refused(ErrorKind::Unsupported);
        }
        let end = at + HEADER + usize::try_from(header.body).expect("64 bits");
        let Some(body) = image.get(at + HEADER..end) else { break };
        let next = change + u64::from(header.kind == 1);
        let whole = crc(identity.salt, at as u64, body) == header.body_crc;
        if !whole || header.horizon > at as u64 || header.change != next {
            break;
        }
        if header.kind == 1 {
            let Some(operations) = decode(body) else {
                return ExpectedReplay::Refused(ErrorKind::Corrupt);
            };
            records.push((next, operations));
        }
        (change, horizon) = (next, horizon.max(header.horizon));
        at = end.next_multiple_of(8);
    }
    // Every append also zeroes the place of the next header. Bytes after these zeros may be old:
    // only valid records among them belong to this log.
    let mut end = at + HEADER;
    for place in (at..image.len()).step_by(8) {
        let Some(header) = header_at(image, place, identity.salt) else { continue };
        let record = header.body + HEADER as u64;
        let fits = record <= (image.len() - place) as u64;
        let later = header.kind == 2 || (header.kind == 1 && header.change > change);
        if fits && later && header.horizon <= place as u64 {
            horizon = horizon.max(header.horizon);
            end = end.max(place + usize::try_from(record).expect("64 bits"));
        }
    }
    if (at as u64) < horizon {
        return ExpectedReplay::Refused(ErrorKind::Corrupt);
    }
    let rest = &image[at.min(image.len())..end.next_multiple_of(8).min(image.len())];
    let cut = rest.iter().rposition(|byte| *byte != 0);
    ExpectedReplay::Replays(records, cut.map_or(0, |last| last as u64 + 1))
}

/// The operations in a body. `None` if it does not decode.
fn decode(mut body: &[u8]) -> Option<ReplayedOperations> {
    let mut operations = Vec::new();
    while !body.is_empty() {
        let (head, rest) = body.split_at_checked(20)?;
        let key_bytes = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let payload_bytes = u32_at(head, 4) as usize;
        let (time, count) = (u64_at(head, 8), u32_at(head, 16));
        if head[1] != 0 || !(1..=4096).contains(&key_bytes) || payload_bytes > 65_536 {
            return None;
        }
        let signature_bytes = match head[0] {
            1 => SIGNATURE_BYTES,
            2 if (payload_bytes, time, count) == (0, 0, 0) => 0,
            _ => return None,
        };
        let (signature, rest) = rest.split_at_checked(signature_bytes)?;
        let (key, rest) = rest.split_at_checked(key_bytes)?;
        let (payload, rest) = rest.split_at_checked(payload_bytes)?;
        let document = (signature.to_vec(), payload.to_vec(), time, count);
        operations.push((key.to_vec(), (head[0] == 1).then_some(document)));
        body = rest;
    }
    Some(operations)
}
