//! Maintenance of an index while no writer is at work.

use crate::index::maintain::steps;
use crate::index::merge::{compaction, flush};
use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Maintenance};
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index, Maintained, Options, Params, Signature, Sketcher};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn text(number: u32) -> Signature {
    Sketcher::new(&params()).text(&format!("document {number} of a few")).unwrap()
}

/// Options with which no tier ever fills up, so that only idle merging has something to merge.
fn options(maintenance: Maintenance) -> Options {
    let options = Options::default().durability(Durability::OsBuffer).maintenance(maintenance);
    options.tier_segments_max(1_000)
}

/// Inserts documents, one segment per number.
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

/// Runs idle merging until nothing is due.
fn rest(index: &Index) {
    let quiet = Some(index.core().snapshot().visible);
    while compaction::compact_step(index.core(), quiet).unwrap().is_some() {}
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
    assert_eq!(compaction::compact_step(core, None).unwrap(), None, "nothing is due");
    assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), Some(false));
    index.insert("new", &text(70)).unwrap();
    assert_eq!(compaction::compact_step(core, None).unwrap(), None);
    assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), None, "a writer was at work");
    assert!(compaction::compaction(core).is_some(), "it pauses, and is not abandoned");
    assert_eq!(segments(&index), 3);
    rest(&index);
    assert_eq!((segments(&index), index.len()), (1, 61));
    index.close().unwrap();
}

/// An index with segments of these numbers of documents. Segments of one tier are due to be merged.
/// Idle merging may rewrite up to `idle_bytes`.
fn index_of(folder: &Path, counts: &[u32], idle_bytes: u64) -> Index {
    let path = folder.join("an index");
    let index = Index::create(&path, &params(), options(Maintenance::Inline)).unwrap();
    for (segment, count) in (0..).zip(counts) {
        let insert = |batch: Batch, nth: u32| {
            batch.insert(format!("{segment} {nth}"), &text(segment * 20_000 + nth))
        };
        index.write((0..*count).fold(Batch::new(), insert)).unwrap();
        index.flush().unwrap();
    }
    index.close().unwrap();
    let options = Options { step_bytes: 4_096, ..options(Maintenance::Inline) };
    let index = Index::open(&path, options.tier_segments_max(2)).unwrap();
    index.core().writer().idle_bytes = idle_bytes;
    index
}

/// An index of a large segment and two small ones. Only the small ones are due to be merged; idle
/// merging may rewrite all three.
fn two_due_of_three(folder: &Path) -> Index {
    index_of(folder, &[12_000, 500, 500], 1 << 30)
}

#[test]
fn a_due_merge_precedes_an_idle_merge_that_lacks_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = index_of(folder.path(), &[500, 500, 500], 0);
    let quiet = Some(index.core().snapshot().visible);
    // Enough for two of the three segments that are due.
    let length = index.core().state().segments[0].entry.length;
    index.core().writer().idle_bytes = 2 * length + length / 2;
    while compaction::compact_step(index.core(), quiet).unwrap() == Some(false) {}
    assert_eq!(segments(&index), 1, "after the first merge");
}

#[test]
fn an_idle_merge_replaces_a_due_merge_that_it_contains() {
    let folder = tempfile::tempdir().unwrap();
    let index = two_due_of_three(folder.path());
    let quiet = Some(index.core().snapshot().visible);
    while compaction::compact_step(index.core(), quiet).unwrap() == Some(false) {}
    assert_eq!(segments(&index), 1, "after the first merge");
    assert_eq!(index.len(), 13_000);
}

#[test]
fn an_idle_merge_makes_way_for_a_due_one_when_a_write_comes() {
    let folder = tempfile::tempdir().unwrap();
    let index = two_due_of_three(folder.path());
    let core = index.core();
    let quiet = core.snapshot().visible;
    assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), Some(false));
    index.insert("new", &text(70)).unwrap();
    while compaction::compact_step(core, None).unwrap().is_some() {}
    assert_eq!(segments(&index), 2, "the small ones were merged");
    assert!(
        core.writer().idle_bytes > (1 << 30) - (1 << 17),
        "what was not written may be written"
    );
    rest(&index);
    assert_eq!((segments(&index), index.len()), (1, 13_001));
    // An idle merge that is mostly done is finished, although another merge is due.
    let folder = tempfile::tempdir().unwrap();
    let index = two_due_of_three(folder.path());
    let core = index.core();
    let quiet = core.snapshot().visible;
    while compaction::compaction(core)
        .as_ref()
        .is_none_or(|merge| merge.bytes_if_abandoned().is_some())
    {
        assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), Some(false));
    }
    index.insert("new", &text(70)).unwrap();
    while compaction::compact_step(core, None).unwrap() == Some(false) {}
    assert_eq!(segments(&index), 1);
}

#[test]
fn an_idle_flush_waits_until_no_writer_is_at_work() {
    let options = options(Maintenance::Inline).memtable_bytes_max(1 << 18);
    let index = Index::temporary(&params(), options).unwrap();
    for number in 0..100 {
        index.insert(format!("{number}"), &text(number)).unwrap();
    }
    let core = index.core();
    let change = core.snapshot().visible;
    assert!(!flush::flush_idle(core, Some(change - 1)).unwrap(), "a writer was at work");
    assert!(!flush::flush_idle(core, None).unwrap(), "nobody says that it is quiet");
    assert!(flush::flush_idle(core, Some(change)).unwrap());
    assert!(!flush::flush_idle(core, Some(change)).unwrap(), "nothing is left to flush");
    assert_eq!((segments(&index), index.len()), (1, 100));
}

/// On a full disk the idle flush fails. Documents must expire all the same.
#[test]
fn an_idle_flush_that_fails_holds_up_nothing_that_is_due() {
    let sim = Sim::new();
    let now = Arc::new(AtomicU64::new(1_000));
    let clock = Arc::clone(&now);
    let options = options(Maintenance::Inline)
        .memtable_bytes_max(1 << 18)
        .ttl(Duration::from_millis(100))
        .clock(move || clock.load(Ordering::Relaxed));
    let storage: Arc<dyn Storage> = Arc::new(sim.clone());
    let index = Index::create_on(storage, Path::new("/i"), &params(), options).unwrap();
    for number in 0..100 {
        index.insert(format!("{number}"), &text(number)).unwrap();
    }
    let used: usize = sim.snapshot_of_files().values().map(Vec::len).sum();
    sim.set_capacity(used as u64);
    let core = index.core();
    let quiet = |core: &Core| Some(core.snapshot().visible);
    assert_eq!(steps::maintain_quiet(core, quiet(core)).unwrap_err().kind(), ErrorKind::Io);
    now.store(2_000, Ordering::Relaxed);
    assert_eq!(steps::maintain_quiet(core, quiet(core)).unwrap(), Maintained::Expired);
    assert_eq!(index.len(), 0);
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
    // Adds more than is stored. Idle merging may rewrite twice the added bytes, which is enough to
    // merge all segments.
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
    assert!(!flush::flush_idle(index.core(), Some(index.core().snapshot().visible)).unwrap());
    assert_eq!(segments(&index), 3);
    index.close().unwrap();
}

#[test]
fn an_idle_merge_begins_soon_after_the_last_write() {
    for maintenance in [Maintenance::Shared, Maintenance::Background] {
        let took = |_| {
            let index = Index::temporary(&params(), options(maintenance)).unwrap();
            insert(&index, 0..2);
            let begun = Instant::now();
            while segments(&index) > 1 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{maintenance:?}");
                std::thread::sleep(Duration::from_millis(2));
            }
            begun.elapsed()
        };
        // The fastest of several rounds, because other tests take time as well. A regular step
        // comes after a second.
        let fastest = (0..5).map(took).min().unwrap();
        assert!(fastest < Duration::from_millis(500), "{maintenance:?}: {fastest:?}");
    }
}

#[test]
fn an_idle_index_takes_few_steps() {
    for maintenance in [Maintenance::Shared, Maintenance::Background] {
        // Every step asks the clock which documents are due to expire.
        let reads = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reads);
        let options = options(maintenance).ttl(Duration::from_secs(3_600)).clock(move || {
            count.fetch_add(1, Ordering::Relaxed);
            1_000
        });
        let index = Index::temporary(&params(), options).unwrap();
        insert(&index, 0..3);
        let begun = Instant::now();
        while segments(&index) > 1 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{maintenance:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        let before = reads.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(400));
        let reads = reads.load(Ordering::Relaxed) - before;
        assert!(reads < 100, "{maintenance:?}: {reads}");
    }
}
