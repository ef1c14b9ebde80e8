//! Calls that a server typically makes: listing all keys, in comparison with iterating over all
//! documents; and a query restricted to one of twenty tenants.
//!
//! `cargo bench --bench listing -- DIR [DOCUMENTS]`. DIR must not exist.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::time::Instant;

use nearkin::{Batch, Index, Key, Options, Params, Result, Shingles};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = args.next().ok_or("which directory?")?;
    let documents = args.next().map_or(Ok(200_000), |text| text.parse::<usize>())?;
    let params = Params::for_threshold(0.7).shingles(Shingles::Items).build()?;
    let index = Index::create(dir, &params, Options::default())?;
    let sketcher = index.sketcher();
    let signatures = (0..100_u64)
        .map(|own| sketcher.items((0..50).map(|item| own << 32 | item)))
        .collect::<Result<Vec<_>>>()?;
    for begin in (0..documents).step_by(1_000) {
        let mut batch = Batch::new();
        for at in begin..documents.min(begin + 1_000) {
            // Unordered, as keys usually arrive.
            let key = format!("tenant {:02}/document {:08x}", at % 20, spread(at));
            batch = batch.insert_with_payload(key, &signatures[at % 100], [b'p'; 100]);
        }
        index.write(batch)?;
    }
    index.compact()?;
    let snapshot = index.snapshot();
    for _ in 0..5 {
        time("iter()", || snapshot.iter().map(|found| Ok(found?.key.len())).sum())?;
        let length = |key: Result<Key<'_>>| Ok(key?.as_bytes().len());
        time("keys()", || snapshot.keys()?.map(length).sum())?;
        time("for_each_key", || {
            let mut bytes = 0;
            let each = |key: &[u8]| {
                bytes += key.len();
                std::ops::ControlFlow::Continue(())
            };
            snapshot.for_each_key(each).map(|()| bytes)
        })?;
        time("keys of one tenant", || snapshot.keys_with_prefix("tenant 07/")?.map(length).sum())?;
    }
    // A query that all documents match, filtered by one of twenty tenants.
    let of_tenant = |key: &[u8]| key.starts_with(b"tenant 07/");
    let crowd = sketcher.items((0..50).map(|item| 200_u64 << 32 | item))?;
    for begin in (0..documents).step_by(1_000) {
        let at = begin..documents.min(begin + 1_000);
        let keys = at.map(|at| format!("tenant {:02}/reply {:08x}", at % 20, spread(at)));
        index.write(keys.fold(Batch::new(), |batch, key| batch.insert(key, &crowd)))?;
    }
    index.compact()?;
    let snapshot = index.snapshot();
    for _ in 0..3 {
        time("fetch all, keep a tenant's", || {
            let answer = snapshot.query(&crowd).run()?;
            Ok(answer.into_iter().filter(|found| of_tenant(&found.key)).count())
        })?;
        time("filter", || {
            let answer = snapshot.query(&crowd).filter(|key, _| of_tenant(key)).run()?;
            Ok(answer.matches.len())
        })?;
        time("filter, limit 10", || {
            let query = snapshot.query(&crowd).filter(|key, _| of_tenant(key)).limit(10);
            Ok(usize::try_from(query.run()?.found).unwrap_or(0))
        })?;
    }
    index.close()?;
    Ok(())
}

fn spread(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(0).wrapping_mul(0x9e37_79b1)
}

fn time(what: &str, run: impl FnOnce() -> Result<usize>) -> Result<()> {
    let begun = Instant::now();
    let bytes = run()?;
    println!("{what}: {:.2} ms, {bytes}", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
