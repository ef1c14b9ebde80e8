//! Single operations, timed by criterion: `cargo bench --bench operations -- NAME` runs those whose
//! names contain NAME, for example `insert` or `query/hit`.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::{BatchSize, Criterion, Throughput};
use nearkin::{Admit, Batch, Durability, Index, Newcomer, Params, Shingles, Signature, Sketcher};
use std::hint::black_box;
use tempfile::TempDir;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for run in [sketch, insert, query, delete, open, merge, pairs] {
        run(&mut criterion);
    }
    criterion.final_summary();
}

/// Text to signature, with shingles of words, characters and tokens.
fn sketch(criterion: &mut Criterion) {
    let texts = support::texts(100);
    let mut group = criterion.benchmark_group("sketch");
    group.throughput(Throughput::Elements(texts.len() as u64));
    for shingles in [Shingles::Words(3), Shingles::Tokens(3), Shingles::Chars(5)] {
        let Ok(params) = Params::builder().shingles(shingles).build() else { continue };
        let sketcher = Sketcher::new(&params);
        group.bench_function(shingles.to_string(), |bencher| {
            bencher.iter(|| {
                texts.iter().filter(|text| sketcher.text(black_box(text)).is_ok()).count()
            });
        });
    }
    group.finish();
}

/// Inserts: synced batches, unsynced batches, single documents; and admitting a batch.
fn insert(criterion: &mut Criterion) {
    let params = support::params();
    let mut group = criterion.benchmark_group("insert");
    group.sample_size(20);
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
}

/// Queries: a hit and a miss, in a segment and in a memtable.
fn query(criterion: &mut Criterion) {
    let params = support::params();
    let mut group = criterion.benchmark_group("query");
    for source in ["segment", "memtable"] {
        let folder = tempfile::tempdir().unwrap();
        let index = support::filled(folder.path(), support::options(), support::DOCUMENTS);
        if source == "segment" {
            index.compact().unwrap();
        }
        for (kind, first) in [("hit", 0), ("miss", 1 << 40)] {
            let queries: Vec<_> =
                (first..first + 1_000).map(|number| support::signature(&params, number)).collect();
            let snapshot = index.snapshot();
            let mut next = queries.iter().cycle();
            group.bench_function(format!("{kind}, {source}"), |bencher| {
                bencher.iter(|| {
                    let query = next.next().unwrap();
                    snapshot.query(black_box(query)).run().unwrap().found
                });
            });
        }
    }
    group.finish();
}

/// Removals: batches of documents in a segment.
fn delete(criterion: &mut Criterion) {
    let params = support::params();
    let folder = tempfile::tempdir().unwrap();
    let options = support::options().durability(Durability::OsBuffer);
    let index = support::filled(folder.path(), options, support::BATCH);
    let mut group = criterion.benchmark_group("delete");
    group.sample_size(10);
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
}

/// Opening after a clean close, including the first answer.
fn open(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let index = support::filled(folder.path(), support::options(), support::DOCUMENTS);
    index.compact().unwrap();
    index.close().unwrap();
    let query = support::signature(&support::params(), 0);
    let path = folder.path().join("bench.nearkin");
    criterion.bench_function("open, to the first answer", |bencher| {
        bencher.iter(|| {
            let index = Index::open(&path, support::options()).unwrap();
            index.query(&query).run().unwrap().found
        });
    });
}

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

/// Merges: a flush of a memtable, and a compaction of segments.
fn merge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge");
    group.sample_size(10);
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
}

/// All pairs and clusters of an index in which one document in ten is a near-duplicate.
fn pairs(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let index = support::filled(folder.path(), support::options(), support::DOCUMENTS);
    index.compact().unwrap();
    let mut group = criterion.benchmark_group("pairs");
    group.sample_size(10);
    group.throughput(Throughput::Elements(support::DOCUMENTS));
    group.bench_function("pairs", |bencher| {
        bencher.iter(|| index.pairs(0.8).unwrap().flatten().count());
    });
    group.bench_function("clusters", |bencher| {
        bencher.iter(|| index.clusters(0.8).unwrap().count());
    });
    group.finish();
}
