//! What a crowd of identical documents costs: clusters and collapsed pairs, time and memory.
//!
//! `cargo bench --bench crowd -- DIR [DOCUMENTS]`. DIR must not exist. It takes crowds
//! of an eighth, a quarter, a half and the whole of DOCUMENTS (100,000): time and memory must
//! grow as they do, not as their squares.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::path::Path;
use std::time::Instant;

use nearkin::{Batch, Collapsed, Index, Options, Params};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = args.next().ok_or("which directory?")?;
    let documents = args.next().map_or(Ok(100_000), |text| text.parse::<usize>())?;
    for part in [8, 4, 2, 1] {
        crowd(&Path::new(&dir).join(part.to_string()), documents / part)?;
    }
    Ok(())
}

fn crowd(dir: &Path, documents: usize) -> Result<(), Box<dyn std::error::Error>> {
    let index = Index::create(dir, &Params::for_threshold(0.7).build()?, Options::default())?;
    let signature = index.sketcher().text("all of them say the very same, again and again")?;
    let other = index.sketcher().text("all of them say the very same, again and again, but one")?;
    for begin in (0..documents).step_by(1_000) {
        let keys = (begin..documents.min(begin + 1_000)).map(|at| format!("{at:09}"));
        let batch = keys.fold(Batch::new(), |batch, key| batch.insert(key, &signature));
        index.write(batch)?;
    }
    // Segments of several sizes, and a memtable.
    index.flush()?;
    index.insert("other", &other)?;
    let before = memory_kib("VmRSS:");
    let begun = Instant::now();
    let clusters = index.clusters(0.3)?.collect::<Result<Vec<_>, _>>()?;
    println!(
        "{documents} documents: {} cluster of {} in {:.0?}, memory {} to {} MiB",
        clusters.len(),
        clusters[0].size(),
        begun.elapsed(),
        before >> 10,
        memory_kib("VmHWM:") >> 10
    );
    drop(clusters);
    let begun = Instant::now();
    let found = index.pairs(0.3)?.collapse()?.collect::<Result<Vec<_>, _>>()?;
    let crowds = found.iter().filter(|one| matches!(one, Collapsed::Crowd { .. })).count();
    println!(
        "  collapsed: {crowds} crowd and {} pair in {:.0?}, memory at most {} MiB",
        found.len() - crowds,
        begun.elapsed(),
        memory_kib("VmHWM:") >> 10
    );
    Ok(())
}

/// Memory of this process in KiB: `VmRSS:` now, or `VmHWM:` the most it ever took.
fn memory_kib(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
