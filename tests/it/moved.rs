//! Folders that are moved, removed, copied and cleaned under an open handle, and forks, on real
//! file systems. `docs/reference/DURABILITY.md` says what a handle promises in these cases.

#[cfg(unix)]
use crate::support::message;
use crate::support::{Scratch, assert_whole, inline, kind, params, run};
#[cfg(unix)]
use nearkin::{Batch, Options, Reader, Result};
use nearkin::{ErrorKind, Index};
use std::fs;
use std::path::{Path, PathBuf};

fn insert(index: &Index, name: &str, count: u32) {
    for number in 0..count {
        index.insert(format!("{name}{number}"), &run(number, 10)).unwrap();
    }
}

fn assert_holds(index: Index, dir: &Path, count: u64) {
    assert_eq!(index.len(), count);
    assert_whole(&index);
    index.close().unwrap();
    let index = Index::open(dir, inline()).unwrap();
    assert_eq!(index.len(), count);
    assert_whole(&index);
    index.insert("again", &run(3, 10)).unwrap();
    index.remove("again").unwrap();
    index.close().unwrap();
}

#[cfg(unix)]
fn flush(index: &Index) -> Result<()> {
    index.flush()
}

#[cfg(unix)]
fn write(index: &Index) -> Result<()> {
    index.write(Batch::new().insert("first-more", &run(40, 10)).remove("first0")).map(|_| ())
}

#[cfg(unix)]
fn compact(index: &Index) -> Result<()> {
    index.compact()
}

/// A folder on each file system to test: the one for temporary files, and tmpfs if there is one.
#[cfg(unix)]
fn folders() -> Vec<tempfile::TempDir> {
    let on_tmpfs = tempfile::tempdir_in("/dev/shm");
    [tempfile::tempdir(), on_tmpfs].into_iter().flatten().collect()
}

#[cfg(unix)]
#[test]
fn a_moved_handle_goes_on_and_leaves_its_old_path_untouched() {
    if folders().len() < 2 {
        eprintln!("skipped on tmpfs: there is no /dev/shm");
    }
    for folder in folders() {
        for (name, act) in
            [("flush", flush as fn(&Index) -> _), ("write", write), ("compact", compact)]
        {
            for inserts in 0..12 {
                let here = folder.path().join(format!("{name}{inserts}"));
                let away = folder.path().join(format!("{name}{inserts}.old"));
                let first = Index::create(&here, &params(), inline()).unwrap();
                insert(&first, "first", 5);
                fs::rename(&here, &away).unwrap();
                let second = Index::create(&here, &params(), inline()).unwrap();
                insert(&second, "second", inserts);
                act(&first).unwrap();
                insert(&second, "later", 3);
                assert_holds(second, &here, u64::from(inserts) + 3);
                assert_holds(first, &away, 5);
            }
        }
    }
}

/// Creates an index at the relative path `i`, then changes the current folder.
#[test]
fn a_relative_path_survives_a_change_of_directory() {
    const VARIABLE: &str = "NEARKIN_TEST_GOES_ELSEWHERE";
    let Some(dir) = std::env::var_os(VARIABLE) else {
        let scratch = Scratch::new();
        let name = "moved::a_relative_path_survives_a_change_of_directory";
        let output = crate::support::again(name, VARIABLE, &scratch.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let (dir, elsewhere) = (PathBuf::from(dir), tempfile::tempdir().unwrap());
    std::env::set_current_dir(&dir).unwrap();
    let index = Index::create("i", &params(), inline()).unwrap();
    std::env::set_current_dir(elsewhere.path()).unwrap();
    insert(&index, "first", 5);
    assert_holds(index, &dir.join("i"), 5);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_handle_whose_folder_was_removed_says_so_at_the_next_write() {
    for (folder, remake) in folders().iter().flat_map(|one| [(one, false), (one, true)]) {
        let dir = folder.path().join(format!("i {remake}"));
        let index = Index::create(&dir, &params(), inline()).unwrap();
        insert(&index, "first", 5);
        fs::remove_dir_all(&dir).unwrap();
        let second = remake.then(|| Index::create(&dir, &params(), inline()).unwrap());
        for refused in [write(&index), flush(&index), compact(&index)] {
            let refusal = message(refused, ErrorKind::Closed);
            assert!(refusal.contains("was removed; open the index again"), "{refusal}");
        }
        assert!(index.contains("first3").unwrap());
        assert_eq!(index.query(&run(2, 10)).run().unwrap().matches[0].key, b"first2");
        assert_eq!(kind(index.close()), ErrorKind::Closed);
        assert_eq!(dir.exists(), remake);
        if let Some(second) = second {
            insert(&second, "second", 2);
            assert_holds(second, &dir, 2);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_handle_without_its_lock_file_is_closed_and_loses_nothing() {
    for second_comes in [false, true] {
        let scratch = Scratch::new();
        let first = scratch.create();
        insert(&first, "first", 5);
        fs::remove_file(scratch.dir().join("lock")).unwrap();
        if second_comes {
            assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Locked);
        }
        let refusal = message(write(&first), ErrorKind::Closed);
        assert!(
            refusal.contains(if second_comes { "replaced by another" } else { "removed" }),
            "{refusal}"
        );
        assert_eq!(kind(first.maintain()), ErrorKind::Closed);
        assert_eq!(first.len(), 5);
        drop(first);
        assert_holds(scratch.open(), &scratch.dir(), 5);
    }
}

/// On Windows nobody can take the lock file, or the folder, away from an open handle. (Wine, which
/// stands for Windows in `tools/ports`, lets the folder be renamed: so only the lock is tried.)
#[cfg(windows)]
#[test]
fn on_windows_the_lock_file_of_an_open_handle_stays() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert(&index, "first", 5);
    let lock = scratch.dir().join("lock");
    assert!(fs::remove_file(&lock).is_err());
    assert!(fs::rename(&lock, scratch.path("away")).is_err());
    assert!(fs::remove_dir_all(scratch.dir()).is_err());
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Locked);
    assert!(lock.exists());
}

/// Removes the lock file repeatedly while a writer runs at full speed. All acknowledged writes must
/// be there afterwards.
#[test]
fn a_lock_file_removed_repeatedly_admits_no_second_writer() {
    for round in 0..12 {
        let scratch = Scratch::new();
        // With this limit, every write causes a flush, which commits the catalog.
        let options = inline().memtable_bytes_max(1);
        let first = Index::create(scratch.dir(), &params(), options).unwrap();
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let is_there = |at: &u32| first.insert(format!("k{at}"), &run(*at, 10)).is_ok();
                (0..40).take_while(is_there).count()
            });
            for _ in 0..6 {
                std::thread::sleep(std::time::Duration::from_millis(round % 4));
                let _ = fs::remove_file(scratch.dir().join("lock"));
                assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Locked);
            }
            writer.join().unwrap()
        });
        drop(first);
        let second = scratch.open();
        for at in 0..written {
            assert!(second.contains(format!("k{at}")).unwrap(), "{at} of {written}");
        }
        assert_whole(&second);
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    try_copy(from, to).unwrap();
}

/// Copies a folder like `cp -r`.
pub(crate) fn try_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            try_copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// A copy by `cp -r` is consistent if nothing is written during the copy.
#[test]
fn a_copy_of_a_folder_that_is_open_is_an_index_of_its_own() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert(&index, "first", 5);
    index.flush().unwrap();
    insert(&index, "more", 2);
    let dir = scratch.path("copy");
    copy(&scratch.dir(), &dir);
    let other = Index::open(&dir, inline()).unwrap();
    insert(&other, "other", 3);
    insert(&index, "mine", 1);
    assert_holds(other, &dir, 10);
    assert_holds(index, &scratch.dir(), 8);
}

/// A folder under two paths is one index, because the lock is in the folder.
#[test]
#[cfg(unix)]
fn two_paths_to_one_folder_are_one_index() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let link = scratch.path("link");
    std::os::unix::fs::symlink(scratch.dir(), &link).unwrap();
    assert_eq!(kind(Index::open(&link, inline())), ErrorKind::Locked);
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    let index = Index::open(&link, inline()).unwrap();
    // The index does not need the link any more: it was used only to find the folder.
    fs::remove_file(&link).unwrap();
    index.insert("b", &run(0, 10)).unwrap();
    assert_holds(index, &scratch.dir(), 2);
}

/// Tests two folders with hard links to the same files, as some backup tools make them.
#[test]
fn an_index_and_a_backup_of_shared_files_do_not_interfere() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert(&index, "first", 5);
    let dir = scratch.path("backup");
    index.backup(&dir).unwrap();
    let other = Index::open(&dir, inline()).unwrap();
    other.remove("first0").unwrap();
    other.compact().unwrap();
    insert(&index, "more", 2);
    index.compact().unwrap();
    assert_holds(other, &dir, 4);
    assert_holds(index, &scratch.dir(), 7);
}

#[cfg(unix)]
#[test]
fn a_reader_follows_a_moved_folder_and_reports_a_replaced_one() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert(&index, "first", 5);
    index.flush().unwrap();
    let reader = Reader::open(scratch.dir(), Options::default()).unwrap();
    let away = scratch.path("away");
    fs::rename(scratch.dir(), &away).unwrap();
    insert(&index, "more", 2);
    index.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.len(), 7);
    let second = scratch.create();
    insert(&second, "second", 1);
    let refusal = message(reader.refresh(), ErrorKind::Mismatch);
    assert!(refusal.contains("another index is here now"), "{refusal}");
    assert_eq!(reader.len(), 7);
    assert_holds(index, &away, 7);
}

/// A link that is moved from one index to the next, as programs are deployed: a reader of either
/// kind says that it is left behind, and how old it is, until the link leads back.
#[cfg(unix)]
#[test]
fn a_reader_says_that_the_link_it_was_opened_by_leads_elsewhere() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.path("one"), scratch.path("two"));
    let (link, next) = (scratch.path("current"), scratch.path("next"));
    let point = |to: &str| {
        std::os::unix::fs::symlink(to, &next).unwrap();
        fs::rename(&next, &link).unwrap();
    };
    for sharded in [false, true] {
        for dir in [&one, &two] {
            if sharded {
                nearkin::shards::Shards::create(dir, &params(), 2).unwrap();
            } else {
                Index::create(dir, &params(), inline()).unwrap().close().unwrap();
            }
        }
        point("one");
        let reader = Reader::open(&link, Options::default()).unwrap();
        reader.refresh().unwrap();
        let fresh = reader.freshness();
        assert_eq!((fresh.failure, fresh.failure_kind), (None, None));
        point("two");
        let refusal = message(reader.refresh(), ErrorKind::Mismatch);
        let (one_look, later) = (reader.freshness(), reader.freshness());
        assert_eq!(one_look.failure_kind, Some(ErrorKind::Mismatch));
        assert!(refusal.contains(one_look.failure.as_deref().unwrap()), "{refusal}");
        assert!(later.age >= one_look.age && one_look.age >= fresh.age, "{later:?}");
        point("one");
        reader.refresh().unwrap();
        assert_eq!(reader.freshness().failure_kind, None);
        fs::remove_dir_all(&one).unwrap();
        assert!(reader.refresh().is_err());
        let failure = reader.freshness().failure_kind;
        assert_ne!(failure, None, "sharded: {sharded}");
        fs::remove_dir_all(&two).unwrap();
        fs::remove_file(&link).unwrap();
    }
}

/// As by a tool that copies a backup over the files of an index that only readers have open.
#[cfg(unix)]
#[test]
fn a_reader_says_that_an_older_copy_has_taken_the_place_of_its_files() {
    let scratch = Scratch::new();
    let index = scratch.create();
    insert(&index, "a", 3);
    index.close().unwrap();
    let older = scratch.path("older");
    copy(&scratch.dir(), &older);
    let index = scratch.open();
    insert(&index, "b", 3);
    index.close().unwrap();
    let reader = Reader::open(scratch.dir(), Options::default()).unwrap();
    for entry in fs::read_dir(scratch.dir()).unwrap() {
        let path = entry.unwrap().path();
        let source = older.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
            copy(&source, &path);
        } else {
            fs::copy(source, path).unwrap();
        }
    }
    assert_eq!(kind(reader.refresh()), ErrorKind::Mismatch);
    assert_eq!(reader.freshness().failure_kind, Some(ErrorKind::Mismatch));
    assert_eq!(reader.len(), 6, "the state stays");
    // The same while a writer of the older copy is open.
    let index = scratch.open();
    insert(&index, "c", 1);
    index.flush().unwrap();
    assert_eq!(kind(reader.refresh()), ErrorKind::Mismatch);
    assert_eq!(Reader::open(scratch.dir(), Options::default()).unwrap().len(), 4);
}
