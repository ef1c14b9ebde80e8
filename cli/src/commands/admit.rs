//! `nearkin admit`: adds documents one by one and rejects duplicates of stored ones.
//!
//! The library makes the decisions.

use nearkin::{Alike, Params};

mod at_hand;
mod deciding;
mod printed;

use crate::args::Admit;
use deciding::{AdmitJudge, ReadNewcomer};
use nearkin_input::files::Files;
use nearkin_input::raw::Skipped;
use nearkin_input::sniff;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::opened::Load;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::repetitive;
use nearkin_kit::input::repetitive::Repetitive;
use nearkin_kit::input::skips::{self, Skips};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::{self, Output};
use printed::{AdmitCounts, AdmitPrinting, print};

/// Default of `--reject`. With `--contained` the default is 0, so that only containment decides.
const REJECT_DEFAULT: f64 = 0.9;

/// Number of documents that are decided on before a signal is looked for.
const DECIDED_AT_ONCE: usize = 256;

pub(crate) fn run(args: &Admit, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    args.selection.check()?;
    let terms = terms(args)?;
    let input = input(args)?;
    let alike = alike(args);
    let needed = alike.similarity_needed();
    let least = args.relate.map_or(needed, |relate| relate.min(needed));
    let given = if opened::exists(&args.index)? {
        args.given.clone()
    } else {
        args.given.clone().or_threshold_below_default(least)
    };
    let sets = args.lines.items_field.is_some();
    let fields = |params: &Params| {
        opened::check_of_documents(params, "admit")?;
        args.lines.fields(params)
    };
    let load = Load::expiring(args.ttl.ttl);
    let (index, fields) = given.open_or_create(&args.index, &load, sets, fields)?;
    let params = index.params().clone();
    match args.contained {
        Some(contained) => opened::warn_if_contained_are_missed(&params, contained),
        None => opened::warn_if_missed(&params, Some(least)),
    }
    let mut input = match input {
        Input::Walk(files) => Input::Walk(files.except(&args.index)),
        lines => lines.of_fields(&fields),
    };
    let mut deciding = AdmitJudge::new(&index, terms, &fields, args)?;
    let by_texts = deciding.is_by_texts();
    let reading = Reading::new(index.sketcher(), fields);
    let (unit, total) = input.size();
    let progress = Progress::unless_results_are_on_the_terminal("admitting", unit, total);
    let (mut counts, mut repetitive) = (AdmitCounts::default(), Repetitive::default());
    let mut skips = Skips::new(args.lines.lenient);
    let ended = pipeline::run(
        &mut input,
        Pace::Prompt,
        &progress,
        |raw| ReadNewcomer::new(&reading, raw, by_texts),
        |chunk| {
            let (chunk, ended) = skips::strictly(args.lines.strict, chunk);
            let judged = skips.count(&chunk, &reading);
            let (counts, skips, repetitive) = (&mut counts, &mut skips, &mut repetitive);
            let mut tallies = Tallies { counts, skips, repetitive };
            let admitted =
                admit(&mut deciding, (alike, least), chunk, &mut tallies, &progress, output);
            admitted.and(ended).and(judged)
        },
    );
    drop(deciding);
    drop(progress);
    skips.finish();
    input.note_left_out();
    let ended = ended.and_then(|()| skips.judge(&reading));
    let ended = ended.and_then(|()| load.expire(&index));
    let ended = opened::close(ended, || opened::flush_and_close(index));
    counts.expired = load.expired();
    ended.map_err(|failure| failure.after(&format!("stored before that: {counts}")))?;
    output.flush()?;
    output::note(&counts);
    if by_texts {
        counts.note_reasons(args.keep);
    }
    repetitive::advise(repetitive.count(), &params);
    Ok(skips.ended())
}

fn input(args: &Admit) -> Result<Input, Failure> {
    if !args.lines.jsonl.is_empty() {
        return Input::lines(&args.lines.jsonl, args.lines.row_options());
    }
    let files =
        Files::new(args.paths.clone())?.hidden(args.hidden).archives(args.lines.archives)?;
    sniff::check_are_texts(&args.paths, args.lines.as_text)?;
    Ok(Input::Walk(files))
}

fn terms(args: &Admit) -> Result<nearkin::Admit<'static>, Failure> {
    let conditions = args.selection.conditions(alike(args)).limit(args.limit);
    let terms = nearkin::Admit::at(conditions).keep(args.keep);
    let Some(relate) = args.relate else { return Ok(terms) };
    let reject = args.reject.unwrap_or(REJECT_DEFAULT);
    if args.contained.is_none() && relate > reject {
        return Err(Failure::new(
            format!("--relate {relate} is above --reject {reject}"),
            "give --relate a lower similarity than --reject",
        ));
    }
    Ok(terms.relate(relate))
}

/// The minimum similarity and, if given, the minimum containment at which a stored document counts
/// as a duplicate.
fn alike(args: &Admit) -> Alike {
    Alike::from_minima(args.reject, args.contained, REJECT_DEFAULT)
}

/// What a chunk of documents adds to.
struct Tallies<'a> {
    counts: &'a mut AdmitCounts,
    skips: &'a mut Skips,
    repetitive: &'a mut Repetitive,
}

/// Admits a chunk of documents and prints the decisions.
fn admit(
    deciding: &mut AdmitJudge<'_>,
    (alike, least): (Alike, f64),
    chunk: Vec<Result<ReadNewcomer, Skipped>>,
    tallies: &mut Tallies<'_>,
    progress: &Progress,
    output: &mut Output,
) -> Result<(), Failure> {
    let (mut documents, mut skipped) = (Vec::with_capacity(chunk.len()), Vec::new());
    for document in chunk {
        match document {
            Ok(document) => documents.push(document),
            Err(one) => skipped.push(one),
        }
    }
    for documents in documents.chunks(DECIDED_AT_ONCE) {
        interrupt::check()?;
        let admissions = deciding.decide(documents)?;
        for (document, admission) in documents.iter().zip(&admissions) {
            tallies.counts.count(admission);
            let variety = document.repetitive(least);
            if let Some(variety) = variety {
                tallies.repetitive.add(&document.name, variety, progress);
            }
            let printing = AdmitPrinting { alike, repetitive: variety.is_some() };
            print(document, admission, deciding, printing, output)?;
        }
    }
    tallies.counts.skipped += skipped.len() as u64;
    tallies.skips.note(&skipped, progress);
    output.flush()
}
