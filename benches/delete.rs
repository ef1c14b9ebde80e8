//! Removals: batches of documents in a segment.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::{BatchSize, Criterion, Throughput};
use nearkin::{Batch, Durability};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let params = support::params();
    let folder = tempfile::tempdir().unwrap();
    let options = support::options().durability(Durability::OsBuffer);
    let index = support::filled(folder.path(), options, support::BATCH);
    let mut group = criterion.benchmark_group("delete");
    group.throughput(Throughput::Elements(support::BATCH));
    group.bench_function("batch of 1,000, no sync", |bencher| {
        // Stores all documents in a segment. Returns the batch that removes them.
        let stored = || {
            for batch in support::batches(&params, 0, support::BATCH) {
                index.write(batch).unwrap();
            }
            index.compact().unwrap();
            let remove = |batch: Batch, number| batch.remove(support::key(number));
            (0..support::BATCH).fold(Batch::new(), remove)
        };
        bencher.iter_batched(stored, |batch| index.write(batch).unwrap(), BatchSize::PerIteration);
    });
    group.finish();
    criterion.final_summary();
}
