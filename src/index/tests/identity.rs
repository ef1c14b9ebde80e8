//! A handle belongs to a folder, not to a path. Tests on the simulated disk: folders that are moved
//! or deleted while open, deleted locks, and forks. On real disks: `tests/it/moved.rs`.

use crate::index::state::options::Maintenance;
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index, Options, Params, Reader, Result, Signature};
use nearkin_sketch::engine::signature_from_parts;
use std::path::Path;
use std::sync::Arc;

const HERE: &str = "/archive/papers";
const AWAY: &str = "/archive/papers.old";

fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).build().expect("within the limits")
}

fn options() -> Options {
    Options::default().maintenance(Maintenance::Inline)
}

fn signature(number: u8) -> Signature {
    let params = params();
    let bytes = vec![number; params.signature_bytes()];
    signature_from_parts(&params, 1, bytes.into_boxed_slice())
}

fn create(sim: &Sim, dir: &str) -> Index {
    Index::create_on(Arc::new(sim.clone()), Path::new(dir), &params(), options()).unwrap()
}

fn open(sim: &Sim, dir: &str) -> Result<Index> {
    Index::open_on(Arc::new(sim.clone()), Path::new(dir), options())
}

fn insert(index: &Index, name: &str, count: u8) {
    for number in 0..count {
        index.insert(format!("{name}{number}"), &signature(number)).unwrap();
    }
}

/// The index is intact and holds exactly this many documents, now and after reopening.
fn assert_holds(index: Index, sim: &Sim, dir: &str, count: u64) {
    assert_eq!(index.verify().unwrap().problems.len(), 0);
    assert_eq!(index.len(), count);
    index.close().unwrap();
    for _ in 0..2 {
        let index = open(sim, dir).unwrap();
        assert_eq!(index.verify().unwrap().problems.len(), 0);
        assert_eq!(index.len(), count);
        index.insert("k0", &signature(9)).unwrap();
        index.remove("k0").unwrap();
        index.close().unwrap();
    }
}

fn flush(index: &Index) -> Result<()> {
    index.flush()
}

fn write(index: &Index) -> Result<()> {
    let batch = Batch::new().insert("first-more", &signature(40)).remove("first0");
    index.write(batch).map(|_| ())
}

fn compact(index: &Index) -> Result<()> {
    index.compact()
}

/// Operations of a first handle, after its folder was moved and another index was created in its
/// place.
const ACTS: [fn(&Index) -> Result<()>; 3] = [flush, write, compact];

#[test]
fn a_moved_folder_is_followed_and_its_successor_not_touched() {
    for act in ACTS {
        for inserts in 0..12 {
            let sim = Sim::new();
            let first = create(&sim, HERE);
            insert(&first, "first", 5);
            sim.move_folder(Path::new(HERE), Path::new(AWAY));
            let second = create(&sim, HERE);
            insert(&second, "second", inserts);
            act(&first).unwrap();
            insert(&second, "later", 3);
            assert_holds(second, &sim, HERE, u64::from(inserts) + 3);
            // All three operations leave five documents: `write` inserts one and removes one.
            assert_holds(first, &sim, AWAY, 5);
        }
    }
}

#[test]
fn a_backup_goes_where_it_began_though_that_was_moved() {
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    index.flush().unwrap();
    sim.move_folder(Path::new(HERE), Path::new(AWAY));
    index.backup(Path::new("/archive/backup")).unwrap();
    let copy = open(&sim, "/archive/backup").unwrap();
    assert_holds(copy, &sim, "/archive/backup", 5);
}

#[test]
fn a_backup_does_not_touch_what_replaced_its_target() {
    use crate::testing::sim::Moment;
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    index.flush().unwrap();
    let target = Path::new("/archive/backup");
    let somebody = sim.clone();
    let visit = move || {
        somebody.move_folder(target, Path::new(AWAY));
        create(&somebody, "/archive/backup").insert("second", &signature(2)).unwrap();
        true
    };
    sim.visit_syncs(Some((Moment::BeforeLink, Box::new(visit))));
    index.backup(target).unwrap();
    assert_holds(open(&sim, "/archive/backup").unwrap(), &sim, "/archive/backup", 1);
    assert_holds(open(&sim, AWAY).unwrap(), &sim, AWAY, 5);
}

#[test]
fn a_backup_cannot_lie_in_the_index_itself() {
    let sim = Sim::new();
    // Windows puts a drive before it.
    let here = std::path::absolute(HERE).unwrap();
    let here = here.to_str().unwrap();
    // Regression, found by a person: a relative path was compared with an absolute one.
    let relative = create(&sim, "papers");
    assert_eq!(relative.backup(Path::new("papers/b")).unwrap_err().kind(), ErrorKind::Invalid);
    let index = create(&sim, here);
    for dir in [here, "/archive/papers/backup", "/archive/./papers/b"] {
        assert_eq!(index.backup(Path::new(dir)).unwrap_err().kind(), ErrorKind::Invalid, "{dir}");
    }
}

#[test]
fn a_handle_whose_folder_was_removed_reads_but_does_not_write() {
    for remake in [false, true] {
        let sim = Sim::new();
        let index = create(&sim, HERE);
        insert(&index, "first", 5);
        index.flush().unwrap();
        insert(&index, "more", 2);
        sim.remove_folder(Path::new(HERE));
        let second = remake.then(|| create(&sim, HERE));
        for refused in [write(&index), flush(&index), compact(&index)] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
            assert!(error.to_string().contains("removed; open the index again"), "{error}");
        }
        assert_eq!(index.len(), 7);
        assert!(index.contains("first3").unwrap() && index.contains("more1").unwrap());
        assert_eq!(index.close().unwrap_err().kind(), ErrorKind::Closed);
        if let Some(second) = second {
            insert(&second, "second", 2);
            assert_holds(second, &sim, HERE, 2);
        }
    }
}

#[test]
fn a_handle_without_its_lock_writes_nothing_and_excludes_others() {
    for second_comes in [false, true] {
        let sim = Sim::new();
        let first = create(&sim, HERE);
        insert(&first, "first", 5);
        // Removes the lock, as a cleanup job that deletes lock files does.
        sim.remove_file(&Path::new(HERE).join("lock"));
        if second_comes {
            // The folder itself is locked as well.
            assert_eq!(open(&sim, HERE).unwrap_err().kind(), ErrorKind::Locked);
        }
        let error = write(&first).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
        let reason = if second_comes { "replaced by another" } else { "removed" };
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(first.maintain().unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(first.len(), 5);
        drop(first);
        assert_holds(open(&sim, HERE).unwrap(), &sim, HERE, 5);
    }
}

#[test]
fn a_lock_that_comes_back_does_not_revive_its_handle() {
    let sim = Sim::new();
    let index = create(&sim, HERE);
    sim.move_folder(&Path::new(HERE).join("lock"), Path::new("/elsewhere"));
    assert_eq!(write(&index).unwrap_err().kind(), ErrorKind::Closed);
    sim.move_folder(Path::new("/elsewhere"), &Path::new(HERE).join("lock"));
    assert_eq!(write(&index).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_lock_lost_within_a_sync_leaves_the_change_in_doubt() {
    use crate::testing::sim::Moment;
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 1);
    let cleaner = sim.clone();
    let visit = move || {
        cleaner.remove_file(&Path::new(HERE).join("lock"));
        true
    };
    sim.visit_syncs(Some((Moment::BeforeSync, Box::new(visit))));
    let error = write(&index).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    assert!(error.to_string().contains("lost the index"), "{error}");
    assert_eq!(write(&index).unwrap_err().kind(), ErrorKind::Closed);
    assert!(index.contains("first0").unwrap(), "what is not acknowledged is not shown");
}

#[test]
fn a_forked_child_neither_writes_nor_releases_the_lock() {
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    sim.fork();
    assert_eq!(write(&index).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(flush(&index).unwrap_err().kind(), ErrorKind::Closed);
    assert!(index.contains("first0").unwrap());
    drop(index);
    assert_eq!(open(&sim, HERE).unwrap_err().kind(), ErrorKind::Locked);
}

#[test]
fn a_published_file_never_takes_the_name_of_another() {
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    // Restores a part of an older copy of the folder while the index is open.
    let number = index.core().writer().file_next;
    let stranger = Path::new(HERE).join(format!("segments/{number:010}.seg"));
    sim.overwrite(&stranger, b"of another time");
    let error = index.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(sim.snapshot_of_files()[&stranger], b"of another time");
    // File numbers increase, so the next attempt uses a new name.
    index.flush().unwrap();
    assert_eq!(index.len(), 5);
    index.close().unwrap();
    assert_holds(open(&sim, HERE).unwrap(), &sim, HERE, 5);
}

#[test]
fn a_reader_follows_its_folder_and_reports_a_replacement() {
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    index.flush().unwrap();
    let disk = || Arc::new(sim.clone());
    let reader = Reader::open_on(disk(), Path::new(HERE), Options::default()).unwrap();
    sim.move_folder(Path::new(HERE), Path::new(AWAY));
    insert(&index, "more", 2);
    index.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.len(), 7);
    let second = create(&sim, HERE);
    insert(&second, "second", 1);
    assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(reader.len(), 7);
}
