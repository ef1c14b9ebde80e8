//! Inserts: synced batches, unsynced batches, single documents; and admitting a batch.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::{BatchSize, Criterion, Throughput};
use nearkin::{Admit, Durability, Index, Newcomer, Signature};

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let params = support::params();
    let mut group = criterion.benchmark_group("insert");
    for (name, durability) in [
        ("batch of 1,000, sync", Durability::Sync),
        ("batch of 1,000, no sync", Durability::OsBuffer),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = support::options().durability(durability);
        let index = Index::create(folder.path().join("a"), &params, options).unwrap();
        let mut first = 0;
        group.throughput(Throughput::Elements(support::BATCH));
        group.bench_function(name, |bencher| {
            let next = || {
                first += support::BATCH;
                support::batches(&params, first, support::BATCH).remove(0)
            };
            bencher.iter_batched(next, |batch| index.write(batch).unwrap(), BatchSize::LargeInput);
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let index = Index::create(folder.path().join("a"), &params, support::options()).unwrap();
    let mut number = 0;
    group.bench_function("batch of 1,000, admitted, sync", |bencher| {
        let next = || -> Vec<_> {
            number += support::BATCH;
            let numbers = number..number + support::BATCH;
            numbers.map(|n| (support::key(n), support::signature(&params, n))).collect()
        };
        let admit = |batch: Vec<([u8; 8], Signature)>| {
            let newcomers: Vec<_> = batch.iter().map(|(key, s)| Newcomer::new(key, s)).collect();
            index.admit_all(&newcomers, &Admit::at(0.9).limit(1)).unwrap()
        };
        bencher.iter_batched(next, admit, BatchSize::LargeInput);
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("single, sync", |bencher| {
        let next = || {
            number += 1;
            (support::key(number), support::signature(&params, number))
        };
        bencher.iter_batched(
            next,
            |(key, signature)| index.insert(key, &signature).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.finish();
    criterion.final_summary();
}
