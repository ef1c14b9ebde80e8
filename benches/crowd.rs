//! The cost of a crowd: many documents that are identical, or have a similarity of about 0.9.
//! Measures time and peak memory of clustering, of admitting copies, and of a query for the ten
//! most similar documents.
//!
//! `cargo bench --bench crowd -- DIR [DOCUMENTS] [CLUSTERS_MAX]`. DIR must not exist. The crowd is
//! a fiftieth, a tenth or the whole of DOCUMENTS (100,000). A crowd of similar but different
//! documents is not clustered if it is larger than CLUSTERS_MAX. Memory is the peak of the process
//! (Linux), minus its memory at the start.
//!
//! `cargo bench --bench crowd -- scan DIR [DOCUMENTS]` measures the time per candidate for queries
//! that amount to a scan of a table: with 3,000 candidates among DOCUMENTS, and with nine documents
//! in ten as candidates.

#![expect(clippy::print_stdout, reason = "a program for people prints")]
#![expect(clippy::disallowed_methods, reason = "resets the peak of memory in /proc")]

mod support;

use std::path::Path;
use std::time::Instant;

use nearkin::{Admit, Batch, Collapsed, Index, Newcomer, Options, Params, Result, Shingles};
use nearkin::{Signature, Sketcher};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench").peekable();
    let is_scan = args.next_if(|first| first == "scan").is_some();
    let dir = args.next().ok_or("which directory?")?;
    let documents = args.next().map_or(Ok(100_000), |text| text.parse::<usize>())?;
    let clusters_max = args.next().map_or(Ok(usize::MAX), |text| text.parse::<usize>())?;
    if is_scan {
        scan(&Path::new(&dir).join("sparse"), documents, 3_000)?;
        return Ok(scan(&Path::new(&dir).join("dense"), documents, documents * 9 / 10)?);
    }
    for part in [50, 10, 1] {
        for alike in [false, true] {
            let name = format!("{part}-{alike}");
            let crowd = Crowd { documents: documents / part, alike };
            crowd.measure(&Path::new(&dir).join(name), clusters_max)?;
        }
    }
    Ok(())
}

/// Measures queries whose candidates are not similar: each shares only one band of two rows with
/// the query, as unrelated documents do by accident.
fn scan(dir: &Path, documents: usize, candidates: usize) -> Result<()> {
    let params = Params::for_threshold(0.3).shingles(Shingles::Items).build()?;
    let index = Index::create(dir, &params, Options::default())?;
    let mut state = 1;
    let mut rows = || -> Vec<u8> {
        let words = 0..params.signature_bytes() / 8;
        words.flat_map(|_| support::random(&mut state).to_le_bytes()).collect()
    };
    let query_rows = rows();
    let band = params.signature_bytes() / params.hashes() * params.rows_per_band();
    let mut batch = Batch::new();
    let (mut left, mut draw) = (candidates, 2);
    for number in 0..documents {
        let mut other = rows();
        if support::random(&mut draw) % ((documents - number) as u64) < left as u64 {
            let shared = number % params.bands() * band;
            other[shared..shared + band].copy_from_slice(&query_rows[shared..shared + band]);
            left -= 1;
        }
        let signature = Signature::from_bytes(&params, &other, 200)?;
        batch = batch.insert(format!("{number:09}"), &signature);
        if batch.len() == 10_000 || number + 1 == documents {
            index.write(std::mem::take(&mut batch))?;
        }
    }
    index.compact()?;
    let query = Signature::from_bytes(&params, &query_rows, 200)?;
    let (mut shortest, mut found) = (f64::MAX, 0);
    for _ in 0..200 {
        let begun = Instant::now();
        found += index.query(&query).run()?.found;
        shortest = shortest.min(begun.elapsed().as_secs_f64());
    }
    let each = shortest * 1e9 / candidates as f64;
    println!("{candidates} candidates of {documents}: {each:.1} ns each; {found} found");
    index.close()
}

struct Crowd {
    documents: usize,
    /// Whether the documents are only similar to each other; otherwise they are identical.
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
        let signature = self.signature(&sketcher, self.documents)?;
        query(&index, &signature, "query, limit 10, in memory")?;
        index.compact()?;
        query(&index, &signature, "query, limit 10")?;
        measure("query, 100 candidates", 20, || {
            let answer = index.query(&signature).max_candidates(100).limit(10).run()?;
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
        admit(&index, &signature, &Admit::at(0.7).limit(10), "limit 10")?;
        if self.documents <= 10_000 {
            admit(&index, &signature, &Admit::at(0.7), "no limit given")?;
        }
        index.close()
    }

    /// The signature of a document. Two similar documents differ in 10 of 210 items.
    fn signature(&self, sketcher: &Sketcher, at: usize) -> Result<Signature> {
        let own = if self.alike { at } else { 0 };
        let shared = (0..200).map(|item| format!("item {item}"));
        let items: Vec<String> =
            shared.chain((0..10).map(|item| format!("own {own} {item}"))).collect();
        sketcher.items(items.iter().map(String::as_str))
    }
}

fn query(index: &Index, signature: &Signature, what: &str) -> Result<()> {
    measure(what, 20, || {
        let answer = index.query(signature).limit(10).run()?;
        Ok(format!("{} found", answer.found))
    })
}

fn admit(index: &Index, signature: &Signature, terms: &Admit<'_>, what: &str) -> Result<()> {
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

/// Prints the shortest time of a few runs, and the peak of memory.
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
