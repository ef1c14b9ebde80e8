//! Salvage of indexes that lost some of their files or bytes: what is saved, and what the report
//! says.

use super::copies::{DIR, answers, disk, index, options, params, signature};
use crate::catalog;
use crate::format::wal::{LoggedOperation, RecordBuilder, RecordKind};
use crate::index::files::copy::{Salvaged, salvage};
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::wal::{Wal, WalIdentity};
use crate::{ErrorKind, Index, Params, Reader, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const OUT: &str = "/saved.nearkin";

/// An index whose process was killed: two segments, a dead file, and changes in the WAL.
fn wreck() -> (Sim, Vec<String>) {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    let killed = sim.kill();
    drop(index);
    (killed, expected)
}

fn rescue(sim: &Sim, params: Option<&Params>) -> Result<Salvaged> {
    salvage(&disk(sim), Path::new(DIR), Path::new(OUT), params, options())
}

fn saved(sim: &Sim) -> Vec<String> {
    let reader = Reader::open_on(disk(sim), Path::new(OUT), options()).expect("an index");
    assert!(reader.verify().expect("verified").problems.is_empty());
    answers(&reader.snapshot())
}

fn keys(sim: &Sim) -> BTreeSet<Vec<u8>> {
    let reader = Reader::open_on(disk(sim), Path::new(OUT), options()).expect("an index");
    reader.iter().map(|document| document.expect("read").key).collect()
}

/// The files of one ending, oldest first.
fn files(sim: &Sim, ending: &str) -> Vec<PathBuf> {
    let files = sim.snapshot_of_files();
    let ours = files.keys().filter(|path| path.starts_with(DIR));
    ours.filter(|path| path.extension().is_some_and(|e| e == ending)).cloned().collect()
}

fn flip(sim: &Sim, path: &Path, at: usize) {
    let mut bytes = sim.snapshot_of_files()[path].clone();
    bytes[at] ^= 0x40;
    sim.overwrite(path, &bytes);
}

#[test]
fn of_a_sound_index_everything_is_saved() {
    let (sim, expected) = wreck();
    let before = sim.snapshot_of_files();
    let report = rescue(&sim, None).expect("salvaged");
    assert_eq!(saved(&sim), expected);
    assert_eq!(report.documents, expected.len() as u64);
    assert_eq!((report.documents_lost, report.documents_doubtful), (Some(0), 0));
    assert!(report.problems.is_empty() && !report.catalog_lost, "{report:?}");
    let after = sim.snapshot_of_files();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "wreck changed");
}

#[test]
fn a_lost_catalog_loses_nothing() {
    for damaged in [false, true] {
        let (sim, expected) = wreck();
        let catalog = Path::new(DIR).join("catalog.redb");
        if damaged {
            sim.overwrite(&catalog, b"not a database");
        } else {
            sim.remove(&catalog).expect("removed");
        }
        let report = rescue(&sim, None).expect("salvaged");
        assert!(report.catalog_lost);
        assert_eq!(report.documents_lost, None, "only the catalog listed all files");
        // The first segment has no dead file. Salvage cannot know whether it never had one or has
        // lost it.
        assert!(report.documents_doubtful > 0);
        assert_eq!(saved(&sim), expected);
    }
}

#[test]
fn without_catalog_and_parameters_the_caller_must_give_them() {
    let (sim, expected) = wreck();
    for name in ["catalog.redb", "parameters"] {
        sim.remove(&Path::new(DIR).join(name)).expect("removed");
    }
    assert_eq!(rescue(&sim, None).expect_err("which?").kind(), ErrorKind::Invalid);
    let others = Params::builder().build().expect("valid");
    assert_eq!(rescue(&sim, Some(&others)).expect_err("others").kind(), ErrorKind::Mismatch);
    rescue(&sim, Some(&params())).expect("salvaged");
    assert_eq!(saved(&sim), expected);
}

#[test]
fn damage_in_a_segment_costs_what_lies_there() {
    let (sim, expected) = wreck();
    let segments = files(&sim, "seg");
    assert_eq!(segments.len(), 2);
    // Damage the body of the first segment, where one block holds all its documents.
    flip(&sim, &segments[0], 100);
    let report = rescue(&sim, None).expect("salvaged");
    // The log removes one of nine that were alive, and replaces one; `new` may be a third.
    assert_eq!((report.documents_lost, report.documents_unreadable), (None, 6), "{report:?}");
    assert!(report.documents > 0, "{report:?}");
    assert!(report.problems[0].to_string().contains("0000000002.seg"), "{report:?}");
    let saved = saved(&sim);
    assert!(saved.len() < expected.len());
    // The other segment and the log are complete.
    assert!((11..20).all(|key| keys(&sim).contains(&vec![b'k', key])));
    assert!(keys(&sim).contains(b"new".as_slice()));
}

#[test]
fn a_segment_without_its_tail_is_lost_and_named() {
    let (sim, _) = wreck();
    let segments = files(&sim, "seg");
    let bytes = sim.snapshot_of_files()[&segments[1]].clone();
    sim.overwrite(&segments[1], &bytes[..bytes.len() - 10]);
    let report = rescue(&sim, None).expect("salvaged");
    // The log inserts `new`, which may have replaced one of the ten.
    assert_eq!((report.documents_lost, report.documents_unreadable), (None, 9));
    assert!(report.problems[0].to_string().contains("0000000005.seg"), "{report:?}");
    assert!(keys(&sim).contains(b"new".as_slice()));
}

#[test]
fn a_lost_dead_file_lets_documents_return_and_says_so() {
    let (sim, expected) = wreck();
    let dead = files(&sim, "dead");
    sim.remove(&dead[0]).expect("removed");
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.documents_doubtful > 0 && !report.problems.is_empty());
    assert_eq!(report.documents, expected.len() as u64 + 1, "the removed one has returned");
    assert!(keys(&sim).contains(&vec![b'k', 3]));
}

#[test]
fn a_damaged_change_of_a_log_is_named_and_the_others_saved() {
    let (sim, expected) = wreck();
    let log = files(&sim, "wal");
    // Damage the body of the first of two changes, so that k0 keeps its old version.
    flip(&sim, &log[0], 4096 + 60);
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.problems.iter().any(|problem| problem.to_string().contains("are lost")));
    assert_eq!(report.documents_lost, None, "nobody knows what the change wrote");
    assert_eq!(saved(&sim).len(), expected.len());
    assert!(keys(&sim).contains(b"new".as_slice()));
    assert!(!keys(&sim).contains(&vec![b'k', 1]));
}

#[test]
fn an_older_catalog_is_a_lost_one() {
    let sim = Sim::new();
    let dir = Path::new(DIR);
    Index::create_on(disk(&sim), dir, &params(), options()).expect("created").close().expect("ok");
    let catalog = dir.join("catalog.redb");
    let older = sim.snapshot_of_files()[&catalog].clone();
    let index = Index::open_on(disk(&sim), dir, options()).expect("opened");
    index.insert("new", &super::copies::signature(&params(), 2)).expect("inserted");
    index.close().expect("closed");
    sim.overwrite(&catalog, &older);
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.catalog_lost && report.documents == 1, "{report:?}");
    assert!(report.problems[0].to_string().contains("older copy"), "{report:?}");
    assert!(keys(&sim).contains(b"new".as_slice()));
}

#[test]
fn an_index_that_is_open_for_writing_is_not_salvaged() {
    let sim = Sim::new();
    let open = index(&sim);
    assert_eq!(rescue(&sim, None).expect_err("in use").kind(), ErrorKind::Locked);
    drop(open);
    sim.remove(&Path::new(DIR).join("lock")).expect("removed");
    rescue(&sim.kill(), None).expect("nobody can have it open");
}

#[test]
fn where_only_the_log_is_left_its_changes_are_saved() {
    let (sim, _) = wreck();
    for (path, _) in sim.snapshot_of_files() {
        let kept = path.extension().is_some_and(|ending| ending == "wal" || ending == "free");
        if path.starts_with(DIR) && !kept {
            sim.remove(&path).expect("removed");
        }
    }
    let report = rescue(&sim, Some(&params())).expect("salvaged");
    assert!(report.catalog_lost);
    let said =
        |what: &str| report.problems.iter().any(|problem| problem.to_string().contains(what));
    assert!(said("no segment is left"), "{report:?}");
    assert_eq!(keys(&sim), BTreeSet::from([vec![b'k', 0], b"new".to_vec()]));
}

#[test]
fn where_nothing_can_be_read_salvage_says_so() {
    let sim = Sim::new();
    sim.overwrite(&Path::new(DIR).join("wal/0000000007.wal"), b"nothing of a log");
    let error = rescue(&sim, Some(&params())).expect_err("nothing");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("no file of the index can be read"), "{error}");
    assert!(!sim.snapshot_of_files().keys().any(|path| path.starts_with(OUT)));
}

#[test]
fn another_file_in_place_of_the_parameters_is_not_believed() {
    let (sim, expected) = wreck();
    let parameters = Path::new(DIR).join("parameters");
    // The header is from another index: header and row are valid, but belong to different indexes.
    let mut bytes = sim.snapshot_of_files()[&parameters].clone();
    let other = Sim::new();
    let made = Index::create_on(disk(&other), Path::new(DIR), &params(), options());
    drop(made.expect("created"));
    bytes[..64].copy_from_slice(&other.snapshot_of_files()[&parameters][..64]);
    sim.overwrite(&parameters, &bytes);
    sim.remove(&Path::new(DIR).join("catalog.redb")).expect("removed");
    assert_eq!(rescue(&sim, None).expect_err("which?").kind(), ErrorKind::Invalid);
    rescue(&sim, Some(&params())).expect("salvaged");
    assert_eq!(saved(&sim), expected);
}

#[test]
fn a_damaged_log_or_dead_file_is_named_and_the_rest_is_saved() {
    let (sim, expected) = wreck();
    let (log, dead) = (files(&sim, "wal")[0].clone(), files(&sim, "dead")[0].clone());
    flip(&sim, &log, 20);
    // Damage the bitmap itself, which opening the file does not read.
    flip(&sim, &dead, 65);
    let report = rescue(&sim, None).expect("salvaged");
    let said = |path: &Path| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        report.problems.iter().any(|problem| problem.to_string().contains(&name))
    };
    assert!(said(&log) && said(&dead), "{report:?}");
    assert!(report.documents_doubtful > 0);
    assert_eq!(report.documents_lost, None, "the header of the log is damaged");
    assert!(keys(&sim).len() >= expected.len());
    // The catalog tells what the header of the log would.
    assert!(keys(&sim).contains(b"new".as_slice()));
}

#[test]
fn what_a_lost_log_held_cannot_be_known() {
    for damage in ["removed", "emptied", "header and catalog", "beside a lost segment"] {
        let (sim, _) = wreck();
        let log = files(&sim, "wal")[0].clone();
        match damage {
            "removed" => sim.remove(&log).expect("removed"),
            "emptied" => sim.overwrite(&log, b""),
            "header and catalog" => {
                sim.overwrite(&Path::new(DIR).join("catalog.redb"), b"not a database");
                flip(&sim, &log, 20);
            }
            _ => {
                sim.remove(&log).expect("removed");
                sim.overwrite(&files(&sim, "seg")[1], b"");
            }
        }
        let report = rescue(&sim, None).expect("salvaged");
        assert_eq!(report.documents_lost, None, "{damage}: {report:?}");
        let unreadable = if damage == "beside a lost segment" { 10 } else { 0 };
        assert_eq!(report.documents_unreadable, unreadable, "{damage}: {report:?}");
        assert!(!report.problems.is_empty(), "{damage}");
        assert!(!keys(&sim).contains(b"new".as_slice()), "{damage}");
    }
}

/// The end of a log looks the same after a crash and after damage.
#[test]
fn what_the_last_record_of_a_log_held_cannot_be_known() {
    for damage in ["body", "header", "cut off", "of another index"] {
        let (sim, _) = wreck();
        let log = files(&sim, "wal")[0].clone();
        let bytes = sim.snapshot_of_files()[&log].clone();
        let last = bytes.windows(3).rposition(|bytes| bytes == b"new").expect("the last insert");
        let begin = bytes[..last].windows(4).rposition(|kind| kind == [1, 0, 0, 0]).expect("kind");
        match damage {
            "body" => flip(&sim, &log, last),
            "header" => flip(&sim, &log, begin - 12),
            "cut off" => sim.overwrite(&log, &bytes[..begin - 12]),
            _ => {
                let (other, _) = wreck();
                sim.overwrite(&log, &other.snapshot_of_files()[&files(&other, "wal")[0]]);
            }
        }
        let report = rescue(&sim, None).expect("salvaged");
        assert!(!keys(&sim).contains(b"new".as_slice()), "{damage}");
        assert_eq!(report.documents_lost, None, "{damage}: {report:?}");
        assert!(!report.problems.is_empty(), "{damage}");
    }
}

/// What was unreadable may be alive again, or dead, by a later change.
#[test]
fn what_later_changes_did_to_unreadable_documents_is_not_counted_as_lost() {
    let reports = ["replaced", "removed", "as it was"].map(|later| {
        let sim = Sim::new();
        let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options()).unwrap();
        for key in 0..10 {
            index.insert([b'k', key], &signature(&params(), 1)).expect("inserted");
        }
        index.flush().expect("flushed");
        for key in 0..10 {
            match later {
                "replaced" => drop(index.insert([b'k', key], &signature(&params(), 2)).unwrap()),
                "removed" if key < 4 => drop(index.remove([b'k', key]).expect("removed")),
                _ => {}
            }
        }
        let killed = sim.kill();
        drop(index);
        killed.overwrite(&files(&killed, "seg")[0], b"");
        let report = rescue(&killed, None).expect("salvaged");
        (report.documents, report.documents_lost, report.documents_unreadable)
    });
    assert_eq!(reports, [(10, None, 0), (0, Some(6), 6), (0, Some(10), 10)]);
}

/// A version of before, which returned with the dead file, hides that a later one was unreadable.
#[test]
fn a_document_that_has_returned_says_nothing_about_an_unreadable_one() {
    let sim = Sim::new();
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options()).expect("made");
    let insert = |key: u8, value| {
        index.insert([b'k', key], &signature(&params(), value)).expect("inserted");
    };
    for key in 0..10 {
        insert(key, 1);
    }
    index.flush().expect("flushed");
    insert(0, 2);
    insert(10, 2);
    index.flush().expect("flushed");
    insert(0, 3);
    let killed = sim.kill();
    drop(index);
    killed.remove(&files(&killed, "dead")[0]).expect("removed");
    killed.overwrite(&files(&killed, "seg")[1], b"");
    let report = rescue(&killed, None).expect("salvaged");
    // Only `k10` is lost: the log has the last version of `k0`.
    assert_eq!((report.documents_lost, report.documents_unreadable), (None, 1), "{report:?}");
}

/// Without its dead file, nobody knows whether an unreadable document was alive.
#[test]
fn an_unreadable_document_of_a_segment_without_its_dead_file_may_have_been_dead() {
    let (sim, _) = wreck();
    sim.remove(&files(&sim, "dead")[0]).expect("removed");
    flip(&sim, &files(&sim, "seg")[0], 100);
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.documents_doubtful > 0, "{report:?}");
    assert_eq!((report.documents_lost, report.documents_unreadable), (None, 0), "{report:?}");
}

#[test]
fn a_forged_log_is_salvaged_without_a_panic() {
    let (sim, _) = wreck();
    let row = catalog::load(&sim, &Path::new(DIR).join("catalog.redb")).expect("a catalog");
    let (entry, log) = (row.wal.expect("a log"), files(&sim, "wal")[0].clone());
    let identity = WalIdentity {
        uuid: row.uuid,
        params_id: row.params.id(),
        number: entry.number,
        salt: entry.salt,
        length: entry.length,
        floor: u64::MAX,
    };
    sim.remove(&log).expect("removed");
    let mut wal = Wal::create(&sim, &log, None, &identity).expect("created");
    for change in [0, u64::MAX, 5] {
        let mut record = RecordBuilder::new();
        record.push(&LoggedOperation::Remove { key: &[b'k', 7] });
        wal.append(&mut record, RecordKind::Change, change, 4096).expect("appended");
    }
    // A record with valid checksums, whose body has no readable operations.
    let mut record = RecordBuilder::new();
    let signature = &[1; 3];
    let (key, payload) = (&b"x"[..], &b""[..]);
    record.push(&LoggedOperation::Insert { key, payload, time: 1, shingle_count: 1, signature });
    wal.append(&mut record, RecordKind::Change, 6, 4096).expect("appended");
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.problems.len() >= 3, "{report:?}");
    assert!(!keys(&sim).contains(&vec![b'k', 7]), "the removes were applied");
}

/// An index of two segments: the second one replaces `k` of the first, at the same time.
fn replaced() -> (Sim, Index) {
    let sim = Sim::new();
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options());
    let index = index.expect("created");
    for value in [1, 2] {
        index.insert("k", &signature(&params(), value)).expect("inserted");
        // So that few are dead, and no segment is rewritten.
        for key in 0..20 {
            index.insert([value, key], &signature(&params(), value)).expect("inserted");
        }
        index.flush().expect("flushed");
    }
    (sim, index)
}

#[test]
fn of_two_versions_of_one_time_the_later_is_saved() {
    let (sim, index) = replaced();
    let expected = answers(&index.snapshot());
    index.close().expect("closed");
    sim.remove(&Path::new(DIR).join("catalog.redb")).expect("removed");
    for dead in files(&sim, "dead") {
        sim.remove(&dead).expect("removed");
    }
    assert_eq!(rescue(&sim, None).expect("salvaged").documents_doubtful, 42);
    assert_eq!(saved(&sim), expected);
}

#[test]
fn without_a_catalog_the_newest_dead_file_counts() {
    let (sim, index) = replaced();
    index.remove([2, 0]).expect("removed");
    index.flush().expect("flushed");
    let older = sim.snapshot_of_files();
    index.remove([2, 1]).expect("removed");
    index.flush().expect("flushed");
    let expected = answers(&index.snapshot());
    index.close().expect("closed");
    // A process that was killed left the obsolete dead file.
    for (path, bytes) in older {
        if path.extension().is_some_and(|ending| ending == "dead") {
            sim.overwrite(&path, &bytes);
        }
    }
    assert_eq!(files(&sim, "dead").len(), 3);
    sim.remove(&Path::new(DIR).join("catalog.redb")).expect("removed");
    assert_eq!(rescue(&sim, None).expect("salvaged").documents, expected.len() as u64);
    assert_eq!(saved(&sim), expected);
}
