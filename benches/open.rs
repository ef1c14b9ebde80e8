//! Opening after a clean close, including the first answer.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::Criterion;
use nearkin::Index;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
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
    criterion.final_summary();
}
