//! `nearkin create`, `stats`, `verify` and `compact`: commands on a whole index.
//!
//! This module prints the state of an index. It does not know the documents.

use std::path::Path;

use nearkin::passages::PassageView;
use nearkin::{Comparisons, ErrorKind, Normalise, Params, Reader, Scheme, Shingles, Windows};
use serde::Serialize;

use crate::args::{Compact, Create, Stats, Verify};
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::opened::Load;
use nearkin_kit::interrupt;
use nearkin_kit::output::params::ParamsObject;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, Output, counted, grouped};

#[derive(Serialize)]
struct CreatedObject<'a> {
    created: &'a str,
    #[serde(flatten)]
    params: ParamsObject,
}

pub(crate) fn create(args: &Create, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::create(&args.index, &args.given.params()?, &Load::default())?;
    let created = &args.index.display().to_string();
    if output.json() {
        output.object(&CreatedObject { created, params: ParamsObject::new(index.params()) })?;
    } else {
        output.line(format_args!("created {created}: {}", opened::describe(index.params())))?;
    }
    index.close()?;
    Ok(Ended::Well)
}

#[derive(Serialize)]
struct StatsObject {
    /// In an index of passages, `documents` is the number of texts.
    #[serde(flatten)]
    stats: nearkin::Stats,
    /// In an index of passages: the number of stored passages, over all texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    passages_stored: Option<u64>,
    #[serde(flatten)]
    comparisons: ComparisonsObject,
    #[serde(flatten)]
    params: ParamsObject,
}

/// The average number of comparisons per query, measured with a sample of the stored documents.
#[derive(Serialize)]
struct ComparisonsObject {
    /// Number of stored documents used as queries.
    sampled: u64,
    compared_per_query: f64,
    /// Comparisons with documents whose similarity is below the index's threshold.
    in_vain_per_query: f64,
    /// Whether the averages are lower bounds, because a query had more candidates than the
    /// measurement compares.
    at_least: bool,
    /// Whether the bands are so unselective that a query is in effect a scan.
    scan: bool,
}

impl ComparisonsObject {
    fn new(sample: &Comparisons) -> Self {
        Self {
            sampled: sample.queries,
            compared_per_query: sample.compared_per_query(),
            in_vain_per_query: sample.in_vain_per_query(),
            at_least: sample.is_cut,
            scan: sample.is_scan(),
        }
    }
}

/// Describes the average number of comparisons per query.
fn compared(sample: &Comparisons) -> String {
    if sample.queries == 0 {
        return "no documents to measure with".to_owned();
    }
    let at_least = if sample.is_cut { "at least " } else { "" };
    format!(
        "{at_least}{:.1} a query, {:.1} of them in vain ({} sampled)",
        sample.compared_per_query(),
        sample.in_vain_per_query(),
        counted(sample.queries, "document")
    )
}

/// Warns if a query is in effect a scan.
fn warn_of_scan(sample: &Comparisons) {
    if sample.is_scan() {
        output::note(format!(
            "warning: the bands are in effect a scan: a query compares {:.0} dissimilar documents \
             of {}, and more as the index grows; build it again with more rows per band, a \
             higher --threshold or longer shingles (`nearkin tune` shows what each choice costs)",
            sample.in_vain_per_query(),
            grouped(sample.documents)
        ));
    }
}

/// The number of documents; for an index of passages, the numbers of texts and passages.
fn documents(stored: u64, texts: Option<u64>, params: &Params) -> String {
    match (texts, params.passages()) {
        (Some(texts), Some(windows)) => {
            let (texts, stored) = (grouped(texts), grouped(stored));
            match params.scheme() {
                Scheme::Winnow => format!("{texts} in {stored} documents of fingerprints"),
                _ => format!("{texts} in {stored} passages ({windows})"),
            }
        }
        _ => grouped(stored),
    }
}

pub(crate) fn stats(args: &Stats, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    let mut stats = index.stats()?;
    let params = index.params();
    let sample = index.snapshot().sample_comparisons()?;
    let texts = match params.passages() {
        Some(_) => Some(PassageView::new(&index.snapshot())?.count_texts()?),
        None => None,
    };
    if output.json() {
        let stored = stats.documents;
        stats.documents = texts.unwrap_or(stored);
        output.object(&StatsObject {
            passages_stored: texts.map(|_| stored),
            stats,
            comparisons: ComparisonsObject::new(&sample),
            params: ParamsObject::new(params),
        })?;
        output.flush()?;
        warn_of_scan(&sample);
        return Ok(Ended::Well);
    }
    let per_document = stats.bytes_on_disk.checked_div(stats.documents + stats.dead);
    let on_disk = match per_document {
        Some(each) => {
            format!("{}, {} a document", output::bytes(stats.bytes_on_disk), output::bytes(each))
        }
        None => output::bytes(stats.bytes_on_disk),
    };
    let (threshold, recall) = match params.scheme() {
        Scheme::Winnow => {
            let run = params.passages().map_or(0, Windows::window);
            ("none".to_owned(), format!("every shared run of {run} words"))
        }
        _ => (params.threshold().to_string(), chances(params)),
    };
    print_rows(
        &[
            ("documents", documents(stats.documents, texts, params)),
            ("dead", grouped(stats.dead)),
            ("segments", grouped(stats.segments)),
            ("on disk", on_disk),
            ("shingles", shingles(params)),
            (
                "hashes",
                format!("{} of {} bits, {}", params.hashes(), params.lane_bits(), params.scheme()),
            ),
            ("bands", format!("{} of {} rows", params.bands(), params.rows_per_band())),
            ("threshold", threshold),
            ("expected recall", recall),
            ("comparisons", compared(&sample)),
            ("changes", format!("{}, {} durable", stats.change, stats.durable_change)),
            ("recovery", recovered(&stats)),
            ("unicode", unicode(&stats)),
        ],
        output,
    )?;
    output.flush()?;
    warn_of_scan(&sample);
    Ok(Ended::Well)
}

/// Describes what recovery did when the index was opened.
fn recovered(stats: &nearkin::Stats) -> String {
    let found = &stats.recovery;
    if found.changes_replayed == 0 && found.bytes_cut == 0 && found.files_swept == 0 {
        return "nothing to recover when opened".to_owned();
    }
    format!(
        "{} changes replayed, {} of a torn log cut off, {} leftover files deleted",
        grouped(found.changes_replayed),
        output::bytes(found.bytes_cut),
        grouped(found.files_swept)
    )
}

/// The Unicode version in use, and the version at creation if they differ.
fn unicode(stats: &nearkin::Stats) -> String {
    if stats.unicode == stats.unicode_created {
        return stats.unicode.clone();
    }
    format!("{} (created with {})", stats.unicode, stats.unicode_created)
}

/// Describes shingles and normalisation.
fn shingles(params: &Params) -> String {
    if let Scheme::External(maker) = params.scheme() {
        return format!("made elsewhere ({maker})");
    }
    let mut text = params.shingles().to_string();
    let stop = params.stop_words().count() as u64;
    if stop > 0 {
        text.push_str(" without ");
        text.push_str(&counted(stop, "stop word"));
    }
    let common = params.common().map_or(0, |common| common.hashes().len()) as u64;
    if common > 0 {
        text.push_str(", common: ");
        text.push_str(&counted(common, "shingle"));
    }
    // Items are never normalised unless folding was requested.
    if params.shingles() != Shingles::Items || matches!(params.normalise(), Normalise::Fold(_)) {
        text.push_str(", ");
        text.push_str(&params.normalise().to_string());
    }
    for (is, name) in [(params.bag(), "bag"), (params.keep_space(), "keep-space")] {
        if is {
            text.push_str(", ");
            text.push_str(name);
        }
    }
    text
}

/// The chance that a query at the index's threshold returns a document, for a few similarities.
fn chances(params: &Params) -> String {
    let threshold = params.threshold();
    let mut chances = Vec::new();
    for step in [0.0, 0.05, 0.1, 0.2] {
        let similarity = threshold + step;
        if similarity <= 1.0 {
            // Rounded down, so that a chance below 1 is never printed as 100 %.
            let chance = (1000.0 * params.expected_recall(similarity, threshold)).floor() / 10.0;
            chances.push(format!("{chance:.1} % at similarity {similarity:.2}"));
        }
    }
    chances.join(", ")
}

/// Prints names and values as two columns.
fn print_rows(rows: &[(&str, String)], output: &mut Output) -> Result<(), Failure> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().try_for_each(|(name, value)| output.line(format_args!("{name:<width$}  {value}")))
}

#[derive(Serialize)]
struct VerifiedObject {
    ok: bool,
    documents: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

pub(crate) fn verify(args: &Verify, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let verified = match check(&args.index) {
        Ok(verified) => verified,
        // The damage prevents further reading. Report it as damage found, not as an error.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            VerifiedObject { ok: false, documents: 0, problems: vec![error.full_message()] }
        }
        Err(error) => {
            let is_other = error.kind() == ErrorKind::Mismatch;
            let failure = opened::not_opened(error);
            if is_other {
                return Err(failure.advise("run the command again to check the new index"));
            }
            let again = "the check is incomplete; run the command again";
            return Err(failure.advise_if_interrupted(again));
        }
    };
    if output.json() {
        output.object(&verified)?;
    } else if verified.ok {
        let documents = counted(verified.documents, "document");
        output.line(format_args!("{}: no damage, {documents}", args.index.display()))?;
    } else {
        for problem in &verified.problems {
            output.line(problem)?;
        }
    }
    if verified.ok {
        return Ok(Ended::Well);
    }
    output.flush()?;
    let problems = counted(verified.problems.len() as u64, "problem");
    output::note(format!(
        "{problems}: if `nearkin compact` does not repair it, restore the index from a backup, \
         or save what can be read with `nearkin salvage`"
    ));
    Ok(Ended::Amiss)
}

fn check(dir: &Path) -> nearkin::Result<VerifiedObject> {
    let index =
        opened::mapped_or_not(dir, machine::options(), |options| Reader::open(dir, options))?;
    let progress = Progress::start("verifying", Unit::Bytes, Some(0));
    let found = index.verify_with(&mut progress.callback())?;
    Ok(VerifiedObject {
        ok: found.problems.is_empty(),
        documents: found.documents,
        problems: found.problems.iter().map(nearkin::Error::full_message).collect(),
    })
}

#[derive(Serialize)]
struct CompactedObject {
    documents: u64,
    segments: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expired: Option<u64>,
    bytes_before: u64,
    bytes_after: u64,
}

pub(crate) fn compact(args: &Compact, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let index = opened::to_change(&args.index)?;
    if args.ttl.ttl.is_some() {
        opened::check_of_documents(index.params(), "compact --ttl")?;
    }
    let before = index.stats()?;
    let expired = opened::expire(&index, args.ttl.ttl)?;
    let progress = Progress::start("compacting", Unit::Documents, Some(0));
    let ended = index.compact_with(&mut progress.callback()).map_err(Failure::from);
    drop(progress);
    let after = index.stats()?;
    opened::close(ended, || opened::flush_and_close(index)).map_err(|failure| {
        let again = "the index is unchanged; run the command again to compact it";
        failure.advise_if_interrupted(again)
    })?;
    if output.json() {
        output.object(&CompactedObject {
            documents: after.documents,
            segments: after.segments,
            expired: args.ttl.ttl.map(|_| expired),
            bytes_before: before.bytes_on_disk,
            bytes_after: after.bytes_on_disk,
        })?;
    } else {
        let expired = args.ttl.ttl.map(|_| format!("; {} expired", counted(expired, "document")));
        output.line(format_args!(
            "{} in {}; {} on disk, {} before{}",
            counted(after.documents, "document"),
            counted(after.segments, "segment"),
            output::bytes(after.bytes_on_disk),
            output::bytes(before.bytes_on_disk),
            expired.unwrap_or_default()
        ))?;
    }
    Ok(Ended::Well)
}
