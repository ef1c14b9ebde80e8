//! Tests of writing a segment's bytes to its file.

use super::tests::{DiskFolder, MEMORY, Model, shape};
use super::{Builder, ReadMode};
use crate::format::bytes::wide;
use crate::storage::{Memory, OpenMode, Storage};
use crate::testing::sim::{Fault, FaultKind, Sim};
use std::path::Path;
use std::sync::Arc;

/// Tests write sizes of a few bytes, of the whole file, and sizes for which the documents, a table
/// or the file end exactly at the end of a write.
#[test]
fn the_bytes_do_not_depend_on_how_many_are_written_at_once() {
    let place = DiskFolder::new();
    // Windows keeps the first file, which is mapped.
    let (path, again) = (place.path("a.seg"), place.path("b.seg"));
    for (seed, docs) in [(1, 1), (2, 90), (3, 2500)] {
        let model = Model::random(seed, docs, shape(16, 3), 2);
        let built = model.build(&place.disk, &path, MEMORY, usize::MAX);
        let bytes = place.bytes(&path);
        let segment = place.segment(&path, &built.listed(), &model.shape, ReadMode::Mmap);
        let segment = segment.expect("opens");
        let [.., tables, directories] = &segment.layout.sections;
        let second = tables.offset + segment.layout.table_stride;
        let ends = [tables.offset, second, second + segment.layout.table_ordinals];
        let ends =
            ends.into_iter().chain([directories.offset, wide(segment.blocks.blocks()) << 12]);
        let ends = ends.map(|end| usize::try_from(end).expect("small"));
        let halves = ends.clone().map(|end| end / 2);
        let sizes = if docs < 1000 { vec![1, 63, 64] } else { vec![64] };
        let sizes = sizes.into_iter().chain([4096, 5000, 12_345, 1 << 14, 2 << 20]);
        for write_bytes in sizes.chain(ends).chain(halves) {
            let mut builder = model.pushed_by(&place.disk, &again, MEMORY, write_bytes);
            while !builder.step(10_000).expect("stepped") {}
            assert_eq!(builder.finish().expect("finished"), built);
            assert!(place.bytes(&again) == bytes, "{docs} documents, {write_bytes} at once");
        }
        assert_eq!(model.check(&segment), 0);
    }
}

/// A simulated disk, and a segment on it whose tables are to be built.
fn to_build(model: &Model) -> (Sim, Builder) {
    let sim = Sim::new();
    let disk: Arc<dyn Storage> = Arc::new(sim.clone());
    disk.create_dir(Path::new("/s")).expect("made");
    let builder = model.pushed_by(&disk, Path::new("/s/a.seg"), MEMORY_OF_FEW, 4 << 10);
    (sim, builder)
}

/// Entries are divided with this little memory.
const MEMORY_OF_FEW: usize = 3_000;

fn finished(mut builder: Builder) -> crate::Result<()> {
    while !builder.step(2_000)? {}
    builder.finish().map(|_| ())
}

/// Without room for the divided entries, the segment is built without dividing them.
#[test]
fn a_full_disk_ends_the_division_but_not_the_build() {
    let model = Model::random(5, 400, shape(16, 3), 2);
    let (sim, builder) = to_build(&model);
    finished(builder).expect("built");
    let expected = sim.snapshot_of_files();
    assert_eq!(expected.len(), 1, "{:?}", expected.keys());
    let (mut built, mut failed) = (0, 0);
    for at in 0.. {
        let (sim, builder) = to_build(&model);
        sim.fail(Fault { at, what: FaultKind::Enospc, sticky: false });
        let result = finished(builder);
        if sim.faults_fired() == 0 {
            break;
        }
        if let Err(error) = result {
            assert_eq!(error.kind(), crate::ErrorKind::Io);
            failed += 1;
        } else {
            assert!(sim.snapshot_of_files() == expected, "fault {at}");
            built += 1;
        }
    }
    assert!(built > 5 && failed > 5, "{built} built, {failed} failed");
}

/// The file of the divided entries has no name while it is used, unless it cannot be removed; then
/// it is removed at the end.
#[test]
fn divided_entries_that_changed_on_the_disk_end_the_build() {
    let model = Model::random(6, 400, shape(16, 3), 2);
    let path = Path::new("/s/a.seg.entries.tmp");
    let mut seen = 0;
    for at in 0..100 {
        let (sim, mut builder) = to_build(&model);
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        let mut is_changed = false;
        let ended = loop {
            match builder.step(1) {
                Ok(true) => break Ok(()),
                Ok(false) => {}
                Err(error) => break Err(error),
            }
            let Some(bytes) = sim.snapshot_of_files().remove(path) else { continue };
            if bytes.len() > 1_000 && !is_changed {
                let mut bytes = bytes;
                bytes[500] ^= 1;
                sim.overwrite(path, &bytes);
                is_changed = true;
            }
        };
        if is_changed {
            seen += 1;
            let error = ended.expect_err("an entry is another one");
            assert!(error.to_string().contains("different bytes"), "{error}");
            drop(builder);
            assert!(sim.snapshot_of_files().is_empty());
        }
    }
    assert!(seen > 0, "the removal never failed");
}

/// In memory, entries are not divided: passes over the documents make the same tables.
#[test]
fn the_bytes_do_not_depend_on_whether_entries_are_divided() {
    for (seed, docs) in [(1, 1), (2, 90), (3, 2500)] {
        let model = Model::random(seed, docs, shape(16, 3), 2);
        let built = |disk: Arc<dyn Storage>, memory| {
            let dir = Path::new(if disk.is_in_memory() { "s" } else { "/s" });
            disk.create_dir(dir).expect("made");
            model.build(&disk, &dir.join("a.seg"), memory, 10_000);
            let file = disk.open(&dir.join("a.seg"), OpenMode::Read).expect("opened");
            let mut bytes = vec![0; usize::try_from(file.bytes().expect("measured")).expect("few")];
            file.read_at(&mut bytes, 0).expect("read");
            (bytes, disk.counters().bytes_written)
        };
        let (expected, written) = built(Arc::new(Sim::new()), usize::MAX / 2);
        for memory in [0, 1_000, 30_000] {
            let passed = built(Arc::new(Memory::default()), memory);
            assert!(passed.0 == expected, "{docs} documents, {memory} bytes");
            let divided = built(Arc::new(Sim::new()), memory);
            assert!(divided.0 == expected, "{docs} documents, {memory} bytes");
            // 8 bytes for an entry: five bands, and the key; but one key is soon sorted.
            let entries = (divided.1 - written) / (8 * wide(docs));
            assert!(entries == 6 || docs == 1 && entries == 5, "{docs} documents: {entries}");
        }
    }
}

/// The share that is done never falls, and ends at 1.
#[test]
fn the_share_that_is_done_grows() {
    for (seed, docs) in [(1, 1), (2, 90), (3, 2500)] {
        let model = Model::random(seed, docs, shape(16, 3), 2);
        let (_sim, mut builder) = to_build(&model);
        let (mut before, mut steps) = (builder.share_done(), 0);
        while !builder.step(1).expect("stepped") {
            let share = builder.share_done();
            assert!((before..=1.0).contains(&share), "{docs} documents: {before}, then {share}");
            (before, steps) = (share, steps + usize::from(share > before));
        }
        assert!((builder.share_done() - 1.0).abs() < 1e-9);
        assert!(docs < 2500 || steps > 20, "{docs} documents: {steps} steps");
    }
}
