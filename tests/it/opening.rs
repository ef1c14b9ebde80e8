//! Creating and opening: which folders are an index, and which errors other folders cause.

use crate::support::{Scratch, inline, kind, message, params, run};
use nearkin::{ErrorKind, Index, Params, Shingles};
use std::fs;

#[test]
fn a_created_index_can_be_opened() {
    let scratch = Scratch::new();
    assert!(!Index::exists(scratch.dir()).unwrap());
    let index = scratch.create();
    assert_eq!(index.params(), &params());
    assert!(index.is_empty());
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    assert!(Index::exists(scratch.dir()).unwrap());
    let index = scratch.open();
    assert_eq!(index.params(), &params());
    assert!(index.contains("a").unwrap());
}

#[test]
fn missing_folders_above_an_index_are_made() {
    let scratch = Scratch::new();
    let deep = scratch.path("one/two/three.nearkin");
    Index::create(&deep, &params(), inline()).unwrap().close().unwrap();
    assert!(Index::exists(&deep).unwrap());
}

#[test]
fn an_index_is_not_created_over_another() {
    let scratch = Scratch::new();
    scratch.create().close().unwrap();
    let again = Index::create(scratch.dir(), &params(), inline());
    assert!(message(again, ErrorKind::Exists).contains("already"));
}

#[test]
fn opening_nothing_is_not_found_and_makes_nothing() {
    let scratch = Scratch::new();
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::NotFound);
    assert!(!scratch.dir().exists());
    fs::create_dir(scratch.dir()).unwrap();
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::NotFound);
    assert_eq!(fs::read_dir(scratch.dir()).unwrap().count(), 0);
}

#[test]
fn open_or_create_does_what_is_needed() {
    let scratch = Scratch::new();
    let open = || Index::open_or_create(scratch.dir(), &params(), inline()).unwrap();
    let index = open();
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    assert_eq!(open().len(), 1);
}

#[test]
fn an_empty_folder_is_room_for_an_index() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.dir()).unwrap();
    Index::open_or_create(scratch.dir(), &params(), inline()).unwrap().close().unwrap();
}

#[test]
fn a_mismatch_names_everything_that_differs_and_nothing_else() {
    let scratch = Scratch::new();
    scratch.create().close().unwrap();
    let other = Params::for_threshold(0.8)
        .shingles(Shingles::Words(3))
        .hashes(128)
        .bands(16, 4)
        .seed(0xDEAD_BEEF)
        .build()
        .unwrap();
    let opened = Index::open_or_create(scratch.dir(), &other, inline());
    let said = message(opened, ErrorKind::Mismatch);
    for difference in [
        "hashes: 64 here, 128 asked",
        "shingles: items here, words:3 asked",
        "threshold: 0.5 here, 0.8 asked",
        "seed: another one asked",
    ] {
        assert!(said.contains(difference), "{difference}: {said}");
    }
    assert!(!said.contains("bands") && !said.contains("3735928559"), "{said}");
    // Nothing stays locked after the error.
    scratch.open().close().unwrap();
}

#[test]
fn a_file_is_no_index() {
    let scratch = Scratch::new();
    fs::write(scratch.dir(), "a file").unwrap();
    assert_eq!(kind(Index::open(scratch.dir(), inline())), ErrorKind::Invalid);
    assert_eq!(kind(Index::exists(scratch.dir())), ErrorKind::Invalid);
    assert_eq!(kind(Index::create(scratch.dir(), &params(), inline())), ErrorKind::Invalid);
    assert_eq!(fs::read(scratch.dir()).unwrap(), b"a file");
}

#[test]
fn a_folder_of_other_things_is_no_index_and_stays_as_it_is() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.dir()).unwrap();
    fs::write(scratch.dir().join("thesis.txt"), "years of work").unwrap();
    for result in [
        Index::open(scratch.dir(), inline()),
        Index::create(scratch.dir(), &params(), inline()),
        Index::open_or_create(scratch.dir(), &params(), inline()),
    ] {
        assert!(message(result, ErrorKind::Invalid).contains("thesis.txt"));
    }
    assert_eq!(fs::read_dir(scratch.dir()).unwrap().count(), 1);
}

#[test]
fn an_index_without_its_catalog_is_corrupt_not_created_anew() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    fs::remove_file(scratch.dir().join("catalog.redb")).unwrap();
    assert_eq!(kind(Index::exists(scratch.dir())), ErrorKind::Corrupt);
    for result in [
        Index::open(scratch.dir(), inline()),
        Index::create(scratch.dir(), &params(), inline()),
        Index::open_or_create(scratch.dir(), &params(), inline()),
    ] {
        assert!(message(result, ErrorKind::Corrupt).contains("catalog"));
    }
}

#[test]
fn a_lost_segment_is_corrupt() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    fs::remove_dir_all(scratch.dir().join("segments")).unwrap();
    let said = message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
    assert!(said.contains(".seg"), "{said}");
}

#[test]
fn a_creation_cut_off_before_its_catalog_can_be_repeated() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.dir().join("wal")).unwrap();
    fs::create_dir_all(scratch.dir().join("segments")).unwrap();
    fs::write(scratch.dir().join("lock"), "").unwrap();
    fs::write(scratch.dir().join("catalog.redb.tmp"), "half").unwrap();
    assert!(!Index::exists(scratch.dir()).unwrap());
    let index = scratch.create();
    assert!(!scratch.dir().join("catalog.redb.tmp").exists());
    index.close().unwrap();
}

#[test]
fn options_out_of_range_are_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    for options in [
        inline().batch_bytes_max(1023),
        inline().batch_bytes_max((32 << 20) + 1),
        inline().tier_segments_max(1),
        inline().merge_bytes_max(1),
    ] {
        assert_eq!(kind(Index::create(scratch.dir(), &params(), options)), ErrorKind::Invalid);
    }
    assert!(!scratch.dir().exists());
}

#[test]
fn a_catalog_from_before_a_session_is_an_older_copy() {
    let scratch = Scratch::new();
    scratch.create().close().unwrap();
    let catalog = scratch.dir().join("catalog.redb");
    for key in ["a", "b"] {
        let before = fs::read(&catalog).unwrap();
        let index = scratch.open();
        index.insert(key, &run(0, 10)).unwrap();
        index.close().unwrap();
        let after = fs::read(&catalog).unwrap();
        fs::write(&catalog, before).unwrap();
        let said = message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
        assert!(said.contains(".free") && said.contains("older copy"), "{said}");
        fs::write(&catalog, after).unwrap();
        assert!(scratch.open().contains(key).unwrap());
    }
}

#[test]
fn files_of_others_that_are_called_tmp_stay() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.dir()).unwrap();
    let notes = scratch.dir().join("notes.tmp");
    fs::write(&notes, "precious").unwrap();
    let said = message(Index::create(scratch.dir(), &params(), inline()), ErrorKind::Invalid);
    assert!(said.contains("notes.tmp"), "{said}");
    fs::remove_file(&notes).unwrap();
    scratch.create().close().unwrap();
    fs::write(&notes, "precious").unwrap();
    scratch.open().close().unwrap();
    assert_eq!(fs::read_to_string(&notes).unwrap(), "precious");
}

#[test]
fn a_file_of_the_greatest_number_does_not_end_the_numbering() {
    let scratch = Scratch::new();
    scratch.create().close().unwrap();
    let stray = scratch.dir().join("segments").join(format!("{}.seg", u64::MAX - 1));
    fs::write(&stray, "").unwrap();
    for key in ["a", "b"] {
        let index = scratch.open();
        index.insert(key, &run(0, 10)).unwrap();
        index.close().unwrap();
    }
    assert_eq!(scratch.open().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_snapshot_that_outlives_its_index_leaves_the_next_alone() {
    let scratch = Scratch::new();
    let fill = |index: &Index| {
        for key in ["a", "b"] {
            index.insert(key, &run(0, 10)).unwrap();
            index.flush().unwrap();
        }
    };
    let index = scratch.create();
    fill(&index);
    let snapshot = index.snapshot();
    index.compact().unwrap();
    index.close().unwrap();
    fs::remove_dir_all(scratch.dir()).unwrap();
    let index = scratch.create();
    fill(&index);
    drop(snapshot);
    index.close().unwrap();
    assert_eq!(scratch.open().len(), 2);
}

#[test]
fn a_folder_that_held_nothing_is_made_again() {
    for folder in ["wal", "segments"] {
        let scratch = Scratch::new();
        scratch.create().close().unwrap();
        fs::remove_dir_all(scratch.dir().join(folder)).unwrap();
        let index = scratch.open();
        index.insert("a", &run(0, 10)).unwrap();
        index.flush().unwrap();
        index.close().unwrap();
        assert!(scratch.open().contains("a").unwrap());
    }
}

#[test]
fn a_lost_folder_of_the_spare_alone_is_made_again() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    fs::remove_dir_all(scratch.dir().join("wal")).unwrap();
    let index = scratch.open();
    index.insert("b", &run(0, 10)).unwrap();
    index.close().unwrap();
    assert_eq!(scratch.open().len(), 2);
}

#[test]
fn a_lost_folder_of_the_listed_wal_is_corrupt_and_stays_lost() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    drop(index);
    fs::remove_dir_all(scratch.dir().join("wal")).unwrap();
    let said = message(Index::open(scratch.dir(), inline()), ErrorKind::Corrupt);
    assert!(said.contains(".wal"), "{said}");
    assert!(!scratch.dir().join("wal").exists());
}

#[test]
fn of_many_who_open_or_create_one_creates_and_the_others_open() {
    for _ in 0..20 {
        let scratch = Scratch::new();
        let start = std::sync::Barrier::new(6);
        let opened: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        match Index::open_or_create(scratch.dir(), &params(), inline()) {
                            Ok(index) => index.close().map(|()| 1).unwrap(),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
                                0
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(opened > 0);
        scratch.open().close().unwrap();
    }
}

/// Where a mapped file cannot be removed (Windows), an obsolete segment stays for as long as a
/// snapshot holds it, and the first opening after that removes it. Elsewhere it goes at once.
#[test]
fn files_of_a_snapshot_are_gone_after_the_next_opening() {
    let scratch = Scratch::new();
    let segments = || {
        let entries = fs::read_dir(scratch.dir().join("segments")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "seg")).count()
    };
    let index = scratch.create();
    for key in ["a", "b"] {
        index.insert(key, &run(0, 10)).unwrap();
        index.flush().unwrap();
    }
    let snapshot = index.snapshot();
    index.compact().unwrap();
    index.close().unwrap();
    let index = scratch.open();
    assert_eq!(index.len(), 2);
    assert_eq!(snapshot.query(&run(0, 10)).run().unwrap().matches.len(), 2);
    drop(snapshot);
    index.close().unwrap();
    scratch.open().close().unwrap();
    assert_eq!(segments(), 1);
}
