//! Pairs of documents that are known to be near-copies: reading them, and the threshold that they
//! reach.

use std::path::{Path, PathBuf};

use nearkin::Params;

use super::choices::Choice;
use super::sample::{Agreement, Pair};
use nearkin_input::files;
use nearkin_input::lines::Lines;
use nearkin_kit::args::params::Given;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::common::stream_among;
use nearkin_kit::output::{self, counted, grouped};

/// Maximum percentage of the known pairs that may lie below the threshold derived from them.
const BELOW: usize = 5;

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

/// The parameters for known pairs. If no threshold was given, it is chosen so that most pairs reach
/// it.
pub(super) fn params(
    given: &Given,
    params: Params,
    agreements: &[Agreement],
    named: usize,
) -> Result<Params, Failure> {
    if agreements.is_empty() {
        return Err(Failure::new(
            format!("none of the {} of --known has both documents", counted(named as u64, "pair")),
            "use document keys in FILE; the key of a file is its path as given",
        ));
    }
    if agreements.len() < named {
        output::note(format!(
            "of {} of --known {} have no documents",
            counted(named as u64, "pair"),
            grouped((named - agreements.len()) as u64)
        ));
    }
    if given.threshold().is_some() {
        return Ok(params);
    }
    let choice = Choice { params, is_default: true };
    let mut similarities: Vec<f64> =
        agreements.iter().map(|one| choice.params.similarity(one.equal_rows(&choice))).collect();
    similarities.sort_by(f64::total_cmp);
    let part = |part: usize| similarities[(similarities.len() - 1) * part / 100];
    let threshold = ((part(BELOW) * 20.0).floor() / 20.0).clamp(0.05, 1.0);
    output::note(format!(
        "threshold {threshold}, from your pairs: {BELOW} % are below {:.2}, a quarter below {:.2}, \
         half below {:.2}",
        part(BELOW),
        part(25),
        part(50)
    ));
    given.clone().with_threshold(threshold).params().map_err(|failure| {
        failure.advise(
            "your pairs share few of these shingles: try words:1 or chars:5, remove dissimilar \
             pairs, or give a --threshold",
        )
    })
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
