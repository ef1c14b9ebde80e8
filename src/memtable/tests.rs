//! Tests of the memtable, and of its concurrent readers.

use super::*;

fn document<'a>(key: &'a [u8], signature: &'a [u8], table_keys: &'a [u64]) -> Step<'a> {
    let (payload, time, shingle_count) = (&b"pay"[..], 5, 9);
    Step::Birth(NewDocument { key, payload, time, shingle_count, signature, table_keys })
}

#[test]
fn a_reader_sees_what_lived_at_its_change() {
    let memtable = Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0);
    memtable.apply(1, &[document(b"a", b"sig1", &[7, 8, 100])]);
    memtable.apply(2, &[Step::Death(0), document(b"a", b"sig2", &[7, 9, 100])]);
    memtable.apply(3, &[Step::Death(1)]);
    let content = memtable.read();
    assert_eq!(content.find_key(b"a", 100, 0), None);
    assert_eq!(content.find_key(b"a", 100, 1), Some(0));
    assert_eq!(content.find_key(b"a", 100, 2), Some(1));
    assert_eq!(content.find_key(b"a", 100, 3), None);
    assert_eq!(content.find_key(b"b", 100, 2), None);
    assert_eq!(content.bucket(0, 7).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(content.bucket(1, 9).collect::<Vec<_>>(), [1]);
    assert_eq!(content.bucket(1, 7).count(), 0);
    let found = |ordinals| {
        let mut found = Vec::new();
        let visit = |nth, ordinal| {
            found.push((nth, ordinal));
            nth != 2
        };
        let keys = [(0, 8), (0, 7), (0, 7), (1, 8)];
        content.buckets(keys.into_iter(), ordinals, &mut Walk::default(), visit);
        found.sort_unstable();
        found
    };
    assert_eq!(found(0..u32::MAX), [(1, 0), (1, 1), (2, 1), (3, 0)], "newest first, in each");
    assert_eq!(found(1..u32::MAX), [(1, 1), (2, 1)]);
    assert_eq!(found(0..1), [(1, 0), (2, 0), (3, 0)]);
    assert_eq!(content.signature(1), b"sig2");
    assert_eq!(content.payload(0), b"pay");
}

#[test]
fn memory_is_taken_over_without_what_was_in_it() {
    let new = |secret| Arc::new(Memtable::new(4, 2, secret, 50));
    let fill = |memtable: &Memtable, from: u64, key: &[u8]| {
        for change in from..from + 90 {
            memtable.apply(change, &[document(key, b"sig1", &[7, change, 100])]);
        }
        memtable.apply(from + 90, &[Step::Death(3), Step::SegmentDeath { segment: 1, ordinal: 2 }]);
    };
    let (old, next) = (new(0x9e37_79b9_7f4a_7c15), new(0xd134_2543_de82_ef93));
    fill(&old, 1, b"a");
    let place = old.read().signatures.as_ptr();
    // `reuse` does nothing while a reader holds the memtable.
    next.reuse(Arc::clone(&old));
    assert_eq!(next.read().signatures.capacity(), 0);
    next.reuse(old);
    {
        let content = next.read();
        assert_eq!((content.signatures.as_ptr(), content.document_count()), (place, 0));
        assert_eq!(content.find_key(b"a", 100, 90), None);
        assert_eq!((content.bucket(0, 7).count(), content.segment_deaths().count()), (0, 0));
    }
    assert!(next.is_untouched() && next.bytes() == 0 && !next.is_mostly_dead());
    fill(&next, 200, b"b");
    assert_eq!(next.read().bucket(0, 7).collect::<Vec<_>>(), (0..90).rev().collect::<Vec<_>>());
    assert_eq!(next.read().find_key(b"b", 100, 400), Some(89));
    assert_eq!(next.read().find_key(b"a", 100, 400), None);
    // `reuse` does not replace the content of a memtable that is not empty, either.
    let other = new(1);
    fill(&other, 1, b"c");
    next.reuse(other);
    assert_eq!((next.read().document_count(), next.read().key(5)), (90, &b"b"[..]));
}

#[test]
fn the_newest_version_of_a_key_that_is_seen_decides() {
    let memtable = Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0);
    memtable.apply(1, &[document(b"a", b"sig1", &[7, 8, 100])]);
    memtable.apply(3, &[document(b"a", b"sig2", &[7, 8, 100])]);
    memtable.apply(4, &[Step::Death(1)]);
    let content = memtable.read();
    assert_eq!(content.find_key(b"a", 100, 2), Some(0));
    // Document 0 is still live here, a state that no writer leaves behind. It is not found
    // nevertheless, because only the newest version decides.
    assert_eq!(content.find_key(b"a", 100, 4), None);
}

#[test]
fn the_newest_of_many_versions_of_a_key_is_found_first() {
    let memtable = Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0);
    memtable.apply(1, &[document(b"a", b"sig1", &[7, 8, 100])]);
    for (change, dying) in (2..=40_000).zip(0..) {
        memtable.apply(change, &[Step::Death(dying), document(b"a", b"sig1", &[7, 8, 100])]);
        assert_eq!(memtable.is_mostly_dead(), change > u64::from(DEAD_DOCS_MIN));
    }
    let content = memtable.read();
    assert_eq!(content.find_key(b"a", 100, 40_000), Some(39_999));
    // The position of the newest version in the bucket is the number of documents examined before
    // it.
    assert_eq!(content.bucket(2, 100).position(|ordinal| ordinal == 39_999), Some(0));
}

#[test]
fn a_change_is_the_same_in_one_part_and_in_many() {
    let keys: Vec<[u64; 3]> = (0..700_u64).map(|at| [at % 97, at % 7, at << 40]).collect();
    let names: Vec<[u8; 4]> = (0..700_u32).map(u32::to_le_bytes).collect();
    let steps: Vec<Step<'_>> =
        names.iter().zip(&keys).map(|(name, keys)| document(name, b"sig1", keys)).collect();
    let [whole, single] = [(); 2].map(|()| Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0));
    whole.apply(1, &steps);
    for step in &steps {
        single.apply(1, std::slice::from_ref(step));
    }
    let (whole, single) = (whole.read(), single.read());
    assert_eq!(whole.document_count(), 700);
    for (table, at) in (0..3).flat_map(|table| (0..700).map(move |at| (table, at))) {
        let bucket =
            |content: &Content| -> Vec<u32> { content.bucket(table, keys[at][table]).collect() };
        assert!(!bucket(&whole).is_empty());
        assert_eq!(bucket(&whole), bucket(&single), "table {table}, {at}");
    }
    for (ordinal, (name, keys)) in (0..).zip(names.iter().zip(&keys)) {
        assert_eq!(whole.find_key(name, keys[2], 1), Some(ordinal));
        assert_eq!(whole.find_key(name, keys[2], 0), None);
    }
}

#[test]
fn the_first_death_of_a_segment_document_counts() {
    let memtable = Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0);
    memtable.apply(4, &[Step::SegmentDeath { segment: 3, ordinal: 1 }]);
    memtable.apply(9, &[Step::SegmentDeath { segment: 3, ordinal: 1 }]);
    let content = memtable.read();
    assert!(!content.segment_death(3, 1, 3));
    assert!(content.segment_death(3, 1, 4));
    assert!(!content.segment_death(2, 1, 4));
    assert!(!memtable.is_untouched());
}

#[test]
#[cfg(not(shuttle))]
fn documents_in_all_tables_are_found_while_the_tables_grow() {
    // All documents share one bucket per table, so that readers meet the writer.
    const DOCS: u32 = 60_000;
    let memtable = Memtable::new(4, 2, 0x9e37_79b9_7f4a_7c15, 0);
    let steps = vec![document(b"key", b"sig1", &[5, 5, 5]); DOCS as usize];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (steps, change) in steps.chunks(1_000).zip(1..) {
                memtable.apply(change, steps);
            }
        });
        let mut seen = 0;
        while seen < DOCS {
            seen = memtable.read().tables.last().map_or(0, Table::count);
            let content = memtable.read();
            for table in 0..3 {
                let newest: Vec<u32> = content.bucket(table, 5).take(4).collect();
                let first = newest.first().map_or(0, |newest| newest + 1);
                assert!(first >= seen, "{first}, and all have {seen}");
                let expected: Vec<u32> = (0..first).rev().take(4).collect();
                assert_eq!(newest, expected, "none is left out");
                assert!(newest.iter().all(|ordinal| content.signature(*ordinal) == b"sig1"));
            }
        }
    });
}
