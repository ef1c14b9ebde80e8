//! The first pass: stores the key and signature of every line in the ledger, on all cores.
//!
//! A document that is similar to a document of the archive (the index given by `--index`) is marked
//! in this pass already: this does not depend on the order in which documents are decided.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use nearkin::{Signature, Variety};

use super::decide::{AsRead, Undecided};
use super::deciding::Deciding;
use super::documents::Remade;
use super::format::OutputFormat;
use super::ledger::{Entry, Kind, Text};
use super::order;
use super::request::{InArchive, Request};
use super::verdicts::Verdict;
use super::work::{Stage, Work};
use nearkin_input::fields::order_of;
use nearkin_input::guess::Spelling;
use nearkin_input::raw::STDIN;
use nearkin_input::raw::{Origin, Raw, Reason, Skipped};
use nearkin_input::source::{self, SourceKind};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents::{Input, LineFiles, Position};
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::repetitive::Repetitive;
use nearkin_kit::input::skips;
use nearkin_kit::input::skips::{LineCounts, Skips};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::scratch;

/// A line that is not skipped.
enum ReadLine {
    Document(Box<ReadDocument>),
    /// Has nothing to compare, and stays.
    Blank(Origin),
}

/// A line that holds a document.
struct ReadDocument {
    origin: Origin,
    key: Vec<u8>,
    /// Taken when it is decided.
    signature: Option<Signature>,
    shingles: u32,
    /// The line, unless the estimate decides alone.
    line: Bytes,
    /// If it is decided while it is read: the hashes of its shingles.
    hashes: Option<Vec<u64>>,
    /// With `--keep-by`: the value by which it is ordered.
    value: Vec<u8>,
    /// The key of the most similar document in the archive, and the number of equal rows (with
    /// `--exact` of shared shingles); `None` if no document there is similar enough.
    like: Option<(Vec<u8>, u32)>,
    /// Whether only numbers set it apart from a document in the archive.
    is_apart: bool,
    /// With `--exact`: number of documents in the archive that could not be read again.
    unread: u32,
    /// What is known about the question of `--without` that it contains.
    question: Option<Vec<u8>>,
    /// Set if the text is repetitive: it has so few distinct shingles that unrelated texts look
    /// like copies.
    repetitive: Option<Variety>,
}

impl ReadLine {
    /// The origin and the variety of shingles of a repetitive text; `None` for other texts.
    fn repetitive(&self) -> Option<(&Origin, Variety)> {
        let Self::Document(read) = self else { return None };
        Some((&read.origin, read.repetitive?))
    }
}

pub(super) fn run(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    let mut lines = input(request, work, true)?;
    lines.go_to(work.state.position)?;
    let mut input = Input::Lines(lines);
    let reading = Reading::new(work.kept.sketcher(), request.fields.clone());
    let (unit, total) = input.size();
    let progress = Progress::start("reading", unit, total);
    let mut skips = Skips::new(request.args.lenient);
    let mut repetitive = Repetitive::default();
    let (kept, remade) = (Arc::clone(&work.kept), Arc::clone(&work.remade));
    let deciding = request.decides_as_read().then(|| AsRead::new(request, work, &kept));
    let mut deciding = deciding.transpose()?;
    // The position after the last chunk, unless that chunk failed.
    let mut appended = None;
    let ended = pipeline::run_with_positions(
        &mut input,
        Pace::Full,
        &progress,
        |raw| read(request, (&reading, &remade), raw),
        |chunk, position| {
            let chunk = chunk.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
            let (mut chunk, ended) = skips::strictly(request.args.strict, chunk);
            let judged = skips.count(&chunk, &reading);
            let found: Vec<_> = chunk.iter().flatten().filter_map(ReadLine::repetitive).collect();
            repetitive.add_lines(found.into_iter(), &progress);
            let verdicts = match &mut deciding {
                Some(deciding) => deciding.decide(request, work, taken(&mut chunk))?,
                None => Vec::new(),
            };
            appended = None;
            append(work, (chunk, &verdicts), (&mut skips, &progress))?;
            ended.and(judged)?;
            appended = position;
            if let Some(position) = position {
                checkpoint(work, position, (deciding.as_ref(), false))?;
            }
            Ok(())
        },
    );
    drop(progress);
    skips.finish();
    reading.note_replaced();
    let position = input.position().unwrap_or_default();
    if let (Err(_), Some(position)) = (&ended, appended) {
        checkpoint(work, position, (deciding.as_ref(), true))?;
    }
    ended?;
    let counts = &work.state.counts;
    let lines = LineCounts { read: counts.read, skipped: counts.skipped, bad: counts.bad() };
    skips::judge(lines, request.args.lenient, &reading, Spelling::Lines)?;
    checkpoint(work, position, (deciding.as_ref(), true))?;
    work.enter(if deciding.is_some() { Stage::Judge } else { Stage::Decide })
}

/// The documents of a chunk that are to be decided. Their signatures and shingles are taken out.
fn taken(chunk: &mut [Result<ReadLine, Skipped>]) -> Vec<Option<Undecided>> {
    let take = |line: &mut Result<ReadLine, Skipped>| {
        let Ok(ReadLine::Document(read)) = line else { return None };
        let signature =
            read.signature.take().filter(|_| read.like.is_none() && read.question.is_none());
        let (line, shingles) = (read.line.clone(), read.hashes.take());
        signature.map(|signature| Undecided { signature, line, shingles })
    };
    chunk.iter_mut().map(take).collect()
}

/// The input in a form that can be read twice: stdin is copied to a file. `only`: of tables and
/// Parquet files, read the columns to compare and no others.
pub(super) fn input(request: &Request<'_>, work: &Work, only: bool) -> Result<LineFiles, Failure> {
    let copy = work.stdin();
    if request.files.iter().any(|path| path.as_os_str() == STDIN) && !copy.exists() {
        let mut stdin = source::stdin_unchanged()?;
        let copied = scratch::create(&copy).and_then(|mut file| io::copy(&mut stdin, &mut file));
        copied.map_err(|error| Failure::new(format!("cannot copy stdin: {error}"), ""))?;
        interrupt::check()?;
        // Whatever else is wrong with it is said when it is read.
        if let Ok(SourceKind::Parquet) = source::kind(&copy, &request.rows) {
            return Err(source::parquet_on_stdin().into());
        }
    }
    let lines = LineFiles::new(request.files, request.rows.clone())?.with_stdin_in(copy);
    let mut wanted = request.fields.wanted();
    if let Some(field) = &request.args.keep_by {
        wanted = wanted.and(field);
    }
    // Damage in a column that is not compared must be seen in both passes.
    let is_lenient = request.rows.lenient;
    wanted.is_for_copy = is_lenient && request.format == OutputFormat::Parquet;
    wanted.only = only && (wanted.is_for_copy || !is_lenient);
    Ok(lines.with_columns(wanted))
}

/// Sketches a line and looks it up in the archive.
fn read(
    request: &Request<'_>,
    (reading, remade): (&Reading, &Remade),
    raw: Raw,
) -> nearkin::Result<Result<ReadLine, Skipped>> {
    let origin = raw.origin.clone();
    let value = match (&request.args.keep_by, &raw.body) {
        (Some(field), Ok(line)) => order_of(line, field, request.args.least),
        _ => Vec::new(),
    };
    let question = match (&request.without, &raw.body) {
        (Some(without), Ok(line)) => remade.text(line.clone()).and_then(|text| without.find(&text)),
        _ => None,
    };
    let row = match (request.deciding, &raw.body) {
        (Deciding::Confirmed | Deciding::Exact, Ok(row)) => row.clone(),
        _ => Bytes::new(),
    };
    let read = if request.decides_as_read() && request.deciding == Deciding::Confirmed {
        reading.sketch_shingled(raw)
    } else {
        reading.sketch_varied(raw).map(|(sketched, variety)| (sketched, variety, None))
    };
    let (Sketched { name: key, signature, .. }, variety, hashes) = match read {
        Ok(read) => read,
        Err(skipped) if skipped.reason == Reason::Empty && request.keeps_blank() => {
            return Ok(Ok(ReadLine::Blank(origin)));
        }
        Err(skipped) => return Ok(Err(skipped)),
    };
    let InArchive { duplicate, is_apart, unread } = match &request.archive {
        Some(_) if question.is_some() => InArchive::default(),
        Some(archive) if request.deciding == Deciding::Exact => {
            let document = if request.is_guarded() {
                remade.detailed(row.clone())?
            } else {
                remade.original(row.clone())?
            };
            archive.find_exactly(&document)?
        }
        Some(archive) => archive.find(&signature)?,
        None => InArchive::default(),
    };
    let variety = variety.filter(|_| request.deciding != Deciding::Exact);
    let like = duplicate.map(|one| (one.of.into_vec(), order::equal(one.evidence)));
    let threshold = request.params.threshold();
    let repetitive = variety.filter(|variety: &Variety| variety.is_too_small(threshold));
    let (shingles, signature) = (signature.shingle_count(), Some(signature));
    let read = ReadDocument {
        origin,
        key,
        signature,
        shingles,
        line: row,
        hashes,
        value,
        like,
        is_apart,
        unread,
        question,
        repetitive,
    };
    Ok(Ok(ReadLine::Document(Box::new(read))))
}

/// Appends a chunk to the ledger. `verdicts` are those on its lines, if they are decided already.
fn append(
    work: &mut Work,
    (chunk, verdicts): (Vec<Result<ReadLine, Skipped>>, &[Verdict]),
    (skips, progress): (&mut Skips, &Progress),
) -> Result<(), Failure> {
    let mut skipped = Vec::new();
    for (at, document) in chunk.into_iter().enumerate() {
        let origin = match &document {
            Ok(ReadLine::Document(document)) => &document.origin,
            Ok(ReadLine::Blank(origin)) => origin,
            Err(skipped) => &skipped.origin,
        };
        work.begin_file(place(origin).0);
        work.state.counts.read += 1;
        match verdicts.get(at) {
            Some(Verdict::Kept) => work.state.counts.kept += 1,
            Some(Verdict::Dropped { .. }) => work.state.counts.dropped += 1,
            _ => {}
        }
        let pushed = match document {
            Ok(ReadLine::Document(document)) => push(work, *document),
            Ok(ReadLine::Blank(origin)) => {
                work.state.counts.blank += 1;
                work.state.counts.kept += 1;
                let entry = entry(Kind::Blank, place(&origin));
                work.ledger.push(entry, (b"", b""), &[])
            }
            Err(one) => {
                let counts = &mut work.state.counts;
                counts.skipped += 1;
                *counts.kinds.entry(one.reason.kind().to_owned()).or_default() += 1;
                let (kind, detail) = (one.reason.kind(), one.reason.detail());
                let entry = entry(Kind::Skipped, place(&one.origin));
                skipped.push(one);
                work.ledger.push(entry, (kind.as_bytes(), detail.as_bytes()), &[])
            }
        };
        pushed.map_err(|error| work.failed(&error))?;
    }
    skips.note(&skipped, progress);
    Ok(())
}

fn push(work: &mut Work, document: ReadDocument) -> io::Result<()> {
    let ReadDocument { origin, key, signature, shingles, line, value, like, question, .. } =
        document;
    work.state.counts.unread += u64::from(document.unread);
    work.state.counts.apart_from_index += u64::from(document.is_apart);
    work.state.counts.repetitive += u64::from(document.repetitive.is_some());
    let (kind, other, equal_rows) = match (question, like) {
        (Some(question), _) => (Kind::WithQuestion, question, 0),
        (None, None) => (Kind::Document, value, 0),
        (None, Some((other, equal_rows))) => (Kind::Archived, other, equal_rows),
    };
    work.state.counts.dropped_without += u64::from(kind == Kind::WithQuestion);
    work.state.counts.dropped_for_index += u64::from(kind == Kind::Archived);
    let at = if let Origin::Line { at, .. } = origin { at } else { None };
    let entry = Entry {
        at,
        shingles,
        equal_rows,
        repetitive: document.repetitive.is_some(),
        signature: signature.map_or_else(Vec::new, |signature| signature.as_bytes().to_vec()),
        ..entry(kind, place(&origin))
    };
    work.ledger.push(entry, (&key, &other), &line)
}

/// The number of an entry's input file, and the line number.
pub(super) fn place(origin: &Origin) -> (u32, u64) {
    let Origin::Line { file_number, number, .. } = origin else { return (0, 0) };
    (*file_number, *number)
}

fn entry(kind: Kind, (file, line): (u32, u64)) -> Entry {
    let (key, other) = (Text::default(), Text::default());
    Entry {
        kind,
        repetitive: false,
        file,
        line,
        shingles: 0,
        at: None,
        line_bytes: 0,
        equal_rows: 0,
        key,
        other,
        signature: Vec::new(),
    }
}

/// Stores a checkpoint at this position if one is due, or if `now` is set.
fn checkpoint(
    work: &mut Work,
    position: Position,
    (deciding, now): (Option<&AsRead<'_>>, bool),
) -> Result<(), Failure> {
    work.state.position = position;
    if !now && !work.is_due() {
        return Ok(());
    }
    if let Some(deciding) = deciding {
        deciding.sync(work)?;
    }
    work.ledger.sync().map_err(|error| work.failed(&error))?;
    work.state.ledger = (work.ledger.count, work.ledger.texts_bytes);
    work.store()
}
