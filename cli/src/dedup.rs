//! `nearkin dedup`: lines of JSON without near-duplicates. See docs/DEDUP.md.
//!
//! Three passes, each of which goes on where it was after an interruption: read (every line's
//! signature into a ledger), decide (in order of preference), write. This is the story of a run;
//! the passes know how.

mod asked;
mod counts;
mod decide;
mod ledger;
mod packed;
mod read;
mod work;
mod write;

use std::path::Path;

use serde::Serialize;

use crate::args::Dedup;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Output, counted, grouped};

use asked::Asked;
use counts::Counts;
use work::{Stage, Work};

pub(crate) fn run(args: &Dedup, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    crate::threads::start_pool()?;
    let asked = Asked::new(args)?;
    let mut work = Work::open(&asked)?;
    passes(&asked, &mut work).map_err(|failure| {
        let reached = reached(&work);
        let go_on = if failure.is_interruption() { "" } else { ": the same command goes on there" };
        failure.after(&format!("{reached}{go_on}"))
    })?;
    packed::publish(&asked.dropped)?;
    packed::publish(&args.out)?;
    let counts = work.finish()?;
    report(&counts, args, &asked.dropped, output)
}

/// What is still to be done of the three.
fn passes(asked: &Asked<'_>, work: &mut Work) -> Result<(), Failure> {
    if work.state.stage == Stage::Read {
        read::run(asked, work)?;
    }
    if work.state.stage == Stage::Decide {
        decide::run(asked, work)?;
    }
    if work.state.stage == Stage::Write {
        write::run(asked, work)?;
    }
    Ok(())
}

/// How far a run has come that ends too early.
fn reached(work: &Work) -> String {
    let read = counted(work.state.counts.read, "line");
    let done = grouped(work.state.done);
    let doing = match work.state.stage {
        Stage::Read => format!("{read} read"),
        Stage::Decide => format!("all {read} read, {done} decided on"),
        Stage::Write | Stage::Publish => format!("all {read} decided on, {done} written"),
    };
    format!("before that: {doing}; nothing is lost")
}

#[derive(Serialize)]
struct ReportObject<'a> {
    read: u64,
    kept: u64,
    dropped: u64,
    dropped_for_index: u64,
    skipped: u64,
    bytes_read: u64,
    bytes_kept: u64,
    out: &'a str,
    dropped_file: &'a str,
}

fn report(
    counts: &Counts,
    args: &Dedup,
    dropped_file: &Path,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let Counts { read, kept, dropped, dropped_for_index, skipped, .. } = *counts;
    if output.json() {
        output.object(&ReportObject {
            read,
            kept,
            dropped,
            dropped_for_index,
            skipped,
            bytes_read: counts.bytes_read,
            bytes_kept: counts.bytes_kept,
            out: &args.out.display().to_string(),
            dropped_file: &dropped_file.display().to_string(),
        })?;
        return Ok(Ended::Well);
    }
    let kinds = counts.kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count)));
    let kinds: Vec<_> = kinds.collect();
    let of_what = if kinds.is_empty() {
        "skipped".to_owned()
    } else {
        format!("skipped: {}", kinds.join(", "))
    };
    let mut rows = vec![
        (grouped(read), if read == 1 { "line read" } else { "lines read" }.to_owned()),
        (grouped(kept), format!("kept in {}", args.out.display())),
        (grouped(dropped), "dropped: like a kept one".to_owned()),
    ];
    if let Some(index) = &args.index {
        let what = format!("dropped: like a document of {}", index.display());
        rows.push((grouped(dropped_for_index), what));
    }
    rows.push((grouped(skipped), of_what));
    let saved = counts.bytes_read - counts.bytes_kept;
    let share = 100.0 * saved as f64 / counts.bytes_read.max(1) as f64;
    let of = output::bytes(counts.bytes_read);
    rows.push((String::new(), format!("saved: {} of {of} ({share:.1} %)", output::bytes(saved))));
    let width = rows.iter().map(|(number, _)| number.len()).max().unwrap_or(0);
    for (number, what) in rows {
        output.line(format_args!("{number:>width$}  {what}"))?;
    }
    output.flush()?;
    output::note(format!("why is in {}", dropped_file.display()));
    Ok(Ended::Well)
}
