//! The cost of opening, counted at the disk; and opening with a copy of the catalog that is stale,
//! torn or from another index.

#![expect(clippy::disallowed_methods, reason = "damages files on purpose")]

use crate::index::state::options::{Durability, Maintenance};
use crate::storage::{Counters, Disk, OpenMode, Storage};
use crate::{Batch, Index, Options, Params, Signature};
use nearkin_sketch::engine::signature_from_parts;
use std::path::Path;
use std::sync::Arc;

const MILLION: u64 = 1_000_000;

/// A short signature, so that a million documents are written in seconds.
fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).build().expect("within the limits")
}

fn options() -> Options {
    Options::default()
        .durability(Durability::OsBuffer)
        .maintenance(Maintenance::Inline)
        .memtable_bytes_max(256 << 20)
}

/// Any bytes will do: to the engine a signature is opaque.
fn signature(params: &Params, number: u64) -> Signature {
    let low = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    let high = (!number).wrapping_mul(0xBF58_476D_1CE4_E5B9).to_le_bytes();
    signature_from_parts(params, 1, [low, high].concat().into_boxed_slice())
}

/// Makes an index of one segment, and closes it cleanly.
fn fill(dir: &Path, documents: u64) {
    let params = params();
    let index = Index::create(dir, &params, options()).unwrap();
    for begin in (0..documents).step_by(50_000) {
        let mut batch = Batch::new();
        for number in begin..documents.min(begin + 50_000) {
            batch = batch.insert(number.to_le_bytes(), &signature(&params, number));
        }
        index.write(batch).unwrap();
    }
    index.compact().unwrap();
    assert_eq!(index.stats().unwrap().segments, 1);
    index.close().unwrap();
}

/// The disk operations of one opening. Checks that the index answers afterwards.
fn cost_of_opening(dir: &Path, documents: u64) -> Counters {
    let disk = Arc::new(Disk::default());
    let storage: Arc<dyn Storage> = Arc::clone(&disk) as _;
    let index = Index::open_on(storage, dir, options()).unwrap();
    let cost = disk.counters();
    assert_eq!(index.len(), documents);
    let number = documents / 2;
    let signature = signature(index.params(), number);
    let answer = index.query(&signature).threshold(1.0).limit(1).run().unwrap();
    assert_eq!(answer.matches[0].key, number.to_le_bytes());
    cost
}

#[test]
fn opening_reads_as_much_of_a_million_as_of_a_thousand() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (folder.path().join("small"), folder.path().join("large"));
    fill(&small, 1_000);
    fill(&large, MILLION);
    let (small, large) = (cost_of_opening(&small, 1_000), cost_of_opening(&large, MILLION));
    assert!(large.bytes_read.abs_diff(small.bytes_read) <= 64 << 10, "{small:?}, {large:?}");
    for cost in [small, large] {
        assert_eq!(cost.bytes_written, 0, "opening writes nothing");
        assert_eq!(cost.syncs, 0, "the last commit is known to be durable");
        assert!(cost.bytes_read <= 1 << 20, "{cost:?}");
    }
}

#[test]
fn queries_of_what_was_just_written_read_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::default());
    let storage: Arc<dyn Storage> = Arc::clone(&disk) as _;
    let index = Index::create_on(storage, &folder.path().join("x"), &params(), options()).unwrap();
    let ask = |numbers: std::ops::Range<u64>| {
        let before = disk.counters().bytes_read;
        for number in numbers {
            let signature = signature(index.params(), number);
            let answer = index.query(&signature).threshold(1.0).limit(1).run().unwrap();
            assert_eq!(answer.matches[0].key, number.to_le_bytes());
        }
        assert_eq!(disk.counters().bytes_read, before, "no block is touched for the first time");
    };
    for begin in [0, 1_000_u64] {
        let mut batch = Batch::new();
        for number in begin..begin + 1_000 {
            batch = batch.insert(number.to_le_bytes(), &signature(index.params(), number));
        }
        index.write(batch).unwrap();
        index.flush().unwrap();
        ask(begin..begin + 1_000);
    }
    index.compact().unwrap();
    assert_eq!(index.stats().unwrap().segments, 1);
    ask(0..2_000);
}

#[test]
fn a_closed_index_keeps_a_spare_but_a_short_one() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("x.nearkin");
    fill(&dir, 100_000);
    let kept = Disk::default().list(&dir.join("wal")).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let is_spare = Path::new(&kept[0].name).extension().is_some_and(|ending| ending == "free");
    let spare = dir.join("wal").join(&kept[0].name);
    let length = Disk::default().open(&spare, OpenMode::Read).unwrap().bytes().unwrap();
    assert!(is_spare && length == 1 << 20, "{kept:?}");
    cost_of_opening(&dir, 100_000);
}

/// Makes an index with some documents in segments and one in its log, and drops it without a close.
/// Returns the catalog as of the first flush, and as it is now.
fn fill_twice(dir: &Path) -> [Vec<u8>; 2] {
    let params = params();
    let index = Index::create(dir, &params, options()).unwrap();
    let catalog = || std::fs::read(dir.join("catalog.redb")).unwrap();
    let insert = |number: u64| {
        let batch = Batch::new().insert(number.to_le_bytes(), &signature(&params, number));
        index.write(batch).unwrap();
    };
    insert(0);
    index.flush().unwrap();
    let first = catalog();
    for number in 1..4 {
        insert(number);
        index.flush().unwrap();
    }
    insert(4);
    drop(index);
    [first, catalog()]
}

#[test]
fn an_older_catalog_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("x");
    let [before, now] = fill_twice(&dir);
    let put = |catalog: &[u8]| std::fs::write(dir.join("catalog.redb"), catalog).unwrap();
    put(&before);
    for _ in 0..2 {
        let error = Index::open(&dir, options()).expect_err("it went back");
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{error}");
    }
    // Nothing was deleted: with its own catalog, the index is complete.
    put(&now);
    assert_eq!(Index::open(&dir, options()).unwrap().len(), 5);
}

/// On a FUSE mount with direct I/O, documents once went into the log of an index that could never
/// be flushed.
#[cfg(unix)]
#[test]
fn a_file_system_without_maps_is_refused_or_read_by_calls() {
    use crate::testing::sim::Sim;
    use crate::{ErrorKind, ReadMode, Reader};
    let (sim, dir) = (Sim::new(), Path::new("/i"));
    sim.take_maps_away();
    let storage = || Arc::new(sim.clone());
    let by_calls = options().read_mode(ReadMode::Pread);
    let create = |options| Index::create_on(storage(), dir, &params(), options);
    let refused = |error: crate::Error| {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("ReadMode::Pread"), "{error}");
    };
    refused(create(options()).unwrap_err());
    let index = create(by_calls.clone()).unwrap();
    // Refused while there is no segment yet, too.
    drop(index);
    refused(Index::open_on(storage(), dir, options()).unwrap_err());
    refused(Reader::open_on(storage(), dir, options()).unwrap_err());
    let index = Index::open_on(storage(), dir, by_calls.clone()).unwrap();
    index.insert("a", &signature(&params(), 1)).unwrap();
    index.flush().unwrap();
    index.close().unwrap();
    refused(Index::open_on(storage(), dir, options()).unwrap_err());
    refused(Reader::open_on(storage(), dir, options()).unwrap_err());
    let reader = Reader::open_on(storage(), dir, by_calls).unwrap();
    assert!(reader.contains("a").unwrap());
}
