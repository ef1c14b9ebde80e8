//! `nearkin report`: writes an HTML page that shows the duplicates in an index.
//!
//! This module writes the file and prints the summary. `gather` collects the content of the page,
//! and `page` turns it into one HTML file.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use nearkin::{Params, Reader, Scheme, Shingles};
use serde::Serialize;

use crate::args::report::Report;
use crate::report_page::copied::{self, CopiedData, CopiedPage};
use crate::report_page::data::Data;
use crate::report_page::links::Links;
use crate::report_page::settings::PageSettings;
use crate::report_page::{Made, make, name_of, now_ms};
use nearkin_input::files;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, Output, bytes, counted, grouped};
use nearkin_kit::target::{Target, keep_foreign};

/// The result of the command, for `--json`.
#[derive(Serialize)]
struct ReportObject<'a> {
    out: &'a str,
    bytes: u64,
    documents: u64,
    threshold: f64,
    clusters: u64,
    clustered: u64,
    surplus: u64,
    bytes_free: u64,
    bytes_known: u64,
    copies: u64,
    pairs: u64,
    pairs_cut: bool,
    clusters_shown: u64,
    documents_shown: u64,
    texts_shown: u64,
    texts_changed: u64,
    texts_missing: u64,
}

/// Runs the command.
pub fn run(args: &Report, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    let is_copied = index.params().scheme() == Scheme::Winnow;
    if is_copied && args.threshold.is_some() {
        return Err(Failure::new(
            "--threshold is for similar documents; fingerprints say what texts share",
            "drop it: pairs come with the longest shared run first",
        ));
    }
    let threshold = args.threshold.unwrap_or_else(|| index.params().threshold());
    if !is_copied {
        opened::check_of_documents(index.params(), "report")?;
        opened::warn_if_missed(index.params(), args.threshold);
        opened::note_if_equality_is_estimated(threshold);
    }
    check_out(args)?;
    let originals = originals(args, &index)?;
    let settings = PageSettings {
        title: args.title.clone().unwrap_or_else(|| name_of(&args.index)),
        threshold,
        clusters_max: args.clusters,
        made: now_ms(),
        texts: !args.no_texts,
        reads_all: true,
        links: Links::from_page(&args.out),
        stop: Arc::new(|| false),
    };
    // Created before the work starts, so that a wrong path fails at once.
    let mut target = Target::create(&args.out)?;
    let (snapshot, originals) = (index.snapshot(), originals.as_ref());
    let advised = |failure: Failure| {
        failure.advise_if_interrupted("no page was written; run the command again")
    };
    let write = |html: &str| {
        target.write_all(html.as_bytes()).map_err(|error| Failure::writing(&args.out, &error))?;
        target.finish()
    };
    if is_copied {
        let CopiedPage { html, data } =
            copied::make(&snapshot, &settings, originals).map_err(advised)?;
        write(&html)?;
        say_copied(args, &data, html.len() as u64, output)?;
    } else {
        let Made { html, data } = make(&snapshot, &settings, originals).map_err(advised)?;
        write(&html)?;
        say(args, &data, html.len() as u64, output)?;
    }
    Ok(Ended::Well)
}

/// Fails if the output file is an input file or lies in the index.
fn check_out(args: &Report) -> Result<(), Failure> {
    let what = if args.from.iter().any(|from| files::are_same(from, &args.out)) {
        "is an input"
    } else if files::lies_in(&args.out, &args.index) {
        "lies in the index"
    } else {
        return check_page(&args.out, ("report", "--out"), GENERATOR);
    };
    let out = args.out.display();
    Err(Failure::new(format!("{out} {what}"), "write the report to another file"))
}

/// What the head of a report names as its generator.
const GENERATOR: &str = "nearkin";

/// Fails if there is a file at the path of a page that is no page of this generator.
pub(crate) fn check_page(
    path: &Path,
    (command, option): (&str, &str),
    generator: &str,
) -> Result<(), Failure> {
    keep_foreign(path, command, option, || is_page(path, generator))
}

/// Whether a file is an earlier page, as its head says, or empty, as `mktemp` makes it.
fn is_page(path: &Path, generator: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    let mark = format!("<meta name=\"generator\" content=\"{generator}\">");
    read.is_ok()
        && (head.is_empty() || head.windows(mark.len()).any(|part| part == mark.as_bytes()))
}

/// Where the documents can be read again, for their sizes and texts. `None` if there is no source.
fn originals(args: &Report, index: &Reader) -> Result<Option<Originals>, Failure> {
    if args.from.is_empty() && !are_files(index.params()) {
        return Ok(None);
    }
    let (params, rows) = (index.params(), RowsGiven::default());
    args.originals().originals(params, index.sketcher(), &rows).map(Some)
}

/// Whether the documents of the index can be files. Sets, and signatures made elsewhere, cannot.
fn are_files(params: &Params) -> bool {
    params.shingles() != Shingles::Items && !matches!(params.scheme(), Scheme::External(_))
}

fn say(args: &Report, data: &Data, length: u64, output: &mut Output) -> Result<(), Failure> {
    let out = args.out.display().to_string();
    let (totals, shown) = (&data.totals, &data.shown);
    if output.json() {
        return output.object(&ReportObject {
            out: &out,
            bytes: length,
            documents: totals.documents,
            threshold: data.threshold,
            clusters: totals.clusters,
            clustered: totals.clustered,
            surplus: totals.surplus,
            bytes_free: totals.free,
            bytes_known: totals.free_known,
            copies: totals.copies,
            pairs: totals.pairs,
            pairs_cut: data.pairs.cut,
            clusters_shown: data.clusters.len() as u64,
            documents_shown: shown.documents,
            texts_shown: shown.texts,
            texts_changed: shown.texts_changed,
            texts_missing: shown.texts_missing,
        });
    }
    output.line(format_args!("{out}  ({})", bytes(length)))?;
    let free = match totals.free_known {
        0 => String::new(),
        _ => format!(" and free {}", bytes(totals.free)),
    };
    output.line(format_args!(
        "{} of {} in {} of estimated similarity {} and above; keeping one of each would remove \
         {}{free}",
        grouped(totals.clustered),
        counted(totals.documents, "document"),
        counted(totals.clusters, "cluster"),
        data.threshold,
        grouped(totals.surplus),
    ))?;
    output.flush()?;
    let clusters_shown = data.clusters.len() as u64;
    if clusters_shown < totals.clusters {
        let (shown, all) = (grouped(clusters_shown), grouped(totals.clusters));
        output::note(format!(
            "the {shown} largest of {all} clusters are on the page; `nearkin clusters` prints all"
        ));
    }
    note_texts(args, (totals.clusters, shown.texts, shown.texts_changed));
    Ok(())
}

/// The result of the command for an index of fingerprints, for `--json`.
#[derive(Serialize)]
struct CopiedObject<'a> {
    out: &'a str,
    bytes: u64,
    texts: u64,
    pairs: u64,
    pairs_shown: u64,
    stand_out: u64,
    texts_shown: u64,
    texts_changed: u64,
    texts_missing: u64,
}

fn say_copied(
    args: &Report,
    data: &CopiedData,
    length: u64,
    output: &mut Output,
) -> Result<(), Failure> {
    let out = args.out.display().to_string();
    let (totals, shown) = (&data.totals, &data.shown);
    if output.json() {
        return output.object(&CopiedObject {
            out: &out,
            bytes: length,
            texts: totals.texts,
            pairs: totals.pairs,
            pairs_shown: shown.pairs,
            stand_out: totals.stand_out,
            texts_shown: shown.texts,
            texts_changed: shown.texts_changed,
            texts_missing: shown.texts_missing,
        });
    }
    output.line(format_args!("{out}  ({})", bytes(length)))?;
    output.line(format_args!(
        "{} of {} share a run of words; {} stand out",
        counted(totals.pairs, "pair"),
        counted(totals.texts, "text"),
        grouped(totals.stand_out)
    ))?;
    output.flush()?;
    if shown.pairs < totals.pairs {
        let (shown, all) = (grouped(shown.pairs), grouped(totals.pairs));
        output::note(format!(
            "the {shown} pairs of the longest runs are on the page, of {all}; `nearkin pairs` \
             prints all"
        ));
    }
    note_texts(args, (totals.pairs, shown.texts, shown.texts_changed));
    Ok(())
}

/// Says which texts are not on the page: of those found, shown and changed.
fn note_texts(args: &Report, (found, shown, changed): (u64, u64, u64)) {
    if shown == 0 && found > 0 && !args.no_texts {
        output::note(
            "no text was found by its key; give the files of lines with `--from FILE.jsonl`",
        );
    } else if changed > 0 {
        let texts = counted(changed, "text");
        output::note(format!("{texts} changed since they were added and are not shown"));
    }
}
