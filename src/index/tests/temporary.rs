//! Indexes in memory: they must give the same answers as indexes on disk, and follow the law.

use crate::index::state::options::{Durability, Maintenance};
use crate::index::tests::copies::answers;
use crate::storage::{Disk, Memory, OpenMode, ScratchStorage, Storage};
use crate::testing::random::Random;
use crate::{Batch, ErrorKind, Index, Options, Params, Reader, Signature};
use nearkin_sketch::engine::signature_from_parts;
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

/// A signature in which each band has few different values, so that many documents share a band.
fn signature(random: &mut Random) -> Signature {
    let (params, bands) = (params(), [(); 4].map(|()| 10 * random.byte(3)));
    let row = |at| bands[at / params.band_bytes()] + u8::from(random.below(9) == 0);
    let bytes: Vec<u8> = (0..params.signature_bytes()).map(row).collect();
    signature_from_parts(&params, 1, bytes.into_boxed_slice())
}

/// Does one operation on all indexes.
fn step(random: &mut Random, all: &[Index; 3]) {
    match random.below(12) {
        0..10 => {
            let mut batch = Batch::new();
            for _ in 0..random.pick(&[1, 1, 1, 20]) {
                let key = format!("k{}", random.below(60));
                batch = match random.below(4) {
                    0 => batch.remove(key),
                    _ => batch.insert(key, &signature(random)),
                };
            }
            let [one, two, three] = all.each_ref().map(|index| index.write(&batch).unwrap());
            assert!(one.outcomes == two.outcomes && one.outcomes == three.outcomes);
        }
        10 => all.iter().for_each(|index| index.flush().unwrap()),
        _ => all.iter().for_each(|index| index.compact().unwrap()),
    }
}

/// Those on disk follow the law (`src/index/tests/model/`), so the others do.
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
        for round in 0..120 {
            step(&mut random, &all);
            let query = signature(&mut random);
            let [one, two, three] = all.each_ref().map(|index| {
                let answer = index.query(&query).run().unwrap();
                let keys: Vec<_> = answer.matches.into_iter().map(|found| found.key).collect();
                (keys, index.len())
            });
            assert_eq!((&one, &one), (&two, &three), "seed {seed}, round {round}");
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
            index.insert(number.to_string(), &signature(&mut random)).unwrap();
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
    index.insert("k", &signature(&mut Random(3))).unwrap();
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
        index.insert(number.to_string(), &signature(&mut random)).unwrap();
    }
    assert_eq!((index.len(), dir.exists()), (100, false));
    index.close().unwrap();
    assert!(!dir.exists());
    Disk::default().open(&folder.path().join("mine.txt"), OpenMode::Create).unwrap();
    let refused = Index::scratch(folder.path(), &params(), options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}
