//! The cost of a crowd: documents that are identical, or similar at about 0.9. Time and peak memory
//! of a query for the ten most similar ones, of clusters, and of admitting copies.
//!
//! `cargo bench --bench crowd -- DIR [DOCUMENTS] [CLUSTERS_MAX]`. DIR must not exist. Crowds have a
//! fiftieth, a tenth and the whole of DOCUMENTS (100,000). Crowds of similar but different
//! documents are not clustered above CLUSTERS_MAX. Memory is the peak of the process (Linux), minus
//! its memory at the start.

#![expect(clippy::print_stdout, reason = "a program for people prints")]
#![expect(clippy::disallowed_methods, reason = "resets the peak of memory in /proc")]

use std::path::Path;
use std::time::Instant;

use nearkin::{Admit, Batch, Collapsed, Index, Newcomer, Options, Params, Result, Shingles};
use nearkin::{Signature, Sketcher};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = args.next().ok_or("which directory?")?;
    let documents = args.next().map_or(Ok(100_000), |text| text.parse::<usize>())?;
    let clusters_max = args.next().map_or(Ok(usize::MAX), |text| text.parse::<usize>())?;
    for part in [50, 10, 1] {
        for alike in [false, true] {
            let name = format!("{part}-{alike}");
            let crowd = Crowd { documents: documents / part, alike };
            crowd.measure(&Path::new(&dir).join(name), clusters_max)?;
        }
    }
    Ok(())
}

struct Crowd {
    documents: usize,
    /// Similar, not identical.
    alike: bool,
}

impl Crowd {
    fn measure(&self, dir: &Path, clusters_max: usize) -> Result<()> {
        let params = Params::for_threshold(0.7).shingles(Shingles::Items).build()?;
        let index = Index::create(dir, &params, Options::default())?;
        let sketcher = index.sketcher();
        let kind = if self.alike { "alike" } else { "identical" };
        println!("{} documents, {kind}", self.documents);
        for begin in (0..self.documents).step_by(1_000) {
            let mut batch = Batch::new();
            for at in begin..self.documents.min(begin + 1_000) {
                batch = batch.insert(format!("{at:09}"), &self.signature(&sketcher, at)?);
            }
            index.write(batch)?;
        }
        let asked = self.signature(&sketcher, self.documents)?;
        query(&index, &asked, "query, limit 10, in memory")?;
        index.compact()?;
        query(&index, &asked, "query, limit 10")?;
        measure("query, 100 candidates", 20, || {
            let answer = index.query(&asked).max_candidates(100).limit(10).run()?;
            Ok(format!("{} found", answer.found))
        })?;
        if !self.alike || self.documents <= clusters_max {
            measure("clusters", 1, || {
                let clusters = index.clusters(0.7)?.collect::<Result<Vec<_>>>()?;
                let largest = clusters.iter().map(nearkin::Cluster::size).max();
                Ok(format!("{} clusters, the largest of {largest:?}", clusters.len()))
            })?;
        }
        if !self.alike {
            measure("pairs, collapsed", 1, || {
                let found = index.pairs(0.7)?.collapse()?.collect::<Result<Vec<_>>>()?;
                let crowds = found.iter().filter(|one| matches!(one, Collapsed::Crowd { .. }));
                Ok(format!("{} crowds of {} lines", crowds.count(), found.len()))
            })?;
        }
        admit(&index, &asked, &Admit::at(0.7).limit(10), "limit 10")?;
        if self.documents <= 10_000 {
            admit(&index, &asked, &Admit::at(0.7), "no limit given")?;
        }
        index.close()
    }

    /// The signature of a document. Any two similar ones differ in 10 items of 210.
    fn signature(&self, sketcher: &Sketcher, at: usize) -> Result<Signature> {
        let own = if self.alike { at } else { 0 };
        let shared = (0..200).map(|item| format!("item {item}"));
        let items: Vec<String> =
            shared.chain((0..10).map(|item| format!("own {own} {item}"))).collect();
        sketcher.items(items.iter().map(String::as_str))
    }
}

fn query(index: &Index, asked: &Signature, what: &str) -> Result<()> {
    measure(what, 20, || {
        let answer = index.query(asked).limit(10).run()?;
        Ok(format!("{} found", answer.found))
    })
}

fn admit(index: &Index, signature: &Signature, terms: &Admit, what: &str) -> Result<()> {
    let keys: Vec<String> = (0..1_000).map(|at| format!("copy {at}")).collect();
    for count in [1, 1_000] {
        let newcomers: Vec<_> =
            keys[..count].iter().map(|key| Newcomer::new(key, signature)).collect();
        measure(&format!("admit {count} copies, {what}"), 1, || {
            let admissions = index.admit_all(&newcomers, terms)?;
            let admitted = admissions.iter().filter(|one| one.is_admitted()).count();
            Ok(format!("{admitted} admitted"))
        })?;
    }
    Ok(())
}

/// Prints the shortest time of a few runs and the peak of memory.
fn measure(what: &str, runs: u32, mut run: impl FnMut() -> Result<String>) -> Result<()> {
    // Resets the peak of memory.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = memory_kib("VmRSS:");
    let (mut shortest, mut said) = (f64::MAX, String::new());
    for _ in 0..runs {
        let begun = Instant::now();
        said = run()?;
        shortest = shortest.min(begun.elapsed().as_secs_f64());
    }
    let memory = memory_kib("VmHWM:").saturating_sub(before) as f64 / 1024.0;
    println!("  {what}: {:.3} ms, {memory:.1} MiB; {said}", shortest * 1e3);
    Ok(())
}

/// Memory of this process in KiB: `VmRSS:` now, or `VmHWM:` at its peak.
fn memory_kib(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
