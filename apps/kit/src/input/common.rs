//! Learns common shingles from the documents of a command, before it reads them for its task.

use std::path::PathBuf;

use nearkin::{Common, CommonLearner, CommonShingle, Params, Sketcher};

use super::content::Reading;
use super::documents::Input;
use super::pipeline::{self, Pace};
use super::shards;
use crate::failure::Failure;
use crate::output::progress::Progress;
use crate::output::{self, counted};
use nearkin_input::fields::Fields;
use nearkin_input::files;

/// The shingles that many of the documents have.
pub struct LearnedCommon {
    /// The most frequent ones first.
    pub shingles: Vec<CommonShingle>,
    /// The list, `None` if there are no such shingles.
    pub list: Option<Common>,
    /// The number of different documents that were counted.
    pub documents: u64,
}

/// The shingles of templates, together with the list that the parameters have.
pub fn of_templates(params: &Params, paths: &[PathBuf]) -> Result<Common, Failure> {
    let reading = Reading::new(Sketcher::new(params), Fields::text("id", "text"));
    let mut input = Input::files_or_folders(paths, false)?;
    let progress = Progress::start("reading templates", input.size().0, input.size().1);
    let mut texts = Vec::new();
    pipeline::run(
        &mut input,
        Pace::Full,
        &progress,
        |raw| reading.text(raw),
        |chunk| {
            for one in chunk {
                match one {
                    Ok((_, text)) => texts.push(text),
                    Err(skipped) => {
                        return Err(Failure::new(
                            format!("--template: {skipped}"),
                            "give a file of text, or of a format that `nearkin add` reads",
                        ));
                    }
                }
            }
            Ok(())
        },
    )?;
    Ok(Common::of_texts(params, &texts)?)
}

/// The parameters with the shingles of templates on their list.
pub fn with_templates(params: Params, paths: &[PathBuf]) -> Result<Params, Failure> {
    if paths.is_empty() {
        return Ok(params);
    }
    Ok(params.to_builder().common(of_templates(&params, paths)?).build()?)
}

/// Fails if a file cannot be read twice.
pub fn check_readable_twice(paths: &[PathBuf]) -> Result<(), Failure> {
    match stream_among(paths)? {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            format!("--ignore-common reads the documents twice; {} is a stream", path.display()),
            "give a regular file, or a list: `nearkin tune --ignore-common SHARE --out FILE`",
        )),
    }
}

/// The first of these that is a stream, which can be read only once.
pub fn stream_among(paths: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
    for path in shards::expand(paths)? {
        if files::length(&path)?.is_none() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Reads all documents, and lists the shingles that at least this share of them has. Documents that
/// cannot be read are passed over: the command itself names them.
pub fn learn(
    params: &Params,
    share: f64,
    input: &mut Input,
    fields: Fields,
) -> Result<LearnedCommon, Failure> {
    let mut learner = CommonLearner::new(params)?;
    let reading = Reading::new(learner.sketcher(), fields);
    let (unit, total) = input.size();
    let progress = Progress::start("looking for common shingles", unit, total);
    let work = |raw| reading.original(raw).map(|(_, document)| document);
    pipeline::run(input, Pace::Full, &progress, work, |chunk| {
        for document in chunk.into_iter().flatten() {
            learner.add(&document)?;
        }
        Ok(())
    })?;
    drop(progress);
    let list = learner.common(share)?;
    let shingles = learner.shingles(share)?;
    let documents = learner.documents();
    let of = counted(documents, "different text");
    match shingles.len() as u64 {
        0 => output::note(format!("no shingle is in {} of {of}", percent(share))),
        found => output::note(format!(
            "{} in at least {} of {of} left out",
            counted(found, "shingle"),
            percent(share)
        )),
    }
    Ok(LearnedCommon { shingles, list, documents })
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}
