//! The third pass: reads the input again, writes the kept lines to OUT, and for each other line
//! writes the reason to DROPPED.

use std::io;
use std::sync::mpsc::sync_channel;

use nearkin::Overlap;
use rayon::prelude::*;
use serde::Serialize;

use super::ahead::{self, Batch, LineAhead, OriginalLine};
use super::deciding::Equal;
use super::ledger::Entry;
use super::outcomes::{Dropped, LineOutcome, Outcomes, WithQuestion};
use super::overwrite;
use super::packed::{self, OutputFile, Packed};
use super::read;
use super::request::Request;
use super::verdicts::Verdict;
use super::work::{RunPlan, Stage, Work};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::Position;
use nearkin_kit::interrupt;
use nearkin_kit::output::differences::Differences;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{JsonBytes, lossy};
use nearkin_kit::threads;

/// An entry of DROPPED: a line that was dropped as a duplicate.
#[derive(Serialize)]
struct DroppedObject<'a> {
    key: Option<JsonBytes<'a>>,
    file: &'a str,
    line: u64,
    /// Key of the document that this line duplicates. `of_file` and `of_line` say where it is if it
    /// comes from the input, not from the index.
    of_key: Option<JsonBytes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_line: Option<u64>,
    /// The exact similarity if shingles were compared, otherwise the estimated one.
    similarity: f64,
    /// If shingles were compared, or with `--contained`: the containment of the smaller document in
    /// the larger one.
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    #[serde(flatten)]
    shingles: Option<SharedShingles>,
    #[serde(flatten)]
    differences: Option<Differences>,
    /// With `--cluster-field`: the number of the cluster, and of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_size: Option<u32>,
    /// Whether the document that this line duplicates comes from the index (`--index`).
    in_index: bool,
    /// Whether the text has so few distinct shingles that unrelated texts look like copies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repetitive: bool,
}

/// If shingles were compared: the counts from which similarity and containment follow.
#[derive(Serialize)]
struct SharedShingles {
    /// Number of shingles of the dropped document, of the other one, and of both.
    shingles: u32,
    of_shingles: u32,
    shared: u32,
}

/// The first fields of an entry of DROPPED for a line that contains a question.
#[derive(Serialize)]
struct QuestionLineObject<'a> {
    key: Option<JsonBytes<'a>>,
    file: &'a str,
    line: u64,
}

/// What two lines differ in; `None` for sets.
pub(super) fn differences(
    work: &Work,
    lines: &[(u64, Entry); 2],
) -> io::Result<Option<Differences>> {
    let between =
        |here: &str, there: &str| Differences::between(work.remade.sketcher(), here, there);
    work.documents().texts(lines, between)
}

/// An entry of DROPPED: a line that could not be compared.
#[derive(Serialize)]
struct SkippedObject<'a> {
    file: &'a str,
    line: u64,
    skipped: &'a str,
    reason: &'a str,
    /// The line as it stands in the input, or in hexadecimal digits if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_hex: Option<String>,
    /// For a line that is too large to hold in memory: its place in the uncompressed input.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// Reads the lines again on this thread, and writes them on another one.
pub(super) fn run(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    let (mut out, mut dropped) = open(request, work)?;
    let mut lines = read::input(request, work, false)?;
    lines.go_to(work.state.position)?;
    let mut outcomes = outcomes(request, work)?;
    let progress = Progress::start("writing", Unit::Bytes, lines.bytes());
    let (to_writer, batches) = sync_channel(0);
    let writer = || {
        batches.into_iter().try_for_each(|batch: Batch| {
            progress.reached(batch.taken);
            write_batch(request, work, (&mut outcomes, &batch), (&mut out, &mut dropped))
        })
    };
    let (written, read) = threads::beside(writer, move || ahead::read(&mut lines, &to_writer))?;
    drop(progress);
    written.and(read)?;
    end(request, work, Some(out), dropped)
}

/// Writes lines. What is written of each is made on all cores.
fn write_batch(
    request: &Request<'_>,
    work: &mut Work,
    (outcomes, batch): (&mut Outcomes, &Batch),
    (out, dropped): (&mut Packed, &mut Packed),
) -> Result<(), Failure> {
    interrupt::check()?;
    if work.ledger.count < work.state.done + batch.lines.len() as u64 {
        return Err(changed());
    }
    let verdicts: io::Result<Vec<_>> = batch.lines.iter().map(|_| outcomes.next()).collect();
    let verdicts = verdicts.map_err(|error| work.failed(&error))?;
    let (shared, outcomes) = (&*work, &*outcomes);
    let made = |(line, verdict): (&LineAhead, (u64, Verdict))| {
        made(request, shared, outcomes, (line.original(), verdict))
    };
    let made: Result<Vec<_>, Failure> = batch.lines.par_iter().zip(verdicts).map(made).collect();
    for (line, (kept, refused)) in batch.lines.iter().zip(made?) {
        let line = (line.original(), kept.as_deref(), &b"\n"[..]);
        write(work, line, refused, (out, dropped))?;
        work.state.done += 1;
    }
    match batch.checkpoint {
        Some(position) => checkpoint(work, position, (out, dropped)),
        None => Ok(()),
    }
}

/// What is written of a line: the line in another form than that of the input, or why it is not
/// kept; neither if it is copied.
type Made = (Option<Vec<u8>>, Option<Refused>);

fn made(
    request: &Request<'_>,
    work: &Work,
    outcomes: &Outcomes,
    (line, verdict): (OriginalLine<'_>, (u64, Verdict)),
) -> Result<Made, Failure> {
    let outcome = outcomes.of(&work.ledger, verdict).map_err(|error| work.failed(&error))?;
    // A file that was repaired or damaged since it was first read has other lines.
    if matches!(line, OriginalLine::Lost) != outcome.is_damage() {
        return Err(changed());
    }
    if outcome != LineOutcome::Kept {
        return Ok((None, refused(request, work, &outcome, line)?));
    }
    let kept = match (&request.args.cluster_field, outcomes.cluster(verdict.0), line) {
        (Some(name), Some(cluster), OriginalLine::Bytes(line)) => {
            Some(cluster.in_object(line, name)?)
        }
        _ => None,
    };
    Ok((kept, None))
}

/// Completes both files, if they replace nothing that no run made.
pub(super) fn end(
    request: &Request<'_>,
    work: &mut Work,
    out: Option<Packed>,
    dropped: Packed,
) -> Result<(), Failure> {
    if work.state.done < work.ledger.count || !work.is_of(&RunPlan::new(request)?) {
        return Err(changed());
    }
    out.map_or(Ok(()), Packed::finish)?;
    dropped.finish()?;
    overwrite::check(request)?;
    work.state.finished = overwrite::finished(request);
    work.state.stage = Stage::Publish;
    work.store()
}

/// Opens both files at the last checkpoint. Starts over if one of them is shorter than that.
fn open(request: &Request<'_>, work: &mut Work) -> Result<(Packed, Packed), Failure> {
    let state = &mut work.state;
    let there = || [&*request.out, &*request.dropped].map(OutputFile::growing);
    for _ in 0..2 {
        // Meanwhile another run may have begun a file of this name.
        if state.done == 0 || state.writing == there() {
            let out = Packed::open(&request.out, state.out_bytes)?;
            let dropped = Packed::open(&request.dropped, state.dropped_bytes)?;
            if let (Some(out), Some(dropped)) = (out, dropped) {
                state.writing = there();
                return Ok((out, dropped));
            }
        }
        packed::discard(&request.out);
        packed::discard(&request.dropped);
        (state.out_bytes, state.dropped_bytes, state.done) = (0, 0, 0);
        (state.counts.bytes_read, state.counts.bytes_kept) = (0, 0);
        state.counts.bytes_skipped = 0;
        state.position = Position::default();
    }
    Err(Failure::new(
        format!(
            "{} and {} are shorter than what was written to them",
            request.out.display(),
            request.dropped.display()
        ),
        "check that no other program writes to them, then run the command again",
    ))
}

/// Starts reading what becomes of the lines that are not written yet.
pub(super) fn outcomes(request: &Request<'_>, work: &mut Work) -> Result<Outcomes, Failure> {
    let has_clusters = request.args.cluster_field.is_some();
    let by = (request.deciding, request.last_pass(), has_clusters);
    let outcomes = Outcomes::open(&work.folder, &mut work.ledger, work.state.done, by);
    outcomes.map_err(|error| work.failed(&error))
}

/// What becomes of the next line; fails if the ledger has no such line.
pub(super) fn next(outcomes: &mut Outcomes, work: &Work) -> Result<LineOutcome, Failure> {
    if work.state.done == work.ledger.count {
        return Err(changed());
    }
    let outcome = outcomes.next().and_then(|verdict| outcomes.of(&work.ledger, verdict));
    outcome.map_err(|error| work.failed(&error))
}

pub(super) fn changed() -> Failure {
    Failure::changed_input()
}

/// Writes a line to OUT, as `kept` if that is given, or why it is refused to DROPPED.
pub(super) fn write(
    work: &mut Work,
    (line, kept, line_end): (OriginalLine<'_>, Option<&[u8]>, &[u8]),
    refused: Option<Refused>,
    (out, dropped): (&mut Packed, &mut Packed),
) -> Result<(), Failure> {
    let end_bytes = if matches!(line, OriginalLine::Lost) { 0 } else { line_end.len() };
    let bytes = line.length() + end_bytes as u64;
    work.state.counts.bytes_read += bytes;
    if let Some(Refused { reason, is_skipped }) = refused {
        work.state.counts.bytes_skipped += if is_skipped { bytes } else { 0 };
        dropped.line(&reason, b"\n")
    } else {
        work.state.counts.bytes_kept += bytes;
        let OriginalLine::Bytes(line) = line else { return Err(changed()) };
        out.line(kept.unwrap_or(line), line_end)
    }
}

/// Why a line is not in OUT.
pub(super) struct Refused {
    /// The entry for DROPPED as JSON.
    pub(super) reason: Vec<u8>,
    /// Whether the line could not be compared.
    is_skipped: bool,
}

/// Why a line is not in OUT; `None` if it is kept.
pub(super) fn refused(
    request: &Request<'_>,
    work: &Work,
    outcome: &LineOutcome,
    original: OriginalLine<'_>,
) -> Result<Option<Refused>, Failure> {
    let object = match outcome {
        LineOutcome::Kept => return Ok(None),
        LineOutcome::Dropped(duplicate) => dropped_object(request, work, duplicate),
        LineOutcome::WithQuestion(row) => with_question_object(request, row),
        LineOutcome::Skipped { file, line, kind, reason } => {
            let (file, line) = (name(request, *file), *line);
            let (skipped, reason) = (&*lossy(kind), &*lossy(reason));
            let (mut row, mut row_hex, mut at, mut bytes) = (None, None, None, None);
            match original {
                OriginalLine::Bytes(line) => match std::str::from_utf8(line) {
                    Ok(line) => row = Some(line),
                    Err(_) => row_hex = Some(hex(line)),
                },
                OriginalLine::At(begin, length) => (at, bytes) = (Some(begin), Some(length)),
                OriginalLine::Lost => {}
            }
            let object = SkippedObject { file, line, skipped, reason, row, row_hex, at, bytes };
            serde_json::to_vec(&object).map_err(io::Error::from)
        }
    };
    let reason = object.map_err(|error| work.failed(&error))?;
    let is_skipped = matches!(outcome, LineOutcome::Skipped { .. });
    Ok(Some(Refused { reason, is_skipped }))
}

fn dropped_object(request: &Request<'_>, work: &Work, duplicate: &Dropped) -> io::Result<Vec<u8>> {
    let Dropped { file, line, key, shingles, repetitive, equal, of_key, of, cluster, compared } =
        duplicate;
    let of_shingles = match (of, &request.archive) {
        (Some(of), _) => of.shingles,
        (None, Some(archive)) => {
            let stored = archive.index.signature(of_key).map_err(io::Error::other)?;
            stored.map_or(0, |signature| signature.shingle_count())
        }
        (None, None) => 0,
    };
    let (similarity, contained) = estimates(request, *equal, (*shingles, of_shingles));
    let counts = match equal {
        Equal::Rows(_) => None,
        Equal::Shingles(shared) => {
            Some(SharedShingles { shingles: *shingles, of_shingles, shared: *shared })
        }
    };
    let differences = match compared {
        Some(compared) => differences(work, compared)?,
        None => None,
    };
    let object = DroppedObject {
        key: self::key(key),
        file: name(request, *file),
        line: *line,
        of_key: self::key(of_key),
        of_file: of.map(|of| name(request, of.file)),
        of_line: of.map(|of| of.line),
        similarity,
        contained,
        shingles: counts,
        differences,
        cluster: cluster.map(|cluster| cluster.number),
        cluster_size: cluster.map(|cluster| cluster.size),
        in_index: of.is_none(),
        repetitive: *repetitive,
    };
    Ok(serde_json::to_vec(&object)?)
}

/// An entry of DROPPED: a line that contains a question.
fn with_question_object(request: &Request<'_>, row: &WithQuestion) -> io::Result<Vec<u8>> {
    let WithQuestion { file, line, key, evidence } = row;
    let file = name(request, *file);
    let mut object =
        serde_json::to_vec(&QuestionLineObject { key: self::key(key), file, line: *line })?;
    // Both are objects: the fields of the second follow those of the first.
    object.pop();
    object.push(b',');
    object.extend_from_slice(evidence.get(1..).unwrap_or_default());
    Ok(object)
}

/// Name of an input file, for messages.
pub(super) fn name<'a>(request: &'a Request<'_>, file: u32) -> &'a str {
    request.names.get(file as usize).map_or("", String::as_str)
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        digits.extend(
            [byte >> 4, byte & 15]
                .map(|digit| char::from_digit(digit.into(), 16))
                .into_iter()
                .flatten(),
        );
    }
    digits
}

/// A key in JSON; `None` if the line has no key.
pub(super) fn key(key: &[u8]) -> Option<JsonBytes<'_>> {
    (!key.is_empty()).then_some(JsonBytes(key))
}

/// Returns the similarity of two documents, and their containment if it is exact or was asked for.
/// `counts` are the shingle counts of the two.
fn estimates(request: &Request<'_>, equal: Equal, counts: (u32, u32)) -> (f64, Option<f64>) {
    let equal = match equal {
        Equal::Rows(equal) => equal,
        Equal::Shingles(shared) => {
            let overlap = Overlap::of(shared as usize, counts.0 as usize, counts.1 as usize);
            return (overlap.similarity, Some(overlap.containment));
        }
    };
    let contained = request.params.containment(equal, counts.0, counts.1);
    let contained = contained.filter(|_| request.args.contained.is_some());
    (request.params.similarity(equal), contained.map(|contained| contained.estimate))
}

/// Makes both files durable and stores the state.
fn checkpoint(
    work: &mut Work,
    position: Position,
    (out, dropped): (&mut Packed, &mut Packed),
) -> Result<(), Failure> {
    for file in [&mut *out, &mut *dropped] {
        file.end_block()?;
        file.sync()?;
    }
    work.state.position = position;
    (work.state.out_bytes, work.state.dropped_bytes) = (out.bytes, dropped.bytes);
    work.store()
}
