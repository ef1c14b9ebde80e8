//! Salvage: what is saved of an index that lost parts of itself, and what the report says.

use super::copies::{DIR, answers, disk, index, options, params};
use crate::index::copy::{Salvaged, salvage};
use crate::storage::Storage;
use crate::storage::sim::Sim;
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
    answers(&reader)
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
    assert_eq!((report.documents_lost, report.documents_doubtful), (0, 0));
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
        // The first segment has no dead file: nothing says that none is missing.
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
    // The body of the first: one block holds all its documents.
    flip(&sim, &segments[0], 100);
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.documents_lost > 0 && report.documents > 0, "{report:?}");
    assert!(report.problems[0].to_string().contains("0000000002.seg"), "{report:?}");
    let saved = saved(&sim);
    assert!(saved.len() < expected.len());
    // The other segment and the log are all there.
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
    assert_eq!(report.documents_lost, 10);
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
fn a_damaged_change_in_the_log_is_named_and_the_others_are_saved() {
    let (sim, expected) = wreck();
    let log = files(&sim, "wal");
    // The body of the first of two changes: k0 keeps its old version.
    flip(&sim, &log[0], 4096 + 60);
    let report = rescue(&sim, None).expect("salvaged");
    assert!(report.problems.iter().any(|problem| problem.to_string().contains("are lost")));
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
