//! Text to signature, with shingles of words, characters and tokens.

mod support;

use criterion::{Criterion, Throughput};
use nearkin::{Params, Shingles, Sketcher};
use std::hint::black_box;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
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
    criterion.final_summary();
}
