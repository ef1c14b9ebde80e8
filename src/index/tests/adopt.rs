//! Sealed segments, and their adoption by an index.

use super::copies::{DIR, answers, disk, index, options, params, signature};
use super::crash_table::cut_through;
use crate::index::files::adopt::{self, Adopt};
use crate::index::files::seal::{Sealed, Ticket, seal_on};
use crate::storage::Storage;
use crate::testing::sim::{Fault, FaultKind, Sim};
use crate::{Document, ErrorKind, Imported, Index, Params, Reader, Result};
use std::path::Path;
use std::sync::Arc;

const PART: &str = "/archive/part.seg";
const OTHER: &str = "/archive/other.seg";

fn document(key: &[u8], value: u8) -> Document {
    let document = Document::new(key, signature(&params(), value));
    document.with_payload([value; 5]).with_time(u64::from(value))
}

/// Three new keys, one key that the index has in a segment, and one that it has only in the log.
fn documents() -> Vec<Document> {
    let keys: [&[u8]; 5] = [b"x", b"new", b"a long one", &[b'k', 12], b"a"];
    keys.iter().zip(1..).map(|(key, value)| document(key, value)).collect()
}

fn seal_to(storage: &Arc<dyn Storage>, path: &str, documents: Vec<Document>) -> Result<Sealed> {
    let ticket = Ticket::new(*b"not of the index", 77).expect("small");
    seal_on(storage, &params(), documents, &ticket, Path::new(path))
}

fn adopt(index: &Index, paths: &[&str], how: Adopt) -> Result<Imported> {
    let storage = Arc::clone(&index.core().storage);
    let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
    adopt::adopt_from(index.core(), &storage, &paths, how)
}

fn bytes(sim: &Sim, path: &str) -> Vec<u8> {
    sim.snapshot_of_files().remove(Path::new(path)).expect("there")
}

#[test]
fn sealing_twice_makes_the_same_bytes_whatever_the_order() {
    let sim = Sim::new();
    drop(index(&sim));
    let sealed = seal_to(&disk(&sim), PART, documents()).expect("sealed");
    let mut reversed = documents();
    reversed.reverse();
    assert_eq!(seal_to(&disk(&sim), OTHER, reversed).expect("sealed"), sealed);
    assert_eq!(bytes(&sim, PART), bytes(&sim, OTHER));
    assert_eq!((sealed.documents(), sealed.number()), (5, 77));
    assert_eq!(sealed.file_bytes(), bytes(&sim, PART).len() as u64);
    // The sealed file survives a power cut.
    let files = sim.kill().snapshot_of_files();
    assert_eq!(files.get(Path::new(PART)), Some(&bytes(&sim, PART)));
}

#[test]
fn sealing_refuses_invalid_documents_and_existing_files() {
    let sim = Sim::new();
    drop(index(&sim));
    let refused = |documents: Vec<Document>| {
        let refused = seal_to(&disk(&sim), PART, documents).expect_err("refused");
        assert!(!sim.snapshot_of_files().contains_key(Path::new(PART)));
        refused
    };
    assert_eq!(refused(vec![]).kind(), ErrorKind::Invalid);
    let twice = refused(vec![document(b"x", 1), document(b"y", 1), document(b"x", 2)]);
    assert!(twice.kind() == ErrorKind::Invalid && twice.to_string().contains("key x"), "{twice}");
    assert_eq!(refused(vec![document(b"", 1)]).kind(), ErrorKind::Invalid);
    let large = document(b"x", 1).with_payload(vec![0; 70_000]);
    assert_eq!(refused(vec![large]).kind(), ErrorKind::Invalid);
    let other = Params::builder().hashes(16).bands(4, 4).seed(9).build().expect("sound");
    let foreign = Document::new("x", signature(&other, 1));
    assert_eq!(refused(vec![foreign]).kind(), ErrorKind::Mismatch);
    seal_to(&disk(&sim), PART, documents()).expect("sealed");
    let again = seal_to(&disk(&sim), PART, documents()).expect_err("it is there");
    assert_eq!(again.kind(), ErrorKind::Exists);
    Ticket::new([0; 16], 1 << 62).expect_err("too large");
}

#[test]
fn a_sealed_segment_is_described_in_bytes_and_damage_is_found() {
    let sim = Sim::new();
    drop(index(&sim));
    let sealed = seal_to(&disk(&sim), PART, documents()).expect("sealed");
    let whole = sealed.to_bytes();
    assert_eq!(Sealed::from_bytes(&whole).expect("sound"), sealed);
    for at in 0..whole.len() {
        Sealed::from_bytes(&whole[..at]).expect_err("cut");
        for bit in 0..8 {
            let mut changed = whole;
            changed[at] ^= 1 << bit;
            Sealed::from_bytes(&changed).expect_err("changed");
        }
    }
    Sealed::from_bytes(&[&whole[..], &[0]].concat()).expect_err("longer");
}

#[test]
fn adopted_documents_are_as_if_inserted() {
    let sim = Sim::new();
    let index = index(&sim);
    let storage = disk(&sim);
    seal_to(&storage, PART, documents()).expect("sealed");
    // "x" is in both segments: the version in the last segment counts.
    seal_to(&storage, OTHER, vec![document(b"x", 99), document(b"z", 2)]).expect("sealed");
    let change = index.snapshot().change();
    let beside = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    let imported = adopt(&index, &[PART, OTHER], Adopt::Replace).expect("adopted");
    assert_eq!((imported.inserted, imported.replaced), (4, 2));
    assert_eq!(index.snapshot().change(), change + 1);
    beside.refresh().expect("refreshed");
    assert_eq!(answers(&beside.snapshot()), answers(&index.snapshot()));

    let other = Sim::new();
    let expected = self::index(&other);
    let mut all = documents();
    all.retain(|document| document.key != b"x");
    all.extend([document(b"x", 99), document(b"z", 2)]);
    for document in all {
        let batch = crate::Batch::new().insert_document(&document);
        expected.write(batch).expect("written");
    }
    assert_eq!(answers(&index.snapshot()), answers(&expected.snapshot()));
    let verified = index.verify().expect("verified");
    assert!(verified.problems.is_empty(), "{verified:?}");
    // Later writes continue from the adopted state.
    for index in [&index, &expected] {
        index.remove("z").expect("removed");
        index.insert("x", &signature(&params(), 3)).expect("replaced");
    }
    let sim = sim.kill();
    drop(index);
    let index = Index::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    assert_eq!(answers(&index.snapshot()), answers(&expected.snapshot()));
    index.compact().expect("compacted");
    assert_eq!(answers(&index.snapshot()), answers(&expected.snapshot()));
}

#[test]
fn a_live_key_is_refused_and_nothing_changes() {
    let sim = Sim::new();
    let index = index(&sim);
    let storage = disk(&sim);
    seal_to(&storage, PART, vec![document(b"fresh", 1), document(&[b'k', 12], 2)]).expect("sealed");
    seal_to(&storage, OTHER, vec![document(b"fresh", 1)]).expect("sealed");
    let before = answers(&index.snapshot());
    let segments = |index: &Index| index.core().state().segments.len();
    let count = segments(&index);
    let refused = adopt(&index, &[PART], Adopt::Refuse).expect_err("k12 is live");
    assert_eq!(refused.kind(), ErrorKind::Exists);
    assert!(refused.to_string().contains("key k\\x0c"), "{refused}");
    let refused = adopt(&index, &[OTHER, OTHER], Adopt::Refuse).expect_err("twice");
    assert!(refused.to_string().contains("two of the segments"), "{refused}");
    assert_eq!(answers(&index.snapshot()), before);
    // The flush before the adoption may have added a segment.
    assert!(segments(&index) <= count + 1);
    // The copies of the refused segments were deleted.
    let listed = segments(&index);
    let files = sim.snapshot_of_files();
    let left = files.keys().filter(|path| path.starts_with(Path::new(DIR).join("segments")));
    let left = left.filter(|path| path.extension().is_some_and(|ending| ending == "seg")).count();
    assert_eq!(left, listed);
    assert_eq!(adopt(&index, &[OTHER], Adopt::Refuse).expect("adopted").inserted, 1);
    index.remove("fresh").expect("removed");
    // The key of a dead document is not refused.
    assert_eq!(adopt(&index, &[OTHER], Adopt::Refuse).expect("adopted").inserted, 1);
    assert_eq!(adopt(&index, &[], Adopt::Refuse).expect("none"), Imported::default());
}

#[test]
fn a_segment_of_other_parameters_or_a_damaged_one_is_refused() {
    let sim = Sim::new();
    let index = index(&sim);
    let before = answers(&index.snapshot());
    let other = Params::builder().hashes(16).bands(4, 3).build().expect("sound");
    let documents = vec![Document::new("x", signature(&other, 1))];
    let ticket = Ticket::new([3; 16], 5).expect("small");
    seal_on(&disk(&sim), &other, documents, &ticket, Path::new(PART)).expect("sealed");
    let refused = adopt(&index, &[PART], Adopt::Replace).expect_err("other bands");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    seal_to(&disk(&sim), OTHER, self::documents()).expect("sealed");
    let whole = bytes(&sim, OTHER);
    for at in [5, 70, 200, 1_000, whole.len() / 2, whole.len() - 3] {
        let mut damaged = whole.clone();
        damaged[at] ^= 16;
        sim.overwrite(Path::new(OTHER), &damaged);
        adopt(&index, &[OTHER], Adopt::Replace).expect_err("damaged");
    }
    sim.overwrite(Path::new(OTHER), &whole[..whole.len() - 64]);
    adopt(&index, &[OTHER], Adopt::Replace).expect_err("cut");
    assert_eq!(answers(&index.snapshot()), before);
    sim.overwrite(Path::new(OTHER), &whole);
    assert_eq!(adopt(&index, &[OTHER], Adopt::Replace).expect("sound").replaced, 2);
}

#[test]
fn a_crash_within_an_adoption_leaves_all_or_nothing() {
    let prepare = |index: &Index| {
        let storage = Arc::clone(&index.core().storage);
        seal_to(&storage, PART, documents())?;
        seal_to(&storage, OTHER, vec![document(b"x", 99), document(b"z", 2)]).map(drop)
    };
    let work = |index: &Index| adopt(index, &[PART, OTHER], Adopt::Replace).map(drop);
    let met = cut_through(prepare, work);
    assert!(met.contains(&"seg".to_owned()) && met.contains(&"dead".to_owned()), "{met:?}");
}

#[test]
fn an_adoption_that_fails_anywhere_changes_no_count() {
    let mut repeated = 0;
    for at in 0.. {
        let sim = Sim::new();
        let index = index(&sim);
        index.flush().expect("flushed");
        seal_to(&disk(&sim), OTHER, vec![document(b"z", 2)]).expect("sealed");
        let before = index.len();
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        match adopt(&index, &[OTHER], Adopt::Refuse) {
            Ok(_) if sim.faults_fired() == 0 => break,
            // A failure that costs only space, such as one to delete a file.
            Ok(_) => assert_eq!(index.len(), before + 1, "call {at}"),
            Err(error) => {
                assert_eq!(index.len(), before, "call {at}");
                if error.kind() == ErrorKind::Io {
                    adopt(&index, &[OTHER], Adopt::Refuse).expect("the disk works again");
                    assert_eq!(index.len(), before + 1, "call {at}");
                    repeated += 1;
                }
            }
        }
    }
    assert!(repeated > 10, "{repeated}");
}
