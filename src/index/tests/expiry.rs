//! Removal by age: which documents are removed, when, and what it costs to find that none is due.

use super::copies::{DIR, disk, options, params, signature};
use crate::testing::sim::{Fault, FaultKind, Sim};
use crate::{Batch, ErrorKind, Event, Index, Maintained, Options, Outcome, Progress, ReadMode};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An index whose clock the test controls; documents live for 100 ms.
struct Aging {
    sim: Sim,
    clock: Arc<AtomicU64>,
    index: Index,
}

impl Aging {
    fn new(change: impl Fn(Options) -> Options) -> Self {
        let (sim, clock) = (Sim::new(), Arc::new(AtomicU64::new(0)));
        let of = Arc::clone(&clock);
        let options = options().clock(move || of.load(Ordering::Relaxed));
        // Only the maintenance that a test requests is run.
        let options = change(options.ttl(Duration::from_millis(100)));
        let dir = Path::new(DIR);
        let index = Index::create_on(disk(&sim), dir, &params(), options).expect("created");
        Self { sim, clock, index }
    }

    fn at(&self, ms: u64) -> &Index {
        self.clock.store(ms, Ordering::Relaxed);
        &self.index
    }

    fn insert(&self, ms: u64, key: &str, value: u8) -> Outcome {
        self.at(ms).insert(key, &signature(&params(), value)).expect("inserted")
    }

    /// Runs maintenance until nothing is due. Returns the number of documents that each step
    /// removed.
    fn steps(&self) -> Vec<u64> {
        let mut removed = Vec::new();
        loop {
            let before = self.index.len();
            match self.index.maintain().expect("a step") {
                Maintained::Nothing => return removed,
                Maintained::Expired => removed.push(before - self.index.len()),
                _ => {}
            }
        }
    }
}

fn many(index: &Index, keys: std::ops::Range<u32>) {
    let signature = signature(&params(), 1);
    let batch = keys.fold(Batch::new(), |batch, key| batch.insert(key.to_le_bytes(), &signature));
    index.write(batch).expect("written");
}

#[test]
fn a_document_goes_when_its_time_is_over_and_not_before() {
    let aging = Aging::new(|options| options);
    aging.insert(1_000, "segment", 1);
    aging.index.flush().expect("flushed");
    aging.insert(1_050, "memtable", 2);
    aging.at(1_100);
    assert_eq!(aging.steps(), Vec::<u64>::new());
    aging.at(1_101);
    assert_eq!(aging.index.len(), 2, "a query looks at no clock");
    assert_eq!(aging.steps(), [1]);
    assert!(!aging.index.contains("segment").expect("read"));
    aging.at(1_151);
    assert_eq!(aging.steps(), [1]);
    assert!(aging.index.is_empty());
    assert_eq!(aging.index.durable_change(), 4, "removes are changes like others");
}

#[test]
fn a_step_of_the_expiry_removes_a_batch_at_most() {
    let aging = Aging::new(|options| Options { removes_max: 3, ..options });
    many(aging.at(1_000), 0..8);
    aging.index.flush().expect("flushed");
    many(aging.at(1_000), 8..10);
    aging.insert(2_000, "young", 1);
    // The last insert has already run one step, which removed a batch of three.
    assert_eq!(aging.index.len(), 8);
    let change = aging.index.snapshot().change();
    assert_eq!(aging.steps(), [3, 3, 1]);
    assert_eq!(aging.index.snapshot().change(), change + 3, "a batch is one change");
}

/// More documents than fit into a queue: all with the same time, or with ten different times.
#[test]
fn everything_expires_however_many_there_are() {
    for spread in [0, 1] {
        let aging = Aging::new(|options| options.memtable_bytes_max(64 << 20));
        for part in 0..10 {
            many(aging.at(1_000 + u64::from(part) * spread), part * 1_000..(part + 1) * 1_000);
        }
        aging.index.flush().expect("flushed");
        for part in 10..20 {
            many(aging.at(1_000 + u64::from(part) * spread), part * 1_000..(part + 1) * 1_000);
        }
        aging.at(2_000);
        let steps = aging.steps();
        assert_eq!(steps.iter().sum::<u64>(), 20_000);
        assert!(steps.iter().all(|removed| *removed <= 1_000), "{steps:?}");
        assert!(aging.index.verify().expect("verified").problems.is_empty());
    }
}

#[test]
fn finding_that_nothing_is_due_reads_nothing() {
    let aging = Aging::new(|options| options.read_mode(ReadMode::Pread));
    many(aging.at(1_000), 0..2_000);
    many(aging.at(1_200), 2_000..4_000);
    aging.steps();
    aging.index.flush().expect("flushed");
    let cost = |ms| {
        aging.at(ms);
        let before = aging.sim.counters().bytes_read;
        let steps = aging.steps();
        (steps.iter().sum::<u64>(), aging.sim.counters().bytes_read - before)
    };
    assert_eq!(aging.index.len(), 2_000);
    assert_eq!(cost(1_300), (0, 0), "its least time is above the limit");
    assert!(cost(1_301).1 > 0);
    assert_eq!(aging.index.len(), 0);
    many(aging.at(2_000), 0..10);
    aging.index.flush().expect("flushed");
    many(aging.at(2_050), 10..20);
    aging.index.compact().expect("compacted");
    assert_eq!(cost(2_110).0, 10);
    // The minimum time of the segment is below the limit, but the documents with that time were
    // removed.
    assert_eq!(cost(2_120), (0, 0));
    assert_eq!(cost(2_150), (0, 0));
    assert_eq!(cost(2_151).0, 10);
}

#[test]
fn remove_before_removes_what_is_older_and_nothing_else() {
    let aging = Aging::new(|options| Options { removes_max: 4, ttl: None, ..options });
    many(aging.at(1_000), 0..10);
    aging.index.flush().expect("flushed");
    many(aging.at(1_001), 5..15);
    let change = aging.index.snapshot().change();
    assert_eq!(aging.index.remove_before(1_000).expect("removed"), 0);
    assert_eq!(aging.index.snapshot().change(), change, "nothing was written");
    // The second insert left keys 5 to 9 unchanged, so they keep their time.
    assert_eq!(aging.index.remove_before(1_001).expect("removed"), 10);
    assert_eq!(aging.index.snapshot().change(), change + 3);
    assert_eq!(aging.index.len(), 5);
    assert_eq!(aging.index.remove_before(u64::MAX).expect("removed"), 5);
    aging.index.compact().expect("compacted");
    assert_eq!(aging.index.stats().expect("stats").segments, 0);
}

#[test]
fn a_cancelled_removal_keeps_whole_batches() {
    let aging = Aging::new(|options| Options { batch_bytes_max: 1 << 10, ttl: None, ..options });
    many(aging.at(1_000), 0..3);
    aging.index.flush().expect("flushed");
    (3..200).for_each(|key| many(aging.at(1_000), key..key + 1));
    let breaking = |reports: u64| {
        let mut seen = 0;
        move |progress: Progress| {
            assert!(progress.done <= progress.total);
            seen += 1;
            if seen > reports { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    };
    let cancelled = |removed: crate::Result<u64>| removed.expect_err("cancelled").kind();
    let index = &aging.index;
    assert_eq!(cancelled(index.remove_before_with(2_000, &mut breaking(0))), ErrorKind::Cancelled);
    assert_eq!(index.len(), 200);
    // A batch has one key here. One report before each source, and one after each batch.
    assert_eq!(cancelled(index.remove_before_with(2_000, &mut breaking(3))), ErrorKind::Cancelled);
    assert_eq!(index.len(), 197);
    assert_eq!(cancelled(index.clear_with(&mut breaking(0))), ErrorKind::Cancelled);
    assert_eq!(index.len(), 197);
    assert_eq!(cancelled(index.clear_with(&mut breaking(1))), ErrorKind::Cancelled);
    assert!(!index.is_empty() && index.len() < 197, "{}", index.len());
    index.clear_with(&mut breaking(99)).expect("removed");
    assert!(index.is_empty());
}

#[test]
fn a_document_replaced_after_it_was_queued_lives_on() {
    let expired = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&expired);
    let count = move |event: &Event| {
        if matches!(event, Event::Expired { .. }) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    let aging = Aging::new(|options| options.on_event(count.clone()));
    aging.insert(1_000, "first", 1);
    aging.insert(1_050, "second", 1);
    aging.index.flush().expect("flushed");
    aging.at(1_101);
    // Examines the segment, and queues both of its documents.
    assert_eq!(aging.steps(), [1]);
    assert_eq!(aging.insert(1_140, "second", 2), Outcome::Replaced);
    aging.at(1_160);
    assert_eq!(aging.steps().iter().sum::<u64>(), 0);
    assert_eq!(expired.load(Ordering::Relaxed), 1, "a step that removed nothing reports nothing");
    assert_eq!(aging.index.get("second").expect("read").expect("it lives").time, 1_140);
}

#[test]
fn an_expiry_that_failed_is_repeated_for_all_documents() {
    let aging = Aging::new(|options| options);
    many(aging.at(1_000), 0..3);
    aging.at(1_200);
    aging.sim.fail(Fault { at: 0, what: FaultKind::ShortWrite, sticky: false });
    assert_eq!(aging.index.maintain().expect_err("no room").kind(), ErrorKind::Io);
    assert_eq!((aging.index.len(), aging.steps()), (3, vec![3]));
}
