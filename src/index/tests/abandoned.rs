//! A compaction that was abandoned, cancelled or failed changes nothing.

use super::copies::{DIR, disk, options, params, signature};
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index};
use std::ops::ControlFlow;
use std::path::Path;

/// Two segments of ten documents each.
fn two_segments(sim: &Sim) -> Index {
    let index = Index::create_on(disk(sim), Path::new(DIR), &params(), options()).expect("made");
    for part in [b'a', b'b'] {
        let insert = |batch: Batch, key: u8| batch.insert([part, key], &signature(&params(), key));
        index.write((0..10).fold(Batch::new(), insert)).expect("written");
        index.flush().expect("flushed");
    }
    index
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
