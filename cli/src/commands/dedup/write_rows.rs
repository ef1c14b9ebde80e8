//! The third pass for tables and Parquet files: copies table rows byte for byte, and Parquet rows
//! column by column. After an interruption, this pass starts over: it is the shortest of the three,
//! so checkpoints would save little.

#![expect(clippy::disallowed_types, reason = "writes the user's files, never the index's")]

use std::fs::File;
use std::io;

use super::ahead::OriginalLine;
use super::clusters;
use super::outcomes::{LineOutcome, Outcomes};
use super::packed::Packed;
use super::request::Request;
use super::work::Work;
use super::write::{self, changed};
use nearkin_input::Error;
use nearkin_input::files;
use nearkin_input::raw::STDIN;
use nearkin_input::source;
use nearkin_input::source::{Row, RowCopy};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::scratch;

/// Copies the kept rows to a Parquet file, and writes the reasons for the other rows to DROPPED.
pub(super) fn parquet(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    let (mut dropped, mut outcomes) = begin(request, work)?;
    let tmp = files::unfinished(&request.out);
    let failed = |error: io::Error| Failure::writing(&request.out, &error);
    let file = scratch::create(&tmp).map_err(failed)?;
    let mut copy = RowCopy::new(request.files, &request.out, file, request.rows.lenient)?;
    let progress = Progress::start("writing", Unit::Documents, Some(work.ledger.count));
    // The last file whose damage has been met: of its later rows, none was read.
    let mut damaged = None;
    for group in copy.groups() {
        let mut keep = Vec::new();
        while (keep.len() as u64) < group.rows {
            if damaged == Some(group.file) {
                keep.push(false);
                continue;
            }
            let outcome = write::next(&mut outcomes, work)?;
            match &outcome {
                LineOutcome::Skipped { file, .. } if outcome.is_damage() => {
                    damaged = Some(*file as usize);
                }
                _ => keep.push(outcome == LineOutcome::Kept),
            }
            refuse(request, work, &outcome, &mut dropped)?;
            step(work, &progress)?;
        }
        copy.keep(group, keep)?;
    }
    // Files at the end that are damaged where they begin, or behind their last row.
    while work.state.done < work.ledger.count {
        let outcome = write::next(&mut outcomes, work)?;
        if !outcome.is_damage() {
            return Err(changed());
        }
        refuse(request, work, &outcome, &mut dropped)?;
        step(work, &progress)?;
    }
    let file = copy.finish()?;
    file.sync_all().map_err(failed)?;
    let length = |file: &File| file.metadata().map(|metadata| metadata.len());
    work.state.counts.bytes_kept = length(&file).map_err(failed)?;
    let lengths = request.files.iter().map(|path| files::length(path));
    let lengths = lengths.collect::<Result<Vec<_>, _>>()?;
    work.state.counts.bytes_read = lengths.into_iter().flatten().sum();
    write::end(request, work, None, dropped)
}

/// Copies the header and the kept rows to a table, and writes the reasons for the other rows to
/// DROPPED.
pub(super) fn table(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    let (mut dropped, mut outcomes) = begin(request, work)?;
    let Some(mut out) = Packed::open(&request.out, 0)? else { return Err(changed()) };
    let progress = Progress::start("writing", Unit::Documents, Some(work.ledger.count));
    let copy = work.stdin();
    let mut has_header = false;
    for path in request.files {
        let file = if path.as_os_str() == STDIN { &copy } else { path };
        let opened = source::open_table(file, &request.rows);
        let Some(mut rows) = Error::sound(opened, request.rows.lenient)? else {
            lost(request, work, &mut outcomes, &mut dropped)?;
            continue;
        };
        // The last line of a file may lack its end.
        let end = if rows.header_end.is_empty() { b"\n".to_vec() } else { rows.header_end.clone() };
        let cluster_field = request.args.cluster_field.as_deref();
        let delimiter = rows.delimiter();
        if let Some(name) = cluster_field.filter(|_| !has_header && !rows.header.is_empty()) {
            let size = format!("{name}_size");
            if rows.has_column(name) || rows.has_column(&size) {
                return Err(clusters::taken(name));
            }
            let mark = char::from(delimiter);
            rows.header.extend_from_slice(format!("{mark}{name}{mark}{size}").as_bytes());
        }
        if !has_header {
            out.line(&rows.header, if rows.header.is_empty() { b"" } else { &end })?;
            has_header = true;
        }
        let table = rows.table();
        loop {
            let at = table.next_byte();
            let row = match table.row() {
                Err(_) if request.rows.lenient => {
                    lost(request, work, &mut outcomes, &mut dropped)?;
                    break;
                }
                row => row.map_err(|error| Failure::reading(path, &error))?,
            };
            let Some(Row { bytes, line_end, cells, .. }) = row else { break };
            let outcome = write::next(&mut outcomes, work)?;
            if outcome.is_damage() {
                return Err(changed());
            }
            let line_end = if line_end.is_empty() { &end } else { line_end };
            let is_too_large = cells.is_err_and(|wrong| wrong.is_too_large);
            let line = if is_too_large {
                OriginalLine::At(at, bytes.len() as u64)
            } else {
                OriginalLine::Bytes(bytes)
            };
            let cluster = outcomes.cluster(work.state.done);
            let kept = cluster.map(|cluster| cluster.in_row(bytes, delimiter));
            let refused = write::refused(request, work, &outcome, line)?;
            let (line, to) = ((line, kept.as_deref(), line_end), (&mut out, &mut dropped));
            write::write(work, line, refused, to)?;
            step(work, &progress)?;
        }
    }
    write::end(request, work, Some(out), dropped)
}

/// Takes the next outcome, which is that of the rest of a damaged file.
fn lost(
    request: &Request<'_>,
    work: &mut Work,
    outcomes: &mut Outcomes,
    dropped: &mut Packed,
) -> Result<(), Failure> {
    let outcome = write::next(outcomes, work)?;
    if !outcome.is_damage() {
        return Err(changed());
    }
    refuse(request, work, &outcome, dropped)?;
    work.state.done += 1;
    Ok(())
}

/// Writes the reason for a row that is not kept.
fn refuse(
    request: &Request<'_>,
    work: &Work,
    outcome: &LineOutcome,
    dropped: &mut Packed,
) -> Result<(), Failure> {
    let row = if outcome.is_damage() { OriginalLine::Lost } else { OriginalLine::Bytes(b"") };
    match write::refused(request, work, outcome, row)? {
        Some(refused) => dropped.line(&refused.reason, b"\n"),
        None => Ok(()),
    }
}

fn begin(request: &Request<'_>, work: &mut Work) -> Result<(Packed, Outcomes), Failure> {
    let Some(dropped) = Packed::open(&request.dropped, 0)? else { return Err(changed()) };
    Ok((dropped, write::outcomes(request, work)?))
}

/// Counts a row. From time to time, updates the progress bar and checks for signals.
fn step(work: &mut Work, progress: &Progress) -> Result<(), Failure> {
    work.state.done += 1;
    if work.state.done.is_multiple_of(1_024) {
        progress.reached(work.state.done);
        interrupt::check()?;
    }
    Ok(())
}
