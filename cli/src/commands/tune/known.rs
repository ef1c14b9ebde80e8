//! Pairs of documents that are known to be near-copies: reading them, and the threshold that they
//! reach.

use std::path::{Path, PathBuf};

use nearkin::Params;

use super::choices::Choice;
use super::sample::{Agreement, Known, Pair, Sample};
use nearkin_input::files;
use nearkin_input::lines::Lines;
use nearkin_kit::args::params::Given;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::common::stream_among;
use nearkin_kit::output::{self, counted, grouped};

/// Number of thresholds that are tried.
const STEPS: u32 = 20;

/// Reads pairs of keys, one per line.
pub(super) fn pairs(path: &Path) -> Result<Vec<Pair>, Failure> {
    let (name, reader) = files::open(path)?;
    let mut lines = Lines::new(&name, reader);
    let mut pairs = Vec::new();
    while let Some(raw) = lines.next()? {
        let line = raw.body.unwrap_or_default();
        let mut cells = line.trim_ascii_end().split(|byte| *byte == b'\t');
        match (cells.next(), cells.next()) {
            (Some(a), Some(b)) if !a.is_empty() && !b.is_empty() => {
                pairs.push((a.to_vec(), b.to_vec()));
            }
            _ => {
                return Err(Failure::new(
                    format!(
                        "{name}, after {}: a line without two keys",
                        counted(pairs.len() as u64, "pair")
                    ),
                    "write two keys on each line, with a tab between",
                ));
            }
        }
    }
    Ok(pairs)
}

/// The parameters for known pairs. If no threshold was given, it is the one at which the pairs
/// found are most nearly the known ones.
pub(super) fn params(
    given: &Given,
    params: Params,
    sample: &Sample,
    named: &[Pair],
) -> Result<Params, Failure> {
    let choice = Choice { params, is_default: true };
    let known = sample.known(named, &choice);
    let (count, of) = (known.agreements.len(), named.len() as u64);
    if count == 0 {
        return Err(Failure::new(
            format!("none of the {} of --known has both documents", counted(of, "pair")),
            "use document keys in FILE; the key of a file is its path as given",
        ));
    }
    if count < named.len() {
        output::note(format!(
            "of {} of --known {} have no documents",
            counted(of, "pair"),
            grouped(of - count as u64)
        ));
    }
    if given.threshold().is_some() {
        return Ok(choice.params);
    }
    let Found { threshold, recall, precision } = best(&known, &choice);
    output::note(format!(
        "threshold {threshold}, from your pairs: {:.0} % of them reach it; of the pairs \
         of your documents and any others that do, {:.0} % are yours",
        100.0 * recall,
        100.0 * precision
    ));
    given.clone().with_threshold(threshold).params().map_err(|failure| {
        failure.advise(
            "your pairs share few of these shingles: try words:1 or chars:5, remove dissimilar \
             pairs, or give a --threshold",
        )
    })
}

/// What a threshold finds of known pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    threshold: f64,
    recall: f64,
    precision: f64,
}

/// The threshold of the highest F1, a multiple of a twentieth; of equal ones the highest.
fn best(known: &Known, choice: &Choice) -> Found {
    let found = |step: u32| {
        let threshold = f64::from(step) / f64::from(STEPS);
        let bar = choice.params.equal_rows_min(threshold);
        let reach = |one: &&Agreement| one.equal_rows(choice) >= bar;
        let right = known.agreements.iter().filter(reach).count() as f64;
        let wrong: f64 = known.strangers.iter().skip(bar as usize).sum();
        let recall = right / known.agreements.len() as f64;
        Found { threshold, recall, precision: right / (right + wrong).max(1.0) }
    };
    let f1 = |one: &Found| {
        2.0 * one.recall * one.precision / (one.recall + one.precision).max(f64::EPSILON)
    };
    let all = (1..=STEPS).map(found);
    all.max_by(|one, other| f1(one).total_cmp(&f1(other))).unwrap_or_else(|| found(1))
}

/// Says that the documents are read again, with the number of hashes that these parameters take;
/// fails if they cannot be.
pub(super) fn check_readable_again(jsonl: &[PathBuf], params: &Params) -> Result<(), Failure> {
    let (threshold, hashes) = (params.threshold(), params.hashes());
    let why =
        format!("threshold {threshold} takes {hashes} hashes, so the documents are read again");
    if let Some(stream) = stream_among(jsonl)? {
        return Err(Failure::new(
            format!("{why}; {} is a stream", stream.display()),
            "give a regular file, or a --threshold",
        ));
    }
    output::note(why);
    Ok(())
}
