//! A compaction that was abandoned, cancelled or failed changes nothing.

use super::copies::{DIR, disk, options, params, signature};
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index, Options};
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// Two segments of ten documents each.
fn two_segments(sim: &Sim) -> Index {
    segments(sim, options(), &[(b'a', 10), (b'b', 10)])
}

/// Segments whose documents have keys of two bytes: the part, and a number.
fn segments(sim: &Sim, options: Options, parts: &[(u8, u8)]) -> Index {
    let index = Index::create_on(disk(sim), Path::new(DIR), &params(), options).expect("made");
    for &(part, documents) in parts {
        let insert = |batch: Batch, key: u8| batch.insert([part, key], &signature(&params(), key));
        index.write((0..documents).fold(Batch::new(), insert)).expect("written");
        index.flush().expect("flushed");
    }
    index
}

fn remove(index: &Index, part: u8, numbers: Range<u8>) {
    index.write(numbers.fold(Batch::new(), |batch, key| batch.remove([part, key]))).expect("done");
}

/// Checks that no compaction is left running: a flush drops a segment whose documents are all dead,
/// unless a compaction still reads it.
fn is_dropped_when_all_are_dead(index: &Index) {
    assert_eq!(index.stats().expect("sound").segments, 2);
    let remove = |batch: Batch, key: u8| batch.remove([b'a', key]);
    index.write((0..10).fold(Batch::new(), remove)).expect("removed");
    index.flush().expect("flushed");
    assert_eq!(index.stats().expect("sound").segments, 1);
    assert!(index.verify().expect("done").problems.is_empty());
}

fn cancelled() {
    let index = two_segments(&Sim::new());
    let cancelled = index.compact_with(&mut |_| ControlFlow::Break(()));
    assert_eq!(cancelled.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    is_dropped_when_all_are_dead(&index);
}

fn failed() {
    let sim = Sim::new();
    let index = two_segments(&sim);
    sim.set_capacity(0);
    assert_eq!(index.compact().expect_err("no room").kind(), ErrorKind::Io);
    sim.set_capacity(u64::MAX);
    is_dropped_when_all_are_dead(&index);
}

#[test]
fn a_cancelled_compaction_leaves_no_segment_marked() {
    cancelled();
}

#[test]
fn a_failed_compaction_leaves_no_segment_marked() {
    failed();
}

/// One of two segments that are to become one dies while a third one is rewritten.
#[test]
fn a_compaction_goes_on_where_a_chosen_segment_has_died() {
    let options = Options { segment_docs_max: 12, ..options() };
    let index = segments(&Sim::new(), options, &[(b'a', 10), (b'b', 11), (b'c', 12)]);
    remove(&index, b'a', 0..1);
    remove(&index, b'b', 0..7);
    remove(&index, b'c', 0..7);
    let mut calls = 0;
    let compacted = index.compact_with(&mut |_| {
        calls += 1;
        if calls == 1 {
            remove(&index, b'b', 7..11);
            index.flush().expect("flushed");
        }
        ControlFlow::Continue(())
    });
    compacted.expect("what is left was compacted");
    assert_eq!((index.len(), index.stats().expect("sound").segments), (14, 2));
    assert!(index.verify().expect("done").problems.is_empty());
}
