//! Several shared handles on one index: turns, hand-overs, what each of them sees.

use super::copies::{DIR, disk, params, signature};
use crate::index::merge::compaction;
use crate::index::state::turns::Wait;
use crate::passages::PassageIndex;
use crate::storage::Storage;
use crate::storage::names::Names;
use crate::testing::sim::{Fault, FaultKind, Sim};
use crate::{
    Batch, Durability, ErrorKind, Index, Maintenance, Options, Outcome, Params, Reader, Windows,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of a handle that ends its turn with each call.
fn by_turns() -> Options {
    Options::default().shared(true).maintenance(Maintenance::Inline)
}

fn open(sim: &Sim, options: Options) -> Index {
    Index::open_or_create_on(disk(sim), Path::new(DIR), &params(), options).unwrap()
}

#[test]
fn handles_that_write_by_turns_see_each_other_and_number_their_changes_together() {
    let sim = Sim::new();
    let (one, other) = (open(&sim, by_turns()), open(&sim, by_turns()));
    for number in 0..40_u8 {
        let (writer, reader) = if number % 3 == 0 { (&one, &other) } else { (&other, &one) };
        let batch = Batch::new().insert(number.to_string(), &signature(&params(), number));
        let written = writer.write(batch).unwrap();
        assert_eq!(written.change, u64::from(number) + 1);
        assert!(reader.refresh().unwrap());
        assert!(reader.contains(number.to_string()).unwrap());
        assert_eq!((reader.len(), writer.len()), (written.change, written.change));
        assert!(!reader.refresh().unwrap());
    }
    // A write decides on what others have written, without a refresh.
    assert_eq!(one.remove("39").unwrap(), Outcome::Removed);
    assert_eq!(other.insert("38", &signature(&params(), 38)).unwrap(), Outcome::Unchanged);
    assert_eq!(other.remove("39").unwrap(), Outcome::Missing);
    one.close().unwrap();
    other.close().unwrap();
    let index = Index::open_on(disk(&sim), Path::new(DIR), Options::default()).unwrap();
    assert_eq!((index.len(), index.stats().unwrap().recovery.bytes_cut), (39, 0));
}

#[test]
fn a_log_is_continued_by_the_next_handle_and_not_recovered() {
    let sim = Sim::new();
    let (one, other) = (open(&sim, by_turns()), open(&sim, by_turns()));
    for number in 0..20_u8 {
        let writer = if number % 2 == 0 { &one } else { &other };
        writer.insert(number.to_string(), &signature(&params(), number)).unwrap();
    }
    let stats = other.stats().unwrap();
    assert_eq!((stats.segments, stats.floor), (0, 0), "no hand-over flushes");
    // One that is killed in its turn leaves no mark: the next one recovers.
    let killed = open(&sim, Options::default().shared(true).maintenance(Maintenance::Background));
    killed.insert("killed", &signature(&params(), 99)).unwrap();
    drop(killed);
    one.insert("after", &signature(&params(), 100)).unwrap();
    other.refresh().unwrap();
    assert_eq!((one.len(), other.len()), (22, 22));
    assert!(one.contains("killed").unwrap());
}

#[test]
fn flushes_and_compactions_of_one_handle_are_followed_by_the_others() {
    let sim = Sim::new();
    let (one, other) = (open(&sim, by_turns()), open(&sim, by_turns()));
    let reader = Reader::open_on(disk(&sim), Path::new(DIR), Options::default()).unwrap();
    for number in 0..60_u8 {
        let writer = if number % 2 == 0 { &one } else { &other };
        writer.insert((number % 23).to_string(), &signature(&params(), number)).unwrap();
        match number % 7 {
            1 => one.flush().unwrap(),
            3 => other.flush().unwrap(),
            5 => other.compact().unwrap(),
            6 => one.compact().unwrap(),
            _ => {}
        }
        let expected = u64::from(23.min(number + 1));
        assert!(one.refresh().is_ok() && other.refresh().is_ok() && reader.refresh().is_ok());
        assert_eq!([one.len(), other.len(), reader.len()], [expected; 3]);
        for handle in [&one, &other] {
            assert!(handle.verify().unwrap().problems.is_empty());
        }
    }
    let files = sim.snapshot_of_files().len();
    assert!(files < 16, "{files} files: what no catalog lists is removed");
}

#[test]
fn an_ordinary_handle_and_shared_ones_wait_for_each_other() {
    let sim = Sim::new();
    let wait = |options: Options| options.lock_wait(Duration::from_millis(5));
    let shared = open(&sim, wait(by_turns()));
    shared.insert("1", &signature(&params(), 1)).unwrap();
    let ordinary = Index::open_on(disk(&sim), Path::new(DIR), Options::default()).unwrap();
    assert_eq!(ordinary.len(), 1);
    let refused = shared.insert("2", &signature(&params(), 2)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    ordinary.insert("3", &signature(&params(), 3)).unwrap();
    ordinary.close().unwrap();
    shared.insert("2", &signature(&params(), 2)).unwrap();
    assert_eq!(shared.len(), 3);
}

#[test]
fn threads_of_several_handles_lose_nothing_and_starve_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let shared = || Options::default().shared(true).memtable_bytes_max(64 << 10);
    let handles: Vec<_> =
        (0..3).map(|_| Index::open_or_create(&dir, &params(), shared()).unwrap()).collect();
    let last = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (number, handle) in handles.iter().enumerate() {
            for thread in 0..2 {
                let last = &last;
                scope.spawn(move || {
                    for at in 0..100_u8 {
                        let key = format!("{number}-{thread}-{at}");
                        let batch = Batch::new().insert(&key, &signature(&params(), at));
                        let written = handle.write(batch).unwrap();
                        last.fetch_max(written.change, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    assert_eq!(last.into_inner(), 600);
    for handle in &handles {
        assert!(handle.refresh_until(600, Duration::from_secs(10)).unwrap());
        assert_eq!(handle.len(), 600);
        assert!(handle.verify().unwrap().problems.is_empty());
    }
    for handle in handles {
        handle.close().unwrap();
    }
    assert_eq!(Index::open(&dir, Options::default()).unwrap().len(), 600);
}

#[test]
fn a_handle_that_has_handed_over_does_not_overtake_the_next_one() {
    let sim = Sim::new();
    let shared = open(&sim, by_turns().lock_wait(Duration::from_millis(3)));
    shared.insert("1", &signature(&params(), 1)).unwrap();
    // Another process is next, and has not looked for the lock yet.
    let next = sim.lock(&Names::new(Path::new(DIR)).waiting_lock()).unwrap();
    let refused = shared.insert("2", &signature(&params(), 2)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    drop(next);
    shared.insert("2", &signature(&params(), 2)).unwrap();
}

#[test]
fn a_handle_that_ends_does_not_wait_for_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let shared = Index::open_or_create(&dir, &params(), by_turns()).unwrap();
    let ordinary = Index::open(&dir, Options::default()).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| shared.insert("1", &signature(&params(), 1)));
        std::thread::sleep(Duration::from_millis(30));
        shared.shutdown().unwrap();
        assert!(waits.join().unwrap().is_err());
    });
    let closing = Index::open(&dir, by_turns()).unwrap();
    let core = closing.core();
    core.wakeup.stop();
    let sharing = core.sharing.as_ref().unwrap();
    assert_eq!((sharing.begin)(core, Wait::Patiently).unwrap_err().kind(), ErrorKind::Locked);
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited on");
    ordinary.close().unwrap();
    // What has ended holds nothing.
    Index::open(&dir, Options::default()).unwrap().close().unwrap();
}

#[test]
fn a_handle_without_a_thread_leaves_no_compaction_to_the_next_call() {
    let sim = Sim::new();
    let small = Options { step_bytes: 64, memtable_bytes_max: 12 << 10, ..by_turns() };
    let options = || small.clone().tier_segments_max(2);
    let (one, other) = (open(&sim, options()), open(&sim, options()));
    for number in 0..40_u8 {
        one.insert(number.to_string(), &signature(&params(), number)).unwrap();
        if number % 7 == 6 {
            one.flush().unwrap();
        }
        let claim = compaction::claim(other.core()).unwrap();
        assert!(claim.is_some(), "after document {number}");
    }
    other.refresh().unwrap();
    let stats = other.stats().unwrap();
    assert!(stats.documents == 40 && stats.segments < 6, "{stats:?}");
}

#[test]
fn documents_expire_although_nobody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let writer = Index::open_or_create(&dir, &params(), Options::default().shared(true)).unwrap();
    writer.insert("1", &signature(&params(), 1)).unwrap();
    writer.close().unwrap();
    // Longer than the turn of an opening.
    let options = Options::default().shared(true).ttl(Duration::from_millis(500));
    let shared = Index::open(&dir, options).unwrap();
    let begun = Instant::now();
    while !shared.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it did not expire");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_backup_of_a_snapshot_is_whole_although_others_have_removed_its_files() {
    let sim = Sim::new();
    let (one, other) = (open(&sim, by_turns()), open(&sim, by_turns()));
    for number in 0..30_u8 {
        one.insert((number % 20).to_string(), &signature(&params(), number)).unwrap();
        if number % 10 == 9 {
            one.flush().unwrap();
        }
    }
    let then = one.snapshot();
    other.compact().unwrap();
    other.clear().unwrap();
    other.compact().unwrap();
    one.backup_of(&then, "/then").unwrap();
    one.refresh().unwrap();
    other.insert("late", &signature(&params(), 99)).unwrap();
    one.backup("/now").unwrap();
    let copy = |dir: &str| Index::open_on(disk(&sim), Path::new(dir), Options::default()).unwrap();
    let (then, now) = (copy("/then"), copy("/now"));
    assert!(then.len() == 20 && then.verify().unwrap().problems.is_empty());
    assert!(now.len() == 1 && now.contains("late").unwrap());
}

#[test]
fn a_disk_that_is_full_in_a_turn_leaves_the_next_one_what_was_acknowledged() {
    let sim = Sim::new();
    let small = || Options {
        wal_bytes_min: 8 << 10,
        wal_bytes_max: 8 << 10,
        memtable_bytes_max: 4 << 10,
        ..by_turns()
    };
    let (one, other) = (open(&sim, small()), open(&sim, small()));
    one.insert("kept", &signature(&params(), 1)).unwrap();
    let used: usize = sim.snapshot_of_files().values().map(Vec::len).sum();
    sim.set_capacity(used as u64 + (24 << 10));
    let mut acknowledged = 1;
    let mut refused = 0;
    for number in 0..250_u16 {
        let writer = if number % 2 == 0 { &one } else { &other };
        match writer.insert(format!("k{number}"), &signature(&params(), (number % 250) as u8)) {
            Ok(_) => acknowledged += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "the disk was not full");
    sim.set_capacity(u64::MAX);
    assert!(other.refresh().is_ok() && one.refresh().is_ok());
    assert_eq!((one.len(), other.len()), (acknowledged, acknowledged));
    one.insert("after", &signature(&params(), 7)).unwrap();
    other.remove("kept").unwrap();
    assert!(other.verify().unwrap().problems.is_empty());
    assert_eq!(other.len(), acknowledged);
}

#[test]
fn a_sync_that_fails_in_a_turn_poisons_that_handle_alone() {
    let sim = Sim::new();
    let (one, other) = (open(&sim, by_turns()), open(&sim, by_turns()));
    one.insert("kept", &signature(&params(), 1)).unwrap();
    sim.fail(Fault { at: 0, what: FaultKind::SyncFails, sticky: false });
    let refused = one.insert("doubtful", &signature(&params(), 2)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unknown);
    let refused = one.insert("late", &signature(&params(), 3)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned);
    other.insert("other", &signature(&params(), 4)).unwrap();
    assert!(other.contains("kept").unwrap() && other.contains("other").unwrap());
    assert!(!other.contains("late").unwrap());
    assert!(other.verify().unwrap().problems.is_empty());
}

#[test]
fn handles_with_different_options_share_an_index() {
    let sim = Sim::new();
    let hour = Duration::from_secs(3_600);
    let all = [
        by_turns(),
        by_turns().durability(Durability::OsBuffer).memtable_bytes_max(4 << 10),
        by_turns().durability(Durability::Interval(hour)).ttl(hour).tier_segments_max(2),
    ];
    let handles = all.map(|options| open(&sim, options));
    for number in 0..90_u8 {
        let writer = &handles[usize::from(number % 3)];
        writer.insert(number.to_string(), &signature(&params(), number)).unwrap();
    }
    for handle in &handles {
        handle.refresh().unwrap();
        // What a turn wrote is durable when it ends, whatever the durability.
        assert_eq!((handle.len(), handle.durable_change()), (90, 90));
        assert!(handle.verify().unwrap().problems.is_empty());
    }
    let other = Params::for_threshold(0.3).build().unwrap();
    let refused = Index::open_or_create_on(disk(&sim), Path::new(DIR), &other, by_turns());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn a_wait_is_told_of_and_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let keeps = Index::create(&dir, &params(), Options::default()).unwrap();
    let patient = |options: Options| {
        options.lock_wait(Duration::from_secs(60)).on_wait(|waited| {
            let is_over = waited > Duration::from_millis(20);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    };
    let begun = Instant::now();
    let refused = Index::open(&dir, patient(Options::default())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    let shared = Index::open(&dir, patient(by_turns())).unwrap();
    let refused = shared.insert("1", &signature(&params(), 1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    assert!(begun.elapsed() < Duration::from_secs(30), "it waited on");
    keeps.close().unwrap();
    shared.insert("1", &signature(&params(), 1)).unwrap();
}

/// A file that another process has locked.
#[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "another process does it")]
fn locked(path: &Path) -> std::fs::File {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = std::fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// A call waits for its turn no longer because other threads of the process wait for it, too.
#[test]
fn threads_of_one_handle_wait_for_a_turn_together() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let keeps = Index::create(&dir, &params(), Options::default()).unwrap();
    let shared = Index::open(&dir, by_turns().lock_wait(Duration::from_secs(2))).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let shared = &shared;
            scope.spawn(move || {
                let refused = shared.insert([number], &signature(&params(), number));
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::Locked);
            });
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(8), "one after the other");
    keeps.close().unwrap();
}

/// A compaction that is asked for waits for the one of another process.
#[test]
fn a_compaction_waits_for_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let one = Index::create(&dir, &params(), by_turns()).unwrap();
    for part in [1, 2] {
        one.insert([part], &signature(&params(), part)).unwrap();
        one.flush().unwrap();
    }
    let other = locked(&dir.join("segments").join("merging.lock"));
    std::thread::scope(|scope| {
        let compacted = scope.spawn(|| one.compact());
        std::thread::sleep(Duration::from_millis(100));
        assert!(!compacted.is_finished(), "it did not wait");
        // Nobody is kept from writing meanwhile, and the wait can be ended.
        let two = Index::open(&dir, by_turns().lock_wait(Duration::from_secs(5))).unwrap();
        two.insert([3], &signature(&params(), 3)).unwrap();
        let stopped = two.compact_with(&mut |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
        drop(other);
        compacted.join().unwrap().unwrap();
    });
    // The segment that came meanwhile stays.
    assert_eq!((one.len(), one.stats().unwrap().segments), (3, 2));
}

#[test]
fn a_compaction_that_waits_ends_with_its_handle() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let one = Index::create(&dir, &params(), by_turns()).unwrap();
    for part in [1, 2] {
        one.insert([part], &signature(&params(), part)).unwrap();
        one.flush().unwrap();
    }
    let _other = locked(&dir.join("segments").join("merging.lock"));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let compacted = scope.spawn(|| one.compact());
        std::thread::sleep(Duration::from_millis(50));
        one.shutdown().unwrap();
        assert_eq!(compacted.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    });
    assert!(begun.elapsed() < Duration::from_secs(30), "it waited on");
}

/// An end of the wait that is said once is heard.
#[test]
fn an_opening_that_would_create_does_not_wait_on() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let _lock = locked(&dir.join("lock"));
    let calls = AtomicU64::new(0);
    let once = by_turns().lock_wait(Duration::from_secs(60)).on_wait(move |_| {
        let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let begun = Instant::now();
    let refused = Index::open_or_create(&dir, &params(), once).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked, "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited on");
}

#[test]
fn a_handle_whose_folder_was_removed_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let shared = Index::open_or_create(&dir, &params(), by_turns()).unwrap();
    shared.insert("1", &signature(&params(), 1)).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let refused = shared.insert("2", &signature(&params(), 2)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    assert!(shared.contains("1").unwrap());
}

#[test]
fn a_handle_that_ends_during_a_compaction_leaves_no_unfinished_file() {
    let ends: [fn(Index); 2] = [|index| index.close().unwrap(), |index| index.shutdown().unwrap()];
    for (which, end) in ends.into_iter().enumerate() {
        let sim = Sim::new();
        let options = Options { step_bytes: 64, ..by_turns() };
        let index = open(&sim, options.tier_segments_max(1_000));
        for number in 0..40_u8 {
            index.insert(number.to_string(), &signature(&params(), number)).unwrap();
            if number % 20 == 19 {
                index.flush().unwrap();
            }
        }
        let core = index.core();
        let quiet = core.snapshot().visible;
        assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), Some(false));
        let unfinished = || {
            let files = sim.snapshot_of_files();
            files.keys().filter(|path| path.extension().is_some_and(|end| end == "tmp")).count()
        };
        assert_eq!(unfinished(), 1);
        end(index);
        assert_eq!(unfinished(), 0, "{which}");
    }
}

#[test]
fn passages_are_not_shared() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let params = Params::builder().passages(Windows::new(20, 10).unwrap()).build().unwrap();
    PassageIndex::create(&dir, &params, Options::default()).unwrap().close().unwrap();
    let refused = PassageIndex::open(&dir, by_turns()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}

#[test]
fn an_index_in_memory_is_not_shared() {
    let refused = Index::temporary(&params(), Options::default().shared(true)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}
