//! `nearkin tune`: compares band settings, in theory and on sample documents, and recommends one.
//!
//! This module shows the choices. It changes no index.

mod advice;
mod advised;
mod boilerplate;
mod choices;
mod common;
mod known;
mod plot;
mod sample;
mod signs;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use nearkin::{Comparisons, Params, Sketcher};
use serde::Serialize;

use crate::args::Tune;
use nearkin_input::fields::Content;
use nearkin_input::files::Files;
use nearkin_input::sniff;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::skips::Skips;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::table::{Align, Table};
use nearkin_kit::output::{self, Output, counted, grouped};
use nearkin_kit::target::{Target, begins_with, keep_foreign};

use advice::{Looks, Measured};
use choices::Choice;
use plot::PlottedCurve;
use sample::{Agreement, Costs, Reservoir, Sample};

/// Minimum number of known pairs for a choice by how many of them are found: of fewer pairs, the
/// found share says little.
const KNOWN_MIN: usize = 20;

pub(crate) fn run(args: &Tune, output: &mut Output) -> Result<Ended, Failure> {
    check_files(args)?;
    let given = match args.given.share_of_common() {
        Some(share) => common::learned(args, share, || input_of(args), output)?,
        None => args.given.clone(),
    };
    let mut params = given.params()?;
    nearkin_kit::input::opened::check_of_documents(&params, "tune")?;
    let input = input_of(args)?;
    if args.known.is_some() && input.is_none() {
        return Err(Failure::new(
            "--known needs documents, but none are given",
            "add paths or --jsonl FILE: `nearkin tune docs --known FILE`",
        ));
    }
    let known = args.known.as_deref().map(known::pairs).transpose()?.unwrap_or_default();
    let (mut sampled, mut measured, mut ended) = (None, None, Ended::Well);
    if let Some(input) = input {
        let (mut sample, looks, ended_reading) = read(args, &params, input, &known)?;
        ended = ended_reading;
        measured = Measured::summarise(&looks);
        let mut agreements = sample.agreements(&known);
        if args.known.is_some() {
            let hashes = params.hashes();
            params = known::params(&given, params, &sample, &known)?;
            // Signatures of another number of hashes have other rows.
            if params.hashes() != hashes {
                known::check_readable_again(&args.lines.jsonl, &params)?;
                if let Some(input) = input_of(args)? {
                    (sample, ..) = read(args, &params, input, &known)?;
                    agreements = sample.agreements(&known);
                }
            }
        }
        sampled = Some((sample, agreements));
    }
    let (choices, shingles) = (choices::around(&params)?, params.shingles());
    let sampled = sampled.map(|(sample, agreements)| Sampled {
        documents: sample.len() as u64,
        costs: sample.costs(&choices),
        known: agreements,
    });
    let findings = Findings { choices, sampled };
    let recommended = findings.recommended();
    if let Some(path) = &args.svg {
        write_svg(path, &findings, recommended)?;
    }
    if output.json() {
        findings.print_objects(recommended, output)?;
    } else {
        findings.print(recommended, output)?;
    }
    if let Some(measured) = &measured {
        advised::print(measured, shingles, findings.copies(recommended), output)?;
    }
    if !output.json() {
        let chosen = &findings.choices[recommended].params;
        let preset = measured.as_ref().map(|measured| measured.advice().preset);
        let preset = preset.filter(|_| given.is_nothing() && args.known.is_none());
        advised::command(&given, chosen, preset, output)?;
    }
    output.flush()?;
    findings.advise(recommended);
    Ok(ended)
}

fn input_of(args: &Tune) -> Result<Option<Input>, Failure> {
    if !args.lines.jsonl.is_empty() {
        return Input::lines(&args.lines.jsonl, args.lines.row_options()).map(Some);
    }
    if args.paths.is_empty() {
        Ok(None)
    } else {
        let files = Files::new(args.paths.clone())?.archives(args.lines.archives)?;
        sniff::check_are_texts(&args.paths, args.lines.as_text)?;
        Ok(Some(Input::Walk(files)))
    }
}

/// Reads the documents and keeps a sample. The sample includes all documents of the known pairs.
fn read(
    args: &Tune,
    params: &Params,
    mut input: Input,
    known: &[sample::Pair],
) -> Result<(Sample, Vec<Looks>, Ended), Failure> {
    let named: HashSet<&[u8]> = known.iter().flat_map(|(a, b)| [&**a, &**b]).collect();
    // 8-bit rows are the high bytes of 16-bit rows, so one sketch serves both.
    let wide = params.to_builder().lane_bits(16).build()?;
    let reading = Reading::new(Sketcher::new(&wide), args.lines.fields(&wide)?);
    let (unit, total) = input.size();
    let progress = Progress::start("reading", unit, total);
    let mut kept = Reservoir::new(args.sample);
    let (mut sample, mut looks) = (Sample::default(), Vec::new());
    let mut skips = Skips::new(args.lines.lenient);
    let work = |raw| {
        reading.sketch_and(raw, |content| match content {
            Content::Text(text) => Some(Looks::measure(text)),
            _ => None,
        })
    };
    pipeline::run(&mut input, Pace::Full, &progress, work, |chunk| {
        let mut skipped = Vec::new();
        let judged = skips.count(&chunk, &reading);
        for document in chunk {
            if let Ok((_, look)) = &document {
                looks.extend(*look);
            }
            match document.map(|(document, _)| document) {
                Ok(Sketched { name, signature, .. }) if named.contains(&*name) => {
                    sample.add(name, &signature);
                }
                Ok(Sketched { name, signature, .. }) => kept.offer(name, signature),
                Err(one) => skipped.push(one),
            }
        }
        skips.note(&skipped, &progress);
        judged
    })?;
    drop(progress);
    skips.finish();
    skips.judge(&reading)?;
    sample.offered = kept.offered;
    for (key, signature) in kept.documents {
        sample.add(key, &signature);
    }
    if sample.len() < 2 {
        return Err(Failure::new(
            format!("{} to look at", counted(sample.len() as u64, "document")),
            "give at least two documents, better thousands, of the kind to be indexed",
        ));
    }
    Ok((sample, looks, skips.ended()))
}

/// Minimum number of comparisons in vain (with documents below the threshold) before a scan is
/// reported. The library requires an average of ten per query, and its sample has 64 queries.
const IN_VAIN_MIN: u64 = 640;

struct Sampled {
    documents: u64,
    costs: Costs,
    known: Vec<Agreement>,
}

impl Sampled {
    /// Average number of comparisons per query; each query is a sample document.
    fn each(&self, at: usize) -> f64 {
        self.costs.each[at].compared as f64 / self.costs.queries as f64
    }

    /// Average number of comparisons per query, extrapolated to an index of a million documents.
    fn per_million(&self, compared: u64) -> f64 {
        compared as f64 / self.costs.pairs as f64 * 1e6
    }

    /// Whether the bands of a choice are so unselective that a query is in effect a scan. Uses the
    /// library's limit. False if the sample is too small to tell.
    fn is_scan(&self, at: usize) -> bool {
        let in_vain = self.costs.each[at].in_vain;
        in_vain >= IN_VAIN_MIN && self.per_million(in_vain) > Comparisons::IN_VAIN_PER_MILLION_MAX
    }

    /// The fraction of the known pairs that a choice returns.
    fn known_found(&self, choice: &Choice) -> Option<f64> {
        let bar = choice.params.equal_rows_min(choice.params.threshold());
        let found = self
            .known
            .iter()
            .filter(|one| one.shares_a_band(choice) && one.equal_rows(choice) >= bar);
        (!self.known.is_empty()).then(|| found.count() as f64 / self.known.len() as f64)
    }
}

struct Findings {
    choices: Vec<Choice>,
    sampled: Option<Sampled>,
}

#[derive(Serialize)]
struct ChoiceObject {
    threshold: f64,
    bands: usize,
    rows_per_band: usize,
    lane_bits: u32,
    hashes: usize,
    recommended: bool,
    /// Probability that a pair at the threshold is compared.
    compared_at_threshold: f64,
    compared_at_half: f64,
    /// Probability that a pair 0.1 above the threshold is returned.
    returned_above: f64,
    bytes_per_document: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_per_query: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_per_million: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_vain_per_million: Option<f64>,
    /// Whether a query in an index of a million documents like those of the sample would in effect
    /// be a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_found: Option<f64>,
}

impl Findings {
    /// Returns the position of the recommended choice: the longest bands that find enough of the
    /// known pairs, if they are longer than the default bands and enough pairs are known; otherwise
    /// the default.
    fn recommended(&self) -> usize {
        let default = self.choices.iter().position(|choice| choice.is_default).unwrap_or(0);
        let Some(sampled) = &self.sampled else { return default };
        if sampled.known.len() < KNOWN_MIN {
            return default;
        }
        let found = |at: usize| sampled.known_found(&self.choices[at]);
        let Some(of_default) = found(default) else { return default };
        let enough = of_default.min(self.choices[default].params.recall_target());
        (0..default).find(|at| found(*at).is_some_and(|found| found >= enough)).unwrap_or(default)
    }

    /// Average number of near-duplicates per sample document.
    fn copies(&self, recommended: usize) -> Option<f64> {
        let costs = &self.sampled.as_ref()?.costs;
        let cost = costs.each[recommended];
        Some((cost.compared - cost.in_vain) as f64 / costs.queries as f64)
    }

    fn print_objects(&self, recommended: usize, output: &mut Output) -> Result<(), Failure> {
        for (at, choice) in self.choices.iter().enumerate() {
            let (params, sampled) = (&choice.params, self.sampled.as_ref());
            let threshold = params.threshold();
            let cost = |sampled: &Sampled| sampled.costs.each[at];
            output.object(&ChoiceObject {
                threshold,
                bands: params.bands(),
                rows_per_band: params.rows_per_band(),
                lane_bits: params.lane_bits(),
                hashes: params.hashes(),
                recommended: at == recommended,
                compared_at_threshold: choice.compared(threshold),
                compared_at_half: choice.compared(threshold / 2.0),
                returned_above: choice.returned((threshold + 0.1).min(1.0)),
                bytes_per_document: choice.bytes_per_document(),
                sampled: sampled.map(|sampled| sampled.documents),
                compared_per_query: sampled.map(|sampled| sampled.each(at)),
                compared_per_million: sampled.map(|s| s.per_million(cost(s).compared)),
                in_vain_per_million: sampled.map(|s| s.per_million(cost(s).in_vain)),
                scan: sampled.map(|sampled| sampled.is_scan(at)),
                known_found: sampled.and_then(|sampled| sampled.known_found(choice)),
            })?;
        }
        Ok(())
    }

    fn print(&self, recommended: usize, output: &mut Output) -> Result<(), Failure> {
        let chosen = &self.choices[recommended];
        let threshold = chosen.params.threshold();
        output.line(format_args!(
            "threshold {threshold}, {} hashes, {}\n",
            chosen.params.hashes(),
            chosen.params.shingles()
        ))?;
        self.print_table(recommended, output)?;
        output.line("")?;
        let curve =
            |name: &str, chance| PlottedCurve { name: name.to_owned(), chance, strong: true };
        let compared = curve("compared", Box::new(|similarity| chosen.compared(similarity)));
        let returned = curve("returned", Box::new(|similarity| chosen.returned(similarity)));
        for line in plot::lines(&[('o', &returned), ('*', &compared)], threshold) {
            output.line(line)?;
        }
        output.line(format_args!(
            "        * {} bands: compared   o returned at {threshold}   : the threshold",
            chosen.name()
        ))
    }

    fn print_table(&self, recommended: usize, output: &mut Output) -> Result<(), Failure> {
        let right = Align::Right;
        let mut table = Table::new([
            ("", Align::Left),
            ("bands", right),
            ("bits", right),
            ("at it", right),
            ("at half", right),
            ("compared", right),
            ("per million", right),
            ("in vain", right),
            ("known found", right),
            ("bytes", right),
        ]);
        for (at, choice) in self.choices.iter().enumerate() {
            let params = &choice.params;
            let sampled = |text: &dyn Fn(&Sampled) -> String| {
                self.sampled.as_ref().map_or_else(|| "-".to_owned(), text)
            };
            let known = self.sampled.as_ref().and_then(|sampled| sampled.known_found(choice));
            let row = [
                if at == recommended { ">" } else { "" }.to_owned(),
                choice.name(),
                params.lane_bits().to_string(),
                percent(choice.compared(params.threshold())),
                percent(choice.compared(params.threshold() / 2.0)),
                sampled(&|sampled| format!("{:.1}", sampled.each(at))),
                sampled(&|sampled| rate(sampled.per_million(sampled.costs.each[at].compared))),
                sampled(&|sampled| rate(sampled.per_million(sampled.costs.each[at].in_vain))),
                known.map_or_else(|| "-".to_owned(), percent),
                format!("{:.0}", choice.bytes_per_document()),
            ];
            table.row(row, output)?;
        }
        table.finish(output)?;
        output.line(
            "at it, at half: chance that a pair at the threshold, or at half of it, is compared",
        )?;
        if let Some(sampled) = &self.sampled {
            output.line(format_args!(
                "compared: average number of documents compared with each of {}, of {}",
                counted(sampled.costs.queries, "document"),
                grouped(sampled.documents)
            ))?;
            output.line(format_args!(
                "per million: the same for a million such documents; in vain: of these, below {}",
                self.choices[recommended].params.threshold()
            ))?;
        }
        Ok(())
    }

    /// Prints warnings about the recommended choice.
    fn advise(&self, recommended: usize) {
        let Some(sampled) = &self.sampled else {
            output::note(
                "the number of comparisons per document depends on the texts: give some, as in \
                 `nearkin tune docs`",
            );
            return;
        };
        let per_million = sampled.per_million(sampled.costs.each[recommended].in_vain);
        if sampled.is_scan(recommended) {
            let longer = (0..recommended).rev().find(|at| !sampled.is_scan(*at));
            let rows = longer.map_or_else(String::new, |at| {
                let rows = self.choices[at].params.rows_per_band();
                format!(", {rows} rows per band (finds less)")
            });
            output::note(format!(
                "warning: these bands are in effect a scan: each of a million such documents would \
                 be compared with {} dissimilar ones; use longer shingles (words:3 for texts, not \
                 chars:5), a stop list, or a higher --threshold{rows}",
                rate(per_million)
            ));
        }
        if sampled.costs.pairs < 1_000_000 {
            output::note(format!(
                "only {} sampled: rates below {} per million cannot be measured",
                counted(sampled.documents, "document"),
                rate(1e6 / sampled.costs.pairs as f64)
            ));
        }
    }
}

/// A probability in percent. Values below 1 that would be rounded up to 100 % are shown as `> 99.9
/// %`.
fn percent(chance: f64) -> String {
    let text = format!("{:.1} %", 100.0 * chance);
    if text == "100.0 %" && chance < 1.0 { "> 99.9 %".to_owned() } else { text }
}

fn rate(rate: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    #[expect(clippy::cast_sign_loss, reason = "never below zero")]
    let whole = rate.round() as u64;
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { grouped(whole) }
}

/// Fails, before the work, if a file that this command did not write would be replaced.
fn check_files(args: &Tune) -> Result<(), Failure> {
    for (path, option, head) in
        [(&args.out, "--out", common::HEAD), (&args.svg, "--svg", plot::HEAD)]
    {
        if let Some(path) = path {
            keep_foreign(path, "tune", option, || begins_with(path, head))?;
        }
    }
    Ok(())
}

fn write_svg(path: &Path, findings: &Findings, recommended: usize) -> Result<(), Failure> {
    let threshold = findings.choices[recommended].params.threshold();
    let curves = findings.choices.iter().enumerate().map(|(at, choice)| PlottedCurve {
        name: choice.name(),
        chance: Box::new(|similarity| choice.compared(similarity)),
        strong: at == recommended,
    });
    let curves: Vec<_> = curves.collect();
    let picture = plot::svg("Chance that two documents are compared", &curves, threshold);
    let mut target = Target::create(path)?;
    target.write_all(picture.as_bytes()).map_err(|error| Failure::writing(path, &error))?;
    target.finish()
}
