//! `nearkin add`: inserts documents in batches; each batch is durable before the next one starts.
//!
//! This module counts and reports. Reading documents is the task of `input` and `lines`.

use nearkin::{Batch, Edit, Index, Params};

use super::added::{AddCounts, Safe};
use super::passages;
use super::resume::Resume;
use crate::args::Add;
use nearkin_input::fields::Fields;
use nearkin_input::files::Files;
use nearkin_input::raw::Skipped;
use nearkin_input::sniff;
use nearkin_kit::args::machine;
use nearkin_kit::args::params::Given;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::common;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents as input;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::doubts;
use nearkin_kit::input::opened;
use nearkin_kit::input::opened::Load;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::skips::{self, Skips};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::{self, Output};

/// Maximum size of a batch. Well below the library's default maximum of 16 MiB, because the library
/// adds bytes of its own per document.
const BATCH_BYTES_MAX: usize = 8 << 20;

pub(crate) fn run(args: &Add, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let mut counts = AddCounts::default();
    let (input, left_out) = input_of(args)?;
    counts.skip_rows(left_out);
    let load = Load::expiring(args.ttl.ttl);
    let sets = args.lines.items_field.is_some() || args.table.transactions.is_some();
    let (index, fields) =
        given(args, sets)?
            .open_or_create(&args.index, &load, sets, |params| fields(args, params))?;
    let mut input = match input {
        Input::Walk(files) => Input::Walk(files.except(&args.index)),
        others => others.of_fields(&fields),
    };
    let rows = args.lines.row_options();
    let how = (&fields, &rows);
    let resume = Resume::find(&args.index, &args.lines.jsonl, how, &index, &mut input)?;
    let safe = Safe { resume: resume.as_ref(), strict: args.lines.strict };
    let mut skips = Skips::new(args.lines.lenient);
    let reading = Reading::new(index.sketcher(), fields);
    let (unit, total) = input.size();
    let progress = Progress::start("adding", unit, total);
    if index.params().passages().is_some() {
        let mut adding = passages::Adding { counts: &mut counts, skips: &mut skips, safe: &safe };
        let ended = passages::add(index, &reading, &mut input, &progress, &mut adding);
        drop(progress);
        skips.finish();
        input.note_left_out();
        report(ended, &mut counts, output)?;
        return Ok(skips.ended());
    }
    let ended = pipeline::run_with_positions(
        &mut input,
        Pace::Full,
        &progress,
        |raw| reading.sketch(raw),
        |chunk, position| {
            let (chunk, ended) = skips::strictly(safe.strict, chunk);
            let judged = skips.count(&chunk, &reading);
            write(&index, chunk, (&mut counts, &mut skips), &progress).and(ended)?;
            safe.reached(position, &index);
            judged
        },
    );
    drop(progress);
    skips.finish();
    reading.note_replaced();
    input.note_left_out();
    let ended = ended.and_then(|()| skips.judge(&reading));
    if ended.is_ok() {
        safe.finish();
    }
    let ended = ended.and_then(|()| load.expire(&index));
    let ended = opened::close(ended, || opened::flush_and_close(index));
    counts.expired = args.ttl.ttl.map(|_| load.expired());
    report(ended, &mut counts, output)?;
    Ok(skips.ended())
}

/// The documents, and the number of rows of a table that do not fit.
fn input_of(args: &Add) -> Result<(Input, u64), Failure> {
    if let Some(path) = &args.table.transactions {
        let (sets, unfit) = args.table.sets(path, &args.lines.row_options())?;
        return Ok((Input::Sets(sets), unfit));
    }
    if !args.lines.jsonl.is_empty() {
        return Ok((Input::lines(&args.lines.jsonl, args.lines.row_options())?, 0));
    }
    let files =
        Files::new(args.paths.clone())?.hidden(args.hidden).archives(args.lines.archives)?;
    sniff::check_are_texts(&args.paths, args.lines.as_text)?;
    Ok((Input::Walk(files), 0))
}

/// The options for parameters, with the common shingles of the documents if these are to be
/// learned.
fn given(args: &Add, sets: bool) -> Result<Given, Failure> {
    args.given.learned(
        &args.index,
        sets,
        |params| fields(args, params),
        || {
            common::check_readable_twice(&args.lines.jsonl)?;
            Ok(input_of(args)?.0)
        },
    )
}

/// Prints the counts of the run; adds them to the message if the run failed.
fn report(
    ended: Result<(), Failure>,
    counts: &mut AddCounts,
    output: &mut Output,
) -> Result<(), Failure> {
    counts.doubts = doubts::counts();
    ended.map_err(|failure| failure.after(&format!("stored before that: {counts}")))?;
    if output.json() {
        output.object(&*counts)?;
    } else if !output::is_quiet() {
        output.line(counts)?;
    }
    Ok(())
}

/// The fields to read in each line; an error if the index does not accept this kind of input.
fn fields(args: &Add, params: &Params) -> Result<Fields, Failure> {
    if args.table.transactions.is_none() {
        let fields = args.stored.with(args.lines.fields(params)?, &args.lines)?;
        if params.passages().is_some() && fields.has_stored() {
            return Err(Failure::new(
                "an index of passages takes neither payloads nor times from lines",
                "drop --payload-field and --time-field",
            ));
        }
        return Ok(fields);
    }
    input::check_takes_sets(params)?;
    Ok(Fields::items("id", "items"))
}

/// The insert of a document, with the payload and the time that its line brings.
fn edit_of(sketched: &Sketched) -> Edit<'_> {
    let mut edit = Edit::insert(&sketched.name, &sketched.signature);
    if let Some(payload) = &sketched.payload {
        edit = edit.payload(payload);
    }
    match sketched.time {
        Some(time) => edit.time(time),
        None => edit,
    }
}

/// Writes a chunk as one batch, or as several if signatures are large.
fn write(
    index: &Index,
    chunk: Vec<Result<Sketched, Skipped>>,
    (counts, skips): (&mut AddCounts, &mut Skips),
    progress: &Progress,
) -> Result<(), Failure> {
    let bytes_max = machine::memory_part(32, BATCH_BYTES_MAX);
    let mut batch = Batch::new();
    let mut bytes = 0;
    let mut skipped = Vec::new();
    for document in chunk {
        let edit = match &document {
            Ok(sketched) => edit_of(sketched),
            Err(one) => match one.emptied() {
                Some(key) => Edit::put(key, None),
                None => {
                    counts.skip(one);
                    skipped.extend(document.err());
                    continue;
                }
            },
        };
        if bytes + edit.bytes() > bytes_max {
            counts.write(index, std::mem::take(&mut batch))?;
            bytes = 0;
        }
        bytes += edit.bytes();
        batch.push(edit);
        skipped.extend(document.err());
    }
    skips.note(&skipped, progress);
    counts.write(index, batch)
}
