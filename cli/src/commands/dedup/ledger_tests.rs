//! Tests of the ledger.

use std::io::Read as _;

use super::super::deciding::{Deciding, Equal};
use super::super::outcomes::{Dropped, LineOutcome, OfLine, Outcomes};
use super::super::verdicts::{Pass, Verdict, Verdicts};
use super::*;

fn entry(line: u64) -> Entry {
    Entry {
        kind: Kind::Document,
        repetitive: line % 2 == 1,
        file: 7,
        line,
        shingles: 9,
        at: None,
        line_bytes: 0,
        equal_rows: 0,
        key: Text::default(),
        other: Text::default(),
        signature: vec![u8::try_from(line % 251).unwrap(); 16],
    }
}

#[test]
fn entries_come_back_in_any_order_and_what_is_behind_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let open = |counts| Ledger::open(dir.path(), 16, counts).unwrap();
    let mut ledger = open((0, 0)).unwrap();
    for line in 0..100 {
        let (key, text) = (format!("key {line}"), format!("the line {line}"));
        let at = (line % 2 == 1).then_some(line << 40);
        let entry = Entry { at, ..entry(line) };
        ledger.push(entry, (key.as_bytes(), b"other"), text.as_bytes()).unwrap();
    }
    ledger.sync().unwrap();
    for numbers in [vec![3, 4, 5], vec![9, 8, 7, 6], vec![50, 2, 3, 1, 0, 99]] {
        let found = ledger.entries(&numbers).unwrap();
        for (number, entry) in numbers.iter().zip(found) {
            assert_eq!((entry.line, entry.file, entry.shingles), (*number, 7, 9));
            assert_eq!((entry.repetitive, entry.kind), (number % 2 == 1, Kind::Document));
            assert_eq!(entry.signature[0], u8::try_from(*number).unwrap());
            let key = String::from_utf8(ledger.text(entry.key).unwrap()).unwrap();
            assert_eq!(key, format!("key {number}"));
            assert_eq!(ledger.text(entry.other).unwrap(), b"other");
            assert_eq!(entry.at, (number % 2 == 1).then_some(number << 40));
            let line = format!("the line {number}");
            assert_eq!(entry.line_bytes as usize, line.len());
            if entry.at.is_none() {
                assert_eq!(ledger.line(&entry).unwrap(), line.into_bytes());
            }
        }
    }
    let (count, texts) = (ledger.count, ledger.texts_bytes);
    drop(ledger);
    assert!(open((count + 1, texts)).is_none() && open((count, texts + 1)).is_none());
    let mut ledger = open((2, 22)).unwrap();
    ledger.push(entry(5), (b"k", b""), &[]).unwrap();
    ledger.flush().unwrap();
    assert_eq!(ledger.entries(&[2]).unwrap()[0].line, 5);
}

#[test]
fn outcomes_are_read_in_line_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path(), 16, (0, 0)).unwrap().unwrap();
    let is_skipped = |number: u64| number % 150 == 149;
    for number in 0..500 {
        let kind = match number {
            70 => Kind::Blank,
            71 => Kind::Archived,
            _ if is_skipped(number) => Kind::Skipped,
            _ => Kind::Document,
        };
        let entry = Entry { kind, equal_rows: 5, ..entry(number + 1) };
        let key = format!("key {number}");
        ledger.push(entry, (key.as_bytes(), b"other"), &[]).unwrap();
    }
    let is_dropped = |number: u64| ![70, 71].contains(&number) && number % 5 == 2;
    let verdict = |number: u64| match number {
        70 | 71 => Verdict::None,
        _ if is_skipped(number) => Verdict::None,
        _ if is_dropped(number) => Verdict::Dropped { of: number + 1, equal: 128, is_whole: false },
        _ => Verdict::Kept,
    };
    // Documents are decided from the last line to the first, as by `--keep newest`.
    let numbers: Vec<u64> = (0..500).rev().collect();
    let decided: Vec<_> = numbers.iter().copied().map(verdict).collect();
    Verdicts::open(dir.path(), Pass::Judged, 500).unwrap().write(&numbers, &decided).unwrap();

    let key = |number: u64| format!("key {number}").into_bytes();
    let expected = |number: u64| match number {
        70 => LineOutcome::Kept,
        _ if is_skipped(number) => LineOutcome::Skipped {
            file: 7,
            line: number + 1,
            kind: key(number),
            reason: b"other".to_vec(),
        },
        _ if number == 71 || is_dropped(number) => {
            let of = (number != 71).then_some(OfLine { file: 7, line: number + 2, shingles: 9 });
            LineOutcome::Dropped(Box::new(Dropped {
                file: 7,
                line: number + 1,
                key: key(number),
                shingles: 9,
                repetitive: number.is_multiple_of(2),
                equal: Equal::Rows(of.map_or(5, |_| 128)),
                of_key: of.map_or(b"other".to_vec(), |_| key(number + 1)),
                of,
                cluster: None,
                compared: None,
            }))
        }
        _ => LineOutcome::Kept,
    };
    let by = (Deciding::Estimate, Pass::Judged, false);
    for begin in [0, 63, 72, 499] {
        let mut outcomes = Outcomes::open(dir.path(), &mut ledger, begin, by).unwrap();
        for number in begin..500 {
            let next = outcomes.next().unwrap();
            assert_eq!(next.0, number);
            assert_eq!(outcomes.of(&ledger, next).unwrap(), expected(number), "{number}");
        }
        assert!(outcomes.next().is_err(), "there are 500 lines");
    }
}

#[test]
fn verdicts_come_back_whatever_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut verdicts = Verdicts::open(dir.path(), Pass::Decided, 6).unwrap();
    let dropped = |of| Verdict::Dropped { of, equal: 128, is_whole: of == 0 };
    let apart = Verdict::Apart { of: 7, equal: 9, in_numbers: true };
    verdicts.write(&[5, 4, 3], &[Verdict::Kept, dropped(5), dropped(1 << 40)]).unwrap();
    verdicts.write(&[0, 2], &[dropped(0), apart]).unwrap();
    let read = verdicts.read(&[0, 5, 4, 3, 2]).unwrap();
    assert_eq!(read, [dropped(0), Verdict::Kept, dropped(5), dropped(1 << 40), apart]);
    let mut reader = verdicts.read_from(0).unwrap();
    let mut bytes = [0; 16];
    let expected = [dropped(0), Verdict::None, apart, dropped(1 << 40), dropped(5), Verdict::Kept];
    for expected in expected {
        reader.read_exact(&mut bytes).unwrap();
        assert_eq!(Verdict::decode(bytes), expected);
    }
}

#[test]
fn runs_rise_or_fall_by_one() {
    let found: Vec<_> = runs(&[1, 2, 3, 9, 8, 7, 4, 0]).collect();
    assert_eq!(found, [&[1, 2, 3][..], &[9, 8, 7], &[4], &[0]]);
    assert_eq!(runs(&[]).count(), 0);
}
