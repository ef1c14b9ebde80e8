//! The lines of `docs/reports/ACCURACY.md`.

use std::fmt::Write;

use nearkin::Params;

use crate::corpus::{Bin, Corpus};

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

    #[expect(clippy::disallowed_methods, reason = "it writes a document, not an index")]
    pub(crate) fn write(&self, path: &str) -> std::io::Result<()> {
        let verdict = self.verdict();
        std::fs::write(path, format!("{INTRODUCTION}{verdict}.\n\n{HEAD}{}", self.table))
    }
}

const INTRODUCTION: &str = "\
# Accuracy on real corpora

How exact the estimates are, and how many pairs an index finds, compared with the exact truth (all
pairs, found without hashing). `cargo bench --bench accuracy` writes this page; do not edit it.
`NEARKIN_DATA` names the folder of corpora and of their truth.

Parameters: k = 128, bands chosen for the threshold 0.7 (17 x 5), lower case, single \
    blanks, form C
off (as in the truth), 40 seeds. Pairs are put into bins by their exact similarity. A bin includes
its lower end, but not its upper end; the bin 1 has the identical pairs. Up to 4,000 pairs are
sampled from every bin of at least 1,000, the same pairs in every run, first those of documents in
few pairs. Lines with `fold` have the same pairs under the default normalisation. Their \
    bins follow
the similarity of the documents' shingles then, as `--exact` compares them.

| column | measured | expected |
|---|---|---|
| *candidates* | share of pairs with a band in common | `candidate_probability` of their \
    exact similarities |
| *returned* | share that a query at 0.7 returns: candidates with an estimate of 0.7 or \
    more | `expected_recall` |
| *bias* | mean error of the unclamped estimate | 0 |
| *spread* | root mean square error of the estimate | that of 128 independent hashes of \
    this lane width |

`se` is one standard error *across seeds*: pairs share documents, so pairs are not independent, but
seeds are. PASS means:

| column | textbook scheme | fast scheme |
|---|---|---|
| *candidates*, *returned* | within 4 se of the expected value | within 0.03 (or 4 se) |
| *bias* | within 4 se of zero, without identical pairs | the same |
| *spread* | at most 1.05 times the expected value, or 4 se of the mean square above | the same |

`expected_recall` is that of independent rows. The rows of the fast scheme are not: on short
documents its estimate strays up to 30 % less, so it returns more of the pairs above the threshold
and fewer of those below than `expected_recall` says. Such a difference passes.

";

const HEAD: &str = "\
| corpus, shingles | scheme | lane | similarity | pairs | candidates | returned | bias | spread | |
|---|---|---|---|---|---|---|---|---|---|
";
