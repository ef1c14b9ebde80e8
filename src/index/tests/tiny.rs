//! Tiny indexes: their size on disk, how they grow, and power cuts meanwhile.

use crate::format::catalog::SegmentEntry;
use crate::index::files::life::first_log_bytes;
use crate::index::state::options::{Durability, Maintenance};
use crate::index::tests::copies::answers;
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{Batch, Index, Options, Params, Signature, Sketcher};
use std::path::Path;
use std::sync::Arc;

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn text(number: u32) -> Signature {
    Sketcher::new(&params()).text(&format!("document {number} of very few")).unwrap()
}

/// Options with the limit of a tiny index that applies outside of tests; in tests, the default is
/// 0.
fn options() -> Options {
    Options {
        tiny_bytes_max: 64 << 10,
        ..Options::default().maintenance(Maintenance::Inline).clock(|| 7)
    }
}

/// The files below a folder, with their lengths.
fn files(dir: &Path) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    for folder in [dir.to_path_buf(), dir.join("wal"), dir.join("segments")] {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let about = entry.metadata().unwrap();
            if about.is_file() {
                files.push((entry.file_name().into_string().unwrap(), about.len()));
            }
        }
    }
    files
}

fn bytes(files: &[(String, u64)]) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

fn ten(index: &Index, first: u32) {
    let add = |batch: Batch, number: u32| batch.insert(number.to_string(), &text(number));
    index.write((first..first + 10).fold(Batch::new(), add)).unwrap();
}

#[test]
fn a_tiny_index_takes_64_kib_at_most_however_often_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tiny");
    let index = Index::create(&dir, &params(), options()).unwrap();
    assert!(bytes(&files(&dir)) < 40 << 10, "{:?}", files(&dir));
    ten(&index, 0);
    assert!(bytes(&files(&dir)) <= 80 << 10, "open: {:?}", files(&dir));
    index.close().unwrap();
    for session in 0..6 {
        let closed = files(&dir);
        assert!(bytes(&closed) <= 64 << 10, "session {session}: {closed:?}");
        let index = Index::open(&dir, options()).unwrap();
        assert_eq!((index.len(), index.verify().unwrap().problems.len()), (10, 0));
        ten(&index, session % 2);
        for _ in 0..session % 3 {
            index.flush().unwrap();
            index.insert("0", &text(100 + session)).unwrap();
        }
        index.remove("10").unwrap();
        index.insert("0", &text(0)).unwrap();
        index.compact().unwrap();
        index.close().unwrap();
    }
}

#[test]
fn closing_without_writes_leaves_a_tiny_index_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tiny");
    let large = || Options { tiny_bytes_max: 0, ..options() };
    let index = Index::create(&dir, &params(), large()).unwrap();
    ten(&index, 0);
    index.close().unwrap();
    let before = files(&dir);
    assert!(bytes(&before) > 1 << 20, "with its reserve: {before:?}");
    Index::open(&dir, options()).unwrap().close().unwrap();
    assert_eq!(files(&dir), before);
    let index = Index::open(&dir, options()).unwrap();
    index.remove("3").unwrap();
    index.close().unwrap();
    assert!(bytes(&files(&dir)) <= 64 << 10, "{:?}", files(&dir));
}

#[test]
fn an_index_that_has_grown_has_its_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("grown");
    let options = || options().durability(Durability::OsBuffer);
    let index = Index::create(&dir, &params(), options()).unwrap();
    for number in 0..300 {
        index.insert(number.to_string(), &text(number)).unwrap();
    }
    let log = files(&dir).into_iter().find(|(name, _)| name.rsplit('.').next() == Some("wal"));
    assert_eq!(log.unwrap().1, 1 << 20, "the second log has the usual length: {:?}", files(&dir));
    index.close().unwrap();
    let spare = files(&dir).into_iter().find(|(name, _)| name.rsplit('.').next() == Some("free"));
    assert_eq!(spare.unwrap().1, 1 << 20);
}

#[test]
fn a_power_cut_of_a_tiny_index_loses_nothing_acknowledged() {
    let dir = Path::new("/tiny");
    let on = |sim: &Sim| -> Arc<dyn Storage> { Arc::new(sim.clone()) };
    let whole = || {
        let sim = Sim::new();
        let index = Index::create_on(on(&sim), dir, &params(), options()).unwrap();
        ten(&index, 0);
        index.close().unwrap();
        sim
    };
    let session = |sim: &Sim| -> crate::Result<()> {
        let index = Index::open_on(on(sim), dir, options())?;
        index.insert("more", &text(50))?;
        index.flush()?;
        index.insert("more", &text(51))?;
        index.close()
    };
    let sim = whole();
    let begin = sim.ops();
    session(&sim).unwrap();
    let ops = sim.ops() - begin;
    assert!(ops > 30, "{ops}");
    let of = |sim: &Sim| {
        let index = Index::open_on(on(sim), dir, options()).unwrap();
        assert_eq!(index.verify().unwrap().problems.len(), 0);
        answers(&index.snapshot())
    };
    let (before, after) = (of(&whole()), of(&sim));
    let between = {
        let sim = whole();
        let index = Index::open_on(on(&sim), dir, options()).unwrap();
        index.insert("more", &text(50)).unwrap();
        answers(&index.snapshot())
    };
    for cut in 0..ops {
        let sim = whole();
        sim.power_cut_at(sim.ops() + cut);
        let acknowledged = session(&sim).is_ok();
        for state in sim.crash_states(cut, 6) {
            let found = of(&state);
            let is_known = [&before, &between, &after].contains(&&found);
            assert!(is_known && (!acknowledged || found == after), "cut at {cut} of {ops}");
        }
    }
}

/// Regression, found by fuzzing: the sum of the lengths in a forged row overflowed 64 bits.
#[test]
fn forged_lengths_beyond_64_bits_do_not_make_an_index_tiny() {
    let options = options();
    let mut row = crate::index::files::open::row_of_new(&params(), &options);
    let tiny = first_log_bytes(&row, &options);
    let entry = SegmentEntry {
        number: 1,
        length: u64::MAX,
        tail_hash: 0,
        docs: 1,
        dead: 0,
        time_min: 0,
        time_max: 0,
        dead_file: None,
    };
    row.segments = vec![entry, SegmentEntry { number: 2, ..entry }];
    assert!(first_log_bytes(&row, &options) > tiny);
}
