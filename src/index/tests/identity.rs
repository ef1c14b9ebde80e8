//! A handle belongs to a folder, not to a path. Tests on the simulated disk: backups whose index or
//! target is moved, locks that are lost at a certain moment. On real disks: `tests/it/moved.rs` and
//! `tests/it/fork.rs`; the crash campaign moves folders and takes locks away, too.

use super::copies::{disk, options, params, signature};
use crate::testing::sim::{Moment, Sim};
use crate::{Batch, ErrorKind, Index, Result};
use std::path::Path;

const HERE: &str = "/archive/papers";
const AWAY: &str = "/archive/papers.old";

fn create(sim: &Sim, dir: &str) -> Index {
    Index::create_on(disk(sim), Path::new(dir), &params(), options()).unwrap()
}

fn open(sim: &Sim, dir: &str) -> Result<Index> {
    Index::open_on(disk(sim), Path::new(dir), options())
}

fn insert(index: &Index, name: &str, count: u8) {
    for number in 0..count {
        index.insert(format!("{name}{number}"), &signature(&params(), number)).unwrap();
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
        index.insert("k0", &signature(&params(), 9)).unwrap();
        index.remove("k0").unwrap();
        index.close().unwrap();
    }
}

fn write(index: &Index) -> Result<()> {
    let batch = Batch::new().insert("first-more", &signature(&params(), 40)).remove("first0");
    index.write(batch).map(|_| ())
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
    let sim = Sim::new();
    let index = create(&sim, HERE);
    insert(&index, "first", 5);
    index.flush().unwrap();
    let target = Path::new("/archive/backup");
    let somebody = sim.clone();
    let visit = move || {
        somebody.move_folder(target, Path::new(AWAY));
        create(&somebody, "/archive/backup").insert("second", &signature(&params(), 2)).unwrap();
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
