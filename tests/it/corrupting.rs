//! How to corrupt an index: what people do to folders in practice, after SQLite's page "How To
//! Corrupt". Each case must end in a consistent earlier state of an index, or in a clear error.
//! `docs/reference/DURABILITY.md` has a table of the cases.

use crate::moved::{copy, try_copy};
use crate::support::{Scratch, assert_whole, inline, kind, message, params, run};
use nearkin::{ErrorKind, Index, Reader, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Inserts documents with ascending numbers as keys, each as its own change.
fn insert_from(index: &Index, begin: u32, count: u32) {
    for number in begin..begin + count {
        index.insert(format!("k{number:05}"), &run(number % 50, 10)).unwrap();
    }
}

/// Checks that the index equals its state after some change: its documents must be the first ones
/// that `insert_from` inserted. Returns their number.
fn assert_is_a_moment(index: &Index) -> u64 {
    assert_whole(index);
    let count = index.len();
    for number in 0..count {
        assert!(index.contains(format!("k{number:05}")).unwrap(), "{number} of {count}");
    }
    count
}

/// The only file in `dir` with this extension. Panics if there is none, or more than one.
fn only(dir: &Path, ending: &str) -> PathBuf {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
    let path = paths.next().unwrap();
    assert!(paths.next().is_none());
    path
}

/// Creates an index and drops it without a close, so that its log has changes.
fn dropped(dir: &Path, documents: u32) {
    let index = Index::create(dir, &params(), inline()).unwrap();
    insert_from(&index, 0, documents);
}

#[test]
fn a_copy_during_writes_is_an_older_moment_or_refused() {
    let scratch = Scratch::new();
    let options = inline().memtable_bytes_max(16 << 10);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let done = AtomicBool::new(false);
    let (mut moments, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut begin = 0;
            while !done.load(Ordering::Relaxed) && begin < 20_000 {
                insert_from(&index, begin, 10);
                begin += 10;
            }
        });
        for number in 0..24 {
            let dir = scratch.path(&format!("copy{number}"));
            // If a file vanishes during the copy, `cp` would fail, so there is no copy to test.
            if try_copy(&scratch.dir(), &dir).is_err() {
                refused += 1;
                continue;
            }
            match Index::open(&dir, inline()) {
                Ok(copy) => {
                    assert_is_a_moment(&copy);
                    moments += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                    refused += 1;
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    eprintln!("{moments} copies were a moment, {refused} were refused");
    assert_is_a_moment(&index);
}

/// On Windows the folder of an open index cannot be removed.
#[cfg(unix)]
#[test]
fn a_backup_restored_under_an_open_handle_closes_it() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert_from(&index, 0, 5);
    let backup = scratch.path("backup");
    index.backup(&backup).unwrap();
    insert_from(&index, 5, 5);
    // Restores by hand: removes all files, then copies the backup.
    for entry in fs::read_dir(scratch.dir()).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    fs::remove_dir(scratch.dir()).unwrap();
    copy(&backup, &scratch.dir());
    let refusal = message(index.insert("late", &run(1, 10)), ErrorKind::Closed);
    assert!(refusal.contains("open the index again"), "{refusal}");
    assert_eq!(index.len(), 10);
    drop(index);
    let restored = scratch.open();
    assert_eq!(assert_is_a_moment(&restored), 5);
}

/// `cp -r backup/. index/` keeps the lock file and the folder, so checking the lock cannot detect
/// such a copy.
#[test]
fn a_backup_copied_over_an_open_index_fails_the_next_commit() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert_from(&index, 0, 5);
    let backup = scratch.path("backup");
    index.backup(&backup).unwrap();
    insert_from(&index, 5, 5);
    fs::copy(backup.join("catalog.redb"), scratch.dir().join("catalog.redb")).unwrap();
    insert_from(&index, 10, 1);
    assert_eq!(kind(index.flush()), ErrorKind::Corrupt);
    drop(index);
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Corrupt);
}

#[test]
fn without_its_wal_an_index_does_not_open() {
    let scratch = Scratch::new();
    dropped(&scratch.dir(), 5);
    fs::remove_file(only(&scratch.dir().join("wal"), "wal")).unwrap();
    let refusal = message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
    assert!(refusal.contains(".wal"), "{refusal}");
}

#[test]
fn the_wal_of_another_index_is_refused() {
    let scratch = Scratch::new();
    let other = scratch.path("other");
    dropped(&scratch.dir(), 5);
    dropped(&other, 5);
    let (here, there) = (only(&scratch.dir().join("wal"), "wal"), only(&other.join("wal"), "wal"));
    assert_eq!(here.file_name(), there.file_name(), "both count from 1");
    fs::copy(&there, &here).unwrap();
    let refusal = message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
    assert!(refusal.contains(".wal"), "{refusal}");
}

#[test]
fn the_wal_of_another_time_is_refused_or_a_moment() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert_from(&index, 0, 5);
    let earlier = scratch.path("earlier");
    copy(&scratch.dir(), &earlier);
    let log = only(&earlier.join("wal"), "wal");
    // First case: an earlier copy of the same log.
    insert_from(&index, 5, 5);
    drop(index);
    fs::copy(&log, only(&scratch.dir().join("wal"), "wal")).unwrap();
    let index = scratch.open();
    assert_eq!(assert_is_a_moment(&index), 5);
    // Second case: the restored log is the one from before a flush.
    insert_from(&index, 5, 5);
    drop(index);
    let now = only(&scratch.dir().join("wal"), "wal");
    fs::copy(&log, &now).unwrap();
    message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
}

/// The parts of an index that people may restore separately.
const PARTS: [&str; 4] = ["catalog.redb", "parameters", "wal", "segments"];

#[test]
fn any_mix_of_two_backups_is_refused_or_one_of_them() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert_from(&index, 0, 20);
    index.flush().unwrap();
    insert_from(&index, 20, 5);
    let times = [scratch.path("monday"), scratch.path("tuesday")];
    copy(&scratch.dir(), &times[0]);
    insert_from(&index, 25, 5);
    index.compact().unwrap();
    insert_from(&index, 30, 10);
    index.flush().unwrap();
    insert_from(&index, 40, 5);
    copy(&scratch.dir(), &times[1]);
    let (mut sound, mut refused) = (0, 0);
    for mix in 0..1_u32 << PARTS.len() {
        let dir = scratch.path(&format!("mix{mix}"));
        fs::create_dir(&dir).unwrap();
        for (bit, part) in PARTS.into_iter().enumerate() {
            let from = times[usize::from(mix >> bit & 1 == 1)].join(part);
            if from.is_dir() {
                copy(&from, &dir.join(part));
            } else if from.exists() {
                fs::copy(&from, dir.join(part)).unwrap();
            }
        }
        let read = Reader::open(&dir, inline()).map(|reader| reader.len());
        let opened = Index::open(&dir, inline()).map(|index| assert_is_a_moment(&index));
        match (opened, read) {
            (Ok(count), Ok(read)) => {
                assert!([25, 45].contains(&count) && read == count, "mix {mix}: {count}, {read}");
                sound += 1;
            }
            (Err(error), read) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "mix {mix}: {error}");
                assert_eq!(kind(read), ErrorKind::Corrupt, "mix {mix}");
                refused += 1;
            }
            (opened, read) => panic!("mix {mix}: {opened:?}, {read:?}"),
        }
    }
    eprintln!("{sound} mixes are one of the two, {refused} are refused");
    assert!(sound >= 2 && refused > 0);
}

/// POSIX record locks are released when any descriptor of the file is closed. The locks used here
/// are not.
#[test]
fn closing_another_descriptor_of_the_lock_file_releases_nothing() -> Result<()> {
    let scratch = Scratch::new();
    let index = scratch.create();
    assert_eq!(fs::read(scratch.dir().join("lock")).unwrap(), b"");
    assert!(Index::exists(scratch.dir())?);
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Locked);
    index.insert("a", &run(0, 10))?;
    index.close()
}
