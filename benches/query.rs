//! Queries: a hit and a miss, in a segment and in a memtable.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use criterion::Criterion;
use std::hint::black_box;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
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
    criterion.final_summary();
}
