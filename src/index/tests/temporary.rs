//! Indexes in memory: they must give the same answers as indexes on disk, and follow the law.

use crate::index::state::options::{Durability, Maintenance};
use crate::index::tests::copies::answers;
use crate::storage::{Disk, Memory, OpenMode, ScratchStorage, Storage};
use crate::{Batch, ErrorKind, Index, Options, Outcome, Params, Reader, Signature};
use nearkin_sketch::engine::{count_equal_rows, signature_from_parts};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).threshold(0.5).build().expect("within the limits")
}

fn options() -> Options {
    Options {
        memtable_bytes_max: 6_000,
        wal_bytes_min: 8 << 10,
        tiny_bytes_max: 9_000,
        ..Options::default()
            .durability(Durability::OsBuffer)
            .maintenance(Maintenance::Inline)
            .tier_segments_max(2)
            .clock(|| 7)
    }
}

/// A seeded generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// A signature in which each band has few different values, so that many documents share a
    /// band.
    fn signature(&mut self, params: &Params) -> Signature {
        let mut bytes = vec![0; params.signature_bytes()];
        let bands: Vec<u8> = (0..4).map(|_| u8::try_from(self.below(3)).unwrap()).collect();
        for (at, byte) in bytes.iter_mut().enumerate() {
            let noise = u8::from(self.below(9) == 0);
            *byte = 10 * bands[at / params.band_bytes()] + noise;
        }
        signature_from_parts(params, 1, bytes.into_boxed_slice())
    }
}

type Model = BTreeMap<Vec<u8>, Signature>;

/// The expected matches of a query, by the law: a shared band and enough equal rows.
fn by_force(model: &Model, params: &Params, query: &Signature) -> Vec<Vec<u8>> {
    let least = params.equal_rows_min(params.threshold());
    let bytes = params.band_bytes();
    let mut found: Vec<_> = model
        .iter()
        .filter(|(_, other)| {
            let bands = query.as_bytes().chunks(bytes).zip(other.as_bytes().chunks(bytes));
            bands.into_iter().any(|(a, b)| a == b)
        })
        .map(|(key, other)| {
            (count_equal_rows(query.as_bytes(), other.as_bytes(), params.lane_bits()), key.clone())
        })
        .filter(|(equal, _)| *equal >= least)
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, key)| key).collect()
}

/// Does one operation on all indexes and on the model.
fn step(random: &mut Random, all: &[Index; 3], model: &mut Model) {
    let params = params();
    let key = format!("k{}", random.below(60)).into_bytes();
    match random.below(12) {
        0..6 => {
            let signature = random.signature(&params);
            let outcomes = all.each_ref().map(|index| index.insert(&key, &signature).unwrap());
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
            model.insert(key, signature);
        }
        6..8 => {
            let outcomes = all.each_ref().map(|index| index.remove(&key).unwrap());
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
            assert_eq!(outcomes[0] == Outcome::Removed, model.remove(&key).is_some());
        }
        8..10 => {
            let mut batch = Batch::new();
            for _ in 0..random.below(20) {
                let (number, signature) = (random.below(60), random.signature(&params));
                batch = batch.insert(format!("k{number}"), &signature);
                model.insert(format!("k{number}").into_bytes(), signature);
            }
            let written = all.each_ref().map(|index| index.write(&batch).unwrap());
            assert!(
                written.iter().all(|written_here| written_here.outcomes == written[0].outcomes)
            );
        }
        10 => all.iter().for_each(|index| index.flush().unwrap()),
        _ => all.iter().for_each(|index| index.compact().unwrap()),
    }
}

#[test]
fn operations_in_memory_and_on_disk_answer_alike() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=6_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let on_disk = Index::create(folder.path().join(seed.to_string()), &params(), options());
        // From some size on, this one is in a folder.
        let dir = folder.path().join(format!("scratch {seed}")).join("deep");
        let scratch = Arc::new(ScratchStorage::new(&dir, 16 << 10));
        let scratch = Index::create_on(scratch, &dir, &params(), options()).unwrap();
        let in_memory = Index::temporary(&params(), options()).unwrap();
        let all = [on_disk.unwrap(), in_memory, scratch];
        let mut model = Model::new();
        for round in 0..120 {
            step(&mut random, &all, &mut model);
            let query = random.signature(&params());
            let expected = by_force(&model, &params(), &query);
            for index in &all {
                let answer = index.query(&query).run().unwrap();
                let keys: Vec<_> = answer.matches.into_iter().map(|found| found.key).collect();
                assert_eq!(keys, expected, "seed {seed}, round {round}");
                assert_eq!(index.len(), model.len() as u64);
            }
        }
        let [disk, memory, scratch] = all;
        assert_eq!(answers(&scratch.snapshot()), answers(&memory.snapshot()));
        assert!(std::fs::read_dir(&dir).unwrap().count() > 0, "some of it is on disk");
        assert_eq!(scratch.verify().unwrap().problems.len(), 0);
        assert_eq!(scratch.core.storage.counters().syncs, 0);
        assert_eq!(answers(&disk.snapshot()), answers(&memory.snapshot()));
        let (a, b) = (disk.stats().unwrap(), memory.stats().unwrap());
        assert_eq!((a.segments, a.change, a.dead), (b.segments, b.change, b.dead));
        assert!(a.segments > 0, "some of it is in segments");
        assert_eq!(memory.verify().unwrap().problems.len(), 0);
        let pairs = |index: &Index| {
            let mut pairs: Vec<_> = index.pairs(0.5).unwrap().map(Result::unwrap).collect();
            pairs.sort_by(|a, b| (&a.a, &a.b).cmp(&(&b.a, &b.b)));
            pairs
        };
        assert_eq!(pairs(&disk), pairs(&memory));
    }
}

#[test]
fn a_temporary_index_is_backed_up_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let before = std::fs::read_dir(".").unwrap().count();
    for read_mode in [crate::ReadMode::Mmap, crate::ReadMode::Pread] {
        let index = Index::temporary(&params(), options().read_mode(read_mode)).unwrap();
        let mut random = Random(5);
        for number in 0..100 {
            index.insert(number.to_string(), &random.signature(&params())).unwrap();
        }
        let snapshot = index.snapshot();
        index.remove("7").unwrap();
        let copy = |name: &str| folder.path().join(format!("{name} {read_mode:?}"));
        index.backup(copy("now")).unwrap();
        index.backup_of(&snapshot, copy("then")).unwrap();
        let open = |name: &str| Reader::open(copy(name), Options::default()).unwrap();
        assert_eq!(answers(&open("now").snapshot()), answers(&index.snapshot()));
        assert_eq!(answers(&open("then").snapshot()), answers(&snapshot));
        let now = Index::open(copy("now"), Options::default()).unwrap();
        assert_eq!((now.len(), now.verify().unwrap().problems.len()), (99, 0));
        let twice = index.backup(copy("now")).unwrap_err();
        assert_eq!(twice.kind(), ErrorKind::Exists);
        index.close().unwrap();
        assert_eq!(snapshot.len(), 100);
        assert_eq!(answers(&open("then").snapshot()), answers(&snapshot));
    }
    assert_eq!(std::fs::read_dir(".").unwrap().count(), before);
}

#[test]
fn a_temporary_index_frees_its_memory_with_its_last_handle() {
    let memory = Memory::default();
    let weak = memory.weak();
    let dir = Path::new(crate::index::doors::handle::life::TEMPORARY);
    let index = Index::create_on(Arc::new(memory), dir, &params(), options()).unwrap();
    index.insert("k", &Random(3).signature(&params())).unwrap();
    index.flush().unwrap();
    let snapshot = index.snapshot();
    assert!(weak.upgrade().is_some());
    drop(index);
    // The snapshot holds the segment. Everything else was released.
    assert_eq!(answers(&snapshot).len(), 1);
    drop(snapshot);
    assert!(weak.upgrade().is_none());
    let index = Index::temporary(&params(), options()).unwrap();
    index.shutdown().unwrap();
    assert_eq!(index.flush().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_small_scratch_index_touches_no_disk_and_no_full_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("scratch");
    let mut random = Random(5);
    let index = Index::scratch(&dir, &params(), options()).unwrap();
    for number in 0..100 {
        index.insert(number.to_string(), &random.signature(&params())).unwrap();
    }
    assert_eq!((index.len(), dir.exists()), (100, false));
    index.close().unwrap();
    assert!(!dir.exists());
    Disk::default().open(&folder.path().join("mine.txt"), OpenMode::Create).unwrap();
    let refused = Index::scratch(folder.path(), &params(), options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}
