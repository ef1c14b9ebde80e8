//! A nightly job: adds the day's documents to an archive and rejects near-duplicates.
//!
//! `cargo run --release --example nightly -- INDEX < NEW.jsonl > DECISIONS.jsonl`. Each line of NEW
//! is `{"id": "...", "text": "..."}`. The output has a decision for each line: `admitted`,
//! `unchanged`, or `rejected` with the document that it duplicates. Unusable lines are reported on
//! stderr and counted; the exit status is then 1 (0: success, 2: the job failed).
//!
//! Ctrl-C needs no handler: a decision is printed only after it is durable, and running the job
//! twice gives the same result. So the scheduler can simply start the job again.

use nearkin::{Admit, Decision, Index, Maintained, Maintenance, Newcomer, Options};
use nearkin::{Outcome, Params, Signature};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Documents with at least this similarity are near-duplicates.
const COPY: f64 = 0.85;

/// Documents older than this are removed.
const KEEP_DAYS: u64 = 365;

/// Number of documents per batch. A batch costs one sync.
const BATCH: usize = 1_000;

/// Maximum length of a line in bytes. A longer line is reported and skipped, so that it cannot
/// exhaust memory.
const LINE_BYTES_MAX: usize = 16 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            report(format_args!("nightly: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Runs the job. Returns the number of lines that were skipped.
fn run() -> Result<u64, Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: nightly INDEX < NEW.jsonl")?;
    let params = Params::for_threshold(COPY - 0.1).build()?;
    // No background thread: the program runs maintenance itself, at the end.
    let keep = Duration::from_secs(KEEP_DAYS * 86_400);
    let options = Options::default().maintenance(Maintenance::Inline).ttl(keep);
    let index = Index::open_or_create(dir, &params, options)?;

    let sketch = index.sketcher();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut lines = Lines { input: io::stdin().lock(), number: 0 };
    let (mut batch, mut counts) = (Vec::with_capacity(BATCH), Counts::default());
    while let Some(line) = lines.next()? {
        let document = line.and_then(|line| {
            let (id, text) = parse(&line)?;
            sketch.text(&text).map(|signature| (id, signature)).map_err(|error| error.to_string())
        });
        match document {
            Ok(document) => batch.push(document),
            Err(reason) => {
                report(format_args!("line {}: skipped: {reason}", lines.number));
                counts.skipped += 1;
            }
        }
        if batch.len() == BATCH {
            decide(&index, &batch, &mut out, &mut counts)?;
            batch.clear();
        }
    }
    decide(&index, &batch, &mut out, &mut counts)?;

    // Removes expired documents and frees their space.
    while index.maintain()? != Maintained::Nothing {}
    report(format_args!("nightly: {counts}; {} documents in the archive", index.len()));
    index.close()?;
    Ok(counts.skipped)
}

/// Counts of lines by outcome.
#[derive(Default)]
struct Counts {
    admitted: u64,
    rejected: u64,
    unchanged: u64,
    skipped: u64,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { admitted, rejected, unchanged, skipped } = self;
        write!(f, "{admitted} admitted, {rejected} rejected, {unchanged} unchanged, ")?;
        write!(f, "{skipped} skipped")
    }
}

/// Admits a batch with one sync, in order: each document is compared with those before it, too. The
/// decisions are durable before they are printed.
fn decide(
    index: &Index,
    batch: &[(String, Signature)],
    out: &mut impl Write,
    counts: &mut Counts,
) -> Result<(), Box<dyn Error>> {
    let newcomers: Vec<_> = batch.iter().map(|(id, sign)| Newcomer::new(id, sign)).collect();
    let admissions = index.admit_all(&newcomers, &Admit::at(COPY).limit(1))?;
    for ((id, _), admission) in batch.iter().zip(admissions) {
        let line = match admission.decision {
            Decision::Rejected { duplicates, .. } => {
                counts.rejected += 1;
                let copy = duplicates.first();
                json!({
                    "id": id,
                    "decision": "rejected",
                    "copy_of": copy.map(|found| String::from_utf8_lossy(&found.key)),
                    "similarity": copy.map(|found| found.similarity),
                })
            }
            Decision::Admitted { outcome: Outcome::Unchanged, .. } => {
                counts.unchanged += 1;
                json!({ "id": id, "decision": "unchanged" })
            }
            Decision::Admitted { .. } => {
                counts.admitted += 1;
                json!({ "id": id, "decision": "admitted" })
            }
        };
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// The id and the text in a line.
fn parse(line: &str) -> Result<(String, String), String> {
    let mut value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mut take = |field: &str| match value.get_mut(field).map(Value::take) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("no text in \"{field}\"")),
    };
    let id = take("id")?;
    if !(1..=4_096).contains(&id.len()) {
        return Err("the id must have 1 to 4,096 bytes".to_owned());
    }
    Ok((id, take("text")?))
}

/// Reads lines of bounded length, counts them from 1, and skips blank ones.
struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line, or the reason why the line cannot be used. `None` at the end.
    fn next(&mut self) -> io::Result<Option<Result<String, String>>> {
        loop {
            let mut line = Vec::new();
            let mut input = Read::take(&mut self.input, LINE_BYTES_MAX as u64 + 1);
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if line.len() > LINE_BYTES_MAX && line.last() != Some(&b'\n') {
                self.input.skip_until(b'\n')?;
                return Ok(Some(Err(format!("longer than {LINE_BYTES_MAX} bytes"))));
            }
            if !line.trim_ascii().is_empty() {
                let text = String::from_utf8(line).map_err(|_| "not UTF-8".to_owned());
                return Ok(Some(text));
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "a job logs to stderr")]
fn report(what: std::fmt::Arguments<'_>) {
    eprintln!("{what}");
}
