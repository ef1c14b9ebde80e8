//! Tests the WAL examples in `docs/reference/FILE_FORMAT.md`, and what the decoders must refuse.

use super::tests::example;
use super::wal::{
    LoggedOperation, Operations, RECORDS_BEGIN, RecordBuilder, RecordHeader, RecordKind, WalHeader,
};

const SALT: u64 = 0x1122_3344_5566_7788;

fn operations() -> [LoggedOperation<'static>; 2] {
    [
        LoggedOperation::Insert {
            key: b"p1",
            payload: b"pay",
            time: 1_700_000_000_000,
            shingle_count: 9,
            signature: &[16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31],
        },
        LoggedOperation::Remove { key: b"p0" },
    ]
}

#[test]
fn the_example_of_a_wal_header() {
    let bytes = example("WAL header");
    let header = WalHeader::decode(&bytes).expect("decodes");
    assert_eq!(header, WalHeader { salt: SALT, length: 1 << 20, floor: 41 });
    assert_eq!(header.encode()[..], bytes);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(WalHeader::decode(&damaged).is_err(), "byte {at}");
        assert!(WalHeader::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn the_examples_of_records() {
    let bytes = example("record");
    let header = RecordHeader::decode(&bytes, SALT, RECORDS_BEGIN).expect("known").expect("whole");
    assert_eq!((header.kind, header.change, header.horizon), (RecordKind::Change, 42, 4096));
    let body = &bytes[RecordHeader::BYTES..][..header.body_bytes as usize];
    assert!(header.matches(body, SALT, RECORDS_BEGIN));
    let decoded: Result<Vec<_>, _> = Operations::new(body, 16).collect();
    assert_eq!(decoded.expect("decodes"), operations());
    assert_eq!(header.record_bytes(), bytes.len() as u64);

    let mut builder = RecordBuilder::new();
    for operation in &operations() {
        builder.push(operation);
    }
    assert_eq!(builder.record_bytes(), bytes.len() as u64);
    assert_eq!(builder.seal(RecordKind::Change, 42, 4096, SALT, RECORDS_BEGIN), bytes);

    let (idle, offset) = (example("idle record"), 4096 + bytes.len() as u64);
    let header = RecordHeader::decode(&idle, SALT, offset).expect("known").expect("whole");
    assert_eq!((header.kind, header.change, header.horizon), (RecordKind::Idle, 42, offset));
    assert_eq!(RecordBuilder::new().seal(RecordKind::Idle, 42, offset, SALT, offset), idle);
}

#[test]
fn a_record_validates_only_whole_and_in_its_place() {
    let bytes = example("record");
    let valid = |bytes: &[u8], salt, offset| {
        let header = RecordHeader::decode(bytes, salt, offset).ok().flatten();
        header.is_some_and(|header| {
            let body = bytes.get(RecordHeader::BYTES..).unwrap_or_default();
            let body = body.get(..header.body_bytes as usize).unwrap_or_default();
            header.matches(body, salt, offset)
        })
    };
    assert!(valid(&bytes, SALT, RECORDS_BEGIN));
    assert!(!valid(&bytes, SALT, RECORDS_BEGIN + 8), "moved");
    assert!(!valid(&bytes, SALT + 1, RECORDS_BEGIN), "of another log");
    assert!(!valid(&vec![0; bytes.len()], SALT, RECORDS_BEGIN), "zeros");
    let padding = RecordHeader::BYTES + 63;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(!valid(&damaged, SALT, RECORDS_BEGIN) || at >= padding, "byte {at} bit {bit}");
        }
        assert!(!valid(&bytes[..at], SALT, RECORDS_BEGIN) || at >= padding, "cut at {at}");
    }
}

#[test]
fn a_hostile_body_ends_in_an_error() {
    let bytes = example("record");
    let body = &bytes[RecordHeader::BYTES..][..63];
    for at in 0..body.len() {
        for value in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
            let mut hostile = body.to_vec();
            hostile[at] = value;
            // Decoding terminates, allocates nothing, and does not panic.
            assert!(Operations::new(&hostile, 16).count() <= 3);
            assert!(Operations::new(&hostile[..at], 16).count() <= 2);
        }
    }
    assert!(Operations::new(&[9; 20], 16).next().expect("one").is_err());
}

#[test]
fn lengths_and_fields_out_of_range_are_refused() {
    let body = |key: usize, payload: usize| {
        let mut record = RecordBuilder::new();
        record.push(&LoggedOperation::Insert {
            key: &vec![1; key],
            payload: &vec![2; payload],
            time: 3,
            shingle_count: 4,
            signature: &[5; 16],
        });
        let body =
            record.seal(RecordKind::Change, 1, 4096, SALT, 4096)[RecordHeader::BYTES..].to_vec();
        body[..20 + 16 + key + payload].to_vec()
    };
    let decodes = |body: &[u8]| Operations::new(body, 16).all(|operation| operation.is_ok());
    for (key, payload) in [(1, 0), (1, 1), (4096, 0), (1, 65_536), (4096, 65_536), (4095, 65_535)] {
        assert!(decodes(&body(key, payload)), "{key}, {payload}");
    }
    for (key, payload) in [(0, 0), (0, 1), (4097, 0), (1, 65_537), (4097, 65_537), (5000, 70_000)] {
        assert!(!decodes(&body(key, payload)), "{key}, {payload}");
    }
    let mut record = RecordBuilder::new();
    record.push(&LoggedOperation::Remove { key: b"key" });
    let sealed = record.seal(RecordKind::Change, 1, 4096, SALT, 4096);
    let remove = sealed[RecordHeader::BYTES..][..23].to_vec();
    assert!(decodes(&remove));
    // Refused: a third kind of operation (byte 0), and a remove with a payload (byte 4), a time
    // (byte 8) or a shingle count (byte 16).
    for at in [0, 4, 8, 16] {
        let mut wrong = remove.clone();
        wrong[at] += 1;
        wrong.extend_from_slice(&[0; 16]);
        assert!(!decodes(&wrong[..if at == 0 { 39 } else { 23 }]), "byte {at}");
    }
    // Refused, too: a reserved byte that is not zero, and a body that is too short.
    let mut wrong = remove.clone();
    wrong[1] = 1;
    assert!(!decodes(&wrong));
    assert!((1..remove.len()).all(|end| !decodes(&remove[..end])));
}
