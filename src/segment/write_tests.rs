//! Tests of writing a segment's bytes to its file.

use super::ReadMode;
use super::tests::{DiskFolder, MEMORY, Model, shape};
use crate::format::bytes::wide;

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
