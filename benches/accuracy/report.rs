//! The lines of `docs/reports/ACCURACY.md`.

use std::error::Error;
use std::fmt::Write;

use nearkin::Params;

use crate::corpus::{Bin, Corpus};
use crate::support::corpora::write_tables;

/// One bin of one corpus under one scheme and lane width.
pub(crate) struct Line {
    /// Measured and expected share of candidates, and the standard error across seeds.
    pub(crate) candidates: [f64; 3],
    /// Measured and expected share of returned pairs, and the standard error across seeds.
    pub(crate) returned: [f64; 3],
    /// Mean error of the estimate, and its standard error across seeds.
    pub(crate) bias: [f64; 2],
    /// Root mean square error of the estimate, and that of k independent hashes with this lane
    /// width.
    pub(crate) spread: [f64; 2],
    /// Whether each of candidates, returned, bias and spread passes.
    pub(crate) checks: [bool; 4],
}

#[derive(Default)]
pub(crate) struct Report {
    table: String,
    checks: usize,
    failures: usize,
}

const CHECKS: [&str; 4] = ["candidates", "returned", "bias", "spread"];

impl Report {
    pub(crate) fn add(&mut self, corpus: &Corpus, bin: &Bin, params: &Params, line: &Line) {
        let failed: Vec<&str> = CHECKS
            .iter()
            .zip(line.checks)
            .filter(|(_, pass)| !pass)
            .map(|(name, _)| *name)
            .collect();
        let verdict = if failed.is_empty() {
            "PASS".to_owned()
        } else {
            format!("FAIL {}", failed.join(" "))
        };
        let end = |edge: f64| if edge > 0.99 { "1".to_owned() } else { edge.to_string() };
        let (from, to) = (end(bin.from), end(bin.to));
        let range = if from == to { to } else { format!("{from}-{to}") };
        let Line { candidates: [c, ce, cs], returned: [r, re, rs], bias: [b, bs], spread, .. } =
            line;
        let ratio = if spread[1] > 0.0 { spread[0] / spread[1] } else { 1.0 };
        let row = format!(
            "| {} {} | {} | {} | {range} | {} of {} | {c:.4} / {ce:.4} (se {cs:.4}) | {r:.4} / \
             {re:.4} (se {rs:.4}) | {b:+.5} (se {bs:.5}) | {:.4} / {:.4} = {ratio:.3} \
             | {verdict} |",
            corpus.name,
            params.shingles(),
            params.scheme(),
            params.lane_bits(),
            bin.pairs.len(),
            bin.all,
            spread[0],
            spread[1],
        );
        println!("{row}");
        let _ = writeln!(self.table, "{row}");
        self.checks += CHECKS.len();
        self.failures += failed.len();
    }

    pub(crate) fn failures(&self) -> usize {
        self.failures
    }

    pub(crate) fn verdict(&self) -> String {
        format!("{} checks, {} failed", self.checks, self.failures)
    }

    pub(crate) fn write(&self, page: &str) -> Result<(), Box<dyn Error>> {
        let tables = format!("{}.\n\n{HEAD}{}", self.verdict(), self.table);
        write_tables(page, "benches/accuracy", &tables)
    }
}

const HEAD: &str = "\
| corpus, shingles | scheme | lane | similarity | pairs | candidates | returned | bias | spread | |
|---|---|---|---|---|---|---|---|---|---|
";
