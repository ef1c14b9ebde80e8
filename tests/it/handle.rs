//! Further methods of the handle: flush, compact, maintain, verify, stats, sync. Also the options
//! for durability and maintenance.

use crate::support::{
    Model, Scratch, assert_whole, eventually, inline, kind, listing, params, run,
};
use nearkin::{Batch, Durability, ErrorKind, Index, Maintained, Maintenance, Options, Progress};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn a_flush_moves_the_memtable_into_a_segment() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    let stats = index.stats().unwrap();
    assert_eq!((stats.segments, stats.memtable_documents, stats.floor), (0, 1, 0));
    index.flush().unwrap();
    let stats = index.stats().unwrap();
    assert_eq!((stats.segments, stats.memtable_documents, stats.floor), (1, 0, 1));
    index.flush().unwrap();
    assert_eq!(index.stats().unwrap().segments, 1);
    assert_whole(&index);
}

#[test]
fn a_cancelled_compaction_changes_nothing_and_can_be_done_again() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for at in 0..4 {
        index.insert(format!("k{at}"), &run(at, 20)).unwrap();
        index.flush().unwrap();
    }
    let files = || listing(&scratch.dir().join("segments")).len();
    let before = files();
    let cancelled = index.compact_with(&mut |_| ControlFlow::Break(()));
    assert_eq!(kind(cancelled), ErrorKind::Cancelled);
    assert_eq!((index.stats().unwrap().segments, files()), (4, before));
    let mut reports = Vec::new();
    let progress = &mut |progress: Progress| {
        reports.push(progress);
        ControlFlow::Continue(())
    };
    index.compact_with(progress).unwrap();
    assert!(!reports.is_empty() && reports.iter().all(|report| report.done <= report.total));
    assert_eq!(index.stats().unwrap().segments, 1);
    let cancelled = index.verify_with(&mut |_| ControlFlow::Break(()));
    assert_eq!(kind(cancelled), ErrorKind::Cancelled);
    // `verify` passes over a segment twice, and the total counts both passes. So the first pass
    // does not reach the total.
    let mut reports = Vec::new();
    let progress = &mut |progress: Progress| {
        reports.push(progress);
        ControlFlow::Continue(())
    };
    index.verify_with(progress).unwrap();
    let complete = reports.iter().filter(|report| report.done == report.total).count();
    assert!(complete <= 1 + reports.len() / 5, "{complete} of {}", reports.len());
    assert_whole(&index);
}

#[test]
fn inline_maintenance_keeps_the_number_of_segments_small() {
    let scratch = Scratch::new();
    let options =
        inline().durability(Durability::OsBuffer).memtable_bytes_max(16 << 10).tier_segments_max(3);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let mut model = Model::default();
    for at in 0..1_000 {
        let signature = run(at, 30);
        let key = format!("k{}", at % 700);
        index.insert(&key, &signature).unwrap();
        model.insert(&key, &signature, b"");
    }
    let stats = index.stats().unwrap();
    assert!((1..=6).contains(&stats.segments), "{stats:?}");
    assert!(stats.memtable_documents < 100, "{stats:?}");
    assert_eq!(stats.maintenance_failure, None);
    assert_eq!(Model::read(&index), model);
    assert_whole(&index);
    while index.maintain().unwrap() != Maintained::Nothing {}
    index.close().unwrap();
    assert_eq!(Model::read(&scratch.open()), model);
}

#[test]
fn maintain_notes_the_horizon_once() {
    let scratch = Scratch::new();
    let index = scratch.create();
    assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    index.insert("a", &run(0, 10)).unwrap();
    assert_eq!(index.maintain().unwrap(), Maintained::Noted);
    assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    index.insert("b", &run(0, 10)).unwrap();
    assert_whole(&index);
    drop(index);
    let index = scratch.open();
    assert_eq!(index.stats().unwrap().recovery.changes_replayed, 2);
    assert_eq!(index.len(), 2);
}

#[test]
fn without_syncs_writes_are_visible_and_sync_is_a_barrier() {
    let scratch = Scratch::new();
    let options = inline().durability(Durability::OsBuffer);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    for at in 1..=5_u32 {
        index.insert(format!("k{at}"), &run(at, 10)).unwrap();
        assert_eq!((index.len(), index.durable_change()), (u64::from(at), 0));
    }
    assert_eq!(index.sync().unwrap(), 5);
    assert_eq!(index.durable_change(), 5);
    assert_eq!(index.sync().unwrap(), 5);
    index.insert("more", &run(0, 10)).unwrap();
    index.flush().unwrap();
    assert_eq!(index.durable_change(), 6);
}

#[test]
fn after_a_sync_a_refreshed_reader_sees_the_last_write() {
    for durability in [Durability::Sync, Durability::OsBuffer] {
        let scratch = Scratch::new();
        let options = inline().durability(durability);
        let index = Index::create(scratch.dir(), &params(), options).unwrap();
        let reader = nearkin::Reader::open(scratch.dir(), Options::default()).unwrap();
        for at in 1..=20_u32 {
            index.insert(format!("k{at}"), &run(at, 10)).unwrap();
            index.sync().unwrap();
            reader.refresh().unwrap();
            assert_eq!(reader.snapshot().len(), u64::from(at));
        }
    }
}

#[test]
fn with_an_interval_the_first_write_after_it_syncs() {
    let scratch = Scratch::new();
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&time);
    let options = inline()
        .durability(Durability::Interval(Duration::from_millis(500)))
        .clock(move || clock.load(Ordering::Relaxed));
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let insert = |key: &str| {
        index.insert(key, &run(0, 10)).unwrap();
        index.durable_change()
    };
    let first = insert("a");
    assert!(first <= 1, "the interval begins somewhere");
    index.sync().unwrap();
    assert_eq!(insert("b"), 1);
    time.fetch_add(499, Ordering::Relaxed);
    assert_eq!(insert("c"), 1);
    assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    time.fetch_add(1, Ordering::Relaxed);
    assert_eq!(index.maintain().unwrap(), Maintained::Synced);
    assert_eq!(index.durable_change(), 3);
    assert_eq!(insert("d"), 3);
    time.fetch_add(500, Ordering::Relaxed);
    assert_eq!(insert("e"), 5);
    assert_eq!(index.len(), 5);
}

#[test]
fn a_clock_that_was_set_back_does_not_put_syncs_off() {
    let scratch = Scratch::new();
    let time = Arc::new(AtomicU64::new(1_000_000_000));
    let clock = Arc::clone(&time);
    let options = inline()
        .durability(Durability::Interval(Duration::from_millis(500)))
        .clock(move || clock.load(Ordering::Relaxed));
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    index.insert("a", &run(0, 10)).unwrap();
    assert_eq!(index.durable_change(), 1);
    time.store(5, Ordering::Relaxed);
    index.insert("b", &run(0, 10)).unwrap();
    assert_eq!(index.durable_change(), 2);
    index.insert("c", &run(0, 10)).unwrap();
    assert_eq!(index.durable_change(), 2);
    time.store(505, Ordering::Relaxed);
    assert_eq!(index.maintain().unwrap(), Maintained::Synced);
}

#[test]
fn a_memtable_without_room_is_flushed_at_every_write() {
    for maintenance in [Maintenance::Inline, Maintenance::Background] {
        let scratch = Scratch::new();
        let options = Options::default().maintenance(maintenance).memtable_bytes_max(0);
        let options = options.merge_when_idle(false);
        let index = Index::create(scratch.dir(), &params(), options).unwrap();
        for at in 0..5 {
            index.insert(format!("k{at}"), &run(at, 10)).unwrap();
        }
        eventually(|| index.stats().unwrap().floor == 5);
        eventually(|| index.maintain().unwrap() == Maintained::Nothing);
        let catalog = || std::fs::read(scratch.dir().join("catalog.redb")).unwrap();
        let before = catalog();
        assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
        assert!(catalog() == before);
        assert_eq!(index.len(), 5);
        assert_whole(&index);
    }
}

#[test]
fn a_flush_or_a_compaction_of_nothing_writes_nothing() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    let index = scratch.open();
    let before = listing(&scratch.dir());
    index.flush().unwrap();
    index.compact().unwrap();
    assert_eq!(index.sync().unwrap(), 1);
    assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    assert!(listing(&scratch.dir()) == before);
}

#[test]
fn with_an_interval_the_background_thread_syncs_by_itself() {
    let scratch = Scratch::new();
    let options = Options::default().durability(Durability::Interval(Duration::from_millis(5)));
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    index.insert("a", &run(0, 10)).unwrap();
    index.insert("b", &run(0, 10)).unwrap();
    eventually(|| index.durable_change() == 2);
    index.close().unwrap();
}

#[test]
fn the_background_thread_flushes_and_compacts_by_itself() {
    let scratch = Scratch::new();
    let options = Options::default()
        .maintenance(Maintenance::Background)
        .durability(Durability::OsBuffer)
        .memtable_bytes_max(16 << 10)
        .tier_segments_max(2);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    for at in 0..300 {
        index.insert(format!("k{at}"), &run(at, 30)).unwrap();
    }
    eventually(|| index.stats().unwrap().segments == 1);
    assert_eq!(index.len(), 300);
    assert_whole(&index);
    index.close().unwrap();
    assert_eq!(scratch.open().len(), 300);
}

#[test]
fn stats_count_the_bytes_on_disk() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.write(Batch::new().insert_with_payload("a", &run(0, 10), vec![0; 60_000])).unwrap();
    index.flush().unwrap();
    let mut bytes = 0;
    for folder in [scratch.dir(), scratch.dir().join("wal"), scratch.dir().join("segments")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let metadata = entry.unwrap().metadata().unwrap();
            bytes += if metadata.is_dir() { 0 } else { metadata.len() };
        }
    }
    assert_eq!(index.stats().unwrap().bytes_on_disk, bytes);
    assert!(bytes > 60_000);
}

#[test]
fn an_index_is_shared_between_threads_by_reference() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Index>();
    assert_shared::<nearkin::Snapshot>();
    assert_shared::<nearkin::Sketcher>();
    assert_shared::<nearkin::Error>();
}

/// All types are unwind safe, so that callers may catch panics around the library. (Types that
/// contain closures of the caller, such as a `Query` with a filter, are excepted.)
#[test]
fn public_types_may_cross_a_caught_panic() {
    use nearkin::passages::{PassageIndex, PassageView};
    use nearkin::*;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    fn assert_safe<T: UnwindSafe + RefUnwindSafe>() {}
    assert_safe::<(Index, Reader, Snapshot, Documents, Keys, Pairs, CollapsedPairs, Clusters)>();
    assert_safe::<(PassageIndex, PassageView, Sketcher, Signature, Params, ParamsBuilder)>();
    assert_safe::<(Options, Batch, Edit<'_>, Newcomer<'_>, Key<'_>, Answer, nearkin::Error)>();
}

#[test]
fn after_a_panic_in_a_closure_of_the_caller_the_index_goes_on() {
    use std::panic::catch_unwind;
    let scratch = Scratch::new();
    let index = scratch.create();
    let signature = run(0, 10);
    for round in 0..3_u64 {
        index.insert(round, &signature).unwrap();
        index.flush().unwrap();
    }
    let filtered = catch_unwind(|| {
        index.query(&signature).filter(|_, _| panic!("a filter")).run().map(|_| ())
    });
    assert!(filtered.is_err());
    let clusters = || index.clusters_with(0.5, &mut |_| panic!("progress")).map(|_| ());
    assert!(catch_unwind(clusters).is_err());
    assert!(catch_unwind(|| index.compact_with(&mut |_| panic!("progress"))).is_err());
    assert!(catch_unwind(|| index.verify_with(&mut |_| panic!("progress"))).is_err());
    index.insert("after", &signature).unwrap();
    index.compact().unwrap();
    assert_eq!(index.query(&signature).run().unwrap().found, 4);
    assert_eq!(index.stats().unwrap().segments, 1);
    assert!(index.verify().unwrap().problems.is_empty());
    index.close().unwrap();
}

/// Resident bytes of an index's mapped segments.
#[cfg(target_os = "linux")]
fn mapped_bytes(dir: &std::path::Path) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let segments = dir.join("segments");
    let mut is_of = false;
    let mut kibibytes = 0;
    for line in maps.lines() {
        // In `smaps`, the first line of each map has the addresses, and the file if there is one.
        if line.split(' ').next().is_some_and(|word| !word.ends_with(':')) {
            is_of = line.contains(segments.to_str().unwrap());
        } else if let Some(rest) = line.strip_prefix("Rss:").filter(|_| is_of) {
            kibibytes += rest.trim_end_matches("kB").trim().parse::<u64>().unwrap();
        }
    }
    kibibytes << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_load_without_maps_takes_less_memory_and_finds_the_same() {
    let load = |keep: bool| {
        let scratch = Scratch::new();
        let options = Options::default().maintenance(Maintenance::Inline).keep_mapped(keep);
        let index = Index::create(scratch.dir(), &params(), options).unwrap();
        for part in 0..3 {
            let keys = (part * 4_000)..(part + 1) * 4_000;
            index
                .write(keys.fold(Batch::new(), |batch, at| {
                    batch.insert(format!("k{at}"), &run(at * 20, 10))
                }))
                .unwrap();
            index.flush().unwrap();
        }
        let flushed = mapped_bytes(&scratch.dir());
        index.compact().unwrap();
        let compacted = mapped_bytes(&scratch.dir());
        let found = index.query(&run(70_020, 10)).run().unwrap().matches;
        assert_whole(&index);
        (flushed, compacted, found.into_iter().map(|found| found.key).collect::<Vec<_>>())
    };
    let (kept, given_up) = (load(true), load(false));
    assert!(kept.0 > 2 << 20 && kept.1 > 2 << 20, "{kept:?}");
    assert!(given_up.0 < 1 << 20 && given_up.1 < 1 << 20, "{given_up:?}");
    assert_eq!(kept.2, [b"k3501".to_vec()]);
    assert_eq!(kept.2, given_up.2);
}
