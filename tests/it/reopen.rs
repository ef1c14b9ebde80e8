//! Closing, dropping and reopening: tests what is replayed and what is written.

use crate::support::{Model, Scratch, assert_whole, inline, keys, listing, params, run};
use nearkin::{Batch, Index, Options, Outcome};
use std::collections::BTreeSet;

fn fill(index: &Index) -> Model {
    for at in 0..20 {
        index.insert(format!("k{at}"), &run(at, 30)).unwrap();
    }
    let batch = Batch::new().remove("k3").insert_with_payload("k4", &run(99, 30), "payload");
    index.write(batch.insert("new", &run(50, 30))).unwrap();
    Model::read(index)
}

#[test]
fn a_replay_continues_from_the_floor() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 30)).unwrap();
    index.insert("b", &run(1, 30)).unwrap();
    index.flush().unwrap();
    index.remove("a").unwrap();
    index.insert("b", &run(2, 30)).unwrap();
    index.insert("c", &run(3, 30)).unwrap();
    let model = Model::read(&index);
    drop(index);
    let index = scratch.open();
    assert_eq!(index.stats().unwrap().recovery.changes_replayed, 3);
    assert_eq!(index.snapshot().change(), 5);
    assert_eq!(Model::read(&index), model);
    index.insert("d", &run(4, 30)).unwrap();
    assert_eq!(index.snapshot().change(), 6);
    // Replayed changes were flushed, so they are not replayed again.
    drop(index);
    let recovery = scratch.open().stats().unwrap().recovery;
    assert_eq!((recovery.changes_replayed, recovery.bytes_cut), (1, 0));
}

#[test]
fn after_a_clean_close_opening_and_reading_write_nothing() {
    let scratch = Scratch::new();
    let index = scratch.create();
    fill(&index);
    index.flush().unwrap();
    index.remove("k7").unwrap();
    index.insert("k8", &run(1_000, 30)).unwrap();
    let model = Model::read(&index);
    index.close().unwrap();
    let before = listing(&scratch.dir());
    for options in [inline(), Options::default()] {
        for close in [true, false] {
            let index = Index::open(scratch.dir(), options.clone()).unwrap();
            let recovery = index.stats().unwrap().recovery;
            let found = (recovery.changes_replayed, recovery.bytes_cut, recovery.files_swept);
            assert_eq!(found, (0, 0, 0));
            assert!((1..256 << 10).contains(&recovery.bytes_read), "{recovery:?}");
            assert_eq!(Model::read(&index), model);
            let answer = index.query(&run(0, 30)).threshold(0.2).run().unwrap();
            assert_eq!(keys(&answer), model.query(&params(), &run(0, 30), 0.2, usize::MAX));
            assert!(index.pairs(0.5).unwrap().count() > 0);
            assert_whole(&index);
            assert_eq!(listing(&scratch.dir()), before);
            if close {
                index.close().unwrap();
            } else {
                drop(index);
            }
            assert_eq!(listing(&scratch.dir()), before);
        }
    }
}

#[test]
fn an_index_that_was_never_written_to_reopens_without_writing() {
    let scratch = Scratch::new();
    drop(scratch.create());
    let before = listing(&scratch.dir());
    scratch.open().close().unwrap();
    drop(scratch.open());
    assert_eq!(listing(&scratch.dir()), before);
    assert!(scratch.open().is_empty());
}

#[test]
fn writes_without_effect_write_nothing() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 30)).unwrap();
    index.close().unwrap();
    let before = listing(&scratch.dir());
    let index = scratch.open();
    assert_eq!(index.insert("a", &run(0, 30)).unwrap(), Outcome::Unchanged);
    assert_eq!(index.remove("b").unwrap(), Outcome::Missing);
    index.write(Batch::new()).unwrap();
    index.close().unwrap();
    assert!(listing(&scratch.dir()) == before);
    let index = scratch.open();
    assert_eq!(index.stats().unwrap().recovery.changes_replayed, 0);
    assert_eq!(index.len(), 1);
}

#[test]
fn damage_to_a_synced_record_is_corrupt_not_a_torn_tail() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for at in 0..3 {
        index.insert(format!("k{at}"), &run(at, 30)).unwrap();
    }
    drop(index);
    let wal = only_wal(&scratch);
    let mut bytes = std::fs::read(&wal).unwrap();
    bytes[4096 + 60] ^= 1;
    std::fs::write(&wal, &bytes).unwrap();
    let error = Index::open(scratch.dir(), inline()).unwrap_err();
    assert_eq!(error.kind(), nearkin::ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains(".wal") && error.to_string().contains("4096"), "{error}");
    // The failed open changed nothing: repairing the byte restores the index.
    bytes[4096 + 60] ^= 1;
    std::fs::write(&wal, &bytes).unwrap();
    assert_eq!(scratch.open().len(), 3);
}

fn only_wal(scratch: &Scratch) -> std::path::PathBuf {
    let folder = std::fs::read_dir(scratch.dir().join("wal")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut wals: Vec<_> = paths.filter(|path| path.extension().unwrap() == "wal").collect();
    assert_eq!(wals.len(), 1);
    wals.pop().unwrap()
}

#[test]
fn unlisted_files_are_swept_when_opening_and_counted() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 30)).unwrap();
    index.close().unwrap();
    let names = || {
        let folder = std::fs::read_dir(scratch.dir().join("segments")).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    let (before, files) = (names(), listing(&scratch.dir()).len());
    let orphans = [
        "segments/0000000900.seg",
        "segments/0000000901.dead",
        "segments/0000000902.seg.tmp",
        "wal/0000000903.wal",
        "catalog.redb.tmp",
    ];
    for orphan in orphans {
        std::fs::write(scratch.dir().join(orphan), "litter").unwrap();
    }
    // A file that is not ours stays.
    std::fs::write(scratch.dir().join("segments/notes.txt"), "mine").unwrap();
    let index = scratch.open();
    assert_eq!(index.stats().unwrap().recovery.files_swept, 5);
    for orphan in orphans {
        assert!(!scratch.dir().join(orphan).exists(), "{orphan}");
    }
    assert_eq!(std::fs::read(scratch.dir().join("segments/notes.txt")).unwrap(), b"mine");
    std::fs::remove_file(scratch.dir().join("segments/notes.txt")).unwrap();
    assert_eq!(listing(&scratch.dir()).len(), files);
    // A file number that occurred once is never reused.
    index.insert("b", &run(0, 30)).unwrap();
    index.flush().unwrap();
    let new: Vec<_> = names().difference(&before).cloned().collect();
    assert!(new.len() == 1 && new[0].as_str() > "0000000903", "{new:?}");
    assert_whole(&index);
}
