//! All pairs and clusters of an index in which one document in ten is a near-duplicate.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::{Criterion, Throughput};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let folder = tempfile::tempdir().unwrap();
    let index = support::filled(folder.path(), support::options(), support::DOCUMENTS);
    index.compact().unwrap();
    let mut group = criterion.benchmark_group("pairs");
    group.throughput(Throughput::Elements(support::DOCUMENTS));
    group.bench_function("pairs", |bencher| {
        bencher.iter(|| index.pairs(0.8).unwrap().flatten().count());
    });
    group.bench_function("clusters", |bencher| {
        bencher.iter(|| index.clusters(0.8).unwrap().count());
    });
    group.finish();
    criterion.final_summary();
}
