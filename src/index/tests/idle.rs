//! What an index does on its own once no writer is at work.

use crate::index::options::{Durability, Maintenance};
use crate::{Index, Options, Params, Signature, Sketcher};
use std::ops::Range;
use std::time::{Duration, Instant};

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn text(number: u32) -> Signature {
    Sketcher::new(&params()).text(&format!("document {number} of a few")).unwrap()
}

/// No tier is ever full.
fn options(maintenance: Maintenance) -> Options {
    let options = Options::default().durability(Durability::OsBuffer).maintenance(maintenance);
    options.tier_segments_max(1_000)
}

/// Documents in as many segments as there are numbers.
fn insert(index: &Index, numbers: Range<u32>) {
    for number in numbers {
        for nth in 0..20 {
            index.insert(format!("{number} {nth}"), &text(number * 20 + nth)).unwrap();
        }
        index.flush().unwrap();
    }
}

fn segments(index: &Index) -> usize {
    index.core().state().segments.len()
}

/// Steps until nothing is due, with no writer at work.
fn rest(index: &Index) {
    let quiet = Some(index.core().snapshot().visible);
    while index.core().compact_step(quiet).unwrap().is_some() {}
}

#[test]
fn an_idle_index_flushes_and_becomes_one_segment_unasked() {
    for maintenance in [Maintenance::Shared, Maintenance::Background] {
        let options = options(maintenance).memtable_bytes_max(1 << 18);
        let index = Index::temporary(&params(), options).unwrap();
        insert(&index, 0..3);
        for number in 100..200 {
            index.insert(format!("late {number}"), &text(number)).unwrap();
        }
        let begun = Instant::now();
        let is_done = || index.stats().unwrap().memtable_documents == 0 && segments(&index) == 1;
        while !is_done() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", index.stats());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(index.len(), 160);
        assert_eq!(index.last_maintenance_error(), None);
        assert!(index.verify().unwrap().problems.is_empty());
        index.insert("later", &text(7)).unwrap();
        assert!(index.contains("later").unwrap());
        index.close().unwrap();
    }
}

#[test]
fn an_idle_merge_pauses_when_a_write_comes() {
    let options = Options { step_bytes: 64, ..options(Maintenance::Inline) };
    let index = Index::temporary(&params(), options).unwrap();
    insert(&index, 0..3);
    let core = index.core();
    let quiet = core.snapshot().visible;
    assert_eq!(core.compact_step(None).unwrap(), None, "nothing is due");
    assert_eq!(core.compact_step(Some(quiet)).unwrap(), Some(false));
    index.insert("new", &text(70)).unwrap();
    assert_eq!(core.compact_step(None).unwrap(), None);
    assert_eq!(core.compact_step(Some(quiet)).unwrap(), None, "a writer was at work");
    assert_eq!(segments(&index), 3);
    rest(&index);
    assert_eq!((segments(&index), index.len()), (1, 61));
    index.close().unwrap();
}

#[test]
fn an_index_that_is_only_opened_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("an index");
    let index = Index::create(&path, &params(), options(Maintenance::Inline)).unwrap();
    insert(&index, 0..3);
    index.close().unwrap();
    let index = Index::open(&path, options(Maintenance::Inline)).unwrap();
    rest(&index);
    assert_eq!(segments(&index), 3);
    // As much again has come in: that pays for a merge of both.
    insert(&index, 10..14);
    rest(&index);
    assert_eq!(segments(&index), 1);
    index.close().unwrap();
}

#[test]
fn idle_merging_can_be_switched_off() {
    let options = options(Maintenance::Inline).merge_when_idle(false);
    let index = Index::temporary(&params(), options.memtable_bytes_max(1 << 14)).unwrap();
    insert(&index, 0..3);
    index.insert("new", &text(70)).unwrap();
    rest(&index);
    assert!(!index.core().flush_idle(Some(index.core().snapshot().visible)).unwrap());
    assert_eq!(segments(&index), 3);
    index.close().unwrap();
}
