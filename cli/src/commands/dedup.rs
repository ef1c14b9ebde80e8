//! `nearkin dedup`: copies JSON lines or rows without near-duplicates. See docs/guide/DEDUP.md.
//!
//! A run has four passes: read (stores an entry for every line in a ledger), decide (visits
//! the documents in order of preference, and keeps or drops each; while they are read, if that is
//! their order), judge (looks once more at what was dropped), and write (copies the kept lines).
//! Each pass continues after an interruption, except judging, and writing a table or Parquet, which
//! start over. This module is the sequence of a run; the submodules implement the passes.
//!
//! Files that a line walks through, by calls; `*` marks a return to an earlier one:
//!
//! - read: pipeline, documents, records, lines, window; read, content, fields; read*, decide,
//!   skips, ledger
//! - decide: decide, order, ledger*, order*, ledger*
//! - write: ahead, documents*, records*, lines*, write, ledger*, packed

#![expect(clippy::disallowed_types, reason = "reads what was written, never the index's files")]

mod ahead;
mod apart;
mod clusters;
mod counts;
mod decide;
mod deciding;
mod documents;
mod exactly;
mod folder_lock;
mod format;
mod held;
mod judge;
mod ledger;
mod order;
mod outcomes;
mod overwrite;
mod packed;
mod passages;
mod read;
mod request;
mod verdicts;
mod without;
mod work;
mod write;
mod write_rows;

use std::fs::File;
use std::io::{self, Read as _};

use serde::Serialize;

use crate::args::Dedup;
use nearkin::Guard;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::repetitive;
use nearkin_kit::input::shards;
use nearkin_kit::input::skips;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, Output, counted, grouped};

use counts::DedupCounts;
use format::OutputFormat;
use request::Request;
use work::{RunPlan, Stage, Work};

pub(crate) fn run(args: &Dedup, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    nearkin_kit::threads::start_pool()?;
    let files = shards::expand(&args.files)?;
    let request = Request::new(args, &files)?;
    if let Some(run) = args.cut_passages {
        return passages::run(&request, run as usize, output);
    }
    let mut work = Work::open(&request)?;
    if let Err(failure) = passes(&request, &mut work) {
        let is_in_vain = failure.is_of_wrong_input() || failure.is_of_changed_input();
        if is_in_vain || work.ledger.count == 0 {
            // The work folder holds nothing from which the next run could continue, so it is
            // deleted.
            work.finish()?;
            return Err(failure);
        }
        let reached = reached(&work, &request, &failure);
        return Err(failure.after(&reached));
    }
    overwrite::publish(&request, &work.state.finished)?;
    let counts = work.finish()?;
    note_apart(&counts);
    note_of_index(&counts, &request);
    repetitive::advise(counts.repetitive, &request.params);
    if counts.unread > 0 {
        output::note(format!(
            "warning: {} of the index could not be compared: missing, or changed since indexed; \
             nothing was dropped for them\nadd them to the index again, or name their files with \
             --from",
            counted(counts.unread, "candidate")
        ));
    }
    if request.scratch.is_some() {
        to_stdout(&counts, &request, output)?;
    } else {
        report(&counts, &request, output)?;
    }
    Ok(skips::ended(counts.unreadable(), counts.damaged(), args.lenient))
}

/// Says what the guard kept.
fn note_apart(counts: &DedupCounts) {
    let apart = counts.apart_in_numbers + counts.apart_in_rare;
    if apart > 0 {
        let what = if apart == 1 { "line differs" } else { "lines differ" };
        output::note(format!(
            "{} {what} from a kept one only in numbers or in rare words: kept; --guard none drops \
             them, --apart FILE lists them",
            grouped(apart)
        ));
    }
}

/// Says what the guard kept beside documents of the index, and where it cannot look.
fn note_of_index(counts: &DedupCounts, request: &Request<'_>) {
    if counts.apart_from_index > 0 {
        let one = counts.apart_from_index == 1;
        output::note(format!(
            "{} {} in numbers from a document of the index: not dropped for it; --guard none \
             drops {}",
            grouped(counts.apart_from_index),
            if one { "line differs" } else { "lines differ" },
            if one { "it" } else { "them" },
        ));
    }
    if counts.dropped_for_index == 0 || !request.is_guarded() {
        return;
    }
    if request.reads_again() && request.guard != Guard::Rare {
        return;
    }
    output::note(if request.reads_again() {
        "lines that are similar to a document of the index were dropped without a look at rare \
         words, which only the lines of one run are counted for"
    } else {
        "lines that are similar to a document of the index were dropped without a look at numbers \
         and rare words: the guard needs the texts of the index; --exact reads them again (--from \
         FILE names their file), and looks at numbers"
    });
}

/// Copies the finished output to stdout; nothing else is printed there.
fn to_stdout(
    counts: &DedupCounts,
    request: &Request<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::reading(&request.out, &error);
    let mut file = File::open(&request.out).map_err(failed)?;
    let mut block = vec![0; 256 << 10];
    loop {
        interrupt::check()?;
        match file.read(&mut block).map_err(failed)? {
            0 => break,
            count => output.bytes(&block[..count])?,
        }
    }
    output.flush()?;
    let DedupCounts { read, kept, skipped, .. } = *counts;
    let dropped = counts.dropped + counts.dropped_for_index + counts.dropped_without;
    let dropped = grouped(dropped);
    output::note(format!(
        "{} read, {} kept, {dropped} dropped, {} skipped",
        counted(read, "line"),
        grouped(kept),
        grouped(skipped)
    ));
    Ok(())
}

/// Runs the passes that are not done yet.
fn passes(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    if work.state.stage == Stage::Read {
        read::run(request, work)?;
    }
    if work.state.stage == Stage::Decide {
        decide::run(request, work)?;
    }
    if work.state.stage == Stage::Judge {
        judge::run(request, work)?;
    }
    if work.state.stage == Stage::Write {
        match request.format {
            OutputFormat::Lines => write::run(request, work)?,
            OutputFormat::Table => write_rows::table(request, work)?,
            OutputFormat::Parquet => write_rows::parquet(request, work)?,
        }
    }
    Ok(())
}

/// Describes the progress of an interrupted run, and whether the next one continues it.
fn reached(work: &Work, request: &Request<'_>, failure: &Failure) -> String {
    let read = counted(work.state.counts.read, "line");
    let done = grouped(work.state.done);
    let doing = match work.state.stage {
        Stage::Read => format!("{read} read"),
        Stage::Decide => format!("all {read} read, {done} decided on"),
        Stage::Judge => format!("all {read} decided on"),
        Stage::Write | Stage::Publish => format!("all {read} decided on, {done} written"),
    };
    if !work.is_repeatable() {
        return format!("before that: {doing}");
    }
    let stored = format!("before that: {doing}; all progress is stored");
    if failure.is_interruption() {
        return stored;
    }
    if failure.is_of_damaged_input() {
        return match work.state.stage {
            Stage::Read => {
                format!("{stored}: when the file is whole again, the same command continues")
            }
            _ => format!("before that: {doing}"),
        };
    }
    // An option or an input that was changed since starts the run anew.
    match RunPlan::new(request) {
        Ok(plan) if work.is_of(&plan) => format!("{stored}: the same command continues"),
        _ => format!("before that: {doing}"),
    }
}

#[derive(Serialize)]
struct SummaryObject<'a> {
    read: u64,
    kept: u64,
    dropped: u64,
    dropped_for_index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_without: Option<u64>,
    /// Among those kept: lines that differ from a kept one only in numbers, or in what is rare.
    kept_apart: u64,
    /// Lines not dropped for a document of the index, from which they differ only in numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    apart_from_index: Option<u64>,
    blank: u64,
    skipped: u64,
    repetitive: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<u64>,
    bytes_read: u64,
    bytes_kept: u64,
    bytes_skipped: u64,
    out: &'a str,
    dropped_file: &'a str,
}

fn report(counts: &DedupCounts, request: &Request<'_>, output: &mut Output) -> Result<(), Failure> {
    let (args, dropped_file) = (request.args, &request.dropped);
    let DedupCounts { read, kept, dropped, dropped_for_index, skipped, .. } = *counts;
    if output.json() {
        output.object(&SummaryObject {
            read,
            kept,
            dropped,
            dropped_for_index,
            dropped_without: request.without.as_ref().map(|_| counts.dropped_without),
            kept_apart: counts.apart_in_numbers + counts.apart_in_rare,
            apart_from_index: request.reads_again().then_some(counts.apart_from_index),
            blank: counts.blank,
            skipped,
            repetitive: counts.repetitive,
            unread: request.reads_again().then_some(counts.unread),
            bytes_read: counts.bytes_read,
            bytes_kept: counts.bytes_kept,
            bytes_skipped: counts.bytes_skipped,
            out: &args.out.display().to_string(),
            dropped_file: &dropped_file.display().to_string(),
        })?;
        return Ok(());
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
        (grouped(dropped), "dropped: similar to a kept one".to_owned()),
    ];
    if let Some(index) = &args.index {
        let what = format!("dropped: similar to a document of {}", index.display());
        rows.push((grouped(dropped_for_index), what));
    }
    if request.without.is_some() {
        let what = "dropped: contain a question of --without".to_owned();
        rows.push((grouped(counts.dropped_without), what));
    }
    if counts.blank > 0 {
        let what = "of those kept have nothing to compare (--drop-blank leaves them out)";
        rows.push((grouped(counts.blank), what.to_owned()));
    }
    rows.push((grouped(skipped), of_what));
    let saved = counts.bytes_saved();
    let share = 100.0 * saved as f64 / counts.bytes_read.max(1) as f64;
    let of = output::bytes(counts.bytes_read);
    let size = match request.format {
        // Parquet compresses rows together, so the size of the dropped rows is unknown. Only the
        // sizes of OUT and of the input are printed.
        OutputFormat::Parquet => format!("size: {} of {of}", output::bytes(counts.bytes_kept)),
        _ => format!("saved: {} of {of} ({share:.1} %)", output::bytes(saved)),
    };
    rows.push((String::new(), size));
    let width = rows.iter().map(|(number, _)| number.len()).max().unwrap_or(0);
    for (number, what) in rows {
        output.line(format_args!("{number:>width$}  {what}"))?;
    }
    output.flush()?;
    output::note(format!("reasons are in {}", dropped_file.display()));
    Ok(())
}
