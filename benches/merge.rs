//! Merges: a flush of a memtable, and a compaction of segments.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::{BatchSize, Criterion, Throughput};
use nearkin::{Durability, Index};
use tempfile::TempDir;

/// An index in a temporary folder, with this many segments; with 0, the documents are in the
/// memtable.
fn full(segments: u64) -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let options = support::options().durability(Durability::OsBuffer);
    let params = support::params();
    let index = Index::create(folder.path().join("a"), &params, options).unwrap();
    let documents = support::DOCUMENTS / segments.max(1);
    for segment in 0..segments.max(1) {
        for batch in support::batches(&params, segment * documents, documents) {
            index.write(batch).unwrap();
        }
        if segments > 0 {
            index.flush().unwrap();
        }
    }
    (folder, index)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(support::DOCUMENTS));
    group.bench_function("flush", |bencher| {
        let flush = |(folder, index): (TempDir, Index)| {
            index.flush().unwrap();
            (index, folder)
        };
        bencher.iter_batched(|| full(0), flush, BatchSize::PerIteration);
    });
    group.bench_function("compaction of 4 segments", |bencher| {
        let compact = |(folder, index): (TempDir, Index)| {
            index.compact().unwrap();
            (index, folder)
        };
        bencher.iter_batched(|| full(4), compact, BatchSize::PerIteration);
    });
    group.finish();
    criterion.final_summary();
}
