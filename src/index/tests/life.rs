//! The life of a handle: a shutdown while others hold the handle, and a refresh while others query.

#![expect(clippy::disallowed_methods, reason = "takes folders away on purpose")]

use crate::index::merge::compaction;
use crate::index::state::options::{Durability, Maintenance};
use crate::{
    Admit, Error, ErrorKind, Index, Newcomer, Options, Params, Reader, Result, Signature, Sketcher,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn text(text: &str) -> Signature {
    Sketcher::new(&params()).text(text).unwrap()
}

fn create(dir: &Path, options: Options) -> Arc<Index> {
    Arc::new(Index::create(dir, &params(), options).unwrap())
}

/// Calls every fallible method of a handle. Returns the error of each, if any.
fn every_call(index: &Index, dir: &Path) -> Vec<(&'static str, Option<Error>)> {
    let signature = text("the quick brown fox");
    let signatures = [signature.clone()];
    let other = Index::create(dir.join("other"), &params(), Options::default()).unwrap();
    vec![
        ("insert", index.insert("k", &signature).err()),
        ("remove", index.remove("k").err()),
        ("remove a stranger", index.remove("nobody").err()),
        ("remove_before", index.remove_before(7).err()),
        ("admit", index.admit("k", &signature, &Admit::at(0.9)).err()),
        ("admit_all", index.admit_all(&[Newcomer::new("k", &signature)], &Admit::at(0.9)).err()),
        ("import", index.import(&other.snapshot()).err()),
        ("contains", index.contains("k").err()),
        ("get", index.get("k").err()),
        ("get_many", index.get_many(["k"]).err()),
        ("signature", index.signature("k").err()),
        ("query", index.query(&signature).run().err()),
        ("queries", index.queries(&signatures).run().err()),
        ("query_key", index.query_key("k").run().err()),
        ("query_keys", index.query_keys(["k"]).run().err()),
        ("pairs", index.pairs(0.9).err()),
        ("clusters", index.clusters(0.9).err()),
        ("iter", index.snapshot().iter().find_map(Result::err)),
        ("keys", index.snapshot().keys().err()),
        ("no keys", index.get_many([] as [&str; 0]).err()),
        ("sync", index.sync().err()),
        ("flush", index.flush().err()),
        ("compact", index.compact().err()),
        ("maintain", index.maintain().err()),
        ("verify", index.verify().err()),
        ("backup", index.backup(dir.join("backup")).err()),
        ("stats", index.stats().err()),
    ]
}

#[test]
fn after_a_shutdown_calls_are_closed_and_snapshots_go_on() {
    for maintenance in [Maintenance::Shared, Maintenance::Background, Maintenance::Inline] {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("papers");
        let index = create(&dir, Options::default().maintenance(maintenance));
        let fox = text("the quick brown fox");
        index.insert("k", &fox).unwrap();
        index.flush().unwrap();
        index.insert("l", &fox).unwrap();
        let snapshot = index.snapshot();
        let query = index.query(&fox);
        let mut documents = snapshot.iter();
        documents.next().unwrap().unwrap();
        index.shutdown().unwrap();
        for (call, error) in every_call(&index, folder.path()) {
            let kind = error.map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::Closed), "{call}");
        }
        assert_eq!((index.len(), index.durable_change(), index.path()), (2, 2, &*dir));
        assert_eq!(query.run().unwrap().matches.len(), 2);
        assert_eq!(documents.next().unwrap().unwrap().key, b"l");
        assert_eq!(snapshot.get("k").unwrap().unwrap().signature, fox);
        index.shutdown().expect("once more does nothing");

        let again = Index::open(&dir, Options::default()).expect("the lock is free");
        assert_eq!(again.stats().unwrap().recovery.changes_replayed, 0, "it was closed");
        assert_eq!((again.len(), again.verify().unwrap().problems.len()), (2, 0));
        // Snapshots of the old handle still hold data, but they lock nobody out and delete nothing.
        again.insert("m", &fox).unwrap();
        again.compact().unwrap();
        assert_eq!(query.run().unwrap().matches.len(), 2);
        drop((snapshot, query, documents));
        Arc::into_inner(index).unwrap().close().expect("it is closed");
        assert_eq!((again.len(), again.verify().unwrap().problems.len()), (3, 0));
    }
}

#[test]
fn a_shutdown_lets_folder_and_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let index = create(&dir, Options::default());
    index.insert("k", &text("the quick brown fox")).unwrap();
    index.flush().unwrap();
    let held = || {
        let of = |what: &str| -> Vec<String> {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            let maps = maps.lines().filter(|line| line.contains(what)).map(str::to_owned);
            let links = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
            let links = links.filter_map(|link| std::fs::read_link(link.path()).ok());
            let links = links.map(|to| to.display().to_string());
            maps.chain(links.filter(|to| to.contains(what))).collect()
        };
        of(dir.to_str().unwrap())
    };
    if cfg!(target_os = "linux") {
        assert!(held().len() > 1, "{:?}", held());
    }
    index.shutdown().unwrap();
    assert_eq!(held(), Vec::<String>::new());
    drop(index);
}

#[test]
fn calls_during_a_shutdown_are_done_or_closed_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let dir = folder.path().join(round.to_string());
        let options = Options {
            memtable_bytes_max: 3_000,
            wal_bytes_min: 8 << 10,
            ..Options::default().durability(Durability::OsBuffer)
        };
        let index = create(&dir, options);
        let fox = text("the quick brown fox");
        let acknowledged = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (index, fox, acknowledged) = (&index, &fox, &acknowledged);
                scope.spawn(move || {
                    for number in 0.. {
                        match index.insert(format!("{thread}/{number}"), fox) {
                            Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                                break;
                            }
                        };
                    }
                });
            }
            scope.spawn(|| {
                loop {
                    if let Err(error) = index.compact() {
                        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                        break;
                    }
                }
            });
            scope.spawn(|| {
                loop {
                    match index.verify() {
                        Ok(verification) => assert_eq!(verification.problems.len(), 0),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                            break;
                        }
                    }
                }
            });
            std::thread::sleep(Duration::from_millis(20));
            for _ in 0..2 {
                scope.spawn(|| index.shutdown().unwrap());
            }
        });
        let again = Index::open(&dir, Options::default()).unwrap();
        let recovery = again.stats().unwrap().recovery;
        // `files_swept` is not compared: if the lock is released while `verify` still reads a
        // merged segment, the file of that segment stays.
        assert_eq!(recovery.changes_replayed, 0, "{recovery:?}");
        assert_eq!(again.len(), acknowledged.load(Ordering::Relaxed));
        assert_eq!(again.verify().unwrap().problems.len(), 0);
    }
}

#[test]
fn a_shutdown_that_cannot_flush_says_so_and_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let index = create(&dir, Options::default());
    index.insert("k", &text("the quick brown fox")).unwrap();
    let segments = dir.join("segments");
    std::fs::remove_dir(&segments).unwrap();
    std::fs::write(&segments, "no folder").unwrap();
    assert_eq!(index.shutdown().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(index.get("k").unwrap_err().kind(), ErrorKind::Closed);
    index.shutdown().unwrap();
    std::fs::remove_file(&segments).unwrap();
    let again = Index::open(&dir, Options::default()).unwrap();
    assert!(again.contains("k").unwrap());
}

#[test]
fn a_reader_is_refreshed_while_others_ask_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let index = create(&dir, Options::default().durability(Durability::OsBuffer));
    let reader = Reader::open(&dir, Options::default()).unwrap();
    assert_eq!((reader.path(), reader.change()), (dir, 0));
    let fox = text("the quick brown fox");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    reader.refresh().unwrap();
                    let snapshot = reader.snapshot();
                    assert!(snapshot.change() >= last, "never back");
                    last = snapshot.change();
                    // Change n wrote document n.
                    assert_eq!(snapshot.query(&fox).run().unwrap().found, last);
                    assert_eq!(snapshot.len(), last);
                }
            });
        }
        for number in 0..40 {
            index.insert(format!("{number}"), &fox).unwrap();
            if number % 4 == 3 {
                index.flush().unwrap();
            }
        }
        index.flush().unwrap();
        done.store(true, Ordering::Release);
    });
    reader.refresh().unwrap();
    assert_eq!((reader.len(), reader.refresh().unwrap()), (40, false));
    // The writer is gone. The reader keeps its state.
    index.shutdown().unwrap();
    assert!(!reader.refresh().unwrap());
    assert_eq!(reader.query(&fox).run().unwrap().found, 40);
}

/// On Windows the folder of an open index cannot be removed.
#[cfg(unix)]
#[test]
fn stats_say_what_they_can_when_the_folder_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let index = create(&dir, Options::default());
    index.insert("k", &text("the quick brown fox")).unwrap();
    let reader = Reader::open(&dir, Options::default()).unwrap();
    assert!(index.stats().unwrap().bytes_on_disk > 1_000);
    std::fs::remove_dir_all(&dir).unwrap();
    let stats = index.stats().unwrap();
    assert_eq!((stats.documents, stats.change, stats.bytes_on_disk), (1, 1, 0));
    assert_eq!(reader.stats().unwrap().bytes_on_disk, 0);
    let error = index.insert("l", &text("the quick brown fox")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn a_shutdown_during_a_compaction_leaves_none_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let options = Options { step_bytes: 64, ..Options::default().maintenance(Maintenance::Inline) };
    let index = create(&dir, options.tier_segments_max(1_000));
    for number in 0..3 {
        for nth in 0..20 {
            index.insert(format!("{number} {nth}"), &text("the quick brown fox")).unwrap();
        }
        index.flush().unwrap();
    }
    let core = index.core();
    let quiet = core.snapshot().visible;
    assert_eq!(compaction::compact_step(core, Some(quiet)).unwrap(), Some(false));
    let unfinished = || {
        let files = std::fs::read_dir(dir.join("segments")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "tmp")).count()
    };
    assert_eq!(unfinished(), 1);
    index.shutdown().unwrap();
    assert_eq!(unfinished(), 0);
    assert!(compaction::compaction(core).is_none());
}

/// The calls that would wait for themselves, made by code that a call of this thread runs.
fn refused_within(index: &Index) -> [ErrorKind; 2] {
    [index.shutdown(), index.compact()].map(|called| called.expect_err("refused").kind())
}

#[test]
fn a_shutdown_within_a_report_of_the_same_thread_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = create(&folder.path().join("index"), Options::default());
    for key in 0..2_u64 {
        index.insert(key, &text(&format!("a text of the number {key}"))).unwrap();
        index.flush().unwrap();
    }
    let mut kinds = Vec::new();
    index
        .compact_with(&mut |_| {
            kinds.push(refused_within(&index));
            // What does not wait for the compaction is allowed.
            index.insert(7_u64, &text("another text")).unwrap();
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!kinds.is_empty());
    assert!(kinds.iter().all(|kinds| *kinds == [ErrorKind::Invalid; 2]), "{kinds:?}");
    // A report that panics leaves nothing behind.
    index.insert(8_u64, &text("one more text")).unwrap();
    index.flush().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        index.compact_with(&mut |_| panic!("of the report"))
    }));
    assert!(panicked.is_err());
    index.compact().unwrap();
    index.shutdown().unwrap();
}

#[test]
fn a_shutdown_within_the_listener_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let handle: Arc<std::sync::OnceLock<std::sync::Weak<Index>>> = Arc::default();
    let (known, (said, heard)) = (Arc::clone(&handle), std::sync::mpsc::channel());
    let options = Options::default().maintenance(Maintenance::Inline).on_event(move |_| {
        if let Some(index) = known.get().and_then(std::sync::Weak::upgrade) {
            said.send(index.shutdown().expect_err("refused").kind()).unwrap();
        }
    });
    let index = create(&folder.path().join("index"), options);
    handle.set(Arc::downgrade(&index)).unwrap();
    index.insert(1_u64, &text("a text")).unwrap();
    index.flush().unwrap();
    assert_eq!(heard.try_recv().unwrap(), ErrorKind::Invalid);
    index.shutdown().unwrap();
}
